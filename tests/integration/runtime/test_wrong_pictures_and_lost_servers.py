"""What a worker believes may be wrong, and what became of a command may be unknown. The log is right all the same."""

import asyncio
from typing import Any

from helpers import wait_until
from helpers.enforcing import Heard, evidence_codes, evidence_of, log_of, quick_settings, running, write
from runwire.broker.connection import Link, open_link
from runwire.broker.floor import FloorHandler
from runwire.chaos.proxy import Proxy
from runwire.embedded.server import Server
from runwire.settings import Settings
from runwire_schemas.keys import ENFORCER_GROUP, Keys

RUN = "run"


def alone(url: str, prefix: str = "rw", **changes: Any) -> Settings:
    return quick_settings(url, prefix, partitions=1, **changes)


async def wait_for_log(link: Link, settings: Settings, count: int, limit: float = 5.0) -> None:
    async def whole() -> bool:
        return len(await log_of(link, settings, RUN)) >= count

    await wait_until(whole, f"{count} chunks", limit)
    assert await log_of(link, settings, RUN) == numbered(1, count)


def numbered(first: int, last: int) -> list[bytes]:
    return [b'{"n":%d}' % n for n in range(first, last + 1)]


async def test_a_lost_commit_reply_neither_loses_nor_doubles(own_server: Server) -> None:
    """The commit runs, its answer does not arrive: the position tells, nothing is sent twice."""
    heard = Heard()
    async with Proxy(own_server.port) as proxy, await open_link(own_server.url) as link:
        settings = alone(proxy.url)
        async with running(settings, FloorHandler(1), observer=heard):
            await write(link, settings, RUN, numbered(1, 5))
            await wait_for_log(link, settings, 5)
            proxy.drop_replies()
            await write(link, settings, RUN, numbered(6, 10), first=6)
            # The commit is executed only if the read's reply arrived before; either way nobody may be told.
            await wait_until(lambda: heard.heard("server-lost"), "the silence is noticed", 5.0)
            proxy.pass_replies()
            proxy.cut()
            await write(link, settings, RUN, numbered(11, 15), first=11)
            await wait_for_log(link, settings, 15)


async def test_cut_connections_under_load_leave_every_record_once(own_server: Server) -> None:
    async with Proxy(own_server.port) as proxy, await open_link(own_server.url) as link:
        settings = alone(proxy.url)
        async with running(settings, FloorHandler(1)) as node:
            for round_ in range(8):
                first = round_ * 50 + 1
                await write(link, settings, RUN, numbered(first, first + 49), first=first)
                await asyncio.sleep(0.002 * round_)
                proxy.cut()
            await wait_for_log(link, settings, 400)
            await wait_until(lambda: node.status().connected, "connected again")


async def test_a_server_killed_and_started_again_goes_on(own_server: Server) -> None:
    settings = alone(own_server.url, command_timeout_s=0.5)
    async with running(settings, FloorHandler(1)) as node:
        async with await open_link(own_server.url) as link:
            await write(link, settings, RUN, numbered(1, 20))
            await wait_for_log(link, settings, 20)
            # What the server had acknowledged is in its file before it dies.
            await wait_until(lambda: _saved(link), "written to disk")
        own_server.kill()
        await wait_until(lambda: not node.status().connected, "the loss is noticed")
        own_server.restart()
        async with await open_link(own_server.url) as link:
            await write(link, settings, RUN, numbered(21, 40), first=21)
            await wait_for_log(link, settings, 40)


async def _saved(link: Link) -> bool:
    info = await link.call("INFO", "persistence")
    assert isinstance(info, bytes)
    return b"aof_pending_bio_fsync:0" in info


async def test_a_demoted_primary_refuses_and_nothing_is_halted(own_server: Server) -> None:
    """READONLY comes and goes with failovers: everything is forgotten, and taken again once writes are allowed."""
    heard = Heard()
    settings = alone(own_server.url)
    async with await open_link(own_server.url) as link, running(settings, FloorHandler(1), observer=heard) as node:
        await write(link, settings, RUN, numbered(1, 10))
        await wait_for_log(link, settings, 10)
        await link.call("REPLICAOF", "127.0.0.1", 1)
        await wait_until(lambda: heard.heard("server-lost"), "writes are refused")
        assert "READONLY" in str(node.status().problem) or not node.status().connected
        await link.call("REPLICAOF", "NO", "ONE")
        await write(link, settings, RUN, numbered(11, 20), first=11)
        await wait_for_log(link, settings, 20)
        assert node.status().halted == {}


async def test_a_flushed_library_is_loaded_again(own_server: Server) -> None:
    settings = alone(own_server.url)
    async with await open_link(own_server.url) as link, running(settings, FloorHandler(1)) as node:
        await write(link, settings, RUN, numbered(1, 3))
        await wait_for_log(link, settings, 3)
        await link.call("FUNCTION", "FLUSH")
        await write(link, settings, RUN, numbered(4, 6), first=4)
        await wait_for_log(link, settings, 6)
        assert node.status().halted == {}


async def test_a_position_moved_by_somebody_else_is_believed(server: Server, prefix: str, link: Link) -> None:
    settings, heard = alone(server.url, prefix), Heard()
    async with running(settings, FloorHandler(1), observer=heard) as node:
        await write(link, settings, RUN, numbered(1, 3))
        await wait_for_log(link, settings, 3)
        keys = Keys(prefix).partition(0)
        # In one step, so that the record is behind the position before anybody can read it.
        skip = (
            "local id = redis.call('XADD', KEYS[1], '*', 'run', 'other', 'body', '{}') "
            "redis.call('HSET', KEYS[2], ARGV[1], id) return redis.call('HINCRBY', KEYS[2], ARGV[1] .. ':n', 1)"
        )
        await link.call("EVAL", skip, 2, keys.raw, keys.pos_raw, ENFORCER_GROUP)
        await write(link, settings, RUN, numbered(4, 6), first=4)
        await wait_for_log(link, settings, 6)
        assert await log_of(link, settings, "other") == []
        assert heard.heard("commit-refused")
        assert node.status().halted == {}


async def test_a_log_without_its_state_halts_the_partition_and_says_so(server: Server, prefix: str, link: Link) -> None:
    """Somebody deleted a state by hand. Going on would number a finished log from 1 again."""
    settings, heard = alone(server.url, prefix), Heard()
    keys = Keys(prefix).partition(0)
    handler = FloorHandler(1)
    async with running(settings, handler, observer=heard) as node:
        await write(link, settings, RUN, numbered(1, 3))
        await wait_for_log(link, settings, 3)
        await link.call("DEL", keys.state(RUN))
        await write(link, settings, RUN, numbered(4, 4), first=4)
        await wait_until(lambda: node.status().halted, "halted after three refusals", 5.0)
        assert len(heard.heard("commit-refused")) == 3
        assert await log_of(link, settings, RUN) == numbered(1, 3)
        await wait_until(lambda: evidence_codes(link, settings, 0), "evidence of it")
        (found,) = await evidence_of(link, settings, 0)
        assert (found["code"], found["class"]) == ("partition-halted", "alarm")
        assert "StateConflict" in node.status().halted[0]


async def test_records_trimmed_by_somebody_else_raise_an_alarm(server: Server, prefix: str, link: Link) -> None:
    settings = alone(server.url, prefix)
    keys = Keys(prefix).partition(0)
    async with running(settings, FloorHandler(1)):
        await write(link, settings, RUN, numbered(1, 4))
        await wait_for_log(link, settings, 4)
    await write(link, settings, RUN, numbered(5, 12), first=5)
    await link.call("XTRIM", keys.raw, "MAXLEN", 2)
    async with running(settings, FloorHandler(1)) as node:
        await wait_until(lambda: evidence_codes(link, settings, 0), "evidence of it")
        (found,) = await evidence_of(link, settings, 0)
        assert (found["code"], found["count"]) == ("records-trimmed-unread", 6)
        assert node.status().trimmed_unread == {0: 6}
    async with running(settings, FloorHandler(1)) as later:
        # It is said once, and the count is exact again.
        assert later.status().trimmed_unread == {}
    assert await evidence_codes(link, settings, 0) == ["records-trimmed-unread"]


async def test_trimming_under_an_owner_is_noticed_while_it_works(server: Server, prefix: str, link: Link) -> None:
    settings = alone(server.url, prefix)
    keys = Keys(prefix).partition(0)
    async with running(settings, FloorHandler(1)) as node:
        await write(link, settings, RUN, numbered(1, 2))
        await wait_for_log(link, settings, 2)
        # Written and removed in one step, so nobody can have read them.
        added = [("XADD", keys.raw, "*", "run", RUN, "body", b"{}") for _ in range(3)]
        await link.call_many([("MULTI",), *added, ("XTRIM", keys.raw, "MAXLEN", 0), ("EXEC",)])
        await wait_until(lambda: node.status().trimmed_unread == {0: 3}, "noticed at the next look", 4.0)


async def test_redis_tools_see_the_position_as_a_consumer_group(server: Server, prefix: str, link: Link) -> None:
    settings = alone(server.url, prefix)
    keys = Keys(prefix).partition(0)
    async with running(settings, FloorHandler(1)):
        ids = await write(link, settings, RUN, numbered(1, 7))

        async def mirrored() -> bool:
            groups: Any = await link.call("XINFO", "GROUPS", keys.raw)
            if not groups:
                return False
            facts = dict(zip(groups[0][::2], groups[0][1::2], strict=True))
            return (facts[b"name"], facts[b"last-delivered-id"], facts[b"entries-read"]) == (
                b"enforcer",
                ids[-1].encode(),
                7,
            )

        await wait_until(mirrored, "the group stands at the last committed record", 4.0)


async def test_a_read_only_server_is_no_healthy_one_at_any_moment(own_server: Server) -> None:
    """Who cannot write is not ready, also right after a new connection that knows no members yet."""
    settings, heard = alone(own_server.url), Heard()
    async with (
        await open_link(own_server.url) as link,
        running(settings, FloorHandler(1), observer=heard) as node,
    ):
        await link.call("REPLICAOF", "127.0.0.1", "1")
        # Half a second is less than a lease: nobody's lease has run out yet.
        await wait_until(lambda: len(heard.heard("server-lost")) >= 3, "it tries again and again", 0.8)
        assert not node.status().connected
        await link.call("REPLICAOF", "NO", "ONE")
        await write(link, settings, RUN, numbered(1, 5))
        await wait_for_log(link, settings, 5)

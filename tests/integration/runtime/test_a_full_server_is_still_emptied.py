"""A server without memory refuses producers. Whoever reads and commits makes room, so nothing may stop that."""

import asyncio
from typing import Any

from helpers import wait_until
from helpers.enforcing import Heard, crash, evidence_codes, log_of, quick_settings, running, write
from runwire.broker.connection import Link, ServerError, open_link
from runwire.broker.floor import FloorHandler
from runwire.broker.runtime import Node
from runwire.embedded.server import Server
from runwire.settings import Settings
from runwire_schemas.keys import ENFORCER_GROUP, Keys

RUN = "run"


def alone(url: str, **changes: Any) -> Settings:
    return quick_settings(url, "rw", partitions=1, **changes)


def numbered(first: int, last: int) -> list[bytes]:
    return [b'{"n":%d}' % n for n in range(first, last + 1)]


async def fill(link: Link) -> None:
    """From now on commands that may need memory are refused."""
    await link.call("CONFIG", "SET", "maxmemory", 1)
    (refused,) = await link.call_many([("SET", "more", "x")])
    assert isinstance(refused, ServerError)
    assert refused.code == "OOM"


async def wait_for_log(link: Link, settings: Settings, count: int) -> None:
    async def whole() -> bool:
        return len(await log_of(link, settings, RUN)) >= count

    await wait_until(whole, f"{count} chunks", 5.0)


async def test_an_enforcer_that_starts_at_a_full_server_empties_it(own_server: Server) -> None:
    settings = alone(own_server.url)
    async with await open_link(own_server.url) as link:
        async with running(settings, FloorHandler(1)):
            await write(link, settings, RUN, numbered(1, 5))
            await wait_for_log(link, settings, 5)
        await write(link, settings, RUN, numbered(6, 10), first=6)
        await fill(link)
        async with asyncio.timeout(10), running(settings, FloorHandler(1)):
            await wait_for_log(link, settings, 10)


async def test_missing_records_of_a_full_server_are_said_when_there_is_room(own_server: Server) -> None:
    """The alarm needs memory that is not there: it waits, the records do not."""
    settings = alone(own_server.url)
    raw = Keys("rw").partition(0).raw
    async with await open_link(own_server.url) as link:
        async with running(settings, FloorHandler(1)):
            await write(link, settings, RUN, numbered(1, 5))
            await wait_for_log(link, settings, 5)
        ids = await write(link, settings, RUN, numbered(6, 10), first=6)
        await link.call("XTRIM", raw, "MINID", ids[1])
        await fill(link)
        async with asyncio.timeout(15), running(settings, FloorHandler(1)) as node:
            await wait_for_log(link, settings, 9)
            assert node.status().trimmed_unread == {0: 1}
            await link.call("CONFIG", "SET", "maxmemory", 0)

            async def said() -> bool:
                return await evidence_codes(link, settings, 0) == ["records-trimmed-unread"]

            await wait_until(said, "the alarm stands in evidence", 5.0)


async def test_suspicion_does_not_stop_a_full_server(own_server: Server) -> None:
    """After owners that vanished the next record is noted in the lease: a note that may be missing."""
    settings = alone(own_server.url)
    heard = Heard()
    async with await open_link(own_server.url) as link:
        node = Node(settings, FloorHandler(1))
        await node.start()
        await crash(node)
        await write(link, settings, RUN, numbered(1, 5))
        await link.call("HSET", Keys("rw").partition(0).lease(ENFORCER_GROUP), "a", 3)
        await fill(link)
        async with asyncio.timeout(10), running(settings, FloorHandler(1), observer=heard):
            await wait_for_log(link, settings, 5)

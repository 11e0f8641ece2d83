"""Events, copies, timeouts and trimming of one partition may fail: those of the others go on."""

import asyncio
import time
from collections.abc import Sequence

from helpers import wait_until
from helpers.enforcing import Heard, bodies_of_run, evidence_codes, log_of, quick_settings, run_in, running, write
from runwire.broker.connection import open_link
from runwire.broker.floor import FloorHandler
from runwire.embedded.server import Server
from runwire.enforcer.events import Outbox
from runwire.enforcer.handler import RunHandler
from runwire.enforcer.keeping import Keeping
from runwire.enforcer.limits import limits_of
from runwire.enforcer.timeouts import Timeouts
from runwire_schemas.events import AnyRunEvent
from runwire_schemas.keys import Keys

BROKEN = b'{"type":"text-delta","index":7,"text":"nowhere"}'


class Collected:
    """Where events go."""

    def __init__(self) -> None:
        self.runs: set[str] = set()

    async def __call__(self, events: Sequence[AnyRunEvent]) -> None:
        self.runs.update(event.run for event in events)


async def test_events_pass_what_is_no_event_and_a_key_that_is_no_outbox(own_server: Server) -> None:
    settings, publish, heard = quick_settings(own_server.url, "rw"), Collected(), Heard()
    handler, keys = RunHandler(limits_of(settings), 4, clock=time.monotonic), Keys("rw")
    foreign, other = run_in(1, 4), run_in(2, 4)
    async with await open_link(own_server.url) as link:
        await link.call("SET", keys.partition(0).outbox, "no stream")
        await link.call("XADD", keys.partition(1).outbox, "*", "foo", "bar")
        async with asyncio.timeout(20), running(settings, handler, chores=[Outbox(publish)], observer=heard):
            await write(link, settings, foreign, bodies_of_run(2))
            await write(link, settings, other, bodies_of_run(2))
            await wait_until(lambda: publish.runs == {foreign, other}, "both runs are announced", 12.0)
            assert [fact["reason"] for fact in heard.heard("event-unreadable")]
            assert await link.call("XLEN", keys.partition(1).outbox) == 0


async def test_a_copy_that_fails_stops_no_other_copy(own_server: Server) -> None:
    settings = quick_settings(own_server.url, "rw")
    handler, keys = RunHandler(limits_of(settings), 4, clock=time.monotonic), Keys("rw")
    bad, good = run_in(1, 4), run_in(2, 4)
    async with await open_link(own_server.url) as link:
        await link.call("SET", keys.partition(1).kept(bad), "no stream")
        async with asyncio.timeout(20), running(settings, handler, chores=[Keeping(handler)]):
            await write(link, settings, bad, [BROKEN])
            await write(link, settings, good, [BROKEN])

            async def copied() -> bool:
                return await link.call("XLEN", keys.partition(2).kept(good)) == 1

            await wait_until(copied, "the other run is copied aside", 5.0)

            async def said() -> bool:
                return "kept-incomplete" in await evidence_codes(link, settings, 1)

            await wait_until(said, "evidence says that the copy is missing", 10.0)


async def test_time_goes_on_beside_a_partition_without_deadlines(own_server: Server) -> None:
    settings = quick_settings(own_server.url, "rw", idle_call_ms=300)
    handler = RunHandler(limits_of(settings), 4, clock=asyncio.get_running_loop().time)
    run = run_in(2, 4)
    async with await open_link(own_server.url) as link:
        await link.call("SET", Keys("rw").partition(1).open, "no sorted set")
        async with asyncio.timeout(20), running(settings, handler, chores=[Timeouts(handler)]):
            await write(link, settings, run, bodies_of_run(2)[:2])

            async def ended() -> bool:
                log = await log_of(link, settings, run)
                return bool(log) and b'"finish"' in log[-1]

            await wait_until(ended, "silence ends the run", 8.0)


async def test_a_stream_made_anew_with_older_ids_is_noticed(own_server: Server) -> None:
    """The server's clock went back and somebody deleted the stream: its new records have ids below the position."""
    settings, heard = quick_settings(own_server.url, "rw", partitions=1), Heard()
    raw = Keys("rw").partition(0).raw
    async with (
        await open_link(own_server.url) as link,
        asyncio.timeout(20),
        running(settings, FloorHandler(1), observer=heard),
    ):
        await write(link, settings, "run", [b"1", b"2", b"3"])

        async def done(count: int) -> bool:
            return len(await log_of(link, settings, "run")) == count

        await wait_until(lambda: done(3), "read")
        await link.call("DEL", raw)
        earlier = time.time_ns() // 1_000_000 - 60_000
        await link.call("XADD", raw, f"{earlier}-1", "run", "run", "body", b"4")
        await wait_until(lambda: done(4), "the new stream is read", 10.0)
        assert await evidence_codes(link, settings, 0) == ["records-trimmed-unread"]

"""Time enters as records: an idle run ends, a gap is waited for, and nobody is ended who was not watched."""

import time
from typing import Any

from helpers import wait_until
from helpers.enforcing import (
    bodies_of_run,
    evidence_codes,
    expected_log,
    log_of,
    quick_settings,
    running,
    write,
)
from runwire.broker.connection import Link
from runwire.broker.runtime import Node
from runwire.embedded.server import Server
from runwire.enforcer.handler import RunHandler
from runwire.enforcer.limits import limits_of
from runwire.enforcer.timeouts import Timeouts
from runwire.settings import Settings
from runwire_schemas.keys import Keys

RUN = "run"


def node_of(settings: Settings) -> Any:
    handler = RunHandler(limits_of(settings), settings.partitions, clock=time.monotonic)
    return running(settings, handler, chores=[Timeouts(handler)])


async def ended(link: Link, settings: Settings) -> list[bytes]:
    log = await log_of(link, settings, RUN)
    return log if log and b'"type":"finish"' in log[-1] else []


async def test_a_run_that_falls_silent_in_a_call_is_ended(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1, idle_call_ms=600)
    async with node_of(settings):
        await write(link, settings, RUN, bodies_of_run(5)[:4])
        log = await wait_until(lambda: ended(link, settings), "ended by time")
        assert any(b"run-idle-timeout" in chunk for chunk in log)
        # The timeout is a record of its own, so the log can be made again from the records.
        assert log == await expected_log(link, settings, RUN)


async def test_a_busy_run_outlives_its_idle_limit(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1, idle_call_ms=700)
    bodies = bodies_of_run(8)
    async with node_of(settings):
        began = time.monotonic()
        for seq, body in enumerate(bodies, 1):
            due = began + 0.25 * seq
            await wait_until(lambda due=due: time.monotonic() >= due, "the next record's turn")  # type: ignore[misc]
            await write(link, settings, RUN, [body], first=seq)
        log = await wait_until(lambda: ended(link, settings), "ended by its finish")
        assert time.monotonic() - began > 0.7
        assert not any(b"run-idle-timeout" in chunk for chunk in log)


async def test_a_run_is_not_ended_for_the_time_nobody_watched(server: Server, prefix: str, link: Link) -> None:
    """All enforcers were away for longer than the limit. The next one watches for the whole limit before it acts."""
    settings = quick_settings(server.url, prefix, partitions=1, idle_call_ms=1500)
    bodies = bodies_of_run(5)
    async with node_of(settings):
        await write(link, settings, RUN, bodies[:4])
        await wait_until(lambda: log_of(link, settings, RUN), "begun")
    opened = Keys(prefix).partition(0).open

    async def overdue() -> bool:
        seconds: Any
        seconds, _ = await link.call("TIME")  # type: ignore[misc]
        score: Any = await link.call("ZSCORE", opened, RUN)
        return bool(float(score) < int(seconds) * 1000)

    await wait_until(overdue, "the deadline passed with nobody there", 6.0)
    node: Node
    async with node_of(settings) as node:
        assert node.status().held == [0]
        began = time.monotonic()
        await wait_until(lambda: time.monotonic() - began > 0.8, "half the limit")
        await write(link, settings, RUN, bodies[4:], first=5)
        log = await wait_until(lambda: ended(link, settings), "ended by its finish")
        assert not any(b"run-idle-timeout" in chunk for chunk in log)


async def test_a_gap_is_parked_and_filled(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1)
    bodies = bodies_of_run(10)
    keys = Keys(prefix).partition(0)
    async with node_of(settings):
        await write(link, settings, RUN, bodies[:4])
        (first, *_) = await write(link, settings, RUN, bodies[6:], first=7)
        await wait_until(lambda: link.call("HGETALL", keys.holds), "parked records are held")
        assert await link.call("HGETALL", keys.holds) == [f"parked:{RUN}".encode(), first.encode()]
    # Another owner finds the parked records again by their ids.
    async with node_of(settings):
        await write(link, settings, RUN, bodies[4:6], first=5)
        log = await wait_until(lambda: ended(link, settings), "whole again")
        assert log == await expected_log(link, settings, RUN)
        assert await evidence_codes(link, settings, 0) == []
        assert await link.call("HGETALL", keys.holds) == []


async def test_a_gap_that_nobody_fills_is_a_violation(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1, gap_ms=500)
    bodies = bodies_of_run(10)
    keys = Keys(prefix).partition(0)
    async with node_of(settings):
        await write(link, settings, RUN, bodies[:4])
        await write(link, settings, RUN, bodies[6:], first=7)
        log = await wait_until(lambda: ended(link, settings), "ended")
        assert any(b"sequence-gap" in chunk for chunk in log)
        assert (await evidence_codes(link, settings, 0))[0] == "sequence-gap"
        fields = await link.call("HKEYS", keys.holds)
        assert fields == [f"keep:{RUN}".encode()], "what was parked is let go, what is to be copied is held"


async def test_a_deadline_without_a_run_is_forgotten(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1)
    opened = Keys(prefix).partition(0).open
    async with node_of(settings):
        await link.call("ZADD", opened, 1, "never-was")
        await wait_until(lambda: _gone(link, opened), "forgotten")


async def _gone(link: Link, key: str) -> bool:
    return await link.call("ZCARD", key) == 0

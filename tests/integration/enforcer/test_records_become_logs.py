"""Records go in, numbered chunks come out: the same bytes however the work was cut, stored and loaded in between."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from helpers import wait_until
from helpers.enforcing import (
    bodies_of_run,
    crash,
    evidence_codes,
    evidence_of,
    expected_log,
    log_of,
    quick_settings,
    run_in,
    running,
    write,
)
from runwire.broker.connection import Link
from runwire.broker.runtime import Node
from runwire.embedded.server import Server
from runwire.enforcer.handler import RunHandler
from runwire.enforcer.limits import limits_of
from runwire.settings import Settings
from runwire_schemas.keys import Keys


def handler_of(settings: Settings, **options: int) -> RunHandler:
    return RunHandler(limits_of(settings), settings.partitions, clock=time.monotonic, **options)


@asynccontextmanager
async def enforcing(settings: Settings, **options: int) -> AsyncIterator[Node]:
    async with running(settings, handler_of(settings, **options)) as node:
        yield node


async def wait_for_finish(link: Link, settings: Settings, run: str) -> list[bytes]:
    async def finished() -> list[bytes]:
        log = await log_of(link, settings, run)
        return log if log and b'"type":"finish"' in log[-1] else []

    return await wait_until(finished, f"{run} is finished")


async def test_runs_of_all_partitions_are_enforced(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix)
    runs = [run_in(p, 4, stem) for p in range(4) for stem in ("a", "b", "c")]
    async with enforcing(settings):
        for run in runs:
            await write(link, settings, run, bodies_of_run(30, run))
        for run in runs:
            log = await wait_for_finish(link, settings, run)
            assert log == await expected_log(link, settings, run)
            assert (
                len(log) == 1 + 1 + 1 + 30 + 1 + 1 + 1
            )  # start, step-start, text-start, deltas, text-end, step-finish, finish


@pytest.mark.parametrize(
    "options",
    [{"cache_runs": 1}, {"commit_chunks": 3}, {"cache_bytes": 1}],
    ids=["states always loaded again", "tiny commits", "no memory for states"],
)
async def test_the_bytes_do_not_depend_on_how_the_work_is_cut(
    server: Server, prefix: str, link: Link, options: dict[str, int]
) -> None:
    settings = quick_settings(server.url, prefix, partitions=1, read_records=7)
    runs = [f"run-{n}" for n in range(8)]
    bodies = bodies_of_run(12)
    async with enforcing(settings, **options):
        for seq, body in enumerate(bodies, 1):
            for run in runs:
                await write(link, settings, run, [body], first=seq)
        for run in runs:
            assert await wait_for_finish(link, settings, run) == await expected_log(link, settings, run)
    assert await evidence_codes(link, settings, 0) == []


async def test_memory_holds_only_unfinished_runs(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1)
    handler = handler_of(settings)
    async with running(settings, handler):
        for n in range(50):
            await write(link, settings, f"run-{n}", bodies_of_run(3))
        await write(link, settings, "open", bodies_of_run(3)[:3])
        for n in range(50):
            await wait_for_finish(link, settings, f"run-{n}")
        await wait_until(lambda: handler.cached_runs == 1, "only the open run is in memory")


async def test_a_broken_run_is_ended_and_the_others_go_on(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1)
    bodies = bodies_of_run(5)
    async with enforcing(settings):
        broken = [*bodies[:3], b'{"type":"text-delta","index":7,"text":"nowhere"}', *bodies[3:]]
        await write(link, settings, "broken", broken)
        await write(link, settings, "sound", bodies)
        log = await wait_for_finish(link, settings, "broken")
        assert any(b"delta-without-block" in chunk for chunk in log)
        assert log == await expected_log(link, settings, "broken")
        assert await wait_for_finish(link, settings, "sound") == await expected_log(link, settings, "sound")
        codes = await evidence_codes(link, settings, 0)
        assert codes[0] == "delta-without-block"
        assert set(codes[1:]) <= {"chunk-after-terminal"}


async def test_entries_that_are_no_records_are_refused_with_evidence(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix)
    raw = Keys(prefix).partition(0).raw
    stranger, run = run_in(1, 4), run_in(0, 4)
    async with enforcing(settings):
        await link.call("XADD", raw, "*", "hello", "world")
        await link.call(
            "XADD", raw, "*", "run", "bad\nname", "src", "s", "epoch", 0, "seq", 1, "kind", "control", "body", "{}"
        )
        await write(link, settings, stranger, bodies_of_run(1), partition=0)
        await write(link, settings, run, bodies_of_run(2))
        assert await wait_for_finish(link, settings, run)
        found = await evidence_of(link, settings, 0)
    assert {item["code"] for item in found} == {"record-invalid"}
    assert len(found) == 2 + len(bodies_of_run(1))
    assert "partition 1" in found[2]["message"]
    assert found[2]["run"] == stranger
    assert await log_of(link, settings, stranger) == []


async def test_a_second_copy_of_a_run_changes_nothing(server: Server, prefix: str, link: Link) -> None:
    """A producer that replays its tail, also after the end of the run and with another owner."""
    settings = quick_settings(server.url, prefix, partitions=1)
    bodies = bodies_of_run(6)
    async with enforcing(settings):
        await write(link, settings, "run", bodies)
        await write(link, settings, "run", bodies)
        log = await wait_for_finish(link, settings, "run")
    async with enforcing(settings):
        await write(link, settings, "run", bodies)
        await write(link, settings, "after", bodies)
        await wait_for_finish(link, settings, "after")
    assert await log_of(link, settings, "run") == log
    assert await evidence_codes(link, settings, 0) == []


async def test_an_heir_continues_in_the_middle_of_a_run(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1)
    bodies = bodies_of_run(40)
    doomed = Node(settings, handler_of(settings))
    await doomed.start()
    await write(link, settings, "run", bodies[:20])
    await wait_until(lambda: log_of(link, settings, "run"), "something is committed")
    await crash(doomed)
    await write(link, settings, "run", bodies[20:], first=21)
    async with enforcing(settings):
        assert await wait_for_finish(link, settings, "run") == await expected_log(link, settings, "run")

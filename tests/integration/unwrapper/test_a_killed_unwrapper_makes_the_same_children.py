"""kill -9 of the unwrapper, of the server, and of both: every child comes out exactly, each chunk once."""

import signal
from typing import Any, cast

import pytest

from helpers import wait_until
from helpers.enforcing import Heard, crash, log_of, quick_settings
from helpers.unwrapping import (
    assert_exact,
    enforcing,
    expected,
    families,
    publish,
    settled,
    unwrapping,
    wait_for_runs,
)
from integration.unwrapper.conftest import Start
from runwire.broker.connection import Link, open_link
from runwire.embedded.server import Server
from runwire.settings import Settings
from runwire_schemas.keys import UNWRAPPER_GROUP, Keys, partition_of

pytestmark = pytest.mark.timeout(90)


async def records_of(link: Link, settings: Settings, run: str) -> list[tuple[bytes, bytes]]:
    """Epoch and seq of every record of a child, in the order in which they were written."""
    raw = Keys(settings.prefix).partition(partition_of(run, settings.partitions)).raw
    entries = cast("list[tuple[bytes, list[bytes]]]", await link.call("XRANGE", raw, "-", "+"))
    fields = [dict(zip(names[::2], names[1::2], strict=True)) for _, names in entries]
    return [(one[b"epoch"], one[b"seq"]) for one in fields if one[b"run"] == run.encode()]


async def test_kill_9_again_and_again(server: Server, prefix: str, link: Link, start: Start) -> None:
    """At whatever moment: a new process takes over from what the dead one had committed."""
    settings, story = quick_settings(server.url, prefix), families(24, words=40)
    want = expected(story)
    async with enforcing(settings):
        doomed = start("unwrapper", settings).wait_ready()
        runs = list(story)
        for at in range(0, 24, 8):
            for run in runs[at : at + 8]:
                await publish(link, settings, run, story[run])

            async def under_way(run: str = f"one-{at + 5}") -> bool:
                return len(await log_of(link, settings, run)) > 0

            await wait_until(under_way, "children are being made")
            doomed.send(signal.SIGKILL)
            doomed = start("unwrapper", settings).wait_ready()
        await wait_for_runs(link, settings, want, limit=40)
        await settled(link, settings)
    await assert_exact(link, settings, want)


async def test_death_between_writing_and_committing(server: Server, prefix: str, link: Link, start: Start) -> None:
    """The worst moment: all records are in the children's partitions, and nothing says so."""
    settings, story = quick_settings(server.url, prefix, partitions=2, commit_chunks=40), families(6, words=30)
    want = expected(story)
    async with enforcing(settings):
        for run, chunks in story.items():
            await publish(link, settings, run, chunks)
        for _ in range(3):
            # Not even ready, perhaps: its first batch is its last.
            assert start("unwrapper", settings, script="dying.py").wait(20) == -signal.SIGKILL
        async with unwrapping(settings):
            await wait_for_runs(link, settings, want)
            await settled(link, settings)
    await assert_exact(link, settings, want)
    written = [await records_of(link, settings, run) for run in want.logs if not run.startswith("top")]
    assert any(len(records) > len(set(records)) for records in written), "nothing was written twice: no proof"
    for records in written:
        assert sorted(set(records), key=lambda one: int(one[1])) == list(dict.fromkeys(records))


async def test_a_paused_unwrapper_changes_nothing_when_it_wakes(
    server: Server, prefix: str, link: Link, start: Start
) -> None:
    settings, story = quick_settings(server.url, prefix), families(20, words=60)
    want, runs = expected(story), list(families(20))
    async with enforcing(settings):
        zombie = start("unwrapper", settings, health=True).wait_ready()
        for run in runs[:10]:
            await publish(link, settings, run, story[run])
        zombie.send(signal.SIGSTOP)
        heir = start("unwrapper", settings).wait_ready()
        for run in runs[10:15]:
            await publish(link, settings, run, story[run])

        async def taken_over() -> bool:
            return len(await log_of(link, settings, "three-14")) == len(want.logs["three-14"])

        await wait_until(taken_over, "the heir works", 20.0)
        zombie.send(signal.SIGCONT)
        for run in runs[15:]:
            await publish(link, settings, run, story[run])
        await wait_for_runs(link, settings, want, limit=40)
        await wait_until(lambda: zombie.get("/readyz")[0] == 200, "the zombie has recovered")
        heir.send(signal.SIGTERM)
        assert heir.wait() == 0
        await settled(link, settings)
    await assert_exact(link, settings, want)


async def test_partitions_are_handed_over_at_once(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, lease_ttl_s=20.0, renew_s=1.0)
    story = families(12)
    want = expected(story)
    async with enforcing(settings), unwrapping(settings) as first:
        for run, chunks in story.items():
            await publish(link, settings, run, chunks)
        async with unwrapping(settings) as second:
            await wait_until(lambda: len(second.status().held) == 2 and len(first.status().held) == 2, "they share")
            await wait_for_runs(link, settings, want)
        await wait_until(lambda: len(first.status().held) == 4, "all of it is back")
        await settled(link, settings)
    await assert_exact(link, settings, want)


async def test_a_server_that_is_killed_comes_back_to_the_same_children(own_server: Server) -> None:
    settings, story = quick_settings(own_server.url, "rw"), families(12, words=40)
    want, heard = expected(story), Heard()
    async with enforcing(settings), unwrapping(settings, observer=heard):
        async with await open_link(own_server.url) as link:
            for run, chunks in story.items():
                await publish(link, settings, run, chunks)
        own_server.kill()
        own_server.restart()
        async with await open_link(own_server.url) as link:
            await wait_for_runs(link, settings, want, limit=40)
            await settled(link, settings)
            await assert_exact(link, settings, want)
    assert heard.heard("server-lost")


async def test_a_crash_in_memory_loses_nothing_either(server: Server, prefix: str, link: Link) -> None:
    """The next owner finds epochs above its own and the position where it was."""
    settings, story = quick_settings(server.url, prefix), families(6)
    want = expected(story)
    async with enforcing(settings):
        for run, chunks in story.items():
            await publish(link, settings, run, chunks)
        async with unwrapping(settings) as node:

            async def begun() -> bool:
                positions = [Keys(prefix).partition(n).pos_chunks for n in range(4)]
                found: list[Any] = await link.call_many([("HGET", key, f"{UNWRAPPER_GROUP}:n") for key in positions])
                return any(int(count or 0) for count in found)

            await wait_until(begun, "something is settled")
            await crash(node)
        async with unwrapping(settings):
            await wait_for_runs(link, settings, want)
            await settled(link, settings)
    await assert_exact(link, settings, want)

"""Workers share the partitions of a group, whoever joins, leaves, dies or only pretends to live."""

import asyncio
import time
from typing import Any

from helpers import wait_until
from helpers.enforcing import Heard, crash, log_of, quick_settings, run_in, running, write
from runwire.broker import functions
from runwire.broker.connection import Link
from runwire.broker.floor import FloorHandler
from runwire.broker.runtime import Node
from runwire.embedded.server import Server
from runwire.settings import Settings
from runwire_schemas.keys import ENFORCER_GROUP, Keys

ALL = list(range(4))


def floor() -> FloorHandler:
    return FloorHandler(len(ALL))


def held(*nodes: Node) -> list[int]:
    return sorted(p for node in nodes for p in node.status().held)


async def write_on(link: Link, settings: Settings, runs: list[str], done: asyncio.Event) -> int:
    """One record a run every few milliseconds until told to stop; returns how many each has."""
    count = 0
    while not done.is_set():
        count += 1
        for run in runs:
            await write(link, settings, run, [b'{"n":%d}' % count], first=count)
        await asyncio.sleep(0.003)
    return count


async def test_a_newcomer_gets_its_share_while_records_flow(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix)
    runs = [run_in(p, 4) for p in ALL]
    done = asyncio.Event()
    async with running(settings, floor()) as first:
        assert held(first) == ALL
        writing = asyncio.create_task(write_on(link, settings, runs, done))
        began = time.monotonic()
        async with running(settings, floor()) as second:
            await wait_until(lambda: len(second.status().held) == 2, "the newcomer owns two partitions", 2.0)
            assert time.monotonic() - began < settings.lease_ttl_s, "handed over, not waited for until a lease ran out"
            assert held(first, second) == ALL
            seen = (await second_has_worked(second, link, settings, runs)) or []
            assert seen
        await wait_until(lambda: held(first) == ALL, "the first owns all again", 2.0)
        done.set()
        count = await writing
        for run in runs:
            await wait_for_log(link, settings, run, count)


async def second_has_worked(second: Node, link: Link, settings: Settings, runs: list[str]) -> list[bytes]:
    number = second.status().held[0]
    before = len(await log_of(link, settings, runs[number]))

    async def more() -> list[bytes] | None:
        log = await log_of(link, settings, runs[number])
        return log if len(log) > before + 5 else None

    return await wait_until(more, "a partition of the newcomer goes on", 3.0)


async def wait_for_log(link: Link, settings: Settings, run: str, count: int) -> None:
    async def whole() -> bool:
        return len(await log_of(link, settings, run)) == count

    await wait_until(whole, f"{run} has its {count} chunks", 3.0)
    assert await log_of(link, settings, run) == [b'{"n":%d}' % n for n in range(1, count + 1)]


async def test_who_joins_is_served_at_once(server: Server, prefix: str) -> None:
    settings = quick_settings(server.url, prefix, lease_ttl_s=20.0, renew_s=6.0)
    async with running(settings, floor()) as first:
        began = time.monotonic()
        async with running(settings, floor()) as second:
            await wait_until(lambda: len(second.status().held) == 2, "the newcomer owns its share", 5.0)
            # Neither the beat (6 s) nor the lease was waited for: a wish is announced.
            assert time.monotonic() - began < 2.0
            assert held(first, second) == ALL


async def test_who_leaves_hands_over_at_once(server: Server, prefix: str) -> None:
    settings = quick_settings(server.url, prefix, lease_ttl_s=10.0, renew_s=3.0)
    async with running(settings, floor()) as stays:
        leaves = Node(settings, floor())
        await leaves.start()
        await wait_until(lambda: len(leaves.status().held) == 2, "shared", 4.0)
        began = time.monotonic()
        await leaves.drain()
        await wait_until(lambda: held(stays) == ALL, "the other one owns all", 5.0)
        # Neither the lease (10 s) nor the beat (3 s) was waited for: the one who leaves says so.
        assert time.monotonic() - began < 1.0


async def test_a_killed_worker_is_replaced_when_its_lease_is_over(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix)
    runs = [run_in(p, 4) for p in ALL]
    doomed = Node(settings, floor())
    await doomed.start()
    for run in runs:
        await write(link, settings, run, [b"{}"] * 3)
        await wait_until(lambda run=run: _length(link, settings, run, 3), "committed by the doomed one")  # type: ignore[misc]
    await crash(doomed)
    began = time.monotonic()
    async with running(settings, floor()) as heir:
        await wait_until(lambda: held(heir) == ALL, "the heir owns all", 3.0)
        assert time.monotonic() - began < settings.lease_ttl_s + 0.5
        for run in runs:
            await write(link, settings, run, [b"{}"] * 2, first=4)
            await wait_until(lambda run=run: _length(link, settings, run, 5), "the heir goes on where it ended")  # type: ignore[misc]


async def _length(link: Link, settings: Settings, run: str, wanted: int) -> bool:
    return len(await log_of(link, settings, run)) == wanted


async def test_a_member_that_never_takes_does_not_orphan_partitions(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix)
    members = Keys(prefix).members(ENFORCER_GROUP)

    async def haunt() -> None:
        while True:
            await functions.beat(link, members, "ghost", 1000)
            await asyncio.sleep(0.1)

    ghost = asyncio.create_task(haunt())
    try:
        await wait_until(lambda: link.call("ZSCORE", members, "ghost"), "the ghost is a member")
        async with running(settings, floor()) as real:
            assert len(real.status().held) == 2, "half of them are the ghost's by right"
            await wait_until(lambda: held(real) == ALL, "the orphans are taken", 3.0)
    finally:
        ghost.cancel()


async def test_an_unreachable_member_list_keeps_the_last_assignment(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix)
    heard = Heard()
    async with running(settings, floor(), observer=heard) as node:
        members = Keys(prefix).members(ENFORCER_GROUP)
        await link.call_many([("DEL", members), ("SET", members, "not a sorted set")])
        await wait_until(lambda: heard.heard("members-unreachable"), "the member list is broken")
        run = run_in(1, 4)
        await write(link, settings, run, [b"{}"] * 4)
        await wait_until(lambda: _length(link, settings, run, 4), "records flow all the same")
        assert held(node) == ALL
        await link.call("DEL", members)


async def test_two_zombies_cannot_both_commit(server: Server, prefix: str, link: Link) -> None:
    """An owner that lost its lease without noticing is refused whole, forgets, and the log stays right."""
    settings = quick_settings(server.url, prefix, partitions=1, renew_s=0.3)
    run, heard = "run", Heard()
    async with running(settings, FloorHandler(1), observer=heard) as node:
        await write(link, settings, run, [b"{}"] * 2)
        await wait_until(lambda: _length(link, settings, run, 2), "committed")
        lease = Keys(prefix).partition(0).lease(ENFORCER_GROUP)
        # As if another one had taken it over in a pause of this one.
        await link.call_many([("HSET", lease, "o", "other", "x", 0), ("HINCRBY", lease, "e", 1)])
        await write(link, settings, run, [b"{}"] * 2, first=3)
        await wait_until(lambda: _fenced(heard), "the fence was met")
        await wait_until(lambda: _length(link, settings, run, 4), "taken again, and only once committed")
        assert node.status().halted == {}


def _fenced(heard: Heard) -> Any:
    return heard.heard("commit-fenced") or heard.heard("partition-fenced")


async def test_a_vanished_owner_is_missed_no_longer_than_its_lease(server: Server, prefix: str, link: Link) -> None:
    """Who waits for a lease looks again when it runs out, not at its next heartbeat, up to half a second later."""
    settings = quick_settings(server.url, prefix, partitions=4, lease_ttl_s=1.5, renew_s=0.5)
    clock, felt = asyncio.get_running_loop().time, list[float]()
    async with running(settings, FloorHandler(4)) as heir:
        for _ in range(4):
            dying = Node(settings, FloorHandler(4))
            await dying.start()
            await wait_until(lambda: len(heir.status().held) == 2, "shared", 5.0)
            await crash(dying)
            began = clock()
            await wait_until(lambda: len(heir.status().held) == 4, "taken over", 5.0)
            felt.append(clock() - began)
    assert max(felt) < 1.5 + 0.2, felt

"""Where children's records cannot go, their parents wait; nobody loses a lease, and everybody else goes on."""

import json
from typing import Any

import pytest

from helpers import wait_until
from helpers.enforcing import Heard, log_of, quick_settings, run_in
from helpers.nesting import agent, around
from helpers.unwrapping import assert_exact, enforcing, expected, publish, settled, unwrapping, wait_for_runs
from runwire.broker import keeper
from runwire.broker.connection import Link, ServerError, open_link
from runwire.embedded.server import Server
from runwire.settings import Settings
from runwire_schemas.keys import UNWRAPPER_GROUP, Keys

PARTITIONS = 4


def family(parent: int, child: int) -> dict[str, list[Any]]:
    """A run in one partition with an agent in another."""
    top, sub = run_in(parent, PARTITIONS, "top"), run_in(child, PARTITIONS, "sub")
    return {top: around(top, "c1", agent(sub, *[f"word {n} " for n in range(10)]))}


async def enforced(link: Link, settings: Settings, story: dict[str, list[Any]]) -> None:
    """Publish, and wait until the logs of the parents are there."""
    async with enforcing(settings):
        for run, chunks in story.items():
            await publish(link, settings, run, chunks)

        async def whole() -> bool:
            return all([len(await log_of(link, settings, run)) == len(chunks) for run, chunks in story.items()])

        await wait_until(whole, "the parents are enforced")


async def count(link: Link, key: str) -> int:
    reply = await link.call("XLEN", key)
    assert isinstance(reply, int)
    return reply


async def number_in(link: Link, key: str, field: str) -> int:
    reply = await link.call("HGET", key, field)
    assert isinstance(reply, bytes)
    return int(reply)


async def test_a_partition_that_is_far_behind_gets_no_more(
    server: Server, prefix: str, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parents wait for longer than any batch may take, and still own their partitions."""
    monkeypatch.setattr(keeper, "STALL_S", 0.2)
    settings, keys = quick_settings(server.url, prefix, partitions=PARTITIONS, max_lag_records=50), Keys(prefix)
    slow, quick = family(0, 1), family(2, 3)
    await enforced(link, settings, {**slow, **quick})
    behind = keys.partition(1).raw
    ids = await link.call_many([("XADD", behind, "*", "x", "y")] * 60)
    assert all(isinstance(one, bytes) for one in ids)
    heard = Heard()
    async with unwrapping(settings, observer=heard) as node:

        async def others_are_done() -> bool:
            return await count(link, keys.partition(3).raw) >= 15

        await wait_until(others_are_done, "the other child is written")
        await wait_until(lambda: heard.heard("posting-waits"), "it is said that somebody waits")
        lease = keys.partition(0).lease(UNWRAPPER_GROUP)
        epoch, first = await number_in(link, lease, "e"), await number_in(link, lease, "x")

        async def renewed() -> bool:
            return await number_in(link, lease, "x") > first + 2000 * settings.lease_ttl_s

        await wait_until(renewed, "the lease is renewed for longer than it lives, and than a batch may take")
        assert await count(link, behind) == 60
        assert not heard.heard("partition-stalled")
        assert node.status().stalled == []
        assert await number_in(link, lease, "e") == epoch
        async with enforcing(settings):
            want = expected({**slow, **quick})
            await wait_for_runs(link, settings, want)
            await settled(link, settings)
    for run, log in want.logs.items():
        assert await log_of(link, settings, run) == log


async def test_who_waits_for_room_leaves_at_once(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(
        server.url, prefix, partitions=PARTITIONS, max_lag_records=1, lease_ttl_s=20.0, renew_s=1.0
    )
    story = family(0, 1)
    await enforced(link, settings, story)
    keys = Keys(prefix)
    await link.call_many([("XADD", keys.partition(1).raw, "*", "x", "y")] * 10)
    heard = Heard()
    async with unwrapping(settings, observer=heard) as node:
        await wait_until(lambda: heard.heard("posting-waits"), "it waits")
        await node.drain()
        assert not heard.heard("drain-too-slow")
    assert await link.call("HGET", keys.partition(0).lease(UNWRAPPER_GROUP), "o") == b""
    async with enforcing(settings), unwrapping(settings):
        await wait_for_runs(link, settings, expected(story))
        await settled(link, settings)


async def test_a_full_server_is_waited_out(own_server: Server) -> None:
    """Records are refused like a producer's; nothing is skipped, and no hole comes of it."""
    settings, story = quick_settings(own_server.url, "rw", partitions=PARTITIONS), {**family(0, 1), **family(2, 3)}
    want, heard = expected(story), Heard()
    async with await open_link(own_server.url) as link:
        await enforced(link, settings, story)
        await link.call("CONFIG", "SET", "maxmemory", 1)
        (refused,) = await link.call_many([("SET", "more", "x")])
        assert isinstance(refused, ServerError)
        async with unwrapping(settings, observer=heard) as node:
            await wait_until(lambda: heard.heard("posting-waits"), "it is said that memory is full")
            assert node.status().connected
            assert len(node.status().held) == PARTITIONS
            await link.call("CONFIG", "SET", "maxmemory", 0)
            async with enforcing(settings):
                await wait_for_runs(link, settings, want)
                await settled(link, settings)
        await assert_exact(link, settings, want)
    assert not heard.heard("server-lost")


async def test_a_partition_that_takes_no_records_halts_its_parents_only(
    server: Server, prefix: str, link: Link
) -> None:
    settings, keys = quick_settings(server.url, prefix, partitions=PARTITIONS), Keys(prefix)
    broken, sound = family(0, 1), family(2, 3)
    await enforced(link, settings, {**broken, **sound})
    raw = keys.partition(1).raw
    await link.call("SET", raw, "somebody else's", "PX", 60_000)
    async with unwrapping(settings) as node:
        await wait_until(lambda: node.status().halted, "the parent's partition halts")
        assert list(node.status().halted) == [0]
        assert "WRONGTYPE" in node.status().halted[0]

        async def others_are_done() -> bool:
            return await count(link, keys.partition(3).raw) >= 15

        await wait_until(others_are_done, "the other child is written")

        async def told() -> bool:
            entries: Any = await link.call("XRANGE", keys.partition(0).evidence, "-", "+")
            return [json.loads(fields[5])["code"] for _, fields in entries] == ["partition-halted"]

        await wait_until(told, "evidence says so")
        await link.call("DEL", raw)
    # A restart, or another owner, tries again.
    async with enforcing(settings), unwrapping(settings):
        want = expected({**broken, **sound})
        await wait_for_runs(link, settings, want)
        await settled(link, settings)

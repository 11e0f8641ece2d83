"""Trimming never removes what somebody still needs, and the lag is exact."""

import time

import pytest

from integration.broker.world import GROUP, TTL_MS, World, writes
from runwire.broker import functions
from runwire.broker.functions import Fenced, GroupProgress, Kept, Taken
from runwire.broker.trimming import GroupInUse, drop_group, mirror, progress, trim_partition

MANY = 1000  # trimming drops whole nodes of 100 entries


async def read(world: World, ids: list[str]) -> None:
    assert isinstance(await world.commit(world.work(ids)), functions.Committed)


async def trim(world: World, horizon_ms: int = 0) -> int:
    return (await functions.trim(world.link, world.keys, "raw", horizon_ms)).removed


async def first(world: World) -> str:
    return (await world.entries(world.keys.raw))[0][0]


async def settle(world: World) -> None:
    """Ids carry milliseconds: what was written before must be older than now."""
    end = time.time() + 0.005
    while time.time() < end:
        await world.link.call("PING")


async def test_what_was_read_goes_and_what_was_not_stays(world: World) -> None:
    ids = await world.publish(MANY)
    await settle(world)
    assert await trim(world) == 0
    await read(world, ids[:555])
    assert await trim(world) == 500
    assert await first(world) == ids[500]
    assert await trim(world) == 0


async def test_the_slowest_group_decides(world: World) -> None:
    ids = await world.publish(MANY)
    await settle(world)
    audit = await functions.take(world.link, world.keys, "raw", "audit", "x", TTL_MS)
    assert isinstance(audit, Taken)
    await read(world, ids)
    assert await trim(world) == 0
    await functions.advance(
        world.link, world.keys, "raw", "audit", "x", audit.epoch, TTL_MS, prev="0-0", last=ids[299], records=300
    )
    assert await trim(world) == 200


async def test_what_is_younger_than_the_horizon_stays(world: World) -> None:
    await read(world, await world.publish(MANY))
    await settle(world)
    assert await trim(world, horizon_ms=60_000) == 0
    assert await trim(world) >= 900


async def test_parked_records_stay_until_let_go(world: World) -> None:
    ids = await world.publish(MANY)
    await settle(world)
    held = world.work(ids)._replace(holds={"parked": ids[250]})
    assert isinstance(await world.commit(held), functions.Committed)
    assert await trim(world) == 200
    more = await world.publish(1)
    assert isinstance(await world.commit(world.work(more)._replace(holds={"parked": ""})), functions.Committed)
    assert await trim(world) == 800


@pytest.mark.parametrize("until", [1, 10**14], ids=["passed", "from a clock that jumped back"])
async def test_a_violated_runs_records_are_waited_for_a_minute_at_most(world: World, until: int) -> None:
    ids = await world.publish(MANY)
    await settle(world)
    held = world.work(ids)._replace(holds={"keep:r1": ids[100]})
    assert isinstance(await world.commit(held), functions.Committed)
    value = await world.field(world.keys.holds, "keep:r1")
    assert value is not None
    hold, left = value.split()
    assert hold == ids[100]
    assert 55_000 < int(left) - time.time() * 1000 <= 60_000
    assert await trim(world) == 100
    await world.link.call("HSET", world.keys.holds, "keep:r1", f"{ids[100]} {until}")
    assert await trim(world) == 800  # the node with the last committed record stays
    assert await world.field(world.keys.holds, "keep:r1") is None


async def test_a_violated_runs_records_are_copied_aside_once(world: World) -> None:
    ids = await world.publish(3)
    held = world.work(ids, writes("r1", 0, 1, deadline_ms=0, ended=True))._replace(holds={"keep:r1": ids[0]})
    assert isinstance(await world.commit(held), functions.Committed)
    entries = await world.entries(world.keys.raw)
    args = (world.link, world.keys, GROUP, world.me)
    assert await functions.keep(*args, 9, "r1", entries, TTL_MS, False) == Fenced(world.me, world.epoch)
    assert await functions.keep(*args, world.epoch, "r1", entries[:2], TTL_MS, False) == Kept(2)
    assert await world.link.call("PTTL", world.keys.kept("r1")) != -1
    # A new owner begins again.
    assert await functions.keep(*args, world.epoch, "r1", entries, TTL_MS, True) == Kept(1)
    assert await world.entries(world.keys.kept("r1")) == entries
    assert await world.field(world.keys.holds, "keep:r1") is None


async def test_an_entry_with_absurdly_many_fields_is_kept_as_far_as_a_record_can_go(world: World) -> None:
    fields = [b"n%d" % n for n in range(20_000)]
    args = (world.link, world.keys, GROUP, world.me, world.epoch)
    assert await functions.keep(*args, "r1", [("1-1", fields)], TTL_MS, True) == Kept(1)
    assert await world.entries(world.keys.kept("r1")) == [("1-1", fields[:1000])]


async def test_the_lag_is_exact_after_trims(world: World) -> None:
    ids = await world.publish(MANY)
    await settle(world)
    await read(world, ids[:532])
    trimmed = await functions.trim(world.link, world.keys, "raw", 0)
    expected = GroupProgress(GROUP, ids[531], 532, MANY - 532, 0)
    assert (trimmed.removed, trimmed.added, trimmed.length, trimmed.groups) == (500, MANY, 500, [expected])
    assert await progress(world.link, world.keys, "raw") == [expected]


async def test_records_that_somebody_else_removes_are_noticed_by_the_next_trim(world: World) -> None:
    ids = await world.publish(100)
    await read(world, ids[:10])
    await world.link.call("XTRIM", world.keys.raw, "MINID", ids[25])
    (group,) = (await functions.trim(world.link, world.keys, "raw", 60_000)).groups
    assert (group.count, group.lag, group.lost) == (10, 90, 15)


async def test_chunks_without_a_reader_go_with_the_horizon(world: World) -> None:
    ids = await world.publish(1)
    for base in range(300):
        assert isinstance(await world.commit(world.work(ids, writes("r1", base, 1))), functions.Committed)
        ids = await world.publish(1)
    await settle(world)
    both = await trim_partition(world.link, world.keys, 0, 60_000)
    assert (both["chunks"].removed, both["chunks"].groups) == (300 - both["chunks"].length, [])
    assert both["chunks"].removed >= 200


async def test_every_redis_tool_sees_the_group(world: World) -> None:
    ids = await world.publish(10)
    assert await mirror(world.link, world.keys, "raw", GROUP, ids[3], 4)
    assert await mirror(world.link, world.keys, "raw", GROUP, ids[7], 8)
    assert await mirror(world.link, world.keys, "chunks", GROUP, "0-0", 0)
    groups = await world.link.call("XINFO", "GROUPS", world.keys.raw)
    assert isinstance(groups, list)
    (flat,) = groups
    assert isinstance(flat, list)
    facts = dict(zip(flat[::2], flat[1::2], strict=True))
    assert facts[b"name"] == GROUP.encode()
    assert facts[b"last-delivered-id"] == ids[7].encode()
    assert (facts[b"entries-read"], facts[b"lag"]) == (8, 2)


async def test_a_group_that_never_reads_again_can_be_dropped_when_nobody_owns_it(world: World) -> None:
    ids = await world.publish(MANY)
    await settle(world)
    await read(world, ids)
    audit = await functions.take(world.link, world.keys, "raw", "audit", "x", TTL_MS)
    assert isinstance(audit, Taken)
    await mirror(world.link, world.keys, "raw", "audit", "0-0", 0)
    with pytest.raises(GroupInUse):
        await drop_group(world.link, world.keys, "raw", "audit")
    await functions.release(world.link, world.keys, "audit", "x", audit.epoch, TTL_MS)
    await drop_group(world.link, world.keys, "raw", "audit")
    assert await world.link.call("XINFO", "GROUPS", world.keys.raw) == []
    assert await trim(world) >= 900
    again = await functions.take(world.link, world.keys, "raw", "audit", "x", TTL_MS)
    assert isinstance(again, Taken)
    assert again.epoch > audit.epoch

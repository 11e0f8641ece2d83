"""Who owns a partition: by the server's clock, by owner and epoch together, in a key that never expires."""

import time

import msgspec
import pytest

from integration.broker.world import GROUP, TTL_MS, World, writes
from runwire.broker import functions
from runwire.broker.functions import Committed, Fenced, Held, Released, Renewed, StateConflict, Taken


async def take(world: World, me: str, ttl_ms: int = TTL_MS) -> Taken | Held:
    return await functions.take(world.link, world.keys, "raw", GROUP, me, ttl_ms)


async def taken(world: World, me: str, ttl_ms: int = TTL_MS) -> Taken:
    outcome = await take(world, me, ttl_ms)
    assert isinstance(outcome, Taken), outcome
    return outcome


async def release(world: World, me: str, epoch: int, to: str = "") -> Released | Fenced:
    return await functions.release(world.link, world.keys, GROUP, me, epoch, TTL_MS, to)


async def set_lease(world: World, **fields: str | int) -> None:
    flat = [part for pair in fields.items() for part in pair]
    await world.link.call("HSET", world.keys.lease(GROUP), *flat)


async def expire(world: World) -> None:
    """The owner stopped renewing long ago."""
    await set_lease(world, x=1)


def now_ms() -> int:
    return int(time.time() * 1000)


async def test_taking_always_raises_the_epoch_also_for_the_same_owner(world: World) -> None:
    epochs = [(await taken(world, "me-1")).epoch for _ in range(3)]
    assert epochs == [2, 3, 4]
    assert await world.link.call("TTL", world.keys.lease(GROUP)) == -1


async def test_a_living_owner_keeps_its_partition_and_hears_who_wants_it(world: World) -> None:
    held = await take(world, "other-2")
    assert isinstance(held, Held)
    assert (held.owner, held.epoch) == ("me-1", 1)
    assert 0 < held.left_ms <= TTL_MS
    assert await functions.renew(world.link, world.keys, GROUP, "me-1", 1, TTL_MS) == Renewed("other-2")
    assert await functions.renew(world.link, world.keys, GROUP, "me-1", 2, TTL_MS) == Fenced("me-1", 1)


async def test_a_wish_lapses(world: World) -> None:
    await take(world, "other-2")
    for lapsed in (now_ms() - 1, now_ms() + 10 * TTL_MS):
        await set_lease(world, wx=lapsed)
        assert await functions.renew(world.link, world.keys, GROUP, "me-1", 1, TTL_MS) == Renewed("")


async def test_a_hand_over_names_the_heir_and_fences_the_giver(world: World) -> None:
    assert await release(world, "me-1", 1, to="heir-3") == Released()
    assert isinstance(await take(world, "other-2"), Held)
    ids = await world.publish(1)
    assert await world.commit(world.work(ids, writes("r1", 0, 1))) == Fenced("heir-3", 2)
    assert (await taken(world, "heir-3")).epoch == 3
    assert await release(world, "me-1", 1) == Fenced("heir-3", 3)


async def test_a_freed_partition_goes_to_whoever_comes_and_its_epoch_goes_on(world: World) -> None:
    assert await release(world, "me-1", 1) == Released()
    assert await release(world, "me-1", 1) == Fenced("", 2)
    assert (await taken(world, "other-2")).epoch == 3


async def test_a_crash_counts_as_an_attempt_and_a_hand_over_does_not(world: World) -> None:
    await release(world, "me-1", 1, to="a")
    assert (await taken(world, "a")).attempts == 0
    await expire(world)
    assert (await taken(world, "b")).attempts == 1
    await expire(world)
    c = await taken(world, "c")
    assert c.attempts == 2
    # The same process coming back, and an orderly hand-over, prove nothing new and forgive nothing.
    again = await taken(world, "c")
    assert again.attempts == 2
    await release(world, "c", again.epoch, to="d")
    assert (await taken(world, "d")).attempts == 2
    # A successful commit does.
    await world.take("d")
    ids = await world.publish(1)
    assert await world.commit(world.work(ids, writes("r1", 0, 1))) == Committed(1)
    await expire(world)
    assert (await taken(world, "e")).attempts == 1


async def test_an_heir_that_never_came_did_not_crash_on_a_record(world: World) -> None:
    await release(world, "me-1", 1, to="ghost")
    await expire(world)
    assert (await taken(world, "a")).attempts == 0


async def test_an_expiry_from_a_clock_that_jumped_back_locks_nobody_out(world: World) -> None:
    await set_lease(world, x=now_ms() + 3 * TTL_MS)
    assert (await taken(world, "other-2")).epoch == 2


async def test_two_owners_with_the_same_epoch_are_told_apart(world: World) -> None:
    """A promoted replica that had not heard of epoch 2 gives it out again."""
    ids = await world.publish(1)
    await expire(world)
    await world.take("b")
    assert world.epoch == 2
    await set_lease(world, o="c", e=2)
    work = world.work(ids, writes("r1", 0, 1))
    assert await world.commit(work) == Fenced("c", 2)
    world.me = "c"
    assert await world.commit(work) == Committed(1)


async def test_an_owner_whose_memory_is_ahead_of_the_server_is_refused_after_it_takes_again(world: World) -> None:
    """The server lost its last moment: the position is older, and so are the sequences."""
    ids = await world.publish(2)
    before = await world.snapshot()
    assert await world.commit(world.work(ids[:1], writes("r1", 0, 4))) == Committed(4)
    lost = set(await world.snapshot()) - set(before)
    await world.link.call_many([("DEL", key) for key in lost])
    await world.link.call("HSET", world.keys.pos_raw, GROUP, "0-0", f"{GROUP}:n", 0)
    assert (await world.take()).position == "0-0"
    assert isinstance(await world.commit(world.work(ids, writes("r1", 4, 1))), StateConflict)
    assert await world.commit(world.work(ids, writes("r1", 0, 5))) == Committed(5)


@pytest.mark.parametrize("read", [0, 30])
async def test_records_that_somebody_else_removed_unread_are_counted_exactly(world: World, read: int) -> None:
    ids = await world.publish(100)
    if read:
        assert await world.commit(world.work(ids[:read])) == Committed(0)
    await world.link.call("XTRIM", world.keys.raw, "MINID", ids[42])
    await world.link.call("HSET", world.keys.lease(GROUP), "a", 2)
    got = await taken(world, "me-1")
    assert (got.count, got.lost, got.reset, got.attempts) == (read, 42 - read, False, 2)
    # It stays known until the group moves over the loss.
    got = await taken(world, "me-1")
    assert got.lost == 42 - read
    outcome = await functions.advance(
        world.link, world.keys, "raw", GROUP, "me-1", got.epoch, TTL_MS,
        prev=got.position, last=got.position, records=got.lost,
    )  # fmt: skip
    assert outcome == functions.Advanced()
    got = await world.take()
    # Moving over a loss is no proof that the next record is harmless.
    assert (got.count, got.lost, got.attempts) == (42, 0, 2)
    assert await world.commit(world.work(ids[42:])) == Committed(0)


async def test_a_count_that_somebody_removed_is_reported_not_tripped_over(world: World) -> None:
    ids = await world.publish(20)
    assert await world.commit(world.work(ids[:10])) == Committed(0)
    await world.link.call("XTRIM", world.keys.raw, "MINID", ids[10])
    await world.link.call("HDEL", world.keys.pos_raw, f"{GROUP}:n")
    assert await world.commit(world.work(ids[10:])) == Committed(0)
    got = await world.take()
    assert (got.count, got.lost) == (10, 0)  # what was removed is covered by what was read since
    await world.link.call("HDEL", world.keys.pos_raw, f"{GROUP}:n")
    got = await world.take()
    assert (got.count, got.lost, got.reset) == (0, 10, False)


async def test_a_stream_made_anew_is_read_from_its_start_with_an_alarm(world: World) -> None:
    ids = await world.publish(10)
    assert await world.commit(world.work(ids)) == Committed(0)
    await world.link.call("DEL", world.keys.raw)
    fresh = await world.publish(3)
    got = await world.take()
    assert (got.position, got.count, got.lost, got.reset) == ("0-0", 0, 0, True)
    ((_, fields),) = await world.entries(world.keys.evidence)
    assert fields[:4] == [b"run", b"", b"code", b"records-trimmed-unread"]
    alarm = msgspec.json.decode(fields[5])
    assert (alarm["class"], alarm["possibleCause"], alarm["record"]) == ("alarm", "stream-recreated", ids[-1])
    assert await world.commit(world.work(fresh)) == Committed(0)
    assert not (await world.take()).reset


async def test_a_group_that_is_new_begins_at_the_start_of_what_is_there(world: World) -> None:
    ids = await world.publish(5)
    await world.link.call("XTRIM", world.keys.raw, "MINID", ids[2])
    got = await functions.take(world.link, world.keys, "raw", "audit", "me-1", TTL_MS)
    assert isinstance(got, Taken)
    assert (got.position, got.count, got.lost) == ("0-0", 2, 0)
    chunks = await functions.take(world.link, world.keys, "chunks", "audit", "me-1", TTL_MS)
    assert isinstance(chunks, Taken)
    assert await world.field(world.keys.pos_chunks, "audit") == "0-0"


async def test_a_sink_outside_advances_only_from_the_stored_position(world: World) -> None:
    got = await functions.take(world.link, world.keys, "chunks", "sink", "me-1", TTL_MS)
    assert isinstance(got, Taken)

    async def advance(epoch: int, prev: str, last: str, records: int) -> object:
        return await functions.advance(
            world.link, world.keys, "chunks", "sink", "me-1", epoch, TTL_MS, prev=prev, last=last, records=records
        )

    assert await advance(1, "0-0", "5-0", 5) == functions.Advanced()
    assert await advance(1, "0-0", "5-0", 5) == functions.Moved("5-0")
    assert await advance(2, "5-0", "6-0", 1) == Fenced("me-1", 1)
    assert await world.field(world.keys.pos_chunks, "sink:n") == "5"


async def test_members_are_those_that_beat_lately(world: World) -> None:
    key = f"{world.prefix}:members:{GROUP}"
    first = await functions.beat(world.link, key, "a", TTL_MS)
    assert (first.stale, first.names) == (True, ["a"])
    await world.link.call("ZADD", key, 1, "dead", now_ms() + 10 * TTL_MS, "from-the-future")
    # Who was away itself does not judge others.
    back = await functions.beat(world.link, key, "b", TTL_MS)
    assert (back.stale, set(back.names)) == (True, {"a", "b", "dead", "from-the-future"})
    second = await functions.beat(world.link, key, "b", TTL_MS)
    assert (second.stale, set(second.names)) == (False, {"a", "b"})

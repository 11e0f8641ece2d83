"""Deadlines, endings and lifetimes: what a commit does to a run beside its chunks."""

import time

from integration.broker.world import GROUP, LIVES, TTL_MS, World, writes
from runwire.broker import functions
from runwire.broker.functions import Committed, Expired, Fenced, Moved, Quarantined, RunWrite, Written


async def deadline_in(world: World, run: str = "r1") -> float | None:
    """Milliseconds until the deadline of a run, None if it has none."""
    score = await world.link.call("ZSCORE", world.keys.open, run)
    return float(score) - time.time() * 1000 if isinstance(score, bytes) else None


async def one(world: World, run: RunWrite) -> None:
    ids = await world.publish(1)
    assert isinstance(await world.commit(world.work(ids, run)), Committed)


async def make_due(world: World, *runs: str) -> None:
    for run in runs:
        await world.link.call("ZADD", world.keys.open, 1, run)


async def test_a_deadline_is_never_early_and_at_most_a_tenth_or_a_second_late(world: World) -> None:
    for seq, (deadline, slack) in enumerate([(120_000, 1000), (3000, 300), (3_600_000, 1000)]):
        await one(world, writes("r1", seq, 1, deadline_ms=deadline))
        left = await deadline_in(world)
        assert left is not None
        assert deadline - 200 < left <= deadline + slack + 5


async def test_a_busy_run_moves_its_deadline_now_and_then_only(world: World) -> None:
    await one(world, writes("r1", 0, 1))
    score = await world.link.call("ZSCORE", world.keys.open, "r1")
    await one(world, writes("r1", 1, 1))
    assert await world.link.call("ZSCORE", world.keys.open, "r1") == score
    # One that was moved by somebody else, as a timeout does, is set right by the next commit that needs it.
    await world.link.call("HSET", world.keys.state("r1"), "d", 5)
    await one(world, writes("r1", 2, 1))
    left = await deadline_in(world)
    assert left is not None
    assert left > 119_000


async def test_the_end_of_a_run_gives_its_keys_their_lifetimes(world: World) -> None:
    await one(world, writes("r1", 0, 2))
    await one(world, writes("r1", 2, 1, deadline_ms=0, ended=True))
    assert await deadline_in(world) is None
    log, state = await world.link.call_many([("PTTL", world.keys.log("r1")), ("PTTL", world.keys.state("r1"))])
    assert isinstance(log, int)
    assert isinstance(state, int)
    assert LIVES.log_ms - 5000 < log <= LIVES.log_ms
    assert LIVES.tombstone_ms - 5000 < state <= LIVES.tombstone_ms
    assert await world.link.call("ZRANGE", world.keys.expiring, 0, -1) == [b"r1"]


async def test_a_late_duplicate_does_not_lengthen_the_life_of_a_log(world: World) -> None:
    await one(world, writes("r1", 0, 2, deadline_ms=0, ended=True))
    await world.link.call("PEXPIRE", world.keys.log("r1"), 10_000)
    await one(world, writes("r1", 2, 0, deadline_ms=0, ended=True))
    left = await world.link.call("PTTL", world.keys.log("r1"))
    assert isinstance(left, int)
    assert left <= 10_000


async def test_what_follows_an_expired_log_expires_too(world: World) -> None:
    await one(world, writes("r1", 0, 2, deadline_ms=0, ended=True))
    await world.link.call("DEL", world.keys.log("r1"))
    await one(world, writes("r1", 2, 1, deadline_ms=0, ended=True))
    assert await world.chunks_of("r1") == [("3-0", b'{"seq":3}')]
    assert await world.link.call("PTTL", world.keys.log("r1")) != -1


async def test_a_new_attempt_has_a_log_of_its_own_and_lives_again(world: World) -> None:
    await one(world, writes("r1", 0, 2, deadline_ms=0, ended=True))
    await one(world, writes("r1", 0, 1, attempt=2))
    assert await world.link.call("PTTL", world.keys.state("r1")) == -1
    assert [entry for entry, _ in await world.chunks_of("r1", 2)] == ["1-0"]
    assert len(await world.chunks_of("r1", 1)) == 2
    await one(world, writes("r1", 1, 1, attempt=2, deadline_ms=0, ended=True))


async def test_lists_of_runs_forget_what_expired(world: World) -> None:
    for run in ("gone", "stays", "open"):
        await one(world, writes(run, 0, 1, ended=run != "open", deadline_ms=120_000 if run == "open" else 0))
    await world.link.call("ZADD", world.keys.expiring, 1, "gone")
    await world.link.call("XADD", world.keys.evidence, "5-0", "run", "gone", "code", "c", "d", "{}")
    await world.link.call("XADD", world.keys.evidence, "*", "run", "open", "code", "c", "d", "{}")
    assert await functions.expire_index(world.link, world.keys, 1000) == Expired(1, 1)
    assert await functions.expire_index(world.link, world.keys, 1000) == Expired(0, 0)
    listed = await world.link.call("ZRANGE", world.keys.index, 0, -1)
    assert isinstance(listed, list)
    assert set(map(str, listed)) == {"b'stays'", "b'open'"}
    assert await world.link.call("XLEN", world.keys.evidence) == 1


async def test_evidence_is_bounded_by_count(world: World) -> None:
    ids = await world.publish(1)
    work = world.work(ids)._replace(evidence=[("r1", "c", b"{}")] * 500)
    assert await world.commit(work, lives=LIVES._replace(evidence_max=50)) == Committed(0)
    kept = await world.link.call("XLEN", world.keys.evidence)
    assert isinstance(kept, int)
    assert 50 <= kept <= 200  # whole nodes go


async def test_time_enters_as_records_of_runs_that_are_due(world: World) -> None:
    for run in ("a", "b", "busy"):
        await one(world, writes(run, 0, 1))
    await make_due(world, "a", "b")
    assert await functions.due(world.link, world.keys, 10) == ["a", "b"]
    assert await functions.due(world.link, world.keys, 1) == ["a"]
    bodies = [(run, b'{"type":"timeout"}') for run in ("a", "busy", "b", "unknown")]
    args = (world.link, world.keys, GROUP, world.me)
    assert await functions.write_timeouts(*args, world.epoch + 1, bodies, 5000) == Fenced(world.me, world.epoch)
    assert await functions.write_timeouts(*args, world.epoch, bodies, 5000) == Written(2)
    assert await functions.write_timeouts(*args, world.epoch, bodies, 5000) == Written(0)
    assert await functions.due(world.link, world.keys, 10) == []
    entries = await world.entries(world.keys.raw)
    fields = [b"run", b"b", b"kind", b"control", b"src", b"~enforcer", b"body", b'{"type":"timeout"}']
    assert entries[-1][1] == fields
    left = await deadline_in(world, "a")
    assert left is not None
    assert 4000 < left <= 5000


async def test_only_the_next_record_can_be_set_aside_and_only_once(world: World) -> None:
    first, second = await world.publish(2)
    args = (world.link, world.keys, GROUP, world.me)
    body = b'{"type":"quarantine"}'
    assert await functions.write_quarantine(*args, world.epoch, second, "r1", body) == Moved("0-0")
    assert await functions.write_quarantine(*args, world.epoch + 1, first, "r1", body) == Fenced(world.me, world.epoch)
    for _ in range(2):
        assert await functions.write_quarantine(*args, world.epoch, first, "r1", body) == Quarantined()
    assert await world.link.call("XLEN", world.keys.raw) == 3


async def test_a_commit_renews_the_lease(world: World) -> None:
    await world.link.call("HSET", world.keys.lease(GROUP), "x", 1)
    await one(world, writes("r1", 0, 1))
    expires = await world.field(world.keys.lease(GROUP), "x")
    assert int(expires or 0) > time.time() * 1000 + TTL_MS - 5000

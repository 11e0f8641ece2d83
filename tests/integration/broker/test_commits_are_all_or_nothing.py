"""A commit takes effect whole, or the data set stays as it was, whatever is wrong with it."""

from collections.abc import Callable

import msgspec
import pytest

from integration.broker.world import GROUP, LIVES, World, writes
from runwire.broker import functions
from runwire.broker.connection import Arg, ServerError
from runwire.broker.functions import (
    BadArguments,
    Commit,
    Committed,
    Fenced,
    Gone,
    Moved,
    RunWrite,
    Skip,
    StateConflict,
    commit_args,
    commit_result,
)

FULL_ARGS = 3  # FCALL, name, number of keys


async def begun(world: World) -> list[str]:
    """Run r1 has 2 chunks of 3 records; 4 records follow. Returns the 4 ids."""
    first = await world.publish(3)
    assert await world.commit(world.work(first, writes("r1", 0, 2))) == Committed(2)
    return await world.publish(4)


async def test_a_commit_writes_logs_states_chunks_and_the_position(world: World) -> None:
    ids = await world.publish(3)
    work = world.work(ids, writes("r1", 0, 2), writes("ü:2", 0, 1, ended=True))
    work = work._replace(
        evidence=[("r1", "undecodable", b'{"code":"undecodable"}'), ("", "x", b"{}")], events=[b"{1}", b"{2}"]
    )
    assert await world.commit(work._replace(holds={"parked": ids[1]})) == Committed(3)
    assert await world.chunks_of("r1") == [("1-0", b'{"seq":1}'), ("2-0", b'{"seq":2}')]
    assert await world.stored_position() == ids[-1]
    assert await world.field(world.keys.pos_raw, f"{GROUP}:n") == "3"
    assert await world.field(world.keys.state("r1"), "s") == "2"
    assert await world.field(world.keys.state("r1"), "b") == "state after 2"
    assert await world.field(world.keys.state("r1"), "a") == "1"
    assert await world.field(world.keys.holds, "parked") == ids[1]
    (_, fields), (_, other) = await world.entries(world.keys.chunks)
    assert fields[:-1] == [b"run", b"r1", b"attempt", b"1", b"seq", b"2", b"d"]
    assert other[1] == "ü:2".encode()
    assert msgspec.msgpack.decode(fields[-1]) == ['{"seq":1}', '{"seq":2}']
    assert await world.link.call("XLEN", world.keys.evidence) == 2
    assert await world.link.call("XLEN", world.keys.outbox) == 2
    assert await world.link.call("ZRANGE", world.keys.index, 0, -1) == [b"r1", "ü:2".encode()]
    assert await world.link.call("ZRANGE", world.keys.expiring, 0, -1) == ["ü:2".encode()]


def _case(name: str, change: Callable[[World, list[str]], Commit], expected: type) -> object:
    return pytest.param(change, expected, id=name)


REFUSED = [
    # The table of what a naive commit does wrong, and every further refusal of the contract.
    _case("base too small: memory behind", lambda w, ids: w.work(ids, writes("r1", 1, 3)), StateConflict),
    _case("base too large: server lost a moment", lambda w, ids: w.work(ids, writes("r1", 7, 1)), StateConflict),
    _case("base 0 for a run that goes on", lambda w, ids: w.work(ids, writes("r1", 0, 1)), StateConflict),
    _case("new run with a base", lambda w, ids: w.work(ids, writes("r2", 3, 1)), StateConflict),
    _case(
        "a good run before a bad one", lambda w, ids: w.work(ids, writes("r2", 0, 1), writes("r1", 9, 1)), StateConflict
    ),
    _case("attempt skipped", lambda w, ids: w.work(ids, writes("r1", 0, 1, attempt=3)), StateConflict),
    _case("older attempt", lambda w, ids: w.work(ids, writes("r1", 2, 1, attempt=0)), StateConflict),
    _case("already committed", lambda w, ids: w.work(ids, writes("r1", 2, 1), prev="0-0"), Moved),
    _case("position of another history", lambda w, ids: w.work(ids, writes("r1", 2, 1), prev=ids[0]), Moved),
    _case("first record left out", lambda w, ids: w.work(ids[1:], writes("r1", 2, 1)), Skip),
    _case("last record gone", lambda w, ids: w.work([*ids[:-1], "99999999999999-0"], writes("r1", 2, 1)), Gone),
    _case("one run twice", lambda w, ids: w.work(ids, writes("r1", 2, 1), writes("r1", 2, 0)), BadArguments),
    _case("no records", lambda w, ids: w.work(ids, writes("r1", 2, 1))._replace(records=0), BadArguments),
    _case("one record counted as two", lambda w, ids: w.work(ids[:1])._replace(records=2), BadArguments),
    _case("hold that is no id", lambda w, ids: w.work(ids)._replace(holds={"parked": "soon"}), BadArguments),
]


@pytest.mark.parametrize(("change", "expected"), REFUSED)
async def test_a_refused_commit_leaves_the_data_set_as_it_was(
    world: World, change: Callable[[World, list[str]], Commit], expected: type
) -> None:
    ids = await begun(world)
    before = await world.snapshot()
    assert isinstance(await world.commit(change(world, ids)), expected)
    assert await world.snapshot() == before
    assert await world.commit(world.work(ids, writes("r1", 2, 2))) == Committed(2)
    assert [entry for entry, _ in await world.chunks_of("r1")] == ["1-0", "2-0", "3-0", "4-0"]


@pytest.mark.parametrize(("owner", "ahead"), [("somebody-else", 0), ("me-1", -1), ("me-1", 1)])
async def test_owner_and_epoch_are_compared_together(world: World, owner: str, ahead: int) -> None:
    """After a failover two owners may hold the same epoch, and one owner two epochs."""
    ids = await begun(world)
    world.me, world.epoch = owner, world.epoch + ahead
    before = await world.snapshot()
    assert await world.commit(world.work(ids, writes("r1", 2, 1))) == Fenced("me-1", 1)
    assert await world.snapshot() == before


async def test_a_commit_that_was_done_answers_moved(world: World) -> None:
    ids = await world.publish(5)
    work = world.work(ids, writes("r1", 0, 5))
    assert await world.commit(work) == Committed(5)
    before = await world.snapshot()
    assert await world.commit(work) == Moved(ids[-1])
    assert await world.snapshot() == before


async def test_a_run_whose_log_was_removed_does_not_begin_again(world: World) -> None:
    ids = await begun(world)
    await world.link.call("DEL", world.keys.log("r1"))
    assert await world.commit(world.work(ids, writes("r1", 0, 1))) == StateConflict(world.keys.state("r1"), "2")
    # Its numbers go on, so that readers see that something is missing.
    assert await world.commit(world.work(ids, writes("r1", 2, 1))) == Committed(1)
    assert [entry for entry, _ in await world.chunks_of("r1")] == ["3-0"]


async def test_a_log_without_a_state_is_never_continued(world: World) -> None:
    ids = await begun(world)
    await world.link.call("DEL", world.keys.state("r1"))
    before = await world.snapshot()
    for base in (0, 2):
        assert await world.commit(world.work(ids, writes("r1", base, 1))) == StateConflict(world.keys.state("r1"), "")
    assert await world.snapshot() == before


async def test_a_foreign_entry_in_a_log_is_noticed_before_the_first_write(world: World) -> None:
    ids = await begun(world)
    await world.link.call("XADD", world.keys.log("r1"), "900-0", "d", "foreign")
    before = await world.snapshot()
    work = world.work(ids, writes("r2", 0, 1), writes("r1", 2, 1))
    assert await world.commit(work) == StateConflict(world.keys.state("r1"), "2")
    assert await world.snapshot() == before


async def test_nine_thousand_chunks_of_one_run_pass_in_one_commit(world: World) -> None:
    ids = await world.publish(2)
    assert await world.commit(world.work(ids, writes("r1", 0, 9000))) == Committed(9000)
    assert await world.link.call("XLEN", world.keys.log("r1")) == 9000
    last = await world.link.call("XREVRANGE", world.keys.log("r1"), "+", "-", "COUNT", 1)
    assert last == [[b"9000-0", [b"d", b'{"seq":9000}']]]


async def test_numbers_beyond_ten_to_the_fourteenth_stay_digits(world: World) -> None:
    far = 10**14 + 7
    await world.link.call("HSET", world.keys.state("r1"), "s", far, "b", "", "a", 1)
    ids = await world.publish(1)
    assert await world.commit(world.work(ids, writes("r1", far, 1))) == Committed(1)
    assert [entry for entry, _ in await world.chunks_of("r1")] == [f"{far + 1}-0"]
    assert await world.field(world.keys.state("r1"), "s") == str(far + 1)


def rich(world: World, ids: list[str]) -> Commit:
    """A commit that uses every part of the contract."""
    work = world.work(
        ids, writes("r1", 2, 2), writes("r2", 0, 1, ended=True), RunWrite("r3", 1, 0, [], b"", 5000, False, False)
    )
    return work._replace(evidence=[("r1", "c", b"{}")], events=[b"{}"], holds={"parked": ids[0], "keep:r2": ids[0]})


def free_positions(args: list[Arg]) -> set[int]:
    """Arguments whose content is the caller's: any text is right there."""
    last = len(args) - 1
    holds, event, evidence = {last - 3, last - 1}, {last - 4}, {last - 7, last - 6, last - 5}
    first_run = FULL_ARGS + int(args[2]) + 16
    runs, at = set[int](), first_run
    for _ in range(3):
        count = int(args[at + 6])
        runs |= {at, at + 3, at + 5, *range(at + 7, at + 7 + count)}
        at += 7 + count
    return holds | event | evidence | runs


WRONG: list[Arg] = ["", "x", "-1", "1e3", "0x10", "1.5", "9" * 20, "7"]


async def test_no_wrong_argument_can_cut_a_commit_in_half(world: World) -> None:
    """Every argument replaced by wrong ones, left out, and repeated; and the list cut at every length."""
    ids = await begun(world)
    good = commit_args(world.keys, GROUP, world.me, world.epoch, LIVES, rich(world, ids))
    free = free_positions(good)
    first = FULL_ARGS + int(good[2])
    # Lifetimes and the number of records are the caller's word: any number is right. An empty hold lets go.
    right = {(at, "7") for at in (*range(first + 3, first + 8), first + 11)}
    right |= {(len(good) - 3, ""), (len(good) - 1, "")}
    before = await world.snapshot()
    tried = 0
    for at in range(first, len(good)):
        variants: list[list[Arg]] = [good[:at], good[:at] + good[at + 1 :], good[:at] + good[at : at + 1] + good[at:]]
        if at not in free:
            variants += [[*good[:at], w, *good[at + 1 :]] for w in WRONG if (at, w) not in right]
        for args, reply in zip(variants, await world.link.call_many(variants), strict=True):
            tried += 1
            if not isinstance(reply, ServerError):
                assert not isinstance(commit_result(reply), Committed), (at, args)
    assert await world.snapshot() == before
    assert tried > 250
    assert commit_result((await world.link.call_many([good]))[0]) == Committed(3)


async def test_no_wrong_number_of_keys_can_cut_a_commit_in_half(world: World) -> None:
    ids = await begun(world)
    good = commit_args(world.keys, GROUP, world.me, world.epoch, LIVES, rich(world, ids))
    keys = int(good[2])
    before = await world.snapshot()
    for count in range(keys + 6):
        if count == keys:
            continue
        names = (good[FULL_ARGS : FULL_ARGS + keys] + [world.keys.log("extra")] * 6)[:count]
        args = [*good[:2], count, *names, *good[FULL_ARGS + keys :]]
        (reply,) = await world.link.call_many([args])
        assert isinstance(reply, ServerError) or not isinstance(commit_result(reply), Committed), count
    assert await world.snapshot() == before


async def test_no_key_of_a_wrong_type_can_cut_a_commit_in_half(world: World) -> None:
    """A hash where a stream or sorted set belongs, a sorted set where a hash or stream belongs."""
    ids = await begun(world)
    good = commit_args(world.keys, GROUP, world.me, world.epoch, LIVES, rich(world, ids))
    before = await world.snapshot()
    for at in range(FULL_ARGS, FULL_ARGS + int(good[2])):
        wrong = world.keys.lease(GROUP) if good[at] == world.keys.index else world.keys.index
        if good[at] in (world.keys.open, world.keys.expiring):
            wrong = world.keys.lease(GROUP)
        (reply,) = await world.link.call_many([[*good[:at], wrong, *good[at + 1 :]]])
        assert isinstance(reply, ServerError), good[at]
        assert (reply.outcome, "WRONGTYPE" in reply.text) == ("bug", True)
        assert await world.snapshot() == before, good[at]


async def test_every_refusal_is_typed_by_one_function(world: World) -> None:
    with pytest.raises(ServerError, match="answered"):
        commit_result([b"SOMETHING"])
    with pytest.raises(ServerError, match="WRONGTYPE"):
        commit_result(ServerError("WRONGTYPE Operation against a key"))
    assert functions.commit_result([b"ARGS", b"ids"]) == BadArguments("ids")

"""What a node behind the enforcer keeps changes together with its position, or not at all."""

from collections.abc import Callable
from typing import cast

import pytest

from integration.broker.world import LIVES, TTL_MS, World
from runwire.broker import functions
from runwire.broker.commit import commit_result
from runwire.broker.connection import Arg, Reply, ServerError
from runwire.broker.functions import BadArguments, CommitOutcome, Committed, Fenced, Gone, Moved, Skip, Taken
from runwire.broker.nests import Letters, NestLedger, NestWant, StoredNest
from runwire.broker.packing import transaction
from runwire.broker.settling import HashWrite, Settlement, settle_args
from runwire_schemas.keys import UNWRAPPER_GROUP
from runwire_schemas.record import Record, parse

GROUP = UNWRAPPER_GROUP


class Sink:
    """Partition 0 as an unwrapper holds it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.me, self.epoch, self.position = "me-1", 0, "0-0"

    async def take(self) -> None:
        taken = await functions.take(self.world.link, self.world.keys, "chunks", GROUP, self.me, TTL_MS)
        assert isinstance(taken, Taken)
        self.epoch, self.position = taken.epoch, taken.position

    async def entries(self, count: int) -> list[str]:
        command = ("XADD", self.world.keys.chunks, "*", "run", "r", "attempt", 1, "seq", 1, "d", b"\x90")
        return [cast("bytes", one).decode() for one in await self.world.link.call_many([command] * count)]

    def work(self, ids: list[str], *writes: HashWrite, prev: str | None = None) -> Settlement:
        return Settlement(prev or self.position, ids[0], ids[-1], len(ids), list(writes), [], [])

    async def settle(self, work: Settlement, change: Callable[[list[Arg]], object] | None = None) -> CommitOutcome:
        args = settle_args(self.world.keys, GROUP, self.me, self.epoch, LIVES, work)
        if change is not None:
            change(args)
        outcome = commit_result((await self.world.link.call_many([args]))[0])
        if isinstance(outcome, Committed):
            self.position = work.last
        return outcome

    async def hash(self, key: str) -> dict[bytes, bytes]:
        reply = cast("list[bytes]", await self.world.link.call("HGETALL", key))
        return dict(zip(reply[::2], reply[1::2], strict=True))

    def write(self, run: str, *fields: tuple[str, bytes], fresh: bool = False, ttl_ms: int = TTL_MS) -> HashWrite:
        return HashWrite(self.world.keys.nest(run), fresh, ttl_ms, list(fields))


@pytest.fixture
async def sink(world: World) -> Sink:
    one = Sink(world)
    await one.take()
    return one


async def test_hashes_and_the_position_change_together(sink: Sink) -> None:
    ids, keys = await sink.entries(3), sink.world.keys
    work = sink.work(ids[:2], sink.write("a", ("b", b"\x00"), ("1", b"{}")), sink.write("ü", ("b", b"x")))
    work = work._replace(evidence=[("a", "nesting-too-deep", b'{"code":1}')])
    assert await sink.settle(work) == Committed(2)
    assert await sink.hash(keys.nest("a")) == {b"b": b"\x00", b"1": b"{}"}
    assert await sink.hash(keys.nest("ü")) == {b"b": b"x"}
    assert await sink.world.field(keys.pos_chunks, GROUP) == ids[1]
    assert await sink.world.field(keys.pos_chunks, f"{GROUP}:n") == "2"
    assert await sink.world.link.call("XLEN", keys.evidence) == 1
    assert await sink.settle(sink.work(ids[2:])) == Committed(0)
    assert await sink.world.field(keys.pos_chunks, f"{GROUP}:n") == "3"


async def test_a_hash_keeps_its_expiry_unless_it_gets_one(sink: Sink) -> None:
    ids, key = await sink.entries(3), sink.world.keys.nest("a")
    for at, ttl in enumerate((0, 5000, 0)):
        await sink.settle(sink.work(ids[at : at + 1], sink.write("a", ("b", b"x"), ttl_ms=ttl)))
        left = await sink.world.link.call("PTTL", key)
        assert isinstance(left, int)
        assert (0 < left <= 5000) if at else left == -1
    await sink.world.link.call("PEXPIRE", key, TTL_MS)


async def test_a_fresh_hash_forgets_what_it_had(sink: Sink) -> None:
    ids, key = await sink.entries(3), sink.world.keys.nest("a")
    await sink.settle(sink.work(ids[:1], sink.write("a", ("b", b"old"), ("c:x", b"1"))))
    await sink.settle(sink.work(ids[1:2], sink.write("a", ("b", b"new"), fresh=True)))
    assert await sink.hash(key) == {b"b": b"new"}
    await sink.settle(sink.work(ids[2:], HashWrite(key, fresh=True, ttl_ms=0, fields=[])))
    assert await sink.world.link.call("EXISTS", key) == 0


async def test_a_large_hash_is_no_limit_of_the_language(sink: Sink) -> None:
    """Lua unpacks at most 7,999 values."""
    fields = [(str(n), b"x") for n in range(9000)]
    assert await sink.settle(sink.work(await sink.entries(1), sink.write("a", *fields))) == Committed(1)
    assert len(await sink.hash(sink.world.keys.nest("a"))) == 9000


Change = Callable[[Sink, list[str]], Settlement]
REFUSED = [
    ("already settled", lambda s, ids: s.work(ids, s.write("a", ("b", b"2")), prev="0-0"), Moved),
    ("first left out", lambda s, ids: s.work(ids[1:], s.write("a", ("b", b"2"))), Skip),
    ("last is gone", lambda s, ids: s.work([*ids[:1], "99999999999999-0"], s.write("a", ("b", b"2"))), Gone),
    ("one hash twice", lambda s, ids: s.work(ids, s.write("a", ("b", b"2")), s.write("a")), BadArguments),
    ("no records", lambda s, ids: s.work(ids, s.write("a", ("b", b"2")))._replace(records=0), BadArguments),
    ("ids that are none", lambda s, ids: s.work(["x", "y"]), BadArguments),
]


@pytest.mark.parametrize(("change", "expected"), [pytest.param(*case[1:], id=case[0]) for case in REFUSED])
async def test_a_refused_settlement_leaves_the_data_set_as_it_was(sink: Sink, change: Change, expected: type) -> None:
    first, *ids = await sink.entries(4)
    await sink.settle(sink.work([first], sink.write("a", ("b", b"1"))))
    before = await sink.world.snapshot()
    assert isinstance(await sink.settle(change(sink, ids)), expected)
    assert await sink.world.snapshot() == before
    assert await sink.settle(sink.work(ids, sink.write("a", ("b", b"2")))) == Committed(1)


@pytest.mark.parametrize("at", [-1, -2, -3, -5, -6])
async def test_arguments_that_do_not_fit_together_write_nothing(sink: Sink, at: int) -> None:
    ids = await sink.entries(1)
    before = await sink.world.snapshot()
    assert isinstance(
        await sink.settle(sink.work(ids, sink.write("a", ("b", b"2"))), lambda a: a.pop(at)), BadArguments
    )
    assert await sink.world.snapshot() == before


@pytest.mark.parametrize(("me", "ahead"), [("somebody-else", 0), ("me-1", -1), ("me-1", 1)])
async def test_owner_and_epoch_are_compared(sink: Sink, me: str, ahead: int) -> None:
    ids = await sink.entries(1)
    owner, sink.me, sink.epoch = sink.me, me, sink.epoch + ahead
    before = await sink.world.snapshot()
    assert await sink.settle(sink.work(ids, sink.write("a", ("b", b"2")))) == Fenced(owner, 1)
    assert await sink.world.snapshot() == before


async def test_a_key_of_another_type_writes_nothing(sink: Sink) -> None:
    ids, keys = await sink.entries(1), sink.world.keys
    await sink.world.link.call("SET", keys.nest("b"), "x", "PX", TTL_MS)
    before = await sink.world.snapshot()
    with pytest.raises(ServerError, match="WRONGTYPE") as found:
        await sink.settle(sink.work(ids, sink.write("a", ("b", b"2")), sink.write("b", ("b", b"2"))))
    assert found.value.outcome == "bug"
    assert await sink.world.snapshot() == before


# --- nests and claims ------------------------------------------------------------------------------------------------


async def nest(sink: Sink, run: str, *children: str) -> StoredNest:
    ledger, want = NestLedger(), NestWant(run, children)
    reply: Reply = await sink.world.link.call(*ledger.read(sink.world.keys, want))
    return ledger.stored(want, reply)


async def test_a_nest_is_read_with_the_children_that_are_asked_for(sink: Sink) -> None:
    assert await nest(sink, "a", "x") == StoredNest("a", None, None, None, {"x": None})
    await sink.settle(sink.work(await sink.entries(1), sink.write("a", ("b", b"blob"), ("c:x", b"1"), ("c:y", b"2"))))
    assert await nest(sink, "a", "x", "z") == StoredNest("a", b"blob", None, None, {"x": b"1", "z": None})
    assert await nest(sink, "a") == StoredNest("a", b"blob", None, None, {})


async def test_a_claim_tells_only_while_nothing_else_does(sink: Sink) -> None:
    """And the run's state, which may be large, is read only where there is a claim."""
    keys, link = sink.world.keys, sink.world.link
    await link.call_many([("HSET", keys.state("a"), "b", "state"), ("PEXPIRE", keys.state("a"), TTL_MS)])
    assert await nest(sink, "a") == StoredNest("a", None, None, None, {})
    await link.call_many([("HSET", keys.claim("a"), "d", "claim"), ("PEXPIRE", keys.claim("a"), TTL_MS)])
    assert await nest(sink, "a") == StoredNest("a", None, b"claim", b"state", {})
    await sink.settle(sink.work(await sink.entries(1), sink.write("a", ("b", b"blob"))))
    assert await nest(sink, "a") == StoredNest("a", b"blob", None, None, {})


async def test_a_claim_comes_with_the_first_record_and_the_first_one_stays(sink: Sink) -> None:
    keys, link = sink.world.keys, sink.world.link
    for parent in ("one", "two", "one"):
        letters = Letters(keys, 0, "~A", f"~unwrap:{parent}", 3)
        first = letters.first_parcel(1, "control", b'{"type":"run-start"}', parent.encode(), TTL_MS)
        second = letters.parcel(20, "agent", b"{}")
        replies = await link.send_packed(transaction([first.data, second.data]), first.commands + second.commands + 2)
        assert not any(isinstance(reply, ServerError) for reply in replies)
    assert await sink.hash(keys.claim("~A")) == {b"d": b"one"}
    left = await link.call("PTTL", keys.claim("~A"))
    assert isinstance(left, int)
    assert 0 < left <= TTL_MS
    records = [parse(entry.encode(), fields) for entry, fields in await sink.world.entries(keys.raw)]
    assert [record.src for record in records[::2]] == ["~unwrap:one", "~unwrap:two", "~unwrap:one"]
    first_two = [record for record in records[:2] if isinstance(record, Record)]
    assert [(one.kind, one.epoch, one.seq, one.body) for one in first_two] == [
        ("control", 3, 1, b'{"type":"run-start"}'),
        ("agent", 3, 20, b"{}"),
    ]

"""An entry of the partition's log that the enforcer did not write is evidence, and stops nothing."""

import json

import msgspec
import pytest

from helpers.nesting import KEYS, Pipeline, agent, around, chunk
from runwire.broker.handling import Batch
from runwire.unwrapper import handler
from runwire.unwrapper.core import state as nest_state
from runwire.unwrapper.core.state import Nest, NestUnreadable
from runwire.unwrapper.entries import read_entry

GOOD = [
    b"run",
    b"r",
    b"attempt",
    b"1",
    b"seq",
    b"2",
    b"d",
    msgspec.msgpack.encode(['{"type":"start"}', '{"type":"x"}']),
]


def test_a_page_numbers_its_chunks_from_the_last() -> None:
    page = read_entry((b"5-1", GOOD))
    assert (page.id, page.run, page.attempt, page.chunks) == ("5-1", "r", 1, 2)
    assert [(seen.seq, seen.type) for seen in page.looks] == [(1, "start")]


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [b"x", b"y"],
        GOOD[:-2],
        [*GOOD[:-1], b"\xc1"],
        [*GOOD[:-1], msgspec.msgpack.encode([b"\xff"])],
        [*GOOD[:-1], msgspec.msgpack.encode({"a": 1})],
        [*GOOD[:5], b"two", *GOOD[6:]],
        [*GOOD[:3], b"", *GOOD[4:]],
        [b"run", b"\xff", *GOOD[2:]],
    ],
)
def test_anything_else_is_no_page(fields: list[bytes]) -> None:
    assert read_entry((b"5-1", fields)).run == ""


def test_a_strangers_entry_is_told_and_passed() -> None:
    p = Pipeline(partitions=1)
    p.publish("top", *around("top", "c1", agent("sub", "x")))
    p.enforce()
    p.chunks[0].insert(1, (b"1-1", [b"x", b"y"]))
    p.run_dry()
    assert p.codes() == ["entry-unreadable"]
    assert p.types("sub")[-1] == "finish"


def test_an_entry_that_crashes_its_reader_stays_wrapped() -> None:
    p = Pipeline(partitions=1)
    p.publish("top", *around("top", "c1", agent("sub", "x")))
    p.enforce()
    work = Batch(0, p.chunks[0][:1], "0-0", 4, quarantine=True)
    assert p.unwrapper.missing(work) == []
    settlement = p.unwrapper.handle(work)
    assert (settlement.records, settlement.writes, settlement.parcels) == (1, [], [])
    ((run, code, data),) = settlement.evidence
    assert (run, code, json.loads(data)["record"]) == ("", "unwrapper-crash", settlement.last)
    p.unwrapper.committed(0, settlement)
    assert p.unwrapper.condemn(work.entries[0]) is None


def test_a_state_of_another_version_is_not_guessed() -> None:
    blob = nest_state.dump(Nest(version=99))
    with pytest.raises(NestUnreadable, match="version 99"):
        nest_state.load(blob)
    state = Nest(attempt=2, seq=7)
    assert nest_state.load(nest_state.dump(state)) == state


def test_a_batch_of_more_runs_than_are_loaded_at_once_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "LOAD_RUNS", 3)
    p = Pipeline(partitions=1)
    for n in range(10):
        p.publish(f"r{n}", *agent(f"r{n}", "x"))
    p.run_dry()
    assert all(p.account(f"r{n}").end == "stop" for n in range(10))


def test_a_settlement_holds_no_more_state_than_an_answer_has_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "COMMIT_STATE_BYTES", 100)
    p = Pipeline(partitions=1)
    for n in range(5):
        p.enter(f"r{n}", chunk("start", f"r{n}", {"id": "x" * 200}))
    p.run_dry()
    for n in range(5):
        p.enter(f"r{n}", chunk("finish", f"r{n}", {"stepResult": {"reason": "stop"}}))
    entries = p.chunks[0][5:]
    work = Batch(0, entries, p.chunks[0][4][0].decode())
    p.unwrapper.load(0, [p._stored(0, want) for want in p.unwrapper.missing(work)])
    assert p.unwrapper.handle(work).records == 1


def test_a_run_that_is_over_keeps_its_state_for_as_long_as_its_tombstone() -> None:
    p = Pipeline(partitions=1)
    p.publish("top", *agent("top", "x"))
    p.enforce()
    work = Batch(0, p.chunks[0], "0-0")
    p.unwrapper.load(0, [p._stored(0, want) for want in p.unwrapper.missing(work)])
    (write,) = p.unwrapper.handle(work).writes
    assert (write.key, write.ttl_ms) == (KEYS.partition(0).nest("top"), 1000)


@pytest.mark.parametrize("cache", [0, 4])
def test_memory_is_bounded_and_what_left_comes_back(cache: int) -> None:
    p = Pipeline(partitions=1, cache=cache)
    for n in range(40):
        p.enter(f"r{n}", chunk("start", f"r{n}", {"id": f"a{n}"}))
    p.run_dry(batch=2)
    assert p.unwrapper.cached_runs <= cache
    for n in range(40):
        p.enter(f"r{n}", chunk("finish", f"r{n}", {"stepResult": {"reason": "stop"}}))
    p.run_dry(batch=2)
    assert [p.account(f"r{n}").agent_id for n in range(40)] == [f"a{n}" for n in range(40)]
    assert all(p.account(f"r{n}").end == "stop" for n in range(40))


def test_a_run_that_is_over_stays_while_its_last_chunks_are_taken() -> None:
    """Its commit is answered after the next batch has named it."""
    p = Pipeline(partitions=1, page=1, cache=1000)
    p.enter("r", chunk("start", "r", {}), chunk("finish", "r", {"stepResult": {"reason": "stop"}}))
    p.enter("other", chunk("start", "other", {}))
    p.enter("r", chunk("background-task-completed", "r", {"taskId": "t", "toolCallId": "c"}))
    p.run_dry(batch=1)
    assert p.account("r").end == "stop"

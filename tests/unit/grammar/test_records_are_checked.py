"""The record checks of §1, in their order and with their classes."""

from typing import Any

import msgspec
import pytest

from runwire.grammar import Limits, RunMachine
from runwire_schemas.events import RunOpened
from runwire_schemas.record import Malformed, Record
from unit.grammar.story import HEARTBEAT, RUN_END, USAGE, Story, end, finish, loop, start, text, text_block


def opened(limits: Limits | None = None) -> Story:
    return loop(Story(limits))


# --- opening ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "fields", "mode"),
    [
        (start(), {}, "single-call"),
        (b"no JSON", {}, "single-call"),
        ({"type": "run-start"}, {"kind": "control", "call": None}, "agent-loop"),
        ({"type": "run-start", "mode": "single-call"}, {"kind": "control", "call": None}, "single-call"),
        ({"type": "run-start"}, {"kind": "control", "call": "c1"}, "single-call"),
        ({"type": "raw", "payload": {}}, {"kind": "agent"}, "single-call"),
    ],
)
def test_a_run_is_opened(body: Any, fields: dict[str, Any], mode: str) -> None:
    story = Story()
    assert not story.machine.exists
    assert story.machine.blob() == b""
    story.write(body, **fields)
    assert story.machine.exists
    event = story.events[0]
    assert isinstance(event, RunOpened)
    assert event.mode == mode
    assert story.machine.first_record == story.records[0].id


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (start(), {"seq": 2}),
        (HEARTBEAT, {"kind": "control", "call": None}),
        (RUN_END, {"kind": "control", "call": None}),
        (b"no JSON", {"kind": "control", "call": None}),
        ({"type": "run-start"}, {"kind": "control", "call": None, "seq": 2}),
    ],
)
def test_a_run_without_state_stays_unknown(body: Any, fields: dict[str, Any]) -> None:
    story = Story()
    assert story.write(body, **fields) == []
    [evidence] = story.evidence
    assert (evidence.code, evidence.cls, evidence.state_digest) == ("run-unknown", "refused", None)
    assert not story.machine.exists
    assert story.machine.deadline_ms() == 0
    assert story.machine.due() is None


def test_the_mode_is_fixed_by_the_first_record() -> None:
    story = Story()
    story.write(start())
    story.control({"type": "run-start", "mode": "agent-loop"})
    story.all([end(text=""), USAGE, finish()])
    assert story.reason == "stop"


# --- record-invalid --------------------------------------------------------------------------------------------------


def test_an_entry_that_is_no_record_is_refused_and_uses_up_its_seq() -> None:
    story = opened()
    story.machine.feed(Malformed("2000-0", "kind is missing", "r", "p", 0, 2, b"x"))
    story.write(start(), seq=3)
    assert story.codes == ["record-invalid"]
    assert story.evidence[0].body == b"x"
    assert story.types == ["start", "step-start", "text-start"]


def test_a_refusal_that_is_replayed_is_a_duplicate() -> None:
    story = opened()
    entry = Malformed("2000-0", "kind is missing", "r", "p", 0, 2, b"x")
    story.machine.feed(entry)
    story.machine.feed(entry._replace(id="2001-0"))
    story.take()
    assert story.codes == ["record-invalid"]
    assert story.machine.duplicates == 1


@pytest.mark.parametrize(("src", "epoch", "seq"), [(None, 0, 2), ("p", None, 2), ("p", 0, None)])
def test_an_entry_without_a_seq_is_refused(src: str | None, epoch: int | None, seq: int | None) -> None:
    story = opened()
    story.machine.feed(Malformed("2000-0", "reason", "r", src, epoch, seq, b""))
    story.write(start())
    assert story.codes == ["record-invalid"]
    assert len(story.types) == 3


def test_a_refused_record_behind_a_gap_uses_up_its_seq_when_the_gap_is_filled() -> None:
    story = opened()
    story.control({"type": "redrive"}, seq=3)
    story.write(text("x"), seq=4)
    assert (story.codes, story.machine.parked) == (["record-invalid"], [story.records[-1].id])
    story.reload()
    story.write(start(), seq=2)
    assert story.types[-1] == "text-delta"
    assert story.machine.parked == []


@pytest.mark.parametrize(
    ("body", "fields", "says"),
    [
        ({"type": "redrive"}, {"kind": "control", "call": None}, "redrive is not supported yet"),
        ({"type": "redrive"}, {"kind": "control", "call": None, "src": "~admin"}, "redrive is not supported yet"),
        (HEARTBEAT, {"kind": "control", "call": None, "src": "~admin"}, "~admin may only"),
        (b"x" * 2**21, {"kind": "control", "call": None, "src": "~admin"}, "~admin may only"),
        ({"type": "timeout", "phase": "idle", "after": "1-0"}, {"kind": "control", "call": None}, "only ~enforcer"),
        ({"type": "quarantine", "record": "1-0"}, {"kind": "control", "call": None}, "only ~enforcer"),
    ],
)
def test_what_a_source_may_not_write(body: Any, fields: dict[str, Any], says: str) -> None:
    story = opened()
    before = story.chunks.copy()
    story.write(body, **fields)
    [evidence] = story.evidence
    assert (evidence.code, evidence.cls) == ("record-invalid", "refused")
    assert says in evidence.message
    assert story.chunks == before
    story.write(start())
    assert story.codes == ["record-invalid"]


@pytest.mark.parametrize("body", [HEARTBEAT, b"no JSON", {"type": "timeout", "phase": "x", "after": "1"}])
def test_the_enforcer_writes_timeouts_and_quarantines_only(body: Any) -> None:
    story = opened()
    story.enforcer(body)
    assert story.codes == ["record-invalid"]


# --- authors, sources, epochs ----------------------------------------------------------------------------------------


def test_producers_and_an_unwrapper_never_share_a_run() -> None:
    story = opened()
    story.write(start(), src="~unwrap:parent")
    assert story.codes == ["run-author"]
    child = Story(run="~child")
    child.control({"type": "run-start"}, src="~unwrap:parent")
    child.write(start(), src="p")
    child.write(start(), src="~unwrap:other")
    assert child.codes == ["run-author"] * 2
    child.write(start(), src="~unwrap:parent")
    assert child.types[-1] == "text-start"


def test_a_run_has_at_most_so_many_sources() -> None:
    story = opened(Limits(sources=3))
    for src in ("a", "b", "c", "d"):
        story.control(HEARTBEAT, src=src)
    assert story.codes == ["too-many-sources"] * 2
    story.control(HEARTBEAT, src="a")
    assert story.codes == ["too-many-sources"] * 2


def test_a_refused_record_makes_no_source_beyond_the_limit() -> None:
    story = opened(Limits(sources=1))
    story.control({"type": "redrive"}, src="q")
    assert story.codes == ["record-invalid"]
    assert list(story.machine.state.sources) == ["p"]


def test_an_older_epoch_is_fenced() -> None:
    story = opened()
    story.control(HEARTBEAT, epoch=2)
    story.control(HEARTBEAT, epoch=1)
    [evidence] = story.evidence
    assert (evidence.code, evidence.cls, evidence.expected) == ("producer-fenced", "refused", ("epoch 2 or newer",))


def test_a_new_epoch_ends_the_open_call_of_its_source() -> None:
    story = loop()
    story.all([start(), text("x")], call="1")
    story.control(HEARTBEAT, epoch=1)
    assert story.types[-1] == "text-end"
    story.write(start(), call="2", epoch=1)
    [step] = story.of("step-finish")
    assert step["stepResult"] == {"reason": "retry", "isContinued": True, "warnings": []}
    assert step["metadata"]["failure"]["code"] == "producer-replaced"
    story.write(text("late"), call="1", epoch=1)
    assert story.codes == ["chunk-after-finish"]


def test_a_new_epoch_in_a_single_call_ends_the_run() -> None:
    story = Story()
    story.write(start())
    story.write(start(), call="2", epoch=1)
    assert story.of("error")[0]["error"]["code"] == "producer-replaced"
    assert (story.reason, story.codes) == ("error", ["chunk-after-terminal"])


def test_another_source_may_go_on_between_calls() -> None:
    story = loop()
    story.all([USAGE, finish()], call="1")
    story.all([USAGE, finish()], call="2", src="q")
    assert story.codes == []
    assert len(story.of("step-start")) == 2


# --- duplicates and gaps ---------------------------------------------------------------------------------------------


def test_duplicates_have_no_output() -> None:
    story = Story()
    bodies = [*text_block(), USAGE, finish()]
    story.all(bodies)
    told = story.chunks.copy()
    for record in story.records.copy():
        story.machine.feed(msgspec.structs.replace(record, id="9000-0"))
    assert story.take() == []
    assert (story.chunks, story.codes, story.machine.duplicates) == (told, [], len(bodies))


def test_a_gap_that_is_filled_changes_nothing() -> None:
    bodies = [start(), text("a"), text("b"), text("c"), end(text="abc"), USAGE, finish()]
    straight, shuffled = Story(), Story()
    straight.all(bodies)
    for position in (0, 3, 2, 5, 1, 6, 4):
        shuffled.write(bodies[position], seq=position + 1)
        shuffled.reload()
    assert shuffled.raw == straight.raw
    assert shuffled.codes == []


def test_a_parked_record_is_named_and_recognized_when_it_comes_again() -> None:
    story = Story()
    story.write(start())
    story.write(text("c"), seq=3)
    parked = story.records[-1]
    story.write(text("c"), seq=3)
    assert story.machine.parked == [parked.id]
    assert story.machine.duplicates == 1


@pytest.mark.parametrize(
    ("limits", "bodies"),
    [
        (Limits(parked_records=2), [text("x")] * 3),
        (Limits(parked_bytes=100), [text("x" * 30)] * 2),
    ],
)
def test_too_much_behind_a_gap_is_fatal(limits: Limits, bodies: list[Any]) -> None:
    story = Story(limits)
    story.write(start())
    story.write(bodies[0], seq=3)
    for body in bodies[1:-1]:
        story.write(body)
    assert story.codes == []
    story.write(bodies[-1])
    evidence = story.evidence[0]
    assert (evidence.code, evidence.cls, evidence.expected) == ("sequence-gap", "fatal", ("seq 2",))
    assert evidence.record == story.records[1].id
    assert story.of("error")[0]["error"]["rule"] == "sequence-gap"
    assert story.codes[1:] == ["chunk-after-terminal"] * len(bodies)
    assert story.machine.parked == []


def test_a_gap_at_the_start_of_a_source_or_epoch_parks_too() -> None:
    story = loop()
    story.write(start(), src="q", seq=2)
    story.control(HEARTBEAT, epoch=1, seq=2)
    assert len(story.machine.parked) == 2
    story.control(HEARTBEAT, src="q", seq=1)
    story.control(HEARTBEAT, epoch=1, seq=1)
    assert (story.machine.parked, story.types[-1]) == ([], "text-start")


def test_a_new_epoch_refuses_what_waited_in_the_old_one() -> None:
    story = loop()
    story.control(HEARTBEAT, seq=3)
    story.control(HEARTBEAT, epoch=1)
    assert story.codes == ["producer-fenced"]
    assert story.machine.parked == []


def test_a_parked_record_that_was_trimmed_is_a_gap_for_good() -> None:
    story = Story()
    story.write(start())
    story.write(text("b"), seq=3)
    story.machine = RunMachine("r", Limits(), story.machine.blob(), story.machine.seq)
    story.write(text("a"), seq=2)
    assert story.codes == ["sequence-gap"]
    assert "can no longer be read" in story.evidence[0].message
    assert story.reason == "error"


# --- crashes ---------------------------------------------------------------------------------------------------------


def test_a_record_that_crashes_its_reader_ends_its_run() -> None:
    story = Story()
    story.write(start())
    record = story.record(text("poison"))
    story.machine.quarantine(record)
    story.take()
    [evidence] = story.evidence
    assert (evidence.code, evidence.cls, evidence.record) == ("enforcer-crash", "fatal", record.id)
    assert story.reason == "error"
    story.enforcer({"type": "quarantine", "record": record.id})
    story.machine.quarantine(record)
    story.machine.feed(record)
    story.take()
    assert story.codes == ["enforcer-crash"]


def test_a_first_record_that_crashes_opens_and_ends_its_run() -> None:
    story = Story()
    story.machine.quarantine(story.record(start()))
    story.take()
    assert story.types == ["start", "error", "finish"]
    story = Story()
    story.machine.quarantine(story.record(start(), seq=2))
    story.take()
    assert (story.codes, story.machine.exists) == (["enforcer-crash"], False)


def test_the_enforcers_records_do_nothing_in_a_run_without_state() -> None:
    story = Story()
    story.enforcer({"type": "timeout", "phase": "idle", "after": "1-0"})
    assert (story.codes, story.machine.exists) == ([], False)


# --- run-start -------------------------------------------------------------------------------------------------------


def test_a_later_run_start_only_adds_what_is_absent() -> None:
    story = loop(agentId="a")
    story.control(
        {"type": "run-start", "agentId": "other", "threadId": "t", "mode": "single-call", "usage": "optional"}
    )
    story.control({"type": "run-start", "agentId": "a"})
    story.write(finish())
    assert story.of("start") == [{"agentId": "a", "threadId": "t"}]
    assert [(evidence.code, evidence.cls) for evidence in story.evidence] == [
        ("run-start-late", "repaired"),
        ("usage-missing", "fatal"),
    ]


def test_a_record_type_is_exact() -> None:
    assert isinstance(Story().record(start()), Record)

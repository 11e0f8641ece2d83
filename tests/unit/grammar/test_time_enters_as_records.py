"""Deadlines, timeouts and what makes a timeout without effect."""

import json
from typing import Any

import msgspec
import pytest

from runwire.grammar import Limits
from unit.grammar.story import HEARTBEAT, RUN_END, USAGE, Story, finish, loop, start, text, tool_block

MINUTE = 60_000
SUSPENDED = {"type": "run-end", "reason": "suspended"}


def in_phase(phase: str) -> Story:
    story = loop()
    if phase == "call":
        story.write(start())
    elif phase == "tools":
        story.all([*tool_block(), USAGE, finish("tool_calls")])
    elif phase == "idle":
        story.all([USAGE, finish()])
    elif phase == "suspended":
        story.control(SUSPENDED)
    elif phase == "gap":
        story.control(HEARTBEAT, seq=3)
    return story


@pytest.mark.parametrize(
    ("phase", "ms", "reason", "code"),
    [
        ("call", 2 * MINUTE, "error", "run-idle-timeout"),
        ("tools", 60 * MINUTE, "error", "run-idle-timeout"),
        ("idle", 5 * MINUTE, "stop", None),
        ("suspended", 7 * 24 * 60 * MINUTE, "error", "suspension-expired"),
        ("gap", 10_000, "error", "grammar-violation"),
    ],
)
def test_each_phase_has_its_limit_and_its_ending(phase: str, ms: int, reason: str, code: str | None) -> None:
    story = in_phase(phase)
    assert story.machine.deadline_ms() == ms
    due = json.loads(story.machine.due() or b"")
    assert due == {"type": "timeout", "phase": phase, "after": story.records[-1].id}
    story.reload()
    story.wait()
    assert story.reason == reason
    assert [error["error"]["code"] for error in story.of("error")] == ([] if code is None else [code])
    assert story.machine.deadline_ms() == 0


def test_a_run_that_never_did_anything_times_out_with_an_error() -> None:
    story = loop()
    story.wait()
    assert story.types == ["start", "error", "finish"]
    assert story.of("error")[0]["error"]["code"] == "run-idle-timeout"
    assert story.chunks[1]["from"] == "SYSTEM"


@pytest.mark.parametrize("phase", ["call", "tools", "idle", "suspended"])
@pytest.mark.parametrize("later", [HEARTBEAT, None])
def test_a_timeout_is_without_effect_if_something_came_before_it(phase: str, later: Any) -> None:
    story = in_phase(phase)
    body = story.machine.due() or b""
    if later is None:
        story.feed(story.records[-1])
        story.now += 1
        replayed = story.record(b"", seq=1)
        story.feed(replayed)
    else:
        story.control(later)
    told = len(story.chunks)
    story.enforcer(body)
    assert (len(story.chunks), story.codes) == (told, [])
    story.wait()
    assert story.machine.finished


def test_a_timeout_is_no_sign_of_life() -> None:
    story = in_phase("call")
    body = story.machine.due() or b""
    story.enforcer({"type": "timeout", "phase": "call", "after": "1-0"})
    story.enforcer({"type": "timeout", "phase": "idle", "after": story.records[1].id})
    assert story.machine.due() == body
    story.enforcer(body)
    assert story.machine.finished


@pytest.mark.parametrize("phase", ["ending", "suspend-mark", "task", "task-suspended"])
def test_phases_that_no_run_is_in_yet_do_nothing(phase: str) -> None:
    story = in_phase("call")
    story.enforcer({"type": "timeout", "phase": phase, "after": story.records[-1].id})
    assert (story.codes, story.machine.finished) == ([], False)


def test_more_records_behind_a_gap_do_not_prolong_the_wait() -> None:
    story = in_phase("gap")
    story.now += 4_000
    story.control(HEARTBEAT)
    assert story.machine.deadline_ms() == 10_000 - 4_001
    first = story.records[-2]
    story.now += 60_000
    story.control(HEARTBEAT)
    assert story.machine.deadline_ms() == 1
    story.wait()
    assert story.evidence[0].record == first.id
    assert story.evidence[0].body == first.body


def test_a_gap_that_was_filled_in_time_is_none() -> None:
    story = in_phase("gap")
    body = story.machine.due() or b""
    story.control(HEARTBEAT, seq=2)
    story.enforcer(body)
    assert (story.codes, story.machine.finished) == ([], False)


def test_the_earliest_gap_is_due_first() -> None:
    story = in_phase("gap")
    story.control(HEARTBEAT, src="q", seq=2)
    first, second = story.records[-2:]
    assert json.loads(story.machine.due() or b"")["after"] == first.id
    story.control(HEARTBEAT, seq=2)
    assert json.loads(story.machine.due() or b"")["after"] == second.id
    story.wait()
    assert (story.evidence[0].src, story.evidence[0].code) == ("q", "sequence-gap")


def test_the_earliest_gap_is_told_by_numbers_not_by_text() -> None:
    story = loop()
    story.now = 998
    story.control(HEARTBEAT, seq=3)
    story.control(HEARTBEAT, src="q", seq=2)
    assert [record.id for record in story.records[-2:]] == ["999-0", "1000-0"]
    assert json.loads(story.machine.due() or b"")["after"] == "999-0"


def test_silence_may_be_shorter_than_a_gap() -> None:
    story = loop(Story(Limits(idle_ms=3_000)))
    story.control(HEARTBEAT, seq=3)
    assert json.loads(story.machine.due() or b"")["phase"] == "idle"
    story.wait()
    assert story.of("error")[0]["error"]["code"] == "run-idle-timeout"


def test_a_gap_whose_first_record_was_refused_still_times_out() -> None:
    story = loop()
    story.control({"type": "redrive"}, seq=3)
    story.wait()
    assert story.codes == ["record-invalid", "sequence-gap"]
    assert story.machine.finished


def test_every_limit_is_configurable() -> None:
    limits = Limits(idle_call_ms=1, idle_tools_ms=2, idle_ms=3, suspended_ms=4, gap_ms=5)
    for phase, ms in (("call", 1), ("tools", 2), ("suspended", 4), ("idle", 3)):
        told = in_phase(phase)
        story = loop(Story(limits))
        for record in told.records[1:]:
            story.feed(record)
        assert story.machine.deadline_ms() == ms


def test_ids_that_are_plain_numbers_have_no_clock_but_an_order() -> None:
    story = loop()
    story.now = 5
    story.write(start())
    assert story.machine.deadline_ms() == 2 * MINUTE
    story.control(RUN_END)
    story.write(text("x"))
    assert story.reason == "error"


@pytest.mark.parametrize("phase", ["call", "gap"])
def test_a_timeout_may_name_a_record_by_a_number_alone(phase: str) -> None:
    told = in_phase(phase)
    for short in (True, False):
        story = Story()
        for record in told.records:
            story.feed(msgspec.structs.replace(record, id=record.id.removesuffix("-0")) if not short else record)
        last = told.records[-1].id
        assert last.endswith("-0")
        story.enforcer({"type": "timeout", "phase": phase, "after": last.removesuffix("-0")[:-1]})
        assert not story.machine.finished
        story.enforcer({"type": "timeout", "phase": phase, "after": last.removesuffix("-0") if short else last})
        assert story.machine.finished
        assert story.evidence == [] or story.evidence[0].record == story.records[len(told.records) - 1].id

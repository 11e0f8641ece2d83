"""Suspension: what asks for it, when the leg is over, what its mark says, and what begins the next one."""

import json
from typing import Any

import pytest

from unit.grammar.story import HEARTBEAT, USAGE, Story, finish, loop, said, start, tool_block

STOP = {"stepResult": {"reason": "stop"}}
SUSPENDED = {"type": "run-end", "reason": "suspended"}
T: dict[str, Any] = {"toolCallId": "t"}
TF = {**T, "toolName": "f"}
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (("step-start", {}), ("tool-call", TF), ("tool-call-approval", T))


def phase(story: Story) -> tuple[str, int]:
    return json.loads(story.machine.due() or b"{}").get("phase"), story.machine.deadline_ms()


@pytest.mark.parametrize("question", ["tool-call-approval", "tool-call-suspended"])
@pytest.mark.parametrize("how", ["silence", "run-end"])
def test_a_leg_ends_when_only_the_suspended_is_open(question: str, how: str) -> None:
    story = said(("step-start", {}), ("text-start", {"id": "a"}), ("tool-call", TF), (question, T))
    assert phase(story) == ("suspend-mark", 2_000)
    story.reload()
    if how == "silence":
        story.wait()
    else:
        story.control(SUSPENDED)
    assert story.types[-2:] == ["text-end", "data-run-suspended"]
    assert story.of("data-run-suspended") == [{"leg": 1, "toolCallIds": ["t"]}]
    assert (story.chunks[-1]["from"], story.codes) == ("SYSTEM", [])
    assert phase(story) == ("suspended", 7 * 86_400_000)


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("workflow-paused", {}),
        ("workflow-step-suspended", {"id": "s", "suspendPayload": {}}),
        ("workflow-finish", {"workflowStatus": "suspended"}),
        ("workflow-finish", {"workflowStatus": "paused"}),
        ("workflow-finish", {"workflowStatus": "waiting"}),
        ("tool-execution-approval", {}),
        ("tool-execution-suspended", {}),
        ("agent-execution-approval", {}),
        ("agent-execution-suspended", {}),
        ("workflow-execution-suspended", {}),
        ("tool-call-approval", {"toolCallId": "nobody"}),
    ],
)
def test_workflows_and_networks_suspend_too(kind: str, payload: dict[str, Any]) -> None:
    story = said((kind, payload))
    assert phase(story) == ("suspend-mark", 2_000)
    story.wait()
    assert story.of("data-run-suspended") == [{"leg": 1, "toolCallIds": []}]
    assert story.types[-2] == kind


def test_calls_that_are_at_work_are_waited_for() -> None:
    story = said(*ASKED, ("tool-call", {"toolCallId": "u", "toolName": "g"}))
    assert phase(story)[0] == "tools"
    story.say("tool-result", toolCallId="u")
    assert phase(story)[0] == "suspend-mark"
    late = story.machine.due() or b""
    story.control(HEARTBEAT)
    story.enforcer(late)
    assert story.of("data-run-suspended") == []


def test_a_call_that_was_told_off_is_not_waited_for() -> None:
    story = said(("step-start", {}), ("tool-call-input-streaming-start", {"toolCallId": "bad", "toolName": "g"}))
    story.say("step-finish", stepResult={"reason": "tool-calls"})
    for kind, payload in ASKED:
        story.say(kind, **payload)
    assert phase(story)[0] == "suspend-mark"


def test_an_open_call_is_waited_for() -> None:
    story = loop()
    story.all([*tool_block(), start(1)])
    story.say("tool-call-approval", toolCallId="t1")
    assert phase(story)[0] == "call"
    story.all([{"type": "block-end", "index": 1, "block": {"kind": "text", "text": ""}}, USAGE, finish("tool_calls")])
    assert phase(story)[0] == "suspend-mark"


def test_an_answer_before_the_mark_ends_the_waiting() -> None:
    story = said(*ASKED, ("tool-result", T))
    assert phase(story)[0] == "idle"


@pytest.mark.parametrize("first", ["tool-result", "tool-output-denied", "start", "step-start", "data-x", "raw call"])
def test_any_later_chunk_begins_the_next_leg(first: str) -> None:
    story = said(*ASKED)
    story.wait()
    story.reload()
    leg = story.machine.state.leg
    if first == "raw call":
        story.say("tool-result", **T)
        story.say("step-finish", stepResult={"reason": "tool-calls"})
        story.write(start(), call="2")
    else:
        story.agent({"type": first, "data": 1, "payload": T}, call=None)
    assert (story.machine.state.suspended, story.machine.state.leg) == (False, leg + 1)
    assert story.types.count("start") == 1
    assert story.codes == (["step-closed"] if first == "step-start" else [])


def test_background_chunks_and_heartbeats_begin_no_leg() -> None:
    story = said(*ASKED)
    story.wait()
    story.say("background-task-running", taskId="k", **T)
    story.control(HEARTBEAT)
    assert (story.machine.state.suspended, story.types[-1]) == (True, "background-task-running")


def test_a_resumed_leg_goes_on_in_its_step_and_may_suspend_again() -> None:
    story = said(*ASKED)
    story.wait()
    story.say("tool-result", **T)
    story.say("tool-call", toolCallId="u", toolName="g")
    story.say("tool-call-suspended", toolCallId="u", suspendPayload=1)
    story.wait()
    story.say("tool-result", toolCallId="u")
    story.say("step-finish", **STOP)
    story.say("finish", **STOP)
    assert [mark["leg"] for mark in story.of("data-run-suspended")] == [1, 2]
    assert (story.types.count("step-start"), story.reason, story.codes) == (1, "stop", [])


def test_what_asked_in_the_leg_before_must_ask_again() -> None:
    story = said(
        *ASKED, ("tool-call", {"toolCallId": "u", "toolName": "g"}), ("tool-call-approval", {"toolCallId": "u"})
    )
    story.wait()
    assert story.of("data-run-suspended")[0]["toolCallIds"] == ["t", "u"]
    story.say("tool-output", **T, output=1)
    assert phase(story)[0] == "tools"
    story.say("tool-result", **T)
    story.say("tool-call-approval", toolCallId="u")
    story.wait()
    assert story.of("data-run-suspended")[1] == {"leg": 2, "toolCallIds": ["u"]}


def test_input_that_a_suspension_closed_may_still_get_its_call() -> None:
    story = said(("step-start", {}), ("tool-call-input-streaming-start", TF))
    story.control(SUSPENDED)
    assert story.types[-2:] == ["tool-call-input-streaming-end", "data-run-suspended"]
    story.say("tool-call", **TF, args={"a": 1})
    assert story.of("tool-call") == [{**TF, "args": {"a": 1}}]
    assert story.codes == []


def test_a_suspended_run_can_be_ended() -> None:
    for reason, ends in (("aborted", "abort"), ("error", "error"), ("stop", "error")):
        story = said(*ASKED)
        story.wait()
        story.control({"type": "run-end", "reason": reason})
        assert story.reason == ends
        assert story.of("tool-error")[0]["error"]["code"] == "interrupted"
    story = said(*ASKED)
    story.wait()
    story.wait()
    assert story.of("error")[0]["error"]["code"] == "suspension-expired"


def test_a_mark_of_somebody_else_asks_for_one() -> None:
    story = said(*ASKED)
    story.agent({"type": "data-run-suspended", "data": {"leg": 7}}, call=None)
    story.agent({"type": "data-run-suspended", "data": {"leg": 1}}, call=None)
    assert story.of("data-run-suspended") == [{"leg": 1, "toolCallIds": ["t"]}]
    assert story.machine.state.suspended
    story = loop()
    story.write(start())
    story.agent({"type": "data-run-suspended", "data": {"leg": 7}}, call=None)
    assert story.of("error")[0]["error"]["code"] == "not-terminated"

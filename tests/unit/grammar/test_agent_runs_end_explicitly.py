"""Every way in which an agent, a workflow or a network ends its run, and what is still taken then."""

from typing import Any

import pytest

from runwire.grammar import Limits
from unit.grammar.story import HEARTBEAT, RUN_END, USAGE, Story, encoded, finish, loop, said, start, text, tool_block

STOP = {"stepResult": {"reason": "stop"}}
T: dict[str, Any] = {"toolCallId": "t"}
TF = {**T, "toolName": "f"}
TASK = {"taskId": "k", **T}


def in_step(*chunks: tuple[str, dict[str, Any]]) -> Story:
    return said(("step-start", {}), ("text-start", {"id": "a"}), ("tool-call", TF), *chunks)


def ending_of(story: Story) -> list[str]:
    """The chunks from the last `tool-call` on."""
    return story.types[len(story.types) - story.types[::-1].index("tool-call") :]


# --- error, abort, tripwire ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["error", "abort", "tripwire"])
@pytest.mark.parametrize("how", ["step-finish and finish", "finish", "run-end", "silence", "step-finish and silence"])
def test_a_stop_is_followed_by_what_completes_it(kind: str, how: str) -> None:
    story = in_step((kind, {"error": {"message": "m"}, "retry": True}))
    assert ending_of(story) == ["text-end", "tool-error", kind]
    assert story.of("tool-error")[0]["error"]["code"] == "interrupted"
    story.reload()
    usage = {"output": {"usage": {"inputTokens": 1, "outputTokens": 2}}}
    if "step-finish" in how:
        story.say("step-finish", stepResult={"reason": "stop"}, **usage)
    if how.endswith("finish"):
        story.say("finish", stepResult={"reason": "length", "isContinued": True})
    elif how == "run-end":
        story.control(RUN_END)
    else:
        assert story.machine.deadline_ms() == 5_000
        story.wait()
    assert ending_of(story) == ["text-end", "tool-error", kind, "step-finish", "finish"]
    assert story.of("step-finish")[0]["stepResult"]["reason"] == story.reason == kind
    assert story.of("finish")[0]["stepResult"]["isContinued"] is False
    assert story.of(kind)[0]["error"] == {"message": "m"}
    assert story.of("finish")[0]["output"]["usage"].get("totalTokens") == (3 if "step-finish" in how else None)
    assert story.codes == []


def test_an_abort_keeps_the_word_that_was_sent_instead() -> None:
    story = in_step(("abort", {}), ("finish", {"stepResult": {"reason": "tripwire"}}))
    assert story.of("finish")[0]["stepResult"] == {"reason": "abort", "isContinued": False, "rawReason": "tripwire"}


def test_all_else_is_refused_while_a_run_is_ending() -> None:
    story = loop()
    story.say("step-start")
    story.say("error")
    told = len(story.chunks)
    for kind, payload in (("text-start", {"id": "a"}), ("error", {}), ("start", {}), ("tool-result", T), ("what", {})):
        story.say(kind, **payload)
    story.write(start())
    story.agent(b"{", call=None)
    story.agent({"type": "finish", "runId": "other"}, call=None)
    story.control({"type": "run-start", "agentId": "a"})
    story.control({"type": "run-end"})
    assert story.codes == ["chunk-after-terminal"] * 7 + ["run-mismatch", "fields-invalid"]
    assert {found.cls for found in story.evidence} == {"refused"}
    assert (len(story.chunks), story.machine.state.agent_id) == (told, None)
    story.say("background-task-running", **TASK)
    story.say("step-finish", **STOP)
    story.say("step-finish", **STOP)
    assert story.codes[9:] == ["chunk-after-terminal"]
    story.say("finish", **STOP)
    assert story.types[told:] == ["background-task-running", "step-finish", "finish"]


def test_every_record_prolongs_the_wait_for_the_end() -> None:
    story = said(("error", {}))
    late = story.machine.due() or b""
    story.control(HEARTBEAT)
    story.enforcer(late)
    assert not story.machine.finished


def test_a_gap_in_a_run_that_is_ending_ends_nothing() -> None:
    story = Story(Limits(parked_records=1))
    story.say("error")
    for number in (4, 5):
        story.agent({"type": "background-task-progress", "taskIds": [], "runningCount": 0}, call=None, seq=number)
    assert story.codes == ["sequence-gap", "chunk-after-terminal", "chunk-after-terminal"]
    story.agent({"type": "finish", **STOP}, call=None, seq=6)
    assert story.reason == "error"


def test_an_open_call_is_cut_and_its_usage_counts() -> None:
    story = loop()
    story.all([start(), text("x"), USAGE])
    story.say("error", error="broke")
    assert story.types[-2:] == ["text-end", "error"]
    story.write(text("y"))
    assert story.codes == ["chunk-after-terminal"]
    story.wait()
    assert story.of("step-finish")[0]["output"]["usage"]["totalTokens"] == 7
    assert story.of("error") == [{"error": "broke"}]


def test_a_call_with_a_live_task_is_not_interrupted() -> None:
    story = in_step(("background-task-running", TASK), ("abort", {}))
    assert story.of("tool-error") == []


# --- reasons that stop a run -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["step-finish", "finish"])
@pytest.mark.parametrize("reason", ["error", "abort", "tripwire"])
def test_a_reason_that_stops_has_its_chunk(kind: str, reason: str) -> None:
    story = in_step((kind, {"stepResult": {"reason": reason}}))
    assert ending_of(story)[:4] == ["text-end", "tool-error", reason, "step-finish"]
    if kind == "step-finish":
        story.say("finish", stepResult={"reason": reason})
    assert (story.reason, story.types.count(reason)) == (reason, 1)
    assert story.codes == (["block-closed"] if kind == "step-finish" else [])


def test_a_step_processors_tripwire_is_found_in_the_last_step() -> None:
    trip = {"reason": "blocked", "metadata": {"s": 1.0}, "processorId": "p"}
    steps = [{"tripwire": {"reason": "old"}}, {"tripwire": trip}]
    sent = {"stepResult": {"reason": "tripwire"}, "output": {"steps": steps}}
    story = in_step(("step-finish", sent), ("finish", sent))
    assert story.of("tripwire") == [trip]
    bare = in_step(("finish", {"stepResult": {"reason": "tripwire"}, "output": {"steps": []}}))
    assert bare.of("tripwire") == [{"reason": ""}]


def test_a_retried_tripwire_goes_on() -> None:
    story = in_step(("tool-result", T), ("step-finish", {"stepResult": {"reason": "retry"}}), ("step-start", {}))
    story.say("step-finish", **STOP)
    story.say("finish", **STOP)
    assert story.reason == "stop"
    assert [step["stepResult"]["reason"] for step in story.of("step-finish")] == ["retry", "stop"]


@pytest.mark.parametrize("kind", ["step-finish", "finish"])
def test_no_reason_is_an_error(kind: str) -> None:
    story = said(("step-start", {}), (kind, {"stepResult": {"isContinued": True}}))
    assert story.of("error")[0]["error"]["code"] == "not-terminated"
    assert next(chunk for chunk in story.chunks if chunk["type"] == "error")["from"] == "SYSTEM"
    story.say("finish")
    assert (story.reason, story.types.count("error")) == ("error", 1)
    assert story.of("finish")[0]["stepResult"]["isContinued"] is False


@pytest.mark.parametrize("kind", ["step-finish", "finish"])
@pytest.mark.parametrize("reason", ["error", None])
def test_a_failed_call_gives_its_failure_to_the_agents_end(kind: str, reason: str | None) -> None:
    story = loop()
    story.all([start(), finish("error")])
    story.say(kind, stepResult={"reason": reason})
    assert story.of("error") == [{"error": {"message": "broke"}}]


def test_a_failed_call_decides_over_the_agents_finish() -> None:
    story = loop()
    story.all([start(), finish("error", raw="boom")])
    story.say("finish", **STOP)
    assert story.of("error") == [{"error": {"message": "broke"}}]
    assert story.reason == "error"
    assert story.of("step-finish")[0]["stepResult"]["rawReason"] == "boom"


# --- ends that are none ----------------------------------------------------------------------------------------------


def test_a_finish_closes_the_step_of_a_finished_call() -> None:
    story = loop()
    story.all([*tool_block(), USAGE, finish("tool_calls")])
    story.say("finish", **STOP)
    assert story.of("step-finish")[0]["stepResult"]["reason"] == "tool-calls"
    assert (story.reason, story.codes) == ("stop", [])


@pytest.mark.parametrize(("reason", "ends"), [("stop", "error"), ("aborted", "abort"), ("error", "error")])
def test_a_run_end_in_an_agents_open_step(reason: str, ends: str) -> None:
    story = said(("step-start", {}))
    story.control({"type": "run-end", "reason": reason})
    assert story.reason == ends
    code = story.of("error")[0]["error"].get("code") if ends == "error" else None
    assert code == ("not-terminated" if reason == "stop" else None)


def test_a_run_end_in_a_step_whose_call_has_finished_is_a_good_one() -> None:
    story = loop()
    story.say("step-start")
    story.all([start(), {"type": "block-end", "index": 0, "block": {"kind": "text", "text": ""}}, USAGE, finish()])
    story.control(RUN_END)
    assert story.reason == "stop"


@pytest.mark.parametrize(
    ("chunks", "reason"),
    [
        ([("step-start", {})], "error"),
        ([("step-start", {}), ("step-finish", {"stepResult": {"reason": "tool-calls"}})], "tool-calls"),
        ([("step-start", {}), ("step-finish", {"stepResult": {"reason": "retry"}})], "error"),
        ([("workflow-start", {})], "error"),
    ],
)
def test_silence_is_a_good_end_only_after_one(chunks: list[Any], reason: str) -> None:
    story = said(*chunks)
    assert story.machine.deadline_ms() == 300_000
    story.wait()
    assert story.reason == reason


# --- workflows and networks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "reason", "raw"),
    [
        ("success", "stop", None),
        ("bailed", "stop", None),
        ("failed", "error", None),
        ("canceled", "abort", None),
        ("tripwire", "tripwire", None),
        ("odd", "other", "odd"),
    ],
)
def test_a_workflows_finish_ends_its_run(status: str, reason: str, raw: str | None) -> None:
    story = Story()
    story.say("workflow-start", workflowId="w")
    story.say("workflow-step-output", output={"type": "text-delta"}, stepName="s")
    story.say("workflow-finish", workflowStatus=status, output={"usage": {"inputTokens": 9}})
    middle = [] if reason in ("stop", "other") else [reason]
    assert story.types == ["start", "workflow-start", "workflow-step-output", "workflow-finish", *middle, "finish"]
    assert (story.reason, story.of("finish")[0]["stepResult"].get("rawReason")) == (reason, raw)
    assert story.of("finish")[0]["output"] == {"usage": {}}
    assert story.codes == []


def test_a_failed_workflow_says_why() -> None:
    story = said(("workflow-finish", {"workflowStatus": "failed", "metadata": {"error": {"message": "m", "n": 1.0}}}))
    assert b'"payload":{"error":{"message":"m","n":1.0}}' in story.raw[-2]
    plain = said(("workflow-finish", {"workflowStatus": "failed"}))
    assert plain.of("error")[0]["error"]["code"] == "workflow-failed"
    trip = said(("workflow-finish", {"workflowStatus": "tripwire", "tripwire": {"reason": "r"}}))
    assert trip.of("tripwire") == [{"reason": "r"}]


@pytest.mark.parametrize("after", ["workflow-finish", "run-end", "finish", "silence", "suspended"])
def test_a_canceled_workflow_is_aborted(after: str) -> None:
    story = said(("workflow-canceled", {}))
    assert story.types == ["start", "workflow-canceled"]
    story.reload()
    if after == "run-end":
        story.control(RUN_END)
    elif after == "silence":
        assert story.machine.deadline_ms() == 5_000
        story.wait()
    elif after == "finish":
        story.say("finish", **STOP)
    else:
        story.say("workflow-finish", workflowStatus="success" if after == "workflow-finish" else "suspended")
    assert story.reason == "abort"
    assert story.types[-2:] == ["abort", "finish"]


def test_a_network_ends_with_its_finish_event() -> None:
    story = Story()
    story.write(
        {"type": "routing-agent-start", "from": "NETWORK", "payload": {"runId": "inner"}}, kind="agent", call=None
    )
    story.say("agent-execution-event-finish", type="finish", payload={})
    story.say("network-object-result", object={"a": 1})
    assert not story.machine.finished
    story.say("network-execution-event-finish", result="r")
    assert (story.reason, story.types[-2:]) == ("stop", ["network-execution-event-finish", "finish"])


def test_the_end_of_a_single_call_ends_what_an_agent_added() -> None:
    story = Story()
    story.write({"type": "response-metadata", "payload": {}}, kind="agent")
    story.all([start(), {"type": "block-end", "index": 0, "block": {"kind": "text", "text": ""}}, USAGE, finish()])
    assert story.reason == "stop"
    story.say("tool-result", **T)
    assert story.codes == ["chunk-after-terminal"]
    assert story.evidence[0].body == encoded({"type": "tool-result", "payload": T})

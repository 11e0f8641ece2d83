"""A call, step or parent that is over ends the children it carried, unless they ended themselves or wait."""

import json
from typing import Any

import pytest

from helpers.nesting import Pipeline, agent, chunk, finish, step_finish, tool_call, tool_output, tool_result
from runwire_schemas.record import Record

OPEN = [chunk("start", "sub", {}), chunk("step-start", "sub", {})]


def begun(*inner: Any, calls: tuple[str, ...] = ("c1",)) -> Pipeline:
    """A run whose first call has put out these values."""
    p = Pipeline()
    p.publish("top", chunk("start", "top", {}), chunk("step-start", "top", {}), *(tool_call("top", c) for c in calls))
    p.publish("top", *(tool_output("top", "c1", value) for value in inner))
    return p


def ends(p: Pipeline, run: str = "sub") -> list[dict[str, Any]]:
    """The ends that the unwrapper wrote for a run."""
    records: list[Record] = [record for records in p.raw for record in records if record.run == run]
    controls = [json.loads(record.body) for record in records if record.kind == "control"]
    return [control for control in controls if control["type"] == "run-end"]


def reason(p: Pipeline, run: str = "sub") -> str | None:
    """The reason of a run's finish, None while it is open."""
    last = p.log(run)[-1]
    return last["payload"]["stepResult"]["reason"] if last["type"] == "finish" else None


STOP = {"type": "run-end", "reason": "stop"}


def test_an_answer_ends_what_its_call_left_open() -> None:
    p = begun(*OPEN)
    p.run_dry()
    assert reason(p) is None
    p.publish("top", tool_result("top", "c1"))
    p.run_dry()
    assert ends(p) == [STOP]
    assert reason(p) is not None


@pytest.mark.parametrize(
    "answer",
    [
        chunk("tool-error", "top", {"toolCallId": "c1", "toolName": "sub", "error": {"message": "no"}}),
        tool_result("top", "c1", isError=True),
    ],
)
def test_a_failed_answer_fails_it(answer: Any) -> None:
    p = begun(*OPEN)
    p.publish("top", answer)
    p.run_dry()
    (end,) = ends(p)
    assert end["reason"] == "error"
    assert end["failure"]["code"] == "parent-ended"
    assert reason(p) == "error"


def test_a_denied_call_is_answered() -> None:
    p = begun(*OPEN)
    p.publish("top", chunk("tool-output-denied", "top", {"toolCallId": "c1", "toolName": "sub"}))
    p.run_dry()
    assert ends(p) == [STOP]


def test_another_calls_answer_ends_nothing() -> None:
    p = begun(*OPEN, calls=("c1", "c2"))
    p.publish("top", tool_result("top", "c2"))
    p.run_dry()
    assert ends(p) == []
    assert reason(p) is None


def test_what_finished_by_itself_is_left_alone() -> None:
    p = begun(*agent("sub", "x"))
    p.publish("top", tool_result("top", "c1"), step_finish("top"), finish("top"))
    p.run_dry()
    assert ends(p) == []
    assert p.codes() == []


@pytest.mark.parametrize("code", ["truncated", "tool-arguments-invalid"])
def test_a_telling_off_is_no_answer(code: str) -> None:
    """The enforcer tells the model; the call itself may still be answered."""
    p = Pipeline()
    told = {"toolCallId": "c1", "toolName": "sub", "error": {"code": code, "message": "cut"}}
    p.enter("top", chunk("start", "top", {}), *(tool_output("top", "c1", value) for value in OPEN))
    p.enter("top", chunk("tool-error", "top", told))
    p.run_dry()
    assert ends(p) == []


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ([step_finish("top"), finish("top")], STOP),
        ([chunk("error", "top", {"error": {}}), step_finish("top", "error"), finish("top", "error")], None),
        ([chunk("abort", "top", {}), finish("top")], None),
        ([chunk("tripwire", "top", {"reason": "no"}), finish("top", "tripwire")], None),
    ],
)  # fmt: skip
def test_the_end_of_a_run_ends_what_is_in_it(last: list[Any], expected: dict[str, str] | None) -> None:
    p = begun(*OPEN)
    p.publish("top", *last)
    p.run_dry()
    (end,) = ends(p)
    if expected:
        assert end == expected
    else:
        assert (end["reason"], end["failure"]["code"]) == ("error", "parent-ended")
    assert reason(p) is not None


def test_ends_go_down_all_levels() -> None:
    p = begun(chunk("start", "sub", {}), chunk("step-start", "sub", {}), tool_call("sub", "c2"))
    p.publish("top", tool_output("top", "c1", tool_output("sub", "c2", chunk("start", "leaf", {}))))
    p.publish("top", chunk("abort", "top", {}), finish("top"))
    p.run_dry()
    assert reason(p) == "error"
    assert reason(p, "leaf") == "error"


# --- suspension ------------------------------------------------------------------------------------------------------

APPROVAL = chunk("tool-call-approval", "sub", {"toolCallId": "x1", "toolName": "pay", "args": {}})
SUSPENDED = chunk("tool-call-suspended", "sub", {"toolCallId": "x1", "toolName": "pay", "args": {}})


@pytest.mark.parametrize("asks", [APPROVAL, SUSPENDED])
def test_a_child_that_waits_for_somebody_is_not_ended(asks: Any) -> None:
    p = begun(*OPEN, tool_call("sub", "x1"), asks)
    p.publish("top", tool_result("top", "c1"), step_finish("top"), finish("top"))
    p.run_dry()
    assert ends(p) == []
    assert reason(p) is None


def test_a_child_that_goes_on_is_ended_again() -> None:
    """The next leg may come in another call, and numbers go on."""
    p = begun(*OPEN, tool_call("sub", "x1"), APPROVAL, calls=("c1", "c2"))
    p.publish("top", tool_result("top", "c1"))
    p.publish("top", tool_output("top", "c2", tool_result("sub", "x1")), tool_output("top", "c2", step_finish("sub")))
    p.run_dry()
    assert ends(p) == []
    p.publish("top", tool_result("top", "c2"))
    p.run_dry()
    assert ends(p) == [STOP]
    assert p.types("sub").count("tool-result") == 1
    assert p.codes() == []


def test_others_calls_do_not_wake_a_waiting_child() -> None:
    beside = [
        tool_output("sub", "x2", {"pct": 4}),
        chunk("data-note", "sub", data=1),
        tool_result("sub", "x2"),
        chunk("background-task-progress", "sub", {"taskIds": ["t"], "runningCount": 1, "elapsedMs": 0}),
    ]
    p = begun(*OPEN, tool_call("sub", "x1"), tool_call("sub", "x2"), APPROVAL, *beside)
    p.publish("top", tool_result("top", "c1"))
    p.run_dry()
    assert ends(p) == []


@pytest.mark.parametrize("status", ["suspended", "paused"])
def test_a_workflow_that_waits_is_not_ended(status: str) -> None:
    inner = [chunk("workflow-start", "sub", {}), chunk("workflow-finish", "sub", {"workflowStatus": status})]
    p = begun(*inner)
    p.publish("top", tool_result("top", "c1"))
    p.run_dry()
    assert ends(p) == []


@pytest.mark.parametrize("status", ["success", "failed", "canceled"])
def test_a_workflow_that_is_done_is_done(status: str) -> None:
    inner = [chunk("workflow-start", "sub", {}), chunk("workflow-finish", "sub", {"workflowStatus": status})]
    p = begun(*inner)
    p.publish("top", tool_result("top", "c1"))
    p.run_dry()
    assert ends(p) == []
    assert reason(p) is not None


# --- background tasks ------------------------------------------------------------------------------------------------


def task(event: str, task_id: str = "t1", **more: Any) -> dict[str, Any]:
    payload = {"taskId": task_id, "toolCallId": "c1", "toolName": "slow", "runId": "top", **more}
    return chunk(f"background-task-{event}", "top", payload)


def test_a_placeholder_is_no_answer_while_the_task_lives() -> None:
    p = begun()
    p.publish("top", task("started"), task("running"), task("output", payload=tool_output("top", "c1", OPEN[0])))
    p.publish("top", tool_result("top", "c1"))
    p.run_dry()
    assert ends(p) == []
    p.publish("top", task("output", payload=tool_output("top", "c1", OPEN[1])), task("completed", result=1))
    p.run_dry()
    assert ends(p) == [STOP]
    parent = p.lineage("sub").parent
    assert parent is not None
    assert (parent.wrapper, parent.key) == ("background-task-output", "t1")


@pytest.mark.parametrize("event", ["failed", "cancelled"])
def test_a_task_that_ends_badly_fails_what_it_carried(event: str) -> None:
    p = begun()
    p.publish("top", task("started"), task("output", payload=tool_output("top", "c1", OPEN[0])), task(event))
    p.run_dry()
    (end,) = ends(p)
    assert end["failure"]["code"] == "parent-ended"


def test_a_live_task_outlives_its_run() -> None:
    p = begun()
    p.publish("top", task("started"), task("output", payload=tool_output("top", "c1", OPEN[0])))
    p.publish("top", tool_result("top", "c1"), step_finish("top"), finish("top"))
    p.run_dry()
    assert ends(p) == []
    p.publish("top", task("output", payload=tool_output("top", "c1", OPEN[1])), task("completed", result=1))
    p.run_dry()
    assert p.types("sub")[:2] == ["start", "step-start"]
    assert ends(p) == [STOP]


def test_a_call_is_over_with_the_last_of_its_tasks() -> None:
    p = begun(*OPEN)
    p.publish("top", task("started"), task("started", "t2"), task("completed"))
    p.run_dry()
    assert ends(p) == []
    p.publish("top", task("completed", "t2"))
    p.run_dry()
    assert ends(p) == [STOP]


# --- workflows and networks ------------------------------------------------------------------------------------------


def step(event: str, name: str, **more: Any) -> dict[str, Any]:
    return chunk(f"workflow-step-{event}", "wf", {"id": name, "stepName": name, "stepCallId": name, **more})


def step_output(name: str, value: Any) -> dict[str, Any]:
    return chunk("workflow-step-output", "wf", {"output": value, "stepName": name, "runId": "wf"})


def workflow(*chunks: Any) -> Pipeline:
    p = Pipeline()
    p.enter("wf", chunk("start", "wf", {}), chunk("workflow-start", "wf", {"workflowId": "w"}), *chunks)
    p.run_dry()
    return p


def test_a_steps_result_ends_what_it_carried() -> None:
    p = workflow(step("start", "s"), step_output("s", OPEN[0]), step("result", "s", status="success"))
    assert ends(p) == [STOP]


def test_a_failed_step_fails_what_it_carried() -> None:
    p = workflow(step("start", "s"), step_output("s", OPEN[0]), step("result", "s", status="failed"))
    assert ends(p)[0]["reason"] == "error"


def test_a_suspended_step_is_not_over() -> None:
    p = workflow(step("start", "s"), step_output("s", OPEN[0]), step("result", "s", status="suspended"))
    assert ends(p) == []


def test_a_step_in_an_inner_workflow_is_known_by_its_bare_name() -> None:
    p = workflow(step("start", "inner.s"), step_output("s", OPEN[0]), step("result", "inner.s", status="success"))
    assert ends(p) == [STOP]


def test_a_bare_name_that_two_running_steps_share_ends_with_the_last() -> None:
    both = [step("start", "one.s"), step("start", "two.s"), step_output("s", OPEN[0])]
    p = workflow(*both, step("result", "one.s", status="success"))
    assert ends(p) == []
    p.enter("wf", step("result", "two.s", status="success"))
    p.run_dry()
    assert ends(p) == [STOP]


@pytest.mark.parametrize("how", ["end", "abort"])
@pytest.mark.parametrize("family", ["agent", "workflow"])
def test_a_networks_execution_ends_what_it_carried(family: str, how: str) -> None:
    p = Pipeline()
    event = chunk(f"{family}-execution-event-start", "net", OPEN[0])
    other = chunk(f"{'workflow' if family == 'agent' else 'agent'}-execution-end", "net", {})
    p.enter("net", chunk("start", "net", {}), event, other)
    p.run_dry()
    assert ends(p) == []
    p.enter("net", chunk(f"{family}-execution-{how}", "net", {}))
    p.run_dry()
    assert [end["reason"] for end in ends(p)] == ["stop" if how == "end" else "error"]
    parent = p.lineage("sub").parent
    assert parent is not None
    assert parent.wrapper == f"{family}-execution-event"

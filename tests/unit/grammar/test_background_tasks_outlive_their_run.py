"""Background tasks in their run's log: before and after its finish, sealing, silence, second answers and twins."""

import json
from itertools import permutations
from typing import Any

import pytest

from runwire.grammar import Limits
from unit.grammar.story import HEARTBEAT, Story, said, start

STOP = {"stepResult": {"reason": "stop"}}
T: dict[str, Any] = {"toolCallId": "t"}
CALL = ("tool-call", {**T, "toolName": "f"})
DAY = 86_400_000


def task(event: str, number: int = 1, **more: Any) -> tuple[str, dict[str, Any]]:
    return f"background-task-{event}", {"taskId": f"k{number}", **T, "toolName": "f", **more}


def tell(story: Story, chunk: tuple[str, dict[str, Any]]) -> None:
    story.say(chunk[0], **chunk[1])


def finished(*live: tuple[str, dict[str, Any]]) -> Story:
    """A run that has finished while tasks are live."""
    return said(("step-start", {}), CALL, *live, ("tool-result", T), ("step-finish", STOP), ("finish", STOP))


def test_a_finished_run_takes_chunks_of_its_tasks_until_the_last_is_over() -> None:
    story = finished(task("started", 1), task("running", 2))
    assert (story.machine.finished, story.machine.sealed) == (True, False)
    story.reload()
    for event, number in (
        ("running", 1),
        ("output", 2),
        ("completed", 2),
        ("output", 2),
        ("resumed", 1),
        ("failed", 1),
    ):
        more = {"payload": {"type": "data-x", "data": 1}} if event == "output" else {}
        tell(story, task(event, number, **more))
    assert [kind.rpartition("-")[2] for kind in story.types[-6:]] == [
        "running",
        "output",
        "completed",
        "output",
        "resumed",
        "failed",
    ]
    assert (story.machine.sealed, story.codes) == (True, [])
    tell(story, task("failed", 1))
    assert story.codes == ["chunk-after-terminal"]


def test_a_finished_run_refuses_tasks_that_are_not_its_own_and_everything_else() -> None:
    story = finished(task("running"))
    told = len(story.chunks)
    for chunk in (task("running", 2), ("tool-result", T), ("data-x", {}), ("finish", STOP)):
        tell(story, chunk)
    story.write(start())
    assert story.codes == ["chunk-after-terminal"] * 5
    story.agent({"type": "background-task-running", "runId": "other", "payload": task("running")[1]}, call=None)
    story.say("background-task-running", taskId="k1")
    assert story.codes[5:] == ["run-mismatch", "payload-invalid"]
    assert len(story.chunks) == told
    story.say("background-task-progress", taskIds=["k1"], runningCount=1, elapsedMs=5)
    assert story.types[-1] == "background-task-progress"


def test_a_run_without_live_tasks_is_sealed_by_its_finish() -> None:
    story = finished(task("running"), task("completed"))
    assert story.machine.sealed
    assert (story.machine.deadline_ms(), story.machine.due()) == (0, None)
    story.say("background-task-progress", taskIds=[], runningCount=0)
    assert story.codes == ["chunk-after-terminal"]
    assert len(story.machine.blob()) < 200


def test_a_violated_run_still_takes_its_tasks() -> None:
    story = said(("step-start", {}), CALL, task("running"), ("text-delta", {}))
    assert (story.codes, story.reason) == (["payload-invalid"], "error")
    tell(story, task("completed"))
    assert (story.types[-1], story.machine.sealed) == ("background-task-completed", True)


@pytest.mark.parametrize("order", list(permutations(("started", "running", "output", "completed"))))
def test_a_tasks_events_may_come_in_any_order(order: tuple[str, ...]) -> None:
    story = said(("step-start", {}), CALL)
    for event in order:
        more: dict[str, Any] = {"payload": {"type": "data-x", "data": 1}} if event == "output" else {}
        tell(story, task(event, **more))
    late = order.index("running") > order.index("completed")
    assert story.codes == (["task-ended"] if late else [])
    assert story.machine.state.tasks == {}
    assert sum(kind.startswith("background-task-") for kind in story.types) == (3 if late else 4)


def test_a_task_may_be_suspended_many_times() -> None:
    story = said(CALL, task("running"))
    for _ in range(2):
        for event in ("suspended", "suspended", "resumed"):
            tell(story, task(event))
    assert [kind for kind in story.types if kind.endswith("suspended")] == ["background-task-suspended"] * 4
    assert story.machine.state.tasks["k1"].state == "running"


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before the placeholder", "after it", "ended between", "before the call"])
def test_a_placeholder_may_be_followed_by_the_real_answer(when: str) -> None:
    first = [task("running"), CALL] if when == "before the call" else [CALL]
    chunks = [("step-start", {}), *first, *([task("running")] if when == "before the placeholder" else [])]
    story = said(*chunks, ("tool-result", {**T, "result": "started"}))
    if when == "after it":
        tell(story, task("running"))
    elif when == "ended between":
        tell(story, task("completed"))
    story.reload()
    story.say("tool-result", **T, result=1)
    assert [answer["result"] for answer in story.of("tool-result")] == ["started", 1]
    assert "metadata" not in story.of("tool-result")[1]
    assert [code for code in story.codes if code != "step-opened"] == []
    story.say("tool-error", **T)
    assert story.codes[-1] == "tool-result-repeated"


def test_a_late_answer_is_known_by_its_live_task() -> None:
    story = Story(Limits(answered_calls=1))
    for chunk in (("step-start", {}), CALL, task("running"), ("tool-result", T)):
        tell(story, chunk)
    story.say("tool-call", toolCallId="u", toolName="g")
    story.say("tool-result", toolCallId="u")
    story.say("tool-result", **T, result=1)
    assert story.codes == []
    assert "metadata" not in story.of("tool-result")[-1]
    story.say("tool-result", **T, result=2)
    assert story.codes == ["tool-result-repeated"]


def test_a_task_whose_call_nobody_named_makes_no_answer_known() -> None:
    story = said(("step-start", {}), task("running"), ("tool-result", T))
    assert story.codes == ["tool-result-unknown-call"]


# --- silence ---------------------------------------------------------------------------------------------------------


def phase(story: Story) -> tuple[str, int]:
    return json.loads(story.machine.due() or b"{}").get("phase"), story.machine.deadline_ms()


def test_a_silent_task_is_failed_and_a_suspended_one_cancelled() -> None:
    story = finished(task("running"))
    left = DAY - sum(chunk["type"] in ("tool-result", "step-finish", "finish") for chunk in story.chunks)
    assert phase(story) == ("task", left)
    story.reload()
    story.wait()
    [failed] = story.of("background-task-failed")
    assert failed == {
        "taskId": "k1",
        "toolName": "f",
        "toolCallId": "t",
        "runId": "r",
        "error": {"code": "task-timeout", "message": "the background task gave no sign of life for too long"},
        "completedAt": "1970-01-02T00:00:01.005Z",
    }
    assert (story.chunks[-1]["from"], story.machine.sealed) == ("SYSTEM", True)
    story = finished(task("suspended", runId="r"))
    assert phase(story)[0] == "task-suspended"
    story.wait()
    [cancelled] = story.of("background-task-cancelled")
    assert "error" not in cancelled
    assert story.machine.sealed


def test_a_tasks_own_chunks_are_its_signs_of_life() -> None:
    story = finished(task("running", 1), task("running", 2))
    story.now += 1000
    story.say("background-task-progress", taskIds=["k1", "other"], runningCount=1)
    late = story.machine.due() or b""
    assert phase(story)[1] < DAY - 1000
    tell(story, task("output", 2, payload={}))
    story.enforcer(late)
    assert story.machine.state.tasks.keys() == {"k1", "k2"}


def test_tasks_end_one_after_the_other_each_in_its_time() -> None:
    story = finished(task("running", 1), task("running", 2))
    story.now += 10_000
    tell(story, task("resumed", 2))
    story.reload()
    story.wait()
    assert story.machine.state.tasks.keys() == {"k2"}
    story.reload()
    assert 9_000 < story.machine.deadline_ms() < 11_000
    story.wait()
    assert story.machine.sealed


def test_tasks_end_in_a_suspended_run_too() -> None:
    story = said(CALL, task("running"))
    story.control({"type": "run-end", "reason": "suspended"})
    assert phase(story)[0] == "task"
    story.wait()
    assert (story.types[-1], phase(story)[0]) == ("background-task-failed", "suspended")


def test_a_timeout_for_tasks_is_without_effect_if_something_came_before_it() -> None:
    story = finished(task("running"))
    late = story.machine.due() or b""
    story.control(HEARTBEAT)
    story.enforcer(late)
    story.enforcer({"type": "timeout", "phase": "task-suspended", "after": story.records[-2].id})
    story.enforcer({"type": "timeout", "phase": "idle", "after": story.records[-3].id})
    assert (len(story.machine.state.tasks), story.codes) == (1, [])


def test_ended_tasks_are_remembered_within_a_bound() -> None:
    story = Story(Limits(ended_tasks=2))
    tell(story, CALL)
    for number in range(4):
        tell(story, task("completed", number))
    assert len(story.machine.state.ended_tasks) == 2
    tell(story, task("running", 3))
    assert story.codes[-1] == "task-ended"
    tell(story, task("running", 0))
    assert list(story.machine.state.tasks) == ["k0"]


# --- twins -----------------------------------------------------------------------------------------------------------


def wrapped(content: Any, number: int = 1) -> tuple[str, dict[str, Any]]:
    return task("output", number, payload={"type": "tool-output", "runId": "r", "payload": {**T, "output": content}})


def twins_of(story: Story) -> list[int | None]:
    found = ("tool-output", "background-task-output", "data-x")
    return [chunk.get("metadata", {}).get("twinOf") for chunk in story.chunks if chunk["type"] in found]


@pytest.mark.parametrize("first", ["bare", "wrapped"])
def test_the_second_of_two_is_marked(first: str) -> None:
    story = said(("step-start", {}), CALL, task("running"))
    seq = len(story.chunks) + 1
    chunks = [("tool-output", {**T, "output": {"a": 1, "b": [2.5]}}), wrapped({"b": [2.50], "a": 1})]
    for chunk in chunks if first == "bare" else reversed(chunks):
        tell(story, chunk)
        story.reload()
    assert twins_of(story) == [None, seq]
    assert story.raw[-1].endswith(b',"metadata":{"twinOf":%d}}' % seq)


def test_the_same_thing_said_twice_on_one_side_has_two_twins() -> None:
    story = said(("step-start", {}), CALL, task("running"))
    for chunk in (wrapped(1), wrapped(1), wrapped(2)):
        tell(story, chunk)
    for content in (1, 2, 1, 1):
        story.say("tool-output", **T, output=content)
    assert twins_of(story) == [None, None, None, 5, 7, 6, None]


def test_data_has_a_twin_whatever_its_call() -> None:
    story = said(("step-start", {}), CALL, task("running"))
    story.agent({"type": "data-x", "data": {"k": 1}, "metadata": {"m": 1}}, call=None)
    tell(story, task("output", payload={"type": "data-x", "data": {"k": 1}}))
    tell(story, task("output", payload={"type": "data-x", "data": {"k": 1}}))
    story.agent({"type": "data-x", "data": {"k": 1}, "metadata": {"m": 1}}, call=None)
    assert twins_of(story) == [None, 5, None, 7]
    assert story.chunks[-1]["metadata"] == {"m": 1, "twinOf": 7}


def test_without_a_live_task_nothing_has_a_twin() -> None:
    story = said(("step-start", {}), CALL)
    story.say("tool-output", **T, output=1)
    tell(story, task("running"))
    story.say("tool-output", toolCallId="u", output=1)
    for chunk in (wrapped(1), ("tool-output", {**T, "output": 3}), task("completed"), wrapped(3)):
        tell(story, chunk)
    story.say("tool-output", **T, output=1)
    assert twins_of(story) == [None] * 6
    assert (story.machine.state.bare, story.machine.state.wrapped) == ([], [])


def test_twins_are_remembered_within_a_bound_and_over_the_finish() -> None:
    story = Story(Limits(twins=2))
    for chunk in (("step-start", {}), CALL, task("running")):
        tell(story, chunk)
    for content in (1, 2, 3):
        story.say("tool-output", **T, output=content)
    assert len(story.machine.state.bare) == 2
    story.say("tool-result", **T)
    story.say("step-finish", **STOP)
    story.say("finish", **STOP)
    story.reload()
    for content in (1, 2, 3):
        tell(story, wrapped(content))
    assert twins_of(story)[3:] == [None, 6, 7]

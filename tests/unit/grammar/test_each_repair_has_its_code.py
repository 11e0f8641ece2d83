"""One story per repair: it is evidence with its code, once, then counted; a clean stream has none."""

from collections.abc import Callable
from typing import Any

import pytest

from runwire.grammar import Limits
from runwire.grammar.repairs import REPAIRS
from unit.grammar.story import USAGE, Story, finish, loop, result, start, tool_block

STOP = {"stepResult": {"reason": "stop"}}
T: dict[str, Any] = {"toolCallId": "t"}
TF = {**T, "toolName": "f"}
DELTA = {**T, "argsTextDelta": "{}"}
INPUT_START = ("tool-call-input-streaming-start", TF)
INPUT_END = ("tool-call-input-streaming-end", T)
TASK = {"taskId": "k", **T}


def told(*chunks: tuple[str, dict[str, Any]], step: bool = True) -> Callable[[Story], Any]:
    def tell(story: Story) -> None:
        story.say("start")
        if step:
            story.say("step-start")
        for kind, payload in chunks:
            story.say(kind, **payload)

    return tell


def renamed_raw(story: Story) -> None:
    loop(story)
    for call in "ab":
        story.all([*tool_block(), *result(), USAGE, finish()], call=call)


CASES: dict[str, list[Callable[[Story], Any]]] = {
    "run-start-late": [lambda story: (loop(story), story.control({"type": "run-start", "threadId": "t"}))],
    "tool-call-id-renamed": [renamed_raw, told(("tool-call", TF), ("tool-result", T), ("tool-call", TF))],
    "unknown-type": [told(("what", {}))],
    "fields-cut": [told(("step-finish", {**STOP, "messages": {"all": ["x" * 900]}}))],
    "start-repeated": [
        told(("start", {})),
        lambda story: (loop(story), story.say("goal", objective="", status="done"), story.say("start")),
    ],
    "step-opened": [
        told(("text-start", {"id": "a"}), step=False),
        told(("tool-call", TF), step=False),
        told(("step-finish", STOP), step=False),
    ],
    "step-closed": [told(("step-start", {}))],
    "step-start-late": [lambda story: (loop(story).write(start()), story.say("step-start"))],
    "call-cut": [
        lambda story: (loop(story).write(start()), story.say("step-finish", **STOP)),
        lambda story: (loop(story).write(start()), story.say("finish", **STOP)),
    ],
    "block-opened": [
        told(("text-delta", {"id": "a", "text": "x"})),
        told(("reasoning-delta", {"id": "a", "text": "x"})),
    ],
    "block-restarted": [told(("text-start", {"id": "a"}), ("text-start", {"id": "a"}))],
    "block-end-unopened": [
        told(("text-end", {"id": "a"})),
        told(("text-start", {"id": "a"}), ("reasoning-end", {"id": "a"})),
    ],
    "block-closed": [
        told(("text-start", {"id": "a"}), ("step-finish", STOP)),
    ],
    "tool-input-opened": [told(("tool-call-delta", DELTA))],
    "tool-input-closed": [
        told(INPUT_START, ("tool-call", TF)),
        told(INPUT_START, ("tool-call-approval", T)),
        told(INPUT_START, ("tool-result", T)),
    ],
    "tool-input-repeated": [
        told(INPUT_START, INPUT_START),
        told(INPUT_START, INPUT_END, ("tool-call-delta", DELTA)),
        told(("tool-call", TF), INPUT_END),
    ],
    "tool-input-unopened": [told(INPUT_END)],
    "tool-input-cut": [told(INPUT_START, ("step-finish", STOP))],
    "tool-call-made": [
        told(INPUT_START, INPUT_END, ("tool-result", T)),
        told(INPUT_START, INPUT_END, ("tool-call-suspended", T)),
        told(INPUT_START, INPUT_END, ("step-finish", STOP)),
        told(INPUT_START, INPUT_END, ("tool-result", T), ("tool-call", TF)),
    ],
    "tool-call-repeated": [told(("tool-call", TF), ("tool-call", TF))],
    "reason-missing": [told(("step-finish", {})), told(("finish", {"stepResult": {"isContinued": True}}))],
    "task-ended": [
        told(("tool-call", TF), ("background-task-completed", TASK), ("background-task-running", TASK)),
        told(("tool-call", TF), ("background-task-cancelled", TASK), ("background-task-failed", TASK)),
    ],
    "suspend-mark-foreign": [
        lambda story: story.write({"type": "data-run-suspended", "data": {}}, kind="agent", call=None),
    ],
}
EVERY = [(code, case) for code, cases in CASES.items() for case in cases]
LIMITS = Limits(agent_chunk_bytes=800, cut_chunk_bytes=2000)


def test_every_repair_has_a_story() -> None:
    assert sorted(CASES) == sorted(REPAIRS)


@pytest.mark.parametrize(("code", "case"), EVERY, ids=[code for code, _ in EVERY])
def test_a_repair_is_evidence_with_its_code(code: str, case: Callable[[Story], Any]) -> None:
    story = Story(LIMITS)
    case(story)
    [found] = story.evidence
    assert (found.code, found.cls) == (code, "repaired")
    assert found.message
    assert found.record in [record.id for record in story.records]
    assert found.body == next(record.body for record in story.records if record.id == found.record)


def test_a_repair_is_evidence_once_then_counted() -> None:
    story = Story()
    told()(story)
    for _ in range(1 + 1 + 2 + 4):
        story.say("text-end", id="a")
    assert story.codes == ["block-end-unopened"] * 4
    assert [found.count for found in story.evidence] == [1, 1, 2, 4]
    assert [found.body is None for found in story.evidence] == [False, True, True, True]


def test_a_stream_as_runtimes_should_send_it_needs_no_repair() -> None:
    story = Story()
    told(
        ("reasoning-start", {"id": "0"}),
        ("text-start", {"id": "0"}),
        ("text-delta", {"id": "0", "text": "x"}),
        ("reasoning-delta", {"id": "0", "text": "y"}),
        ("text-end", {"id": "0"}),
        INPUT_START,
        ("tool-call-delta", DELTA),
        INPUT_END,
        ("tool-call", {**TF, "args": {}}),
        ("reasoning-end", {"id": "0"}),
        ("tool-output", {**T, "output": 1}),
        ("tool-result", {**T, "result": 2}),
        ("step-finish", {"stepResult": {"reason": "tool-calls"}}),
        ("step-start", {}),
        ("text-start", {"id": "0"}),
        ("text-end", {"id": "0"}),
        ("step-finish", STOP),
        ("finish", STOP),
    )(story)
    assert story.codes == []
    assert story.reason == "stop"

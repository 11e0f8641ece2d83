"""The judge of the invariants notices each way to break them; otherwise the random streams would prove nothing."""

from typing import Any

import pytest

from unit.grammar.invariants import broken


def chunk(type_: str, **payload: Any) -> dict[str, Any]:
    return {"type": type_, "payload": payload}


START, STEP = chunk("start"), chunk("step-start")
STEP_FINISH = chunk("step-finish")
OPEN = [START, STEP, chunk("text-start", id="1")]
TOOL = [START, STEP, chunk("tool-call-input-streaming-start", toolCallId="t")]


def finish(reason: str = "stop") -> dict[str, Any]:
    return chunk("finish", stepResult={"reason": reason})


@pytest.mark.parametrize(
    "log",
    [
        [STEP],
        [START, START],
        [START, finish(), STEP],
        [*OPEN, chunk("text-start", id="1")],
        [START, STEP, chunk("text-delta", id="1")],
        [*OPEN, chunk("reasoning-delta", id="1")],
        [*OPEN, chunk("text-end", id="1"), chunk("text-end", id="1")],
        [*OPEN, chunk("text-end", id="1"), chunk("text-start", id="1")],
        [*OPEN, STEP_FINISH],
        [*OPEN, {"type": "data-run-suspended", "data": {}}],
        [START, STEP, STEP],
        [START, STEP_FINISH],
        [START, STEP, finish()],
        [START, chunk("text-start", id="1")],
        [*TOOL, chunk("tool-call", toolCallId="t")],
        [START, STEP, chunk("tool-call-delta", toolCallId="t")],
        [*TOOL, chunk("tool-call-input-streaming-end", toolCallId="t"), TOOL[-1]],
        [*TOOL, STEP_FINISH, finish()],
        [START, chunk("tool-result", toolCallId="t")],
        [START, chunk("error"), chunk("abort")],
        [START, chunk("error"), STEP],
        [START, finish("error")],
        [START, chunk("error"), finish()],
        [START, chunk("error"), finish("abort")],
    ],
)
def test_a_broken_log_is_noticed(log: list[dict[str, Any]]) -> None:
    assert broken(log)


def test_a_sound_log_is_not() -> None:
    ended = [chunk("text-end", id="1"), chunk("error"), STEP_FINISH, finish("error")]
    orphan = chunk("tool-result", toolCallId="t", metadata={"orphan": True})
    assert broken([*OPEN, orphan, *ended]) == []

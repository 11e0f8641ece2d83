"""Each invariant of the contract has a log that breaks only it, and a legal log breaks none."""

import json
from typing import Any

import pytest

from runwire.grammar.invariants import broken_invariants

RUN = "c1-1-1"
Chunk = tuple[str, dict[str, Any]]

TEXT: list[Chunk] = [("text-start", {"id": "1"}), ("text-delta", {"id": "1", "text": "a"}), ("text-end", {"id": "1"})]
TOOL: list[Chunk] = [
    ("tool-call-input-streaming-start", {"toolCallId": "t"}),
    ("tool-call-delta", {"toolCallId": "t", "argsTextDelta": "{}"}),
    ("tool-call-input-streaming-end", {"toolCallId": "t"}),
    ("tool-call", {"toolCallId": "t"}),
]
ERROR: Chunk = ("error", {"error": {"code": "run-idle-timeout"}})
START: Chunk = ("start", {})
STEP: Chunk = ("step-start", {})
CLOSE: Chunk = ("step-finish", {})


def finish(reason: str = "stop") -> Chunk:
    return "finish", {"stepResult": {"reason": reason}}


def judge(*chunks: Chunk) -> list[str]:
    log = [json.dumps({"type": kind, "runId": RUN, "from": "AGENT", "payload": body}).encode() for kind, body in chunks]
    return broken_invariants(RUN, log)


@pytest.mark.parametrize(
    "log",
    [
        [START, STEP, *TEXT, *TOOL, ("tool-result", {"toolCallId": "t"}), CLOSE, finish()],
        [START, STEP, *TOOL, ("tool-error", {"toolCallId": "t"}), ERROR, CLOSE, finish("error")],
        [START, STEP, ("tool-result", {"toolCallId": "x", "metadata": {"orphan": True}}), CLOSE, finish()],
        [START, STEP, CLOSE, STEP, CLOSE, finish(), ("background-task-completed", {})],
        [START, STEP, *TEXT],
        [START, STEP, ("reasoning-file", {"data": 1}), ("reasoning-signature", {"id": "9"}), ("goal", {"id": 3})],
        [START, ERROR, ("background-task-failed", {}), finish("error"), ("background-task-output", {})],
    ],
)
def test_a_legal_log_breaks_nothing(log: list[Chunk]) -> None:
    assert judge(*log) == []


@pytest.mark.parametrize(
    ("sentence", "log"),
    [
        ("comes before start", [STEP, CLOSE]),
        ("start is not the first", [START, START]),
        ("follows finish", [START, finish(), STEP, CLOSE]),
        ("follows finish", [START, finish(), finish()]),
        ("starts twice", [START, STEP, *TEXT, *TEXT, CLOSE]),
        ("which is not open", [START, STEP, *TEXT, TEXT[1], CLOSE]),
        ("which is not open", [START, STEP, TEXT[0], ("reasoning-delta", {"id": "1"}), TEXT[2]]),
        ("open at step-finish", [START, STEP, TEXT[0], CLOSE]),
        ("open at error", [START, STEP, TEXT[0], ERROR]),
        ("open at data-run-suspended", [START, STEP, TEXT[0], ("data-run-suspended", {})]),
        ("outside a step", [START, *TEXT]),
        ("outside a step", [START, *TOOL]),
        ("while a step is open", [START, STEP, STEP]),
        ("while a step is not open", [START, CLOSE]),
        ("finish inside a step", [START, STEP, finish()]),
        ("whose input is not open", [START, STEP, TOOL[1], CLOSE]),
        ("before its input ended", [START, STEP, TOOL[0], TOOL[3]]),
        ("tool-call t twice", [START, STEP, *TOOL, TOOL[3]]),
        ("input of t starts twice", [START, STEP, *TOOL[:3], TOOL[0]]),
        ("input of t starts twice", [START, STEP, TOOL[3], TOOL[0]]),
        ("nobody named", [START, STEP, ("tool-result", {"toolCallId": "x", "metadata": {"orphan": False}})]),
        ("follows error", [START, ERROR, ("abort", {})]),
        ("a tool input is streaming", [START, STEP, TOOL[0], CLOSE, finish()]),
        ("nobody named", [START, STEP, ("tool-result", {"toolCallId": "x"})]),
        ("follows error", [START, STEP, ERROR, *TEXT]),
        ("follows error", [START, ERROR, ERROR]),
        ("ending chunk is None", [START, finish("error")]),
        ("ending chunk is 'error'", [START, ERROR, finish("stop")]),
    ],
)
def test_a_broken_rule_is_named(sentence: str, log: list[Chunk]) -> None:
    assert any(sentence in broken for broken in judge(*log))


def test_another_run_s_chunk_and_no_json_are_named() -> None:
    assert "is of run 'other'" in broken_invariants(RUN, [b'{"type":"start","runId":"other","payload":{}}'])[0]
    assert "is no chunk" in broken_invariants(RUN, [b"[1]"])[0]

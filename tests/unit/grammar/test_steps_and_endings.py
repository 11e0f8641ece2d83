"""When a step is closed and in which order, and that every way to end a run is one sequence."""

import json
from typing import Any

import pytest

from unit.grammar.story import (
    RUN_END,
    USAGE,
    Story,
    finish,
    loop,
    result,
    start,
    text,
    text_block,
    thinking,
    tool,
    tool_block,
    tool_end,
)

FAILURE = {"message": "broke", "code": "overloaded", "status": 529, "retryable": True}
SUSPENDED = {"type": "run-end", "reason": "suspended"}


def names(story: Story, *, after: int = 0) -> list[str]:
    return story.types[after:]


# --- steps -----------------------------------------------------------------------------------------------------------


def test_max_tokens_makes_only_its_own_steps_calls_unsafe() -> None:
    story = loop()
    story.all([*tool_block(id="old"), USAGE, finish("tool_calls")], call="1")
    story.all([*tool_block(id="new"), USAGE, finish("max_tokens")], call="2")
    story.control(RUN_END)
    assert [error["toolCallId"] for error in story.of("tool-error")] == ["new"]


def test_in_an_agent_loop_a_step_is_closed_by_the_next_call() -> None:
    story = loop()
    story.all([*text_block(), USAGE, finish("tool_calls", raw="tool_use")], call="1")
    assert story.types[-1] == "text-end"
    story.write(start(), call="2")
    assert story.types[-3:] == ["step-finish", "step-start", "text-start"]
    assert story.of("step-finish")[0]["stepResult"] == {
        "reason": "tool-calls",
        "rawReason": "tool_use",
        "isContinued": True,
        "warnings": [],
    }


def test_a_single_call_ends_its_run() -> None:
    story = Story()
    story.all([*text_block(), USAGE, finish("content_filter")])
    assert story.types[-2:] == ["step-finish", "finish"]
    assert story.reason == "content-filter"
    assert story.of("step-finish")[0]["stepResult"]["isContinued"] is False


@pytest.mark.parametrize(
    ("kind", "word"),
    [("stop", "stop"), ("tool_calls", "tool-calls"), ("max_tokens", "length"), ("content_filter", "content-filter")],
)
def test_reasons(kind: str, word: str) -> None:
    story = Story()
    story.all([USAGE, finish(kind)])
    assert story.of("step-finish")[0]["stepResult"]["reason"] == story.reason == word


def test_closing_tells_bad_calls_first_then_unsafe_ones() -> None:
    story = Story()
    story.all(
        [
            *tool_block("{}", 0, "good"),
            *tool_block("{", 1, "bad"),
            *tool_block("{}", 2, "done"),
            *result("done", index=3),
        ]
    )
    story.all([USAGE, finish("max_tokens")])
    errors = [
        (error["toolCallId"], error["error"]["code"], error["error"]["argsText"]) for error in story.of("tool-error")
    ]
    assert errors == [("bad", "truncated", "{"), ("good", "truncated", "{}")]
    assert story.types[-4:] == ["tool-error", "tool-error", "step-finish", "finish"]
    assert story.reason == "length"


def test_a_failed_call_is_retried_without_an_error() -> None:
    story = loop()
    story.all(
        [
            start(),
            text("a"),
            start(1, "tool_use"),
            tool('{"a', 1, name="f"),
            finish("error", raw="boom", failure=FAILURE),
        ]
    )
    assert story.types[-2:] == ["text-end", "tool-call-input-streaming-end"]
    story.write(start(), call="2")
    assert story.types[-4:] == ["tool-error", "step-finish", "step-start", "text-start"]
    [step] = story.of("step-finish")
    assert step["stepResult"] == {"reason": "retry", "rawReason": "boom", "isContinued": True, "warnings": []}
    assert step["metadata"] == {"failure": FAILURE}
    assert step["output"] == {"usage": {}}
    [error] = story.of("tool-error")
    assert (error["error"]["code"], error["error"]["argsText"]) == ("truncated", '{"a')
    story.all([{"type": "block-end", "index": 0, "block": {"kind": "text", "text": ""}}, USAGE, finish()], call="2")
    story.control(RUN_END)
    assert story.of("error") == []
    assert story.reason == "stop"


def test_a_cut_call_that_readers_never_heard_of_leaves_no_trace() -> None:
    story = Story()
    story.all([start(0, "tool_use"), tool("{"), finish("error")])
    assert story.types == ["start", "step-start", "error", "step-finish", "finish"]


def test_more_argument_text_than_is_remembered_is_left_out() -> None:
    story = Story()
    story.all([start(0, "tool_use"), tool("{", name="f")])
    story.all([tool("x" * 600_000), tool("x" * 600_000), finish("error")])
    [error] = story.of("tool-error")
    assert "argsText" not in error["error"]
    assert len(story.machine.blob()) < 300


# --- endings ---------------------------------------------------------------------------------------------------------


def test_silence_after_a_failed_finish_is_its_ending() -> None:
    story = loop()
    story.all([*text_block(), finish("error", failure=FAILURE, raw="x")])
    story.control(RUN_END)
    assert names(story, after=5) == ["error", "step-finish", "finish"]
    assert story.of("error") == [{"error": FAILURE}]
    assert list(story.of("error")[0]["error"]) == ["message", "code", "status", "retryable"]
    assert story.of("step-finish")[0]["stepResult"] == {
        "reason": "error",
        "rawReason": "x",
        "isContinued": False,
        "warnings": [],
    }
    assert story.of("step-finish")[0]["metadata"] == {}
    assert story.reason == "error"


@pytest.mark.parametrize("kind", ["error", "aborted"])
@pytest.mark.parametrize(
    ("body", "decides"),
    [
        ({"type": "run-end", "reason": "stop"}, True),
        ({"type": "run-end", "reason": "error", "failure": {"message": "other"}}, True),
        ({"type": "run-end", "reason": "aborted"}, False),
        (None, True),
    ],
)
def test_a_held_failed_finish_decides(kind: str, body: Any, decides: bool) -> None:
    story = loop()
    story.all([*text_block(), finish(kind)])
    if body is None:
        story.wait()
    else:
        story.control(body)
    expected = "error" if kind == "error" and decides else "abort"
    assert story.reason == expected
    assert story.types[-3] == expected
    assert story.of("error") == ([{"error": {"message": "broke"}}] if expected == "error" else [])
    assert story.of("abort") == ([{}] if expected == "abort" else [])


@pytest.mark.parametrize("also", ["tools", "suspended"])
def test_a_held_failed_finish_decides_every_timeout(also: str) -> None:
    story = loop()
    story.all([*(tool_block() if also == "tools" else text_block()), finish("error")])
    if also == "suspended":
        story.control(SUSPENDED)
    story.wait()
    assert json.loads(story.records[-1].body)["phase"] == also
    assert story.of("error") == [{"error": {"message": "broke"}}]


def test_a_violation_after_a_failed_finish_has_its_own_error() -> None:
    story = loop()
    story.all([*text_block(), finish("aborted")], call="1")
    story.write(text("x"), call="2")
    assert story.of("error")[0]["error"]["rule"] == "delta-without-block"
    assert (story.reason, story.of("abort")) == ("error", [])


def test_a_single_calls_failed_finish_ends_it_at_once() -> None:
    story = Story()
    story.all([start(), text("x"), finish("aborted")])
    assert names(story, after=4) == ["text-end", "abort", "step-finish", "finish"]
    assert story.reason == "abort"


@pytest.mark.parametrize(
    ("body", "middle", "reason"),
    [
        ({"type": "run-end", "reason": "error", "failure": FAILURE}, {"error": FAILURE}, "error"),
        ({"type": "run-end", "reason": "error"}, {"error": {"message": "the run was ended with an error"}}, "error"),
        ({"type": "run-end", "reason": "aborted"}, {}, "abort"),
        ({"type": "run-end", "reason": "stop"}, "not-terminated", "error"),
        (SUSPENDED, "not-terminated", "error"),
    ],
)
@pytest.mark.parametrize("mode", ["single-call", "agent-loop"])
def test_a_run_end_in_an_open_call(body: Any, middle: Any, reason: str, mode: str) -> None:
    story = Story()
    story.control({"type": "run-start", "mode": mode})
    story.all([start(), text("x"), start(1, "tool_use"), tool("{", 1, name="f"), *tool_block(index=2, id="t2"), USAGE])
    before = len(story.chunks)
    story.control(body)
    kind = "abort" if reason == "abort" else "error"
    assert names(story, after=before) == [
        "text-end",
        "tool-call-input-streaming-end",
        "tool-error",
        "tool-error",
        kind,
        "step-finish",
        "finish",
    ]
    assert [error["error"]["code"] for error in story.of("tool-error")] == ["truncated", "interrupted"]
    [payload] = story.of(kind)
    if isinstance(middle, str):
        assert payload["error"]["code"] == middle
        assert next(chunk for chunk in story.chunks if chunk["type"] == "error")["from"] == "SYSTEM"
    else:
        assert payload == middle
    [step] = story.of("step-finish")
    assert step["stepResult"]["reason"] == story.reason == reason
    assert step["output"]["usage"]["totalTokens"] == 7


def test_a_violation_is_the_same_sequence() -> None:
    story = loop()
    story.all([*tool_block(), USAGE, finish()], call="1")
    story.all([start(0, "thinking"), thinking("x"), text("y")], call="2")
    assert names(story)[-6:] == ["reasoning-delta", "reasoning-end", "tool-error", "error", "step-finish", "finish"]
    error = next(chunk for chunk in story.chunks if chunk["type"] == "error")
    assert error["from"] == "SYSTEM"
    assert list(error["payload"]["error"]) == ["code", "rule", "evidenceId", "message"]
    assert story.of("step-finish")[-1]["stepResult"]["reason"] == story.reason == "error"


def test_a_violation_by_a_first_record_still_makes_a_whole_log() -> None:
    story = Story()
    story.write(b"\xff")
    assert story.types == ["start", "error", "finish"]


def test_a_violation_between_calls_closes_the_held_step() -> None:
    story = loop()
    story.all([*text_block(), USAGE, finish()], call="1")
    story.write(text("x"), call="2")
    assert names(story)[-3:] == ["error", "step-finish", "finish"]
    assert len(story.of("step-start")) == 1
    assert story.of("step-finish")[0]["output"]["usage"]["totalTokens"] == 7


def test_a_normal_run_end_repeats_the_last_reason() -> None:
    story = loop()
    story.all([*text_block(), USAGE, finish("max_tokens", raw="length")])
    story.control(RUN_END)
    assert story.of("finish")[0]["stepResult"]["rawReason"] == "length"
    assert story.reason == "length"
    empty = loop()
    empty.control(RUN_END)
    assert (empty.types, empty.reason) == (["start", "finish"], "stop")


def test_a_normal_end_says_nothing_of_unanswered_calls() -> None:
    story = Story()
    story.all([*tool_block(), USAGE, finish("tool_calls")])
    assert story.of("tool-error") == []


def test_a_call_is_told_off_once() -> None:
    story = loop()
    story.all([*tool_block("{"), USAGE, finish()], call="1")
    story.all([USAGE, finish("error")], call="2")
    story.control(RUN_END)
    assert [error["error"]["code"] for error in story.of("tool-error")] == ["tool-arguments-invalid"]


def test_a_real_answer_may_follow_the_enforcers() -> None:
    story = loop()
    story.all([*tool_block("{"), USAGE, finish()], call="1")
    story.all(result(index=0), call="2")
    assert story.types[-1] == "tool-result"
    assert "metadata" not in story.of("tool-result")[0]


def test_what_is_told_when_the_run_has_ended() -> None:
    story = loop()
    story.write(start())
    story.write(text("x", 7))
    assert [event.__struct_config__.tag for event in story.events] == ["run.opened", "run.violated", "run.ended"]
    last = story.events[-1]
    assert (last.seq, last.reason) == (len(story.chunks), "error")  # type: ignore[union-attr]


# --- suspension ------------------------------------------------------------------------------------------------------


def test_a_suspended_run_keeps_its_step_and_goes_on_in_its_next_leg() -> None:
    story = loop()
    story.all([*tool_block(), USAGE, finish("tool_calls")], call="1")
    story.control(SUSPENDED)
    assert story.raw[-1] == (
        b'{"type":"data-run-suspended","runId":"r","from":"SYSTEM","data":{"leg":1,"toolCallIds":["t1"]}}'
    )
    story.control(SUSPENDED)
    assert len(story.of("data-run-suspended")) == 1
    story.all([*text_block(), USAGE, finish()], call="2")
    assert names(story)[-5:-3] == ["step-finish", "step-start"]
    story.control(SUSPENDED)
    assert story.of("data-run-suspended")[-1]["leg"] == 2
    story.control(RUN_END)
    assert story.types.count("start") == 1
    assert story.reason == "stop"


def test_a_run_start_counts_as_the_first_record_of_a_leg() -> None:
    story = loop(agentId="a")
    story.control(SUSPENDED)
    story.control({"type": "run-start", "usage": "optional"})
    story.write(finish())
    assert story.codes == []


def test_a_suspended_run_that_had_failed_can_be_retried() -> None:
    story = loop()
    story.all([start(), finish("error")], call="1")
    story.control(SUSPENDED)
    story.write(start(), call="2")
    assert story.of("step-finish")[0]["stepResult"]["reason"] == "retry"


def test_an_unfinished_block_end_of_a_call() -> None:
    story = loop()
    story.all([start(0, "tool_use"), tool("{}", name="f"), tool_end("{}"), USAGE, finish()])
    story.control({"type": "run-end", "reason": "aborted"})
    assert [error["error"]["code"] for error in story.of("tool-error")] == ["interrupted"]
    assert "argsText" not in story.of("tool-error")[0]["error"]

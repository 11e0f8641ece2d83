"""Blocks, tool calls and steps of an agent, alone and beside the raw calls of the same run."""

import json
from typing import Any

import pytest

from runwire.grammar import Limits
from unit.grammar.story import RUN_END, USAGE, Story, end, finish, loop, result, said, start, text, tool, tool_block

STOP = {"stepResult": {"reason": "stop"}}
T: dict[str, Any] = {"toolCallId": "t"}
TF = {**T, "toolName": "f"}


# --- blocks ----------------------------------------------------------------------------------------------------------


def test_blocks_of_agents_and_calls_are_counted_together_over_all_legs() -> None:
    story = loop()
    story.all([start(), text("a"), end(text="a"), USAGE, finish()], call="1")
    story.say("step-start")
    story.say("text-start", id="0")
    story.say("reasoning-start", id="0")
    story.say("text-end", id="0")
    story.say("step-finish", **STOP)
    story.control({"type": "run-end", "reason": "suspended"})
    story.say("step-start")
    story.say("text-start", id="0")
    ids = [payload["id"] for payload in (*story.of("text-start"), *story.of("reasoning-start"))]
    assert ids == ["1", "2:0", "4:0", "3:0"]


def test_an_empty_delta_is_kept_for_what_it_carries() -> None:
    story = said(("step-start", {}), ("text-start", {"id": "a"}), ("tool-call-input-streaming-start", TF))
    carried: list[dict[str, Any]] = [
        {},
        {"providerMetadata": {}},
        {"providerMetadata": None},
        {"providerMetadata": {"g": {"s": 1}}},
    ]
    for more in carried:
        story.say("text-delta", id="a", text="", **more)
        story.say("tool-call-delta", **T, argsTextDelta="", **more)
    assert [story.types.count(kind) for kind in ("text-delta", "tool-call-delta")] == [1, 1]


def test_a_signature_names_its_block_while_that_is_open() -> None:
    story = said(("step-start", {}), ("reasoning-start", {"id": "0"}), ("reasoning-signature", {"id": "0"}))
    story.say("reasoning-end", id="0")
    story.say("reasoning-signature", id="0")
    assert [payload["id"] for payload in story.of("reasoning-signature")] == ["1:0", "0"]


def test_long_ids_are_told_apart() -> None:
    story = said(("step-start", {}))
    for last in "ab":
        story.say("text-start", id="x" * 70 + last)
    story.say("text-delta", id="x" * 70 + "b", text="!")
    assert story.of("text-delta")[0]["id"] == "2:" + "x" * 70 + "b"
    assert story.codes == []


def test_sources_and_files_open_no_step_but_are_its_output() -> None:
    story = said(("source", {"id": "s", "sourceType": "url"}), ("file", {"data": "", "mimeType": "a/b"}))
    assert (story.types, story.codes) == (["start", "source", "file"], [])
    story.say("step-start")
    story.say("source", id="s", sourceType="url")
    story.write(start())
    assert story.codes == ["model-output-mixed"]


# --- tool calls ------------------------------------------------------------------------------------------------------


def streamed(*deltas: str) -> Story:
    story = said(("step-start", {}), ("tool-call-input-streaming-start", TF))
    for delta in deltas:
        story.say("tool-call-delta", **T, argsTextDelta=delta)
    story.say("tool-call-input-streaming-end", **T)
    return story


def test_the_real_call_is_awaited_and_gets_the_arguments_of_its_deltas() -> None:
    story = streamed('{"a" ', ": 1.0}")
    assert story.types[-1] == "tool-call-input-streaming-end"
    assert [payload["toolName"] for payload in story.of("tool-call-delta")] == ["f", "f"]
    story.reload()
    story.say("tool-call", **TF, args=None)
    assert story.of("tool-call") == [{**TF, "args": {"a": 1}}]
    assert b'"args":{"a":1.0}' in story.raw[-1]
    assert (story.codes, story.machine.state.args_size) == ([], 0)


@pytest.mark.parametrize("delta", ["{", "[1]", ""])
def test_deltas_that_are_no_object_leave_the_arguments_empty(delta: str) -> None:
    story = streamed(delta)
    story.say("tool-call", **TF)
    assert story.of("tool-call") == [{**TF, "args": {}}]


def test_a_call_made_from_its_deltas_is_merged_with_the_real_one_even_after_its_answer() -> None:
    story = streamed('{"a":1}')
    story.say("tool-result", **T, result=1)
    assert story.types[-2:] == ["tool-call", "tool-result"]
    story.reload()
    story.say("tool-call", **TF, args={"a": 2})
    assert (story.types.count("tool-call"), story.codes) == (1, ["tool-call-made"])
    story.say("tool-call", **TF, args={"a": 3})
    assert story.of("tool-call")[-1]["toolCallId"] == "t~2"


def test_a_call_that_cannot_be_made_is_bad() -> None:
    story = streamed("{")
    story.say("step-finish", **STOP)
    [error] = story.of("tool-error")
    assert error["error"] == {
        "code": "tool-arguments-invalid",
        "message": "the arguments of the tool call are no JSON object",
        "argsText": "{",
    }
    assert story.types.count("tool-call") == 0
    story.say("tool-result", **T, result=1)
    assert story.of("tool-result")[0]["result"] == 1


def test_more_argument_text_than_is_remembered_needs_a_real_call() -> None:
    story = Story(Limits(argument_bytes=10))
    for kind, more in (("streaming-start", TF), ("streaming-end", T)):
        if kind == "streaming-end":
            story.say("tool-call-delta", **T, argsTextDelta='{"a":1,"b":2}')
        story.say(f"tool-call-input-{kind}", **more)
    story.say("step-finish", **STOP)
    assert [error["error"]["code"] for error in story.of("tool-error")] == ["tool-arguments-invalid"]
    assert "argsText" not in story.of("tool-error")[0]["error"]


def test_input_without_its_end_is_a_cut_call() -> None:
    story = said(("step-start", {}), ("tool-call-input-streaming-start", TF))
    story.say("tool-call-delta", **T, argsTextDelta='{"a')
    story.say("step-finish", **STOP)
    assert story.types[-3:] == ["tool-call-input-streaming-end", "tool-error", "step-finish"]
    assert story.of("tool-error")[0]["error"]["code"] == "truncated"
    assert story.of("tool-error")[0]["error"]["argsText"] == '{"a'


def test_an_id_that_was_used_before_is_numbered_in_whatever_names_it() -> None:
    story = said(("step-start", {}), ("tool-call", TF), ("tool-result", T), ("tool-call-input-streaming-start", TF))
    story.say("tool-call-delta", **T, argsTextDelta="{}")
    story.say("tool-call-input-streaming-end", **T)
    story.say("tool-call", **TF)
    story.say("tool-output", **T, output=1)
    story.say("tool-call-approval", **T)
    story.say("background-task-running", **T, taskId="k")
    story.say("tool-result", **T)
    ids = [chunk["payload"]["toolCallId"] for chunk in story.chunks[4:]]
    assert ids == ["t~2"] * 8
    assert story.codes == ["tool-call-id-renamed"]


def test_an_answer_to_streaming_input_ends_and_makes_it() -> None:
    story = said(("step-start", {}), ("tool-call-input-streaming-start", TF))
    story.say("tool-result", **T, result=1)
    assert story.types[-3:] == ["tool-call-input-streaming-end", "tool-call", "tool-result"]


def test_answers_may_come_between_steps_and_in_another_leg() -> None:
    story = said(("step-start", {}), ("tool-call", TF), ("step-finish", {"stepResult": {"reason": "tool-calls"}}))
    story.say("tool-result", **T, result=1)
    assert story.types[-1] == "tool-result"
    assert story.codes == []


def test_a_providers_answer_may_come_alone() -> None:
    story = said(("tool-result", {**T, "providerExecuted": True, "metadata": {"x": 1}}))
    assert story.of("tool-result")[0] == {
        **T,
        "providerExecuted": True,
        "metadata": {"x": 1, "orphan": True},
        "result": None,
        "toolName": "unknown",
    }
    story.say("tool-result", **T, providerExecuted=True)
    assert story.codes == ["tool-result-repeated"]


# --- beside raw calls ------------------------------------------------------------------------------------------------


def test_a_loop_calls_a_model_through_an_adapter_and_publishes_its_own_results() -> None:
    story = loop()
    story.all([*tool_block(), USAGE, finish("tool_calls")], call="1")
    story.say("tool-output", toolCallId="t1", output={"pct": 40})
    story.say("tool-result", toolCallId="t1", result={"ok": 1})
    story.all([start(), text("done"), end(text="done"), USAGE, finish()], call="2")
    story.control(RUN_END)
    assert story.codes == []
    assert [kind for kind in story.types if not kind.startswith(("text", "tool-call"))] == [
        "start",
        "step-start",
        "tool-output",
        "tool-result",
        "step-finish",
        "step-start",
        "step-finish",
        "finish",
    ]
    assert story.of("tool-result") == [{"toolCallId": "t1", "result": {"ok": 1}, "toolName": "f"}]


def test_a_call_lies_in_the_step_that_its_agent_has_opened() -> None:
    story = loop()
    story.say("step-start", messageId="m")
    story.all([start(), text("x"), end(text="x"), USAGE, finish("stop", raw="end")])
    story.say("step-finish", stepResult={"reason": "stop"}, output={"usage": {"inputTokens": 99}, "text": "x"}, more=1)
    [step] = story.of("step-finish")
    assert story.types.count("step-start") == 1
    assert step["output"] == {"usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}, "text": "x"}
    assert (step["more"], step["stepResult"]["isContinued"], story.codes) == (1, False, [])


def test_a_step_start_closes_the_step_of_a_finished_call() -> None:
    story = loop()
    story.all([start(), text("x"), end(text="x"), USAGE, finish("tool_calls")])
    story.say("step-start")
    assert story.of("step-finish")[0]["stepResult"] == {"reason": "tool-calls", "isContinued": True, "warnings": []}
    assert (story.types[-2:], story.codes) == (["step-finish", "step-start"], [])


def test_a_step_start_closes_an_agents_step_as_other() -> None:
    story = said(("step-start", {}), ("text-start", {"id": "a"}), ("step-start", {}))
    assert story.types[-3:] == ["text-end", "step-finish", "step-start"]
    assert story.of("step-finish")[0]["stepResult"] == {"reason": "other", "isContinued": True, "warnings": []}


def test_an_agents_call_of_a_raw_id_is_merged_and_a_bad_one_takes_its_arguments() -> None:
    story = loop()
    story.all([*tool_block("{}", 0, "good"), *tool_block("{", 1, "bad"), USAGE, finish("tool_calls")])
    story.say("tool-call", toolCallId="good", toolName="f", args={"a": 1})
    story.say("tool-call", toolCallId="bad", toolName="f")
    story.say("tool-call", toolCallId="bad", toolName="f", args={"b": 1})
    assert [(call["toolCallId"], call["args"]) for call in story.of("tool-call")] == [("good", {}), ("bad", {"b": 1})]
    story.control(RUN_END)
    assert (story.of("tool-error"), story.codes) == ([], [])


def test_an_agents_call_of_a_raw_id_is_merged_while_its_block_is_open_or_its_answer_is_there() -> None:
    story = loop()
    story.all([start(0, "tool_use"), tool("{", name="f")])
    story.say("tool-call", toolCallId="t1", toolName="f", args={})
    story.all([tool("}"), end(0, "tool_use", id="t1", name="f", arguments="{}"), *result()])
    story.say("tool-call", toolCallId="t1", toolName="f", args={})
    assert (len(story.of("tool-call")), story.codes) == (1, [])


def test_what_an_adapter_adds_to_its_call_is_no_mixture() -> None:
    story = loop()
    story.write(start())
    story.agent({"type": "source", "payload": {"id": "s", "sourceType": "url"}})
    story.agent({"type": "text-delta", "payload": {"id": "a", "text": "x"}})
    story.all([end(text=""), USAGE, finish()])
    story.control(RUN_END)
    assert story.codes == ["block-opened"]
    assert story.reason == "stop"


def test_max_tokens_makes_raw_calls_unsafe_but_an_agents_length_does_not() -> None:
    story = loop()
    story.all([*tool_block(), USAGE, finish("max_tokens")])
    story.say("step-finish", stepResult={"reason": "length"})
    assert [error["error"]["code"] for error in story.of("tool-error")] == ["truncated"]
    agents = said(("step-start", {}), ("tool-call", TF), ("step-finish", {"stepResult": {"reason": "length"}}))
    assert agents.of("tool-error") == []


def test_a_step_finish_in_an_open_call_ends_the_call() -> None:
    story = loop()
    story.all([start(), text("x"), USAGE])
    story.say("step-finish", **STOP)
    assert story.types[-2:] == ["text-end", "step-finish"]
    assert story.of("step-finish")[0]["output"]["usage"]["totalTokens"] == 7
    story.write(text("y"))
    assert story.codes == ["call-cut", "chunk-after-finish"]


def test_a_retry_that_the_agent_closes_keeps_its_failure() -> None:
    story = loop()
    story.all([start(), finish("error")])
    story.say("step-finish", stepResult={"reason": "retry"})
    [step] = story.of("step-finish")
    assert step["metadata"] == {"failure": {"message": "broke"}}
    assert step["stepResult"] == {"reason": "retry", "isContinued": True}
    story.control(RUN_END)
    assert story.of("error") == []


# --- reasons and usage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "said_"),
    [
        ({"reason": "tool-calls"}, {"reason": "tool-calls", "isContinued": True}),
        ({"reason": "retry"}, {"reason": "retry", "isContinued": True}),
        ({"reason": "stop"}, {"reason": "stop", "isContinued": False}),
        ({"reason": "tool-calls", "isContinued": False}, {"reason": "tool-calls", "isContinued": False}),
        ({"reason": "eos", "x": 1}, {"reason": "other", "x": 1, "rawReason": "eos", "isContinued": False}),
        ({"reason": "eos", "rawReason": "z"}, {"reason": "other", "rawReason": "z", "isContinued": False}),
    ],
)
def test_reasons(sent: dict[str, Any], said_: dict[str, Any]) -> None:
    story = said(("step-start", {}), ("step-finish", {"stepResult": sent}))
    assert story.of("step-finish")[0]["stepResult"] == said_


@pytest.mark.parametrize(
    ("sent", "figures"),
    [
        ({"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}, (10, None, None, 5, None, 15)),
        ({"inputTokens": 10, "outputTokens": 5}, (10, None, None, 5, None, 15)),
        ({"promptTokens": 10, "completionTokens": 5}, (10, None, None, 5, None, 15)),
        ({"inputTokens": 3}, (3, None, None, None, None, None)),
        ({"inputTokens": None, "outputTokens": "5", "totalTokens": -1, "reasoningTokens": True}, (None,) * 6),
        ({"inputTokens": 1.0, "outputTokens": 2.5}, (1, None, None, None, None, None)),
        (
            {
                "inputTokens": {"total": 10, "cacheRead": 4, "cacheWrite": 1},
                "outputTokens": {"total": 5, "reasoning": 2},
            },
            (10, 4, 1, 5, 2, 15),
        ),
        (
            {"inputTokens": {"total": {"total": 10}}, "outputTokens": {"total": {"total": 5}}},
            (10, None, None, 5, None, 15),
        ),
        (
            {"inputTokens": 9, "cachedInputTokens": 1, "cacheCreationInputTokens": 2, "outputTokens": 3},
            (9, 1, 2, 3, None, 12),
        ),
    ],
)
def test_usage_forms_are_flattened(sent: dict[str, Any], figures: tuple[Any, ...]) -> None:
    names = [
        "inputTokens",
        "cachedInputTokens",
        "cacheCreationInputTokens",
        "outputTokens",
        "reasoningTokens",
        "totalTokens",
    ]
    expected = {name: figure for name, figure in zip(names, figures, strict=True) if figure is not None}
    story = said(("step-start", {}), ("step-finish", {**STOP, "output": {"usage": {**sent, "raw": {"x": 1}}}}))
    [step] = story.of("step-finish")
    assert step["output"]["usage"] == expected | {"raw": {"x": 1}}
    assert step["totalUsage"] == expected
    assert list(step["output"]["usage"])[:-1] == list(expected)


def test_the_sums_of_a_run_span_calls_agents_steps_and_legs() -> None:
    story = loop()
    story.all([start(), end(text=""), USAGE, finish()], call="1")
    story.control({"type": "run-end", "reason": "suspended"})
    story.say("step-start")
    story.say("step-finish", **STOP, usage={"inputTokens": 1, "outputTokens": 1, "reasoningTokens": 1})
    story.say("finish", **STOP, output={"usage": {"inputTokens": 1000}, "steps": []})
    [done] = story.of("finish")
    sums = {"inputTokens": 4, "outputTokens": 5, "reasoningTokens": 1, "totalTokens": 9}
    assert done["output"] == {"usage": sums, "steps": []}


@pytest.mark.parametrize(
    ("sent", "told"),
    [({"inputTokens": 2, "outputTokens": 1}, {"inputTokens": 2, "outputTokens": 1, "totalTokens": 3}),
     ({"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}, {})],
)  # fmt: skip
def test_only_if_no_step_has_reported_the_agents_own_sum_is_taken(sent: dict[str, int], told: dict[str, int]) -> None:
    story = said(("step-start", {}), ("step-finish", STOP), ("finish", {**STOP, "output": {"usage": sent}}))
    assert story.of("finish")[0]["output"]["usage"] == told


def test_the_first_record_of_a_run_may_name_its_parent_and_what_it_continues() -> None:
    parent = {"runId": "p", "wrapper": "tool-output", "key": "c1"}
    story = loop(parent=parent, continues="r0")
    story.reload()
    state = story.machine.state
    assert state.parent is not None
    assert (state.parent.run_id, state.parent.key, state.continues) == ("p", "c1", "r0")
    assert json.loads(json.dumps({"parent": parent}))["parent"] == parent
    opened: Any = story.events[0]
    assert (opened.parent.wrapper, opened.continues) == ("tool-output", "r0")
    late = loop()
    late.control({"type": "run-start", "parent": parent, "continues": "x"})
    assert (late.machine.state.parent, late.machine.state.continues) == (None, None)

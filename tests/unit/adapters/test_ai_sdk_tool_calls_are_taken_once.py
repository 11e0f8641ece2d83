"""The AI SDK streams a tool's input and then repeats the whole call: one call, whichever of the two says more."""

import json
from typing import Any

import pytest

from conformance.recorded import Seen, Tool, decode_raw
from runwire.adapters import adapter
from runwire_schemas.raw import BlockEnd, ToolCallDelta, ToolUseBlock
from unit.adapters.saying import Json, run
from unit.adapters.sdk_parts import beside, body, call, part, said, text, v2, v3

PRELIMINARY = {"result": "half", "preliminary": True}


def streamed(identity: str, name: str, *deltas: str, **more: Any) -> list[Json]:
    """A call's input, without the call."""
    return [
        part("tool-input-start", identity, toolName=name, **more),
        *(part("tool-input-delta", identity, delta=delta) for delta in deltas),
        part("tool-input-end", identity),
    ]


def deltas(*parts: Json) -> list[str]:
    """The arguments as they were sent."""
    chunks = [decode_raw(one.body) for one in run(adapter("ai-sdk"), body(*parts)) if one.kind == "provider"]
    return [one.arguments_delta for one in chunks if isinstance(one, ToolCallDelta) and one.arguments_delta]


def ended(*parts: Json) -> list[ToolUseBlock]:
    """The calls that are over while the response goes on."""
    chunks = [decode_raw(one.body) for one in adapter("ai-sdk").feed(body(*parts)) if one.kind == "provider"]
    blocks = [one.block for one in chunks if isinstance(one, BlockEnd)]
    return [block for block in blocks if isinstance(block, ToolUseBlock)]


def gemini(*parts: Json) -> list[Any]:
    return [json.loads(one) for one in said(*parts).gemini]


def test_a_streamed_call_is_not_doubled() -> None:
    parts = [*streamed("c", "f", '{"a"', ":1}"), call("c", "f", '{"a":1}'), v3("tool-calls")]
    seen = said(*parts)

    assert (seen.tools, seen.finish) == ([Tool("c", "f", '{"a":1}')], "tool_calls")
    assert deltas(*parts) == ['{"a"', ":1}"]
    assert seen.beside("raw") == []


def test_a_call_that_was_not_streamed() -> None:
    assert said(call("c", "f", '{"a":1}'), v2("tool-calls")).tools == [Tool("c", "f", '{"a":1}')]


@pytest.mark.parametrize("given", ["", None, "{}"])
def test_a_call_without_input(given: str | None) -> None:
    assert said(*streamed("c", "f"), call("c", "f", given), v2()).tools == [Tool("c", "f", given or "")]


def test_input_may_be_an_object() -> None:
    assert said(call("c", "f", {"a": 1}), v2()).tools == [Tool("c", "f", '{"a":1}')]


def test_what_was_not_streamed_is_sent() -> None:
    assert said(*streamed("c", "f"), call("c", "f", '{"a":1}'), v2()).tools == [Tool("c", "f", '{"a":1}')]
    assert deltas(*streamed("c", "f", '{"a"'), call("c", "f", '{"a":1}'), v2()) == ['{"a"', ":1}"]


def test_the_same_input_spelled_otherwise() -> None:
    seen = said(*streamed("c", "f", '{"b": 2, "a": 1}'), call("c", "f", '{"a":1,"b":2}'), v2())

    assert (seen.tools, seen.beside("raw")) == ([Tool("c", "f", '{"b": 2, "a": 1}')], [])


@pytest.mark.parametrize("given", ['{"a":2}', "no JSON", '{"a":1e999}'])
def test_another_input_is_kept_beside(given: str) -> None:
    seen = said(*streamed("c", "f", '{"a":1}'), call("c", "f", given), v2())

    assert seen.tools == [Tool("c", "f", '{"a":1}')]
    assert beside(seen, "toolCall") == [{"input": given}]


def test_another_name_is_kept_beside_and_a_missing_one_is_filled_in() -> None:
    other = said(*streamed("c", "f", "{}"), call("c", "g", "{}"), v2())
    late = said(*streamed("c", "", "{}"), call("c", "g", "{}"), v2())

    assert (other.tools, beside(other, "toolCall")) == ([Tool("c", "f", "{}")], [{"toolName": "g"}])
    assert (late.tools, beside(late, "toolCall")) == ([Tool("c", "g", "{}")], [])


def test_calls_may_interleave() -> None:
    parts = [
        part("tool-input-start", "a", toolName="f"),
        part("tool-input-start", "b", toolName="f"),
        part("tool-input-delta", "b", delta='{"n":'),
        part("tool-input-delta", "a", delta="{}"),
        *text("a", "between"),
        part("tool-input-delta", "b", delta="2}"),
        call("b", "f", '{"n":2}'),
        call("a", "f", "{}"),
    ]
    seen = said(*parts, v2())

    assert sorted(seen.tools) == [Tool("a", "f", "{}"), Tool("b", "f", '{"n":2}')]
    assert seen.text == "between"


def test_an_id_that_comes_twice_is_two_calls() -> None:
    once = said(call("c", "f", "{}"), call("c", "f", "{}"), v2())
    open_ = said(*streamed("c", "f", "{}"), *streamed("c", "f", "{}"), call("c", "f", "{}"), v2())

    assert once.tools == [Tool("c", "f", "{}"), Tool("c~2", "f", "{}")]
    assert open_.tools == [Tool("c", "f", "{}"), Tool("c~2", "f", "{}")]


def test_a_start_that_is_repeated_before_any_input_begins_no_other_call() -> None:
    start = part("tool-input-start", "c", toolName="f")
    other = part("tool-input-start", "c", toolName="g")

    assert said(start, start, call("c", "f", "{}"), v2()).tools == [Tool("c", "f", "{}")]
    assert said(start, other, call("c", "g", "{}"), v2()).tools == [Tool("c", "f", ""), Tool("c~2", "g", "{}")]


def test_a_missing_id_is_made() -> None:
    calls = [call("", "f", '{"n":1}'), call("", "f", '{"n":2}')]
    seen = said(part("response-metadata", id="r", modelId="m"), *calls, v2())

    assert seen.tools == [Tool("generated-r-0", "f", '{"n":1}'), Tool("generated-r-1", "f", '{"n":2}')]


@pytest.mark.parametrize("identity", ["0", "call_1", "tool-12"])
def test_an_id_that_is_only_a_number_gets_the_responses_id(identity: str) -> None:
    parts = [call(identity, "f", "{}"), part("tool-result", toolCallId=identity, toolName="f", result=1), v3()]
    named = said(part("response-metadata", id="r", modelId="m"), *parts)

    assert named.tools == [Tool(f"r:{identity}", "f", "{}")]
    assert [result.tool_call_id for result in named.results] == [f"r:{identity}"]
    assert said(*parts).tools == [Tool(identity, "f", "{}")]


def test_an_id_that_is_a_number_in_json_is_its_digits() -> None:
    seen = said(part("tool-input-start", toolName="f", id=12345678), call("12345678", "f", "{}"), v2())

    assert seen.tools == [Tool("12345678", "f", "{}")]


def test_an_id_that_is_neither_text_nor_a_number_is_none() -> None:
    assert said(part("tool-call", toolCallId={"a": 1}, toolName="f", input="{}"), v2()).tools == [
        Tool("generated-0", "f", "{}")
    ]


def test_a_call_that_is_never_completed_has_what_was_streamed() -> None:
    seen = said(*streamed("c", "f", '{"a":1}', dynamic=True), v2("tool-calls"))

    assert seen.tools == [Tool("c", "f", '{"a":1}')]
    assert beside(seen, "toolCall") == [{"dynamic": True}]


@pytest.mark.parametrize("end", [[], [v2("error")], [part("error", error="e"), v2()]])
def test_a_call_that_was_cut_off_is_not_made_whole(end: list[Json]) -> None:
    seen = said(*streamed("c", "f", dynamic=True, meta={"openai": {"itemId": "i"}}), *end)

    assert (seen.tools, seen.kinds) == ([], ["tool_use"])
    assert beside(seen, "toolCall") == [{"dynamic": True, "providerMetadata": {"openai": {"itemId": "i"}}}]


def test_what_the_provider_executes() -> None:
    early = said(*streamed("c", "f", "{}", providerExecuted=True), call("c", "f", "{}", providerExecuted=True), v2())
    whole = said(call("c", "f", "{}", providerExecuted=True), v2())
    late = run(adapter("ai-sdk"), body(*streamed("c", "f", "{}"), call("c", "f", "{}", providerExecuted=True), v2()))
    ends = [decode_raw(one.body) for one in late if one.kind == "provider"]
    blocks = [one.block for one in ends if isinstance(one, BlockEnd)]

    assert (early.executed, whole.executed) == ({"c"}, {"c"})
    assert [block.provider_executed for block in blocks if isinstance(block, ToolUseBlock)] == [True]
    assert said(*streamed("c", "f", "{}"), call("c", "f", "{}", providerExecuted=False), v2()).executed == set()
    assert [block.provider_executed for block in ended(call("c", "f", "{}"))] == [None]


def test_a_call_is_over_when_it_is_complete_or_answered() -> None:
    result = part("tool-result", toolCallId="c", toolName="f", result=1)

    assert [block.arguments for block in ended(*streamed("c", "f", "{}"), call("c", "f", "{}"))] == ["{}"]
    assert [block.arguments for block in ended(*streamed("c", "f", "{}"), result)] == ["{}"]
    assert ended(*streamed("c", "f", "{}")) == []


def test_a_result() -> None:
    result = part("tool-result", toolCallId="c", toolName="f", result={"n": 1}, isError=True, dynamic=True)
    seen = said(call("c", "f", "{}", providerExecuted=True), result, v2())

    assert [(one.tool_call_id, bytes(one.content), one.is_error, one.tool_name) for one in seen.results] == [
        ("c", b'{"n":1}', True, "f")
    ]
    assert beside(seen, "toolResult") == [{"dynamic": True}]
    plain = part("tool-result", toolCallId="c", toolName="f", result=1, providerExecuted=True)
    assert said(call("c", "f", "{}"), plain, v2()).beside("raw") == []


def test_a_result_of_a_call_in_an_earlier_response_comes_alone() -> None:
    seen = said(part("tool-result", toolCallId="earlier", toolName="f", result=None), v2())

    assert [(one.tool_call_id, bytes(one.content), one.is_error) for one in seen.results] == [
        ("earlier", b"null", None)
    ]


def test_a_result_completes_a_call_and_goes_by_its_id_here() -> None:
    result = part("tool-result", toolCallId="", toolName="f", result=1)
    seen = said(*streamed("", "f", "{}"), result, *streamed("", "f", "{}"), result, v2())

    assert seen.tools == [Tool("generated-0", "f", "{}"), Tool("generated-2", "f", "{}")]
    assert [one.tool_call_id for one in seen.results] == ["generated-0", "generated-2"]


def test_an_id_that_is_free_again_goes_by_itself() -> None:
    """A second `a` is `a~2`; a result then belongs to it."""
    seen = said(call("a", "f", "{}"), call("a", "f", "{}"), part("tool-result", toolCallId="a", result=1), v2())

    assert [one.tool_call_id for one in seen.results] == ["a~2"]


def test_a_preliminary_result_is_no_answer() -> None:
    first, last = ({"toolCallId": "c", "toolName": "f", **more} for more in (PRELIMINARY, {"result": "whole"}))
    seen = said(call("c", "f", "{}"), part("tool-result", **first), part("tool-result", **last), v2())

    assert [bytes(one.content) for one in seen.results] == [b'"whole"']
    assert beside(seen, "preliminaryResult") == ["half"]


def test_an_approval_that_is_asked_for_is_kept() -> None:
    asked = part("tool-approval-request", approvalId="a", toolCallId="c")

    assert beside(said(call("c", "f", "{}"), asked, v3()), "part") == [asked]


def test_metadata_of_a_call_is_passed_on_once() -> None:
    meta = {"openai": {"itemId": "fc_1"}}
    seen = said(*streamed("c", "f", "{}", title="T", meta=meta), call("c", "f", "{}", dynamic=True, meta=meta), v2())

    assert beside(seen, "toolCall") == [{"title": "T", "dynamic": True, "providerMetadata": meta}]


@pytest.mark.parametrize(("size", "chunks"), [(1, 2), (100_000, 34)])
@pytest.mark.parametrize("meta", [False, True])
def test_what_waits_for_the_end_of_a_call_is_bounded_and_not_lost(size: int, chunks: int, meta: bool) -> None:
    members = [{f"m{n}": "x" * size} for n in range(100)]
    parts = [part("tool-input-end", "c", **({"meta": {"p": one}} if meta else one)) for one in members]
    whole = body(part("tool-input-start", "c", toolName="f"), *parts, call("c", "f", "{}"), v2())
    seen = Seen(run(adapter("ai-sdk"), whole))

    kept = [one["providerMetadata"]["p"] if meta else one for one in beside(seen, "toolCall")]
    assert len(kept) == chunks
    assert [name for one in kept for name in one] == [f"m{n}" for n in range(100)]


def test_geminis_signature_goes_with_its_call() -> None:
    meta = {"google": {"thoughtSignature": "s"}}
    parts = [
        part("tool-input-start", "c", toolName="f", meta=meta),
        part("tool-input-delta", "c", delta="{}", meta=meta),
        part("tool-input-end", "c", meta=meta),
        call("c", "f", "{}", meta=meta),
    ]

    assert gemini(*parts, v3()) == [{"thoughtSignature": "s"}]
    late = [part("tool-input-start", "c", toolName="f"), part("tool-input-delta", "c", delta="{}", meta=meta)]
    assert gemini(*late, v3()) == [{"thoughtSignature": "s"}]
    assert gemini(call("c", "f", "{}", meta=meta), v3()) == [{"thoughtSignature": "s"}]


@pytest.mark.parametrize("pieces", [['print("ä")\n', "\ud83c", "\udf0d"], ['print("ä")\n🌍'], []])
def test_input_that_is_text_is_one_member_of_an_object(pieces: list[str]) -> None:
    whole = "".join(pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    parts = streamed("c", "f", *pieces, inputEncoding="text")

    for more in ([call("c", "f", json.dumps(whole))], []):
        seen = said(*parts, *more, v3())
        assert [json.loads(tool.arguments) for tool in seen.tools] == [{"input": whole}]
        assert seen.beside("raw") == []


def test_text_input_that_was_not_streamed_or_contradicts() -> None:
    assert said(call("c", "f", '"ls"'), v3()).tools == [Tool("c", "f", '{"input":"ls"}')]
    seen = said(*streamed("c", "f", "ls", inputEncoding="text"), call("c", "f", '"rm"'), v3())
    assert (seen.tools, beside(seen, "toolCall")) == ([Tool("c", "f", '{"input":"ls"}')], [{"input": '{"input":"rm"}'}])


def test_input_without_a_call_ends_the_response() -> None:
    seen = said(part("tool-input-delta", "c", delta="{}"), v2())

    assert (seen.finish, "without the call" in seen.failure) == ("error", True)
    assert said(part("tool-input-delta", "c"), part("tool-input-end", "c"), v2()).finish == "stop"


def test_more_open_calls_than_a_response_may_have_end_it() -> None:
    seen: Seen = said(*(part("tool-input-start", f"c-{n}", toolName="f") for n in range(300)), v2())

    assert (seen.finish, "too many open tool calls" in seen.failure) == ("error", True)

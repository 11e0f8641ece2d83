"""Gemini's parts: text, thoughts, signatures, media, and the tools that Google runs itself."""

import json
from typing import Any

import pytest

from conformance.recorded import Seen
from runwire.adapters import adapter
from runwire_schemas.raw import ThinkingBlock
from unit.adapters.generating import body, call, end, event, gemini, noted, parts, raws, text, thought
from unit.adapters.saying import Json, accepted, run

CODE: Json = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
RESULT: Json = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}


def _noted(*given: Json) -> list[tuple[str, Json]]:
    return noted("gemini", body(*(event(part) for part in given), end()))


def _images(*given: Json) -> list[Json]:
    emitted = run(adapter("gemini"), body(event(*given), end()))
    ends = [json.loads(data) for _, data in emitted if b'"block-end"' in data]
    return [one["block"] for one in ends if one["block"]["kind"] == "image"]


# Text and thoughts


def test_text_and_thoughts_are_blocks_of_their_own() -> None:
    seen = gemini(event(thought("I ")), event(thought("think."), text("It "), text("is.")))

    assert (seen.kinds, seen.reasoning, seen.text) == (["thinking", "text"], "I think.", "It is.")


def test_an_empty_part_says_nothing() -> None:
    assert parts(text("a"), text(""), thought(""), text("b")).kinds == ["text"]
    assert (parts(text("")).kinds, parts({}).kinds, raws(parts({}))) == ([], [], [])
    assert gemini(event(thought(""), text(""), candidate={"odd": 1})).kinds == []


def test_content_may_be_missing_or_have_no_parts() -> None:
    events: list[Json] = [
        {"candidates": [{"content": {"role": "model"}}]},
        {"candidates": [{"content": {}}]},
        {"candidates": [{}]},
        {"candidates": []},
        {},
    ]

    seen = gemini(event(text("a")), *events, event(text("b")))

    assert (seen.text, seen.kinds, raws(seen)) == ("ab", ["text"], [])


def test_the_signature_of_a_thought_is_of_its_block() -> None:
    seen = parts(thought("a"), thought("b", thoughtSignature="S1"), thought("c", thoughtSignature="S2"), text("d"))

    assert seen.thinking == [
        ThinkingBlock(text="ab", signature="S1"),
        ThinkingBlock(text="c", signature="S2"),
    ]
    assert _noted(thought("a", thoughtSignature="S")) == []


def test_a_signature_may_come_without_its_thought() -> None:
    seen = parts(thought("a"), thought("", thoughtSignature="S1"), thought("", thoughtSignature="S2"), thought("b"))

    assert [(block.text, block.signature or None) for block in seen.thinking] == [("a", "S1"), ("", "S2"), ("b", None)]


def test_the_signature_of_text_is_on_its_own_delta() -> None:
    given = [text("a", thoughtSignature="S1"), text("b"), text("", thoughtSignature="S2")]

    assert _noted(*given) == [("a", {"thoughtSignature": "S1"}), ("", {"thoughtSignature": "S2"})]
    assert (parts(*given).text, parts(*given).kinds) == ("ab", ["text"])


def test_a_signature_after_a_thought_is_of_the_answer() -> None:
    for last in (text("", thoughtSignature="S"), {"thoughtSignature": "S"}):
        seen = parts(thought("a"), last)
        assert (seen.kinds, seen.thinking[0].signature or None) == (["thinking", "text"], None)
        assert _noted(thought("a"), last) == [("", {"thoughtSignature": "S"})]


def test_what_else_a_part_has_goes_with_it() -> None:
    more = {"partMetadata": {"a": 1}}

    assert _noted(text("x", **more)) == [("x", more)]
    assert _noted(thought("x", thoughtSignature="S", **more)) == [("", more)]
    assert _noted(thought("x", thoughtSignature={"odd": 1})) == [("", {"thoughtSignature": {"odd": 1}})]
    assert _noted(call("f", {}, id="x") | {"thoughtSignature": "S"} | more) == [("", {"thoughtSignature": "S"} | more)]
    assert _noted(text("x", videoMetadata={}, thoughtSignature=""), thought("y", thoughtSignature=None)) == []


def test_a_long_text_carries_its_signature_once() -> None:
    long = "x" * 70_000

    assert [(len(said), meta) for said, meta in _noted(text(long, thoughtSignature="S"))] == [
        (32 * 1024, {"thoughtSignature": "S"})
    ]
    assert Seen(run(adapter("gemini"), body(event(text(long, thoughtSignature="S")), end()))).text == long


def test_a_signature_that_no_chunk_can_hold_fails_the_call() -> None:
    seen = Seen(run(adapter("gemini"), body(event(text("x", thoughtSignature="S" * 1_200_000)), end())))

    assert (seen.finish, seen.failure) == ("error", "the provider sent a part that is too large")


def test_parts_that_are_not_known_are_kept_whole() -> None:
    signed = {"speechMetadata": {"speaker": "one"}, "thoughtSignature": "S"}
    given: list[Any] = [{"audioTranscription": {"text": "hm"}}, signed, {"functionResponse": {"name": "f"}}, 7, ["x"]]

    seen = gemini(event(*given, text("a")), last=end())

    assert [kept["part"] for kept in raws(seen)] == given
    assert seen.text == "a"


def test_a_part_of_several_kinds_is_taken_apart() -> None:
    seen = parts({"text": "a", **call("f", {"n": 1}), "thoughtSignature": "S"})

    assert (seen.text, [tool[1:] for tool in seen.tools]) == ("a", [("f", '{"n":1}')])
    assert _noted({"text": "a", **call("f"), "thoughtSignature": "S"}) == [("", {"thoughtSignature": "S"})]
    assert raws(parts(call("f") | {"thoughtSignature": "S"})) == []


def test_a_call_in_a_thought_is_a_call() -> None:
    assert [tool.name for tool in parts({"thought": True, **call("f")}).tools] == ["f"]


def test_members_of_the_content_that_are_not_known_are_kept() -> None:
    seen = gemini(event(text("a"), candidate={"content": {"parts": [text("a")], "role": "model", "mood": "calm"}}))

    assert (seen.text, raws(seen)) == ("a", [{"content": {"mood": "calm"}}])


# Images and files


def test_an_image_is_a_block() -> None:
    given = [text("Look:"), {"inlineData": {"mimeType": "image/png", "data": "AAA="}}, text("Nice.")]

    seen = parts(*given)

    assert (seen.kinds, seen.text, raws(seen)) == (["text", "image", "text"], "Look:Nice.", [])
    assert _images(*given) == [{"kind": "image", "mediaType": "image/png", "data": "AAA="}]


def test_an_image_may_be_somewhere_else() -> None:
    assert _images({"fileData": {"mimeType": "image/png", "fileUri": "https://i"}}) == [
        {"kind": "image", "mediaType": "image/png", "url": "https://i"}
    ]


def test_what_an_image_has_besides_is_kept() -> None:
    seen = parts({"inlineData": {"mimeType": "image/png", "data": "A", "displayName": "cat"}, "thoughtSignature": "S"})

    assert raws(seen) == [{"file": {"displayName": "cat", "thoughtSignature": "S"}}]


def test_other_media_are_files() -> None:
    seen = parts(
        {"inlineData": {"mimeType": "audio/L16;rate=24000", "data": "AAA="}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://f", "displayName": "clip"}},
        {"inlineData": {"data": "BBB="}},
    )

    assert seen.beside("file") == [
        {"data": "AAA=", "mimeType": "audio/L16;rate=24000"},
        {
            "data": "https://f",
            "mimeType": "video/mp4",
            "providerMetadata": {"gemini": {"displayName": "clip"}},
        },
        {"data": "BBB=", "mimeType": "application/octet-stream"},
    ]


def test_the_letters_of_base64_are_the_usual_ones() -> None:
    """Google's SDK writes those for URLs."""
    seen = parts({"inlineData": {"mimeType": "audio/wav", "data": "-_A="}})

    assert seen.beside("file")[0]["data"] == "+/A="


def test_what_was_made_while_thinking_is_no_part_of_the_answer() -> None:
    seen = parts({"thought": True, "inlineData": {"mimeType": "image/png", "data": "A"}, "thoughtSignature": "S"})

    assert seen.beside("reasoning-file") == [
        {"data": "A", "mimeType": "image/png", "providerMetadata": {"gemini": {"thoughtSignature": "S"}}}
    ]


def test_media_without_content_are_kept() -> None:
    seen = parts({"inlineData": {"mimeType": "image/png"}, "thoughtSignature": "S"})

    assert raws(seen) == [{"part": {"media": {"mimeType": "image/png"}, "thoughtSignature": "S"}}]
    assert raws(parts({"fileData": 7})) == [{"part": {"media": 7}}]


# Tools that Google runs


def test_code_and_its_result_belong_together() -> None:
    code = {"executableCode": {**CODE["executableCode"], "id": "x"}, "thoughtSignature": "S"}
    result = {"codeExecutionResult": {**RESULT["codeExecutionResult"], "id": "x"}}

    seen = parts(code, result, text("1"))

    assert seen.tools == [("x", "code_execution", '{"language":"PYTHON","code":"print(1)"}')]
    assert (seen.executed, seen.kinds) == ({"x"}, ["tool_use", "tool_result", "text"])
    (answer,) = seen.results
    assert (answer.tool_call_id, answer.is_error, answer.tool_name) == ("x", False, "code_execution")
    assert bytes(answer.content) == b'{"outcome":"OUTCOME_OK","output":"1\\n"}'
    assert (_noted(code), _noted(CODE)) == ([("", {"thoughtSignature": "S"})], [])
    assert (seen.finish, raws(seen)) == ("stop", [])


def test_results_without_ids_answer_the_code_in_its_order() -> None:
    seen = parts(CODE, CODE, RESULT, RESULT)

    assert [tool.id for tool in seen.tools] == ["generated-r1-0", "generated-r1-1"]
    assert [result.tool_call_id for result in seen.results] == ["generated-r1-0", "generated-r1-1"]


def test_code_whose_result_is_not_shown_gets_none() -> None:
    for said in (text("It is 1."), text("It is 1.", thoughtSignature="S")):
        seen = parts(CODE, said, CODE, RESULT)
        assert [result.tool_call_id for result in seen.results] == ["generated-r1-2"]
    for said in (thought("hm"), text("", thoughtSignature="S")):
        assert [result.tool_call_id for result in parts(CODE, said, RESULT).results] == ["generated-r1-0"]


def test_an_id_goes_before_the_order() -> None:
    named = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "id": "y"}}
    codes = [{"executableCode": {"code": name, "id": name}} for name in ("x", "y")]

    seen = parts(*codes, named, RESULT)

    assert [result.tool_call_id for result in seen.results] == ["y", "x"]


def test_a_result_without_its_code_has_an_id_of_its_own() -> None:
    assert [result.tool_call_id for result in parts(RESULT).results] == ["generated-r1-0"]


def test_an_id_that_is_used_again_is_another_call() -> None:
    code = {"executableCode": {"code": "1", "id": "x"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "id": "x"}}

    seen = parts(code, result, code, result)

    assert [tool.id for tool in seen.tools] == ["x", "x~2"]
    assert [result.tool_call_id for result in seen.results] == ["x", "x~2"]


def test_ids_that_are_only_numbers_are_those_of_this_response() -> None:
    seen = parts(
        {"executableCode": {"code": "1", "id": "call_0"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "id": "call_0"}},
        call("f", {}, id="call_1"),
    )

    assert [tool.id for tool in seen.tools] == ["r1:call_0", "r1:call_1"]
    assert [result.tool_call_id for result in seen.results] == ["r1:call_0"]


@pytest.mark.parametrize(
    ("outcome", "failed"),
    [
        ("OUTCOME_OK", False),
        (1, False),
        ("OUTCOME_UNSPECIFIED", False),
        ("OUTCOME_FAILED", True),
        ("OUTCOME_DEADLINE_EXCEEDED", True),
        (2, True),
        (None, None),
    ],
)
def test_the_outcome_says_whether_code_failed(outcome: Any, failed: bool | None) -> None:
    seen = parts(CODE, {"codeExecutionResult": {"outcome": outcome, "output": "x"}})

    assert (seen.results[0].is_error if isinstance(seen.results[0].is_error, bool) else None) is failed


def test_the_signature_of_a_result_is_kept_beside() -> None:
    seen = parts(CODE, RESULT | {"thoughtSignature": "S"})

    assert raws(seen) == [{"toolCallId": "generated-r1-0", "part": {"thoughtSignature": "S"}}]


def test_other_tools_may_have_no_ids() -> None:
    asked: Json = {"toolCall": {"toolType": "FILE_SEARCH"}}

    assert [result.tool_call_id for result in parts(asked, {"toolResponse": {}}).results] == ["generated-r1-0"]


def test_tools_of_odd_types_are_survived() -> None:
    for name in ("executableCode", "codeExecutionResult", "toolCall", "toolResponse"):
        assert len(parts({name: 7}).kinds) == 1


def test_other_tools_that_google_runs() -> None:
    asked = {
        "toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["a"]}, "id": "x"},
        "thoughtSignature": "S",
    }
    found = {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "response": {"a": 1}, "id": "x", "odd": 2}}

    seen = parts(asked, found)

    assert (seen.tools, seen.executed) == ([("x", "GOOGLE_SEARCH_WEB", '{"queries":["a"]}')], {"x"})
    (answer,) = seen.results
    assert (answer.tool_call_id, answer.tool_name, bytes(answer.content)) == ("x", "GOOGLE_SEARCH_WEB", b'{"a":1}')
    assert raws(seen) == [{"toolCallId": "x", "part": {"odd": 2}}]
    assert _noted(asked) == [("", {"thoughtSignature": "S"})]


def test_a_tool_may_have_neither_arguments_nor_response() -> None:
    seen = parts({"toolCall": {"toolType": "FILE_SEARCH", "id": "x"}}, {"toolResponse": {"id": "x"}})

    assert (seen.tools, bytes(seen.results[0].content)) == ([("x", "FILE_SEARCH", "{}")], b"null")
    assert [tool.name for tool in parts({"toolCall": {"id": "x"}}, {"toolCall": {"toolType": 3}}).tools] == [
        "tool",
        "3",
    ]


def test_what_else_a_tool_call_has_goes_with_it() -> None:
    assert _noted({"toolCall": {"toolType": "URL_CONTEXT", "id": "x", "odd": 2}}) == [("", {"odd": 2})]


# Spellings of Google's SDK


DUMPED: Json = {
    "candidates": [
        {
            "content": {
                "parts": [
                    {"text": "a", "thought_signature": "S"},
                    {"function_call": {"name": "f", "args": {"my_arg": 1}, "will_continue": None}},
                    {"executable_code": {"code": "1", "language": "PYTHON"}},
                    {"inline_data": {"mime_type": "image/png", "data": "A"}},
                ],
                "role": "model",
            },
            "finish_reason": "STOP",
            "grounding_metadata": None,
        }
    ],
    "usage_metadata": {"prompt_token_count": 5, "candidates_token_count": 7, "total_token_count": 12},
    "model_version": "m",
    "response_id": "r1",
    "sdk_http_response": {"headers": {"date": "today"}},
    "automatic_function_calling_history": [{"parts": [{"text": "old"}]}],
    "parsed": {"old": 1},
    "prompt_feedback": None,
}


def test_the_names_that_the_sdk_gives_to_members_are_understood() -> None:
    seen = accepted("gemini", body(DUMPED))

    assert (seen.kinds, seen.finish, raws(seen)) == (["text", "tool_use", "tool_use", "image"], "tool_calls", [])
    assert [tool[1:] for tool in seen.tools] == [
        ("f", '{"my_arg":1}'),
        ("code_execution", '{"code":"1","language":"PYTHON"}'),
    ]
    assert seen.usage is not None
    assert (seen.usage.input_tokens, seen.usage.output_tokens) == (5, 7)
    assert seen.beside("response-metadata")[0] == {"id": "r1", "modelId": "m"}

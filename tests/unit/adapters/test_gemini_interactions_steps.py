"""The steps of Gemini's interactions: thoughts, output, calls and results. Hand-written from the documentation."""

from typing import Any

import msgspec
import pytest

from conformance.recorded import Seen, judge
from runwire.adapters import adapter
from runwire.adapters.gemini_interactions.steps import Steps
from runwire.adapters.writing.call import Call
from runwire_schemas.raw import ThinkingBlock
from unit.adapters.generating import (
    FUNCTION,
    OUTPUT,
    THOUGHT,
    arguments,
    completed,
    created,
    happened,
    interaction,
    noted,
    raws,
    said,
    say,
    signature,
    step,
    summary,
)
from unit.adapters.saying import Json, run, sse


def _noted(*events: Json) -> list[tuple[str, Json]]:
    return noted("gemini-interactions", sse(created(), *events, completed()))


# Steps


def test_thoughts_and_output_are_blocks_of_their_own() -> None:
    thinking = step(0, THOUGHT, summary("I "), signature(""), summary("think."), signature("S"))

    seen = interaction(*thinking, *step(1, OUTPUT, said("It "), said("is.")), *step(2, OUTPUT, said("Yes.")))

    assert seen.thinking == [ThinkingBlock(text="I think.", signature="S")]
    assert (seen.kinds, seen.text) == (["thinking", "text", "text"], "It is.Yes.")


def test_every_signature_is_of_what_came_before_it() -> None:
    seen = interaction(*step(0, THOUGHT, signature("A"), signature("B"), summary("c"), signature("C"), summary("d")))

    assert [(block.text, block.signature or None) for block in seen.thinking] == [
        ("", "A"),
        ("", "B"),
        ("c", "C"),
        ("d", None),
    ]


def test_a_thought_may_come_whole() -> None:
    whole = {**THOUGHT, "summary": [said("a"), said("b"), 7], "signature": "S", "mood": "calm"}

    seen = interaction(*step(0, whole))

    assert seen.thinking == [ThinkingBlock(text="ab", signature="S")]
    assert raws(seen) == [{"summary": 7}, {"step": {"mood": "calm"}}]


def test_thoughts_of_two_steps_are_two_blocks() -> None:
    seen = interaction(*step(0, THOUGHT, summary("a"))[:-1], *step(1, THOUGHT, summary("b")))

    assert [block.text for block in seen.thinking] == ["a", "b"]


def test_steps_that_were_not_stopped_are_blocks_of_their_own() -> None:
    starts = [*step(0, OUTPUT, said("a"))[:-1], *step(1, OUTPUT, said("b"))[:-1], *step(1, FUNCTION)[:-1]]

    seen = interaction(*starts, *step(1, {**FUNCTION, "id": "y"})[:-1], *step(2, OUTPUT, said("c"))[:-1])

    assert (seen.kinds, seen.text) == (["text", "text", "tool_use", "tool_use", "text"], "abc")
    assert [tool.id for tool in seen.tools] == ["x", "y"]


def test_a_step_is_over_where_it_stops() -> None:
    wire = adapter("gemini-interactions")
    wire.feed(sse(created(), done=False))

    for given in (step(0, OUTPUT, said("a")), step(1, THOUGHT, summary("b")), step(2, FUNCTION)):
        before, after = wire.feed(sse(*given[:-1], done=False)), wire.feed(sse(given[-1], done=False))
        assert b"block-start" in before[0].body
        assert b"block-end" in after[-1].body


def test_a_signature_is_of_its_step() -> None:
    called = step(1, FUNCTION, signature("S1"))

    seen = interaction(*step(0, OUTPUT, said("a"), signature("S")), *called)

    assert (seen.kinds, seen.reasoning) == (["text", "tool_use"], "")
    assert _noted(*step(0, OUTPUT, said("a"), signature("S"), signature("")), *called) == [
        ("", {"signature": "S"}),
        ("", {"signature": "S1"}),
    ]


def test_output_may_come_whole() -> None:
    new = {"type": "new", "data": "A"}
    content = [said("a"), {"type": "image", "mime_type": "image/png", "data": "A"}, new, 7]

    seen = interaction(*step(0, {**OUTPUT, "content": content, "mood": "calm"}, said("b")))

    assert (seen.text, seen.kinds) == ("ab", ["text", "image", "text"])
    assert raws(seen) == [{"content": new}, {"content": 7}, {"step": {"mood": "calm"}}]


def test_empty_deltas_say_nothing() -> None:
    seen = interaction(*step(0, OUTPUT, said(""), {}))
    assert (seen.kinds, raws(seen)) == ([], [])
    assert interaction(*step(0, THOUGHT, summary(""), signature(""))).kinds == []


def test_media_are_images_and_files() -> None:
    media: list[Json] = [
        {"type": "image", "mime_type": "image/png", "uri": "https://i", "resolution": "low"},
        {"type": "audio", "mime_type": "audio/l16", "data": "-_A=", "rate": 24000},
        {"type": "video", "mime_type": "video/mp4", "uri": "https://v"},
        {"type": "document", "data": "A"},
        {"type": "image", "mime_type": "image/png"},
    ]

    seen = interaction(*step(0, OUTPUT, *media))

    assert seen.kinds == ["image"]
    assert seen.beside("file") == [
        {"data": "+/A=", "mimeType": "audio/l16", "providerMetadata": {"gemini-interactions": {"rate": 24000}}},
        {"data": "https://v", "mimeType": "video/mp4"},
        {"data": "A", "mimeType": "application/octet-stream"},
    ]
    assert raws(seen) == [{"file": {"resolution": "low"}}, {"content": media[4]}]


def test_an_image_in_a_thought_is_no_part_of_the_answer() -> None:
    image = {"type": "thought_summary", "content": {"type": "image", "mime_type": "image/png", "data": "A"}}
    odd = {"type": "thought_summary", "content": {"type": "new"}}

    seen = interaction(*step(0, THOUGHT, image, odd, {"type": "thought_summary"}))

    assert seen.beside("reasoning-file") == [{"data": "A", "mimeType": "image/png"}]
    assert raws(seen) == [{"summary": {"type": "new"}}]


def test_each_annotation_is_a_source() -> None:
    annotations = [
        {"type": "url_citation", "url": "https://a", "title": "A", "start_index": 1, "end_index": 2},
        {"type": "url_citation", "url": "https://a", "title": "A", "start_index": 3, "end_index": 4},
        {"type": "file_citation", "document_uri": "gs://d", "file_name": "D"},
        {"type": "place_citation", "url": "https://p", "name": "P"},
        {"source": "https://s", "start_index": 1},
        {"source": "a book"},
        {"type": "word_info", "text": "hm"},
        {"type": "speech_metadata", "speaker": "one"},
        7,
    ]

    seen = interaction(*step(0, OUTPUT, said("x"), {"type": "text_annotation_delta", "annotations": annotations}))

    assert [(one["sourceType"], one.get("url"), one["title"]) for one in seen.beside("source")] == [
        ("url", "https://a", "A"),
        ("url", "https://a", "A"),
        ("document", None, "D"),
        ("url", "https://p", "P"),
        ("url", "https://s", ""),
        ("document", None, "a book"),
    ]
    assert raws(seen) == [{"annotation": one} for one in annotations[6:]]
    assert seen.kinds == ["text"]


def test_text_may_have_its_annotations_with_it() -> None:
    cited = said("x", annotations=[{"type": "url_citation", "url": "https://a"}])

    assert [one["url"] for one in interaction(*step(0, OUTPUT, cited)).beside("source")] == ["https://a"]


def test_what_else_a_delta_has_is_kept() -> None:
    deltas: list[Json] = [
        said("x", mood="calm"),
        {**summary("y"), "mood": "odd"},
        {"type": "thought_summary", "content": {"type": "text", "text": "z", "mood": "glad"}},
        {**signature("S"), "mood": "sad"},
        {"type": "text_annotation_delta", "annotations": [], "mood": "new"},
    ]

    seen = interaction(*step(0, THOUGHT, *deltas), *step(1, FUNCTION, {**arguments("[1]"), "mood": "old"}))

    assert (seen.text, seen.reasoning, seen.tools[0].arguments) == ("x", "yz", "[1]")
    assert raws(seen) == [
        {"content": {"mood": "calm"}},
        {"delta": {"mood": "odd"}},
        {"summary": {"mood": "glad"}},
        {"delta": {"mood": "sad"}},
        {"delta": {"mood": "new"}},
        {"delta": {"mood": "old"}},
    ]


def test_steps_and_deltas_that_are_not_known_are_kept_whole() -> None:
    entered = {"type": "user_input", "content": [said("Hi")]}
    odd = {"type": "new_delta", "text": "no answer"}

    seen = interaction(*step(0, entered), *step(1, {"type": "new"}, odd), *step(2, {}), *say("a"))

    assert seen.text == "a"
    assert raws(seen) == [{"step": entered}, {"step": {"type": "new"}}, {"content": odd}]


def test_a_delta_without_a_type_is_told_by_its_text() -> None:
    assert interaction(*step(0, OUTPUT, {"text": "a"})).text == "a"


def test_a_call_without_its_start_is_a_call() -> None:
    call = {"type": "google_search_call", "id": "x", "arguments": {"a": 1}}

    assert interaction(*step(5, OUTPUT, call)[1:2]).tools == [("x", "google_search", '{"a":1}')]


def test_types_of_steps_that_are_counted_are_bounded() -> None:
    steps = Steps(Call("gemini-interactions"))
    for n in range(100):
        steps.start(n, {"type": msgspec.Raw(b'"kind%d"' % n)})

    assert len(steps.seen) == 64


def test_a_signature_without_its_start_is_of_a_thought() -> None:
    assert interaction(*step(0, THOUGHT, signature("S"))[1:]).thinking == [ThinkingBlock(text="", signature="S")]


def test_a_delta_or_a_stop_without_its_start_is_understood() -> None:
    seen = interaction(
        *step(0, OUTPUT, said("a"))[1:2], happened("step.stop", index=7), *step(3, THOUGHT, summary("b"))[1:]
    )

    assert (seen.text, seen.reasoning) == ("a", "b")


def test_more_steps_than_may_be_open_are_all_kept() -> None:
    whole = {**FUNCTION, "arguments": {"n": 1}}
    starts = [happened("step.start", index=n, step={**whole, "id": f"x{n}"}) for n in range(300)]
    emitted = run(adapter("gemini-interactions"), sse(created(), *starts, completed()))

    assert judge(emitted, "required")[1] == []
    assert Seen(emitted).tools == [(f"x{n}", "f", '{"n":1}') for n in range(300)]


# Calls and results


def test_a_call_has_its_arguments_in_pieces() -> None:
    seen = interaction(*step(0, FUNCTION, arguments('{"n":'), arguments("1}")), last=completed("requires_action"))

    assert (seen.tools, seen.executed, seen.finish) == ([("x", "f", '{"n":1}')], set(), "tool_calls")


def test_calls_may_alternate() -> None:
    one, two = step(0, FUNCTION, arguments("{"), arguments("}")), step(1, {**FUNCTION, "id": "y"}, arguments("[]"))

    seen = interaction(one[0], two[0], one[1], two[1], one[2], two[2], one[3])

    assert sorted(seen.tools) == [("x", "f", "{}"), ("y", "f", "[]")]


def test_arguments_may_come_whole() -> None:
    seen = interaction(
        *step(0, {**FUNCTION, "arguments": {"n": 1}}),
        *step(1, {**FUNCTION, "id": "y", "arguments": {"n": 1}}, arguments('{"n":2}')),
        *step(2, {**FUNCTION, "id": "z", "arguments": '{"n":3}'}),
        *step(3, {**FUNCTION, "id": "w"}),
    )

    assert [tool.arguments for tool in seen.tools] == ['{"n":1}', '{"n":2}', '{"n":3}', "{}"]


def test_arguments_that_others_replace_are_kept_beside() -> None:
    first, second = ({"type": "google_search_call", "arguments": {"queries": [name]}} for name in "ab")

    seen = interaction(*step(0, {**first, "id": "x"}, first, second))

    assert seen.tools[0].arguments == '{"queries":["b"]}'
    assert raws(seen) == [{"toolCallId": "x", "arguments": {"queries": ["a"]}}]


def test_a_call_without_an_id_gets_one() -> None:
    assert interaction(*step(0, {"type": "function_call", "name": "f"})).tools == [("generated-v1-0", "f", "{}")]
    assert (
        interaction(*step(0, {"type": "function_call", "name": "f"}, arguments("{}"))).tools[0].id == "generated-v1-0"
    )


def test_ids_that_are_only_numbers_are_those_of_this_interaction() -> None:
    result = {"type": "function_result", "call_id": "call_1", "result": 1}

    seen = interaction(*step(0, {**FUNCTION, "id": "call_1"}), *step(1, result))

    assert ([tool.id for tool in seen.tools], seen.results[0].tool_call_id) == (["v1:call_1"], "v1:call_1")


def test_a_call_without_a_name_fails_the_response() -> None:
    seen = interaction(*step(0, {"type": "function_call", "id": "x"}, arguments("{}")))

    assert (seen.finish, seen.tools) == ("error", [])
    assert "no name" in seen.failure


def test_who_is_called_may_be_said_in_a_delta() -> None:
    named = {"type": "function_call", "id": "x"}, {"type": "function_call", "name": "f"}
    searched = {"type": "google_search_call"}, {"type": "google_search_call", "id": "y"}

    seen = interaction(*step(0, named[0], arguments(""), named[1]), *step(1, searched[0], arguments(""), searched[1]))

    assert [tool[:2] for tool in seen.tools] == [("x", "f"), ("y", "google_search")]


def test_no_arguments_without_their_call_mean_nothing() -> None:
    assert interaction(*step(0, FUNCTION, arguments(""))[1:]).finish == "stop"


def test_arguments_without_their_call_fail_the_response() -> None:
    for start in (step(0, OUTPUT)[:1], []):
        seen = interaction(*start, *step(0, FUNCTION, arguments(""), arguments("{}"))[1:])
        assert (seen.finish, seen.failure) == ("error", "arguments of a tool call came without the call (step 0)")


def test_what_else_a_call_has_goes_with_it() -> None:
    call = {"type": "mcp_server_tool_call", "id": "x", "name": "find", "server_name": "s", "signature": "S"}

    assert _noted(*step(0, call, {"type": "mcp_server_tool_call", "odd": 1})) == [
        ("", {"server_name": "s", "signature": "S"}),
        ("", {"odd": 1}),
    ]
    assert interaction(*step(0, call)).tools == [("x", "find", "{}")]


@pytest.mark.parametrize(
    "kind",
    [
        "google_search",
        "code_execution",
        "url_context",
        "file_search",
        "google_maps",
        "retrieval",
        "tool_search",
        "processing",
    ],
)
def test_tools_that_google_runs(kind: str) -> None:
    call = {"type": f"{kind}_call", "id": "x", "signature": ""}
    result = {"type": f"{kind}_result", "call_id": "x", "signature": ""}

    seen = interaction(
        *step(0, call, {"type": f"{kind}_call", "arguments": {"a": 1}}),
        *step(1, result, {"type": f"{kind}_result", "result": [{"b": 2}], "is_error": False, "signature": "S"}),
    )

    assert (seen.tools, seen.executed, seen.finish) == ([("x", kind, '{"a":1}')], {"x"}, "stop")
    (answer,) = seen.results
    assert (answer.tool_call_id, answer.tool_name, answer.is_error) == ("x", kind, False)
    assert bytes(answer.content) == b'[{"b":2}]'
    assert raws(seen) == [{"toolCallId": "x", "step": {"signature": "S"}}]


def test_a_delta_may_begin_a_call_or_a_result() -> None:
    call = {"type": "google_search_call", "id": "x", "arguments": {"a": 1}}
    result = {"type": "google_search_result", "call_id": "x", "result": "r"}

    seen = interaction(*step(0, OUTPUT, said("t"), call, result))

    assert (seen.text, seen.tools) == ("t", [("x", "google_search", '{"a":1}')])
    assert bytes(seen.results[0].content) == b'"r"'


RESULTS: list[tuple[list[Any], bytes, list[Any]]] = [
    ([], b"null", []),
    (["a", "b"], b'"ab"', []),
    (["a", [1]], b"[1]", ["a"]),
    ([{"a": 1}, [1]], b"[1]", [{"a": 1}]),
    ([[1], [2, 3]], b"[1,2,3]", []),
    ([{}, {"a": 1}], b'{"a":1}', []),
    ([[], {"a": 1}], b'{"a":1}', []),
    ([{"a": 1}, {"a": 1}], b'{"a":1}', []),
    ([{"a": 1}, {"b": 2}], b'{"b":2}', [{"a": 1}]),
    ([None, "a"], b'"a"', []),
]


@pytest.mark.parametrize(("results", "content", "beside"), RESULTS)
def test_results_may_come_in_pieces(results: list[Any], content: bytes, beside: list[Any]) -> None:
    deltas = [{"type": "code_execution_result", "result": result} for result in results]

    seen = interaction(*step(0, {"type": "code_execution_result", "call_id": "x"}, *deltas))

    assert bytes(seen.results[0].content) == content
    assert raws(seen) == [{"toolCallId": "x", "result": one} for one in beside]


def test_a_result_may_have_failed_or_not_say() -> None:
    for more, expected in ({"is_error": True}, True), ({"is_error": None}, None), ({}, None):
        result = interaction(*step(0, {"type": "function_result", "call_id": "x", "name": "f", **more})).results[0]
        assert (result.is_error if isinstance(result.is_error, bool) else None) is expected
        assert result.tool_name == "f"


def test_a_result_of_a_function_need_not_name_it() -> None:
    answer = interaction(*step(0, {"type": "function_result", "call_id": "x"})).results[0]

    assert not answer.tool_name


def test_a_result_without_an_id_is_of_a_call_without_one() -> None:
    seen = interaction(*step(0, {"type": "google_search_call"}), *step(1, {"type": "google_search_result"}))

    assert [result.tool_call_id for result in seen.results] == [seen.tools[0].id]


def test_a_result_without_an_id_has_one_of_its_own() -> None:
    assert interaction(*step(0, {"type": "google_search_result"})).results[0].tool_call_id == "generated-v1-0"


def test_an_id_that_is_used_again_is_another_call() -> None:
    result = {"type": "google_search_result", "call_id": "x"}
    call = {"type": "google_search_call", "id": "x"}

    seen = interaction(*step(0, call), *step(1, result), *step(2, call), *step(3, result))

    assert [tool.id for tool in seen.tools] == ["x", "x~2"]
    assert [one.tool_call_id for one in seen.results] == ["x", "x~2"]


def test_a_function_that_was_answered_waits_for_nobody() -> None:
    answer = step(1, {"type": "function_result", "call_id": "x", "result": 1})

    assert interaction(*step(0, FUNCTION)).finish == "tool_calls"
    assert interaction(*step(0, {"type": "google_search_call", "id": "x"})).finish == "stop"
    assert interaction(*step(0, FUNCTION), *answer).finish == "stop"

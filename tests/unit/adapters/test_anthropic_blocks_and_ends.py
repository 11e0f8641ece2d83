"""Anthropic Messages: blocks of every kind, usage that is a total, and ends of every kind."""

import json

import pytest

from conformance.recorded import Seen
from runwire.adapters import adapter
from runwire_schemas.raw import Failed, ThinkingBlock, Usage
from unit.adapters.saying import Json, accepted, anthropic, block, message, named, run

TEXT = {"type": "text", "text": ""}
TOOL = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}


def _said(text: str) -> Json:
    return {"type": "text_delta", "text": text}


def _json(text: str) -> Json:
    return {"type": "input_json_delta", "partial_json": text}


def _result(seen: Seen) -> list[tuple[str, object, bool | None]]:
    return [(result.tool_call_id, json.loads(bytes(result.content)), result.is_error) for result in seen.results]


def test_text_thinking_and_a_tool_call_in_order() -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    seen = anthropic(
        message(
            *block(
                0, thinking, {"type": "thinking_delta", "thinking": "Hm"}, {"type": "signature_delta", "signature": "S"}
            ),
            *block(1, TEXT, _said("Hello"), _said(" there")),
            *block(2, TOOL, _json(""), _json('{"a"'), _json(": 1}")),
            stop="tool_use",
        )
    )

    assert seen.kinds == ["thinking", "text", "tool_use"]
    assert seen.thinking == [ThinkingBlock(text="Hm", signature="S")]
    assert (seen.text, seen.tools, seen.finish) == ("Hello there", [("toolu_1", "f", '{"a": 1}')], "tool_calls")


def test_hidden_thinking_has_its_signature() -> None:
    deltas: list[Json] = [
        {"type": "thinking_delta", "thinking": "", "estimated_tokens": 50},
        {"type": "signature_delta", "signature": "S"},
    ]
    seen = anthropic(message(*block(0, {"type": "thinking", "thinking": "", "signature": ""}, *deltas)))

    assert seen.thinking == [ThinkingBlock(text="", signature="S")]


def test_redacted_thinking_keeps_its_data() -> None:
    seen = anthropic(message(*block(0, {"type": "redacted_thinking", "data": "ENC"}), *block(1, TEXT, _said("x"))))

    assert seen.thinking == [ThinkingBlock(text="", redacted="ENC")]


@pytest.mark.parametrize(
    ("given", "deltas", "text"),
    [
        ({}, [], "{}"),
        ({}, [""], "{}"),
        ({"player": 1.50}, [], '{"player":1.5}'),
        ({"a": 1}, ['{"b":2}'], '{"b":2}'),
        ({}, ['{"a": "cut'], '{"a": "cut'),
    ],
)
def test_arguments_are_what_was_streamed_else_what_came_with_the_start(
    given: Json, deltas: list[str], text: str
) -> None:
    seen = anthropic(message(*block(0, {**TOOL, "input": given}, *map(_json, deltas)), stop="tool_use"))

    assert seen.tools == [("toolu_1", "f", text)]


def test_numbers_keep_their_spelling() -> None:
    body = message(*block(0, {**TOOL, "input": {"n": "HERE"}})).replace(b'"HERE"', b"1.500e3")

    assert anthropic(body).tools[0].arguments == '{"n":1.500e3}'


def test_server_tools_are_calls_that_the_provider_runs() -> None:
    call = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "srv_1",
        "content": [{"type": "web_search_result", "url": "u"}],
    }
    seen = anthropic(message(*block(0, call, _json('{"query":"x"}')), *block(1, found), *block(2, TEXT, _said("So"))))

    assert seen.tools == [("srv_1", "web_search", '{"query":"x"}')]
    assert seen.executed == {"srv_1"}
    assert _result(seen) == [("srv_1", found["content"], None)]


@pytest.mark.parametrize(
    ("block_of_result", "is_error"),
    [
        (
            {"type": "web_fetch_tool_result", "content": {"type": "web_fetch_tool_result_error", "error_code": "x"}},
            True,
        ),
        ({"type": "mcp_tool_result", "is_error": True, "content": [{"type": "text", "text": "no"}]}, True),
        ({"type": "mcp_tool_result", "is_error": False, "content": []}, False),
        ({"type": "a_future_tool_result", "content": {"type": "a_future_result"}}, None),
    ],
)
def test_a_failed_result_says_so(block_of_result: Json, is_error: bool | None) -> None:
    seen = anthropic(message(*block(0, {"tool_use_id": "srv_1", **block_of_result})))

    assert _result(seen) == [("srv_1", block_of_result["content"], is_error)]


def test_a_result_that_comes_twice_is_one_answer() -> None:
    result = {"type": "mcp_tool_result", "tool_use_id": "m", "content": ["a"]}
    seen = anthropic(message(*block(0, result), *block(1, result)))

    assert len(seen.results) == 1
    assert seen.beside("raw") == [{"provider": "anthropic", "toolCallId": "m", "toolResult": ["a"]}]


def test_what_a_call_says_besides_is_kept() -> None:
    mcp = {"type": "mcp_tool_use", "id": "m", "name": "ask", "server_name": "wiki", "input": {}}
    inside = {**TOOL, "caller": {"type": "code_execution", "tool_id": "srv_1"}}
    direct = {**TOOL, "id": "toolu_2", "caller": {"type": "direct"}}
    seen = anthropic(message(*block(0, mcp), *block(1, inside), *block(2, direct)))

    assert [kept["block"] for kept in seen.beside("raw")] == [{"server_name": "wiki"}, {"caller": inside["caller"]}]
    assert seen.executed == {"m"}


def test_citations_are_sources_and_kept_whole() -> None:
    web = {
        "type": "web_search_result_location",
        "url": "https://a",
        "title": "A",
        "cited_text": "q",
        "encrypted_index": "E",
    }
    page = {"type": "char_location", "document_title": "Doc", "document_index": 0, "cited_text": "r"}
    deltas = [{"type": "citations_delta", "citation": one} for one in (web, page)]
    seen = anthropic(message(*block(0, {**TEXT, "citations": []}, *deltas, _said("x"))))

    assert seen.beside("source") == [
        {
            "id": "msg-1:source:1",
            "sourceType": "url",
            "title": "A",
            "url": "https://a",
            "providerMetadata": {"anthropic": web},
        },
        {"id": "msg-1:source:2", "sourceType": "document", "title": "Doc", "providerMetadata": {"anthropic": page}},
    ]


def test_blocks_that_are_not_known_are_kept_with_their_deltas() -> None:
    delta = {"type": "compaction_delta", "content": "Earlier: ...", "encrypted_content": "E"}
    start = {"type": "compaction", "content": None}
    seen = anthropic(message(*block(0, start, delta), *block(1, TEXT, _said("x"))))

    assert seen.text == "x"
    assert [kept.get("block") or kept.get("delta") for kept in seen.beside("raw")] == [start, delta]


def test_events_that_are_not_known_are_kept_and_pings_are_not() -> None:
    seen = anthropic(message({"type": "ping"}, *block(0, TEXT, _said("x")), {"type": "mood", "value": 1}))

    assert seen.beside("raw") == [{"provider": "anthropic", "event": {"type": "mood", "value": 1}}]


def test_a_message_may_come_whole_at_its_start() -> None:
    content = [{"type": "text", "text": "Hi"}, {**TOOL, "input": {"a": 1}}]
    start = {"id": "m", "content": content, "stop_reason": "tool_use", "usage": {"input_tokens": 0, "output_tokens": 0}}
    seen = anthropic(named({"type": "message_start", "message": start}, {"type": "message_stop"}))

    assert (seen.text, seen.tools, seen.finish) == ("Hi", [("toolu_1", "f", '{"a":1}')], "tool_calls")
    assert seen.usage == Usage(input_tokens=0, output_tokens=0)


def test_a_message_may_be_empty() -> None:
    assert anthropic(message()).kinds == []
    assert anthropic(message(*block(0, TEXT))).kinds == ["text"]


def test_blocks_that_were_never_stopped_are_closed() -> None:
    seen = anthropic(message(*block(0, TEXT, _said("x"))[:-1], *block(1, TOOL, _json('{"a'))[:-1], stop="max_tokens"))

    assert (seen.text, seen.tools, seen.finish) == ("x", [("toolu_1", "f", '{"a')], "max_tokens")


def test_a_message_that_begins_again_goes_on_in_new_blocks() -> None:
    again = {
        "type": "message_start",
        "message": {"id": "msg-2", "content": [], "usage": {"input_tokens": 4, "output_tokens": 1}},
    }
    seen = anthropic(message(*block(0, TEXT, _said("half"))[:-1], again, *block(0, TEXT, _said("whole"))))

    assert (seen.text, seen.kinds) == ("halfwhole", ["text", "text"])
    assert seen.usage == Usage(input_tokens=4, output_tokens=9)


def test_a_delta_without_its_block_opens_one() -> None:
    lone = [{"type": "content_block_delta", "index": 5, "delta": _said("x")}]

    assert anthropic(message(*lone)).text == "x"


def test_arguments_without_their_call_fail_the_message() -> None:
    seen = anthropic(message({"type": "content_block_delta", "index": 0, "delta": _json("{}")}))

    assert seen.finish == "error"


# Usage


def test_later_counts_replace_earlier_ones_and_missing_ones_leave_them() -> None:
    first = {"input_tokens": 3, "output_tokens": 8, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1}
    deltas = [
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 20}},
        {
            "type": "message_delta",
            "delta": {},
            "usage": {"input_tokens": 400, "output_tokens": 30, "cache_read_input_tokens": None},
        },
    ]
    seen = anthropic(message(*deltas, output=40, usage={**first, "output_tokens_details": {"thinking_tokens": 6}}))

    assert seen.usage == Usage(
        input_tokens=400, output_tokens=40, cache_read_tokens=2, cache_write_tokens=1, reasoning_tokens=6
    )


def test_all_that_usage_says_is_in_the_metadata() -> None:
    seen = anthropic(message(usage={"input_tokens": 1, "output_tokens": 1, "inference_geo": "eu"}))

    said = seen.beside("response-metadata")[-1]["providerMetadata"]["anthropic"]
    assert said["usage"] == {"input_tokens": 1, "output_tokens": 9, "inference_geo": "eu"}


def test_facts_that_a_gateway_adds_are_kept() -> None:
    delta = {
        "type": "message_delta",
        "delta": {"mood": "calm"},
        "usage": {"output_tokens": 2},
        "gateway": {"cost": 0.1},
    }
    seen = anthropic(message(delta, container={"id": "c"}))

    said = seen.beside("response-metadata")[-1]["providerMetadata"]["anthropic"]
    assert (said["mood"], said["gateway"], said["container"]) == ("calm", {"cost": 0.1}, {"id": "c"})


# Ends


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "max_tokens"),
        ("model_context_window_exceeded", "max_tokens"),
        ("refusal", "content_filter"),
        ("compaction", "stop"),
        (None, "stop"),
    ],
)
def test_every_stop_reason_has_a_kind_and_is_kept(word: str | None, kind: str) -> None:
    seen = anthropic(message(*block(0, TEXT, _said("x")), stop=word))

    assert seen.finish == kind
    assert seen.reason is not None
    assert seen.reason.raw == word


def test_a_body_without_message_stop_was_cut_off() -> None:
    body = message(*block(0, TEXT, _said("Hi")))
    for end in (body.rindex(b"event: message_stop"), body.rindex(b"event: message_delta"), body.index(b"Hi") + 2):
        seen = accepted("anthropic", body[:end])
        assert seen.finish == "aborted"
        assert "cut off" in seen.failure
        assert seen.usage is None  # the counts so far are placeholders


def test_done_means_nothing_here() -> None:
    body = message(*block(0, TEXT, _said("Hi")))
    halves = body.partition(b"event: content_block_stop")

    assert anthropic(b"".join([halves[0], b"event: data\ndata: [DONE]\n\n", *halves[1:]])).finish == "stop"
    assert anthropic(body + b"event: data\ndata: [DONE]\n\n").finish == "stop"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, ("Overloaded", "overloaded_error", 529, True)),
        ({"type": "invalid_request_error", "message": "no"}, ("no", "invalid_request_error", 400, False)),
        ({"type": "new_error", "message": "hm"}, ("hm", "new_error", None, None)),
    ],
)
def test_an_error_in_the_middle_ends_the_message(error: Json, expected: tuple[object, ...]) -> None:
    events = [*block(0, TEXT, _said("Hi")), {"type": "error", "error": error}]
    body = message(*events)

    seen = anthropic(body)

    assert isinstance(seen.reason, Failed)
    failure = seen.reason.failure
    assert (failure.message, failure.code, failure.status, failure.retryable) == expected
    assert seen.text == "Hi"


def test_bedrock_events_come_as_lines_with_padding_and_metrics() -> None:
    events = [line[6:] for line in message(*block(0, TEXT, _said("Hi"))).split(b"\n") if line.startswith(b"data: ")]
    padded = [event[:-1] + b',"p":"abcdefgh"}' for event in events[:-1]]
    metrics = b'{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":3}}'

    seen = accepted("anthropic", b"\n".join([*padded, metrics]))

    assert (seen.text, seen.finish) == ("Hi", "stop")
    said = seen.beside("response-metadata")[-1]["providerMetadata"]["anthropic"]
    assert said["amazon-bedrock-invocationMetrics"] == {"inputTokenCount": 3}
    assert seen.beside("raw") == []


def test_padding_inside_the_json_means_nothing() -> None:
    body = message(*block(0, TEXT, _said("Hi"))).replace(b"}\n", b"         }\n")

    assert anthropic(body).text == "Hi"


def test_an_answer_that_was_not_streamed_is_read_whole() -> None:
    whole = {
        "id": "msg-1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 9},
    }

    seen = anthropic(json.dumps(whole).encode())

    assert (seen.text, seen.tools, seen.finish) == ("Hi", [("t", "f", '{"a":1}')], "tool_calls")
    assert seen.usage == Usage(input_tokens=3, output_tokens=9)
    assert seen.beside("raw") == []


def test_the_name_that_events_have_by_default_makes_no_answer_of_one() -> None:
    body = message(*block(0, TEXT, _said("Hi"))).split(b"event: message_delta")[0]

    seen = anthropic(body + b'event: message\ndata: {"error":{"message":"gone","code":500}}\n\n')

    assert (seen.text, seen.finish, seen.failure) == ("Hi", "error", "gone")
    assert anthropic(body + b'event: message\ndata: {"what":1}\n\n').finish == "aborted"


def test_texts_that_overlap_are_not_mixed_in_one_block() -> None:
    first, second = block(0, TEXT, *map(_said, "ab")), block(1, TEXT, *map(_said, "AB"))

    body = message(first[0], second[0], first[1], second[1], first[2], first[3], second[2], second[3])

    assert anthropic(body).text == "aAbB"
    ends = [json.loads(chunk) for _, chunk in run(adapter("anthropic"), body) if b'"block-end"' in chunk]
    assert [end["block"]["text"] for end in ends] == ["", "", "a", "A", "b", "B"]


def test_what_stops_ends_no_other_block() -> None:
    first, second = block(0, TEXT, _said("a")), block(1, TEXT, _said("A"), _said("B"))

    body = message(*first[:2], *second[:2], first[2], *second[2:])

    ends = [json.loads(chunk) for _, chunk in run(adapter("anthropic"), body) if b'"block-end"' in chunk]
    assert [end["block"]["text"] for end in ends] == ["a", "AB"]


def test_reasoning_that_overlaps_is_not_mixed_in_one_block() -> None:
    def part(index: int, text: str) -> Json:
        return {"type": "content_block_delta", "index": index, "delta": {"type": "thinking_delta", "thinking": text}}

    def sign(index: int, signature: str) -> Json:
        delta = {"type": "signature_delta", "signature": signature}
        return {"type": "content_block_delta", "index": index, "delta": delta}

    seen = anthropic(message(part(0, "a"), part(1, "A"), part(0, "b"), sign(0, "S"), sign(1, "T")))

    assert seen.thinking == [
        ThinkingBlock(text="a"),
        ThinkingBlock(text="A"),
        ThinkingBlock(text="b", signature="S"),
        ThinkingBlock(text="", signature="T"),
    ]


@pytest.mark.parametrize(
    "start",
    [
        {"type": "text", "text": ["KEPT"]},
        {"type": "text", "text": "", "citations": {"KEPT": 1}},
        {"type": "thinking", "thinking": {"text": "KEPT"}},
        {"type": "thinking", "thinking": "", "signature": ["KEPT"]},
        {"type": "redacted_thinking", "data": {"KEPT": 1}},
        {**TOOL, "id": {"KEPT": 1}},
        {"type": "web_search_tool_result", "tool_use_id": "toolu_1", "content": [], "is_error": "KEPT"},
    ],
    ids=lambda start: json.dumps(start)[:60],
)
def test_members_of_another_shape_are_kept(start: Json) -> None:
    assert "KEPT" in json.dumps(anthropic(message(*block(0, start))).beside("raw"))


def test_the_usual_shapes_are_not_kept_beside() -> None:
    result = {"type": "web_search_tool_result", "tool_use_id": "toolu_1", "content": [], "is_error": False}
    thinking = {"type": "thinking", "thinking": "hm", "signature": "S"}
    starts: list[Json] = [{**TEXT, "citations": []}, thinking, {"type": "redacted_thinking", "data": "D"}, TOOL, result]

    body = message(*(event for index, start in enumerate(starts) for event in block(index, start)))

    assert anthropic(body).beside("raw") == []


def test_the_content_of_a_message_may_be_text_or_another_shape() -> None:
    assert anthropic(message(content="Hello")).text == "Hello"
    assert "KEPT" in json.dumps(anthropic(message(content={"KEPT": 1})).beside("raw"))

"""The OpenAI family: unusual shapes, choices without an end, and what is said for all choices at once. Hand-written."""

import json

import pytest

from conformance.recorded import Seen
from runwire.adapters.openai_chat.chat import OpenAIChat
from runwire_schemas.raw import Usage
from unit.adapters.saying import Json, accepted, chunk, openai, run, sse, tool, usage

END = chunk(None, "stop")


def _kept(seen: Seen) -> list[Json]:
    return [{key: value for key, value in one.items() if key != "provider"} for one in seen.beside("raw")]


def test_numbers_are_ids_too() -> None:
    body = sse({**chunk(tool("{}", index=0, id=7, name="f")), "id": 42}, chunk(None, "tool_calls"))

    assert accepted("openai-chat", body).tools == [("7", "f", "{}")]
    assert accepted("openai-chat", body).beside("response-metadata")[0]["id"] == "42"


def test_an_image_in_a_content_array_keeps_its_place() -> None:
    parts = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": "https://a"},
        {"type": "text", "text": "b"},
    ]

    assert openai(chunk({"content": parts}), END).kinds == ["text", "image", "text"]


def test_what_a_call_has_beside_geminis_metadata_is_kept() -> None:
    extra = {"google": {"thought_signature": "S"}, "other": {"a": 1}}

    seen = openai(chunk(tool("{}", index=0, id="c", name="f", extra_content=extra), "tool_calls"))

    assert seen.gemini == [b'{"thought_signature":"S"}']
    assert _kept(seen) == [{"toolCall": {"extra_content": extra}}]


def test_logprobs_of_nothing_say_nothing() -> None:
    """Snowflake sends them on every chunk."""
    nothing = {"logprobs": {"content": None, "refusal": None}, "mood": {"a": None}}

    assert openai(chunk({"content": "x", "mood": {"a": []}}, choice=nothing), END).beside("raw") == []


@pytest.mark.parametrize(
    "delta",
    [
        {"tool_calls": "odd"},
        {"tool_calls": ["odd"]},
        {"function_call": "odd"},
        {"reasoning_details": ["odd"]},
        {"content": {"odd": "x"}},
        {"reasoning_content": ["odd"]},
        {"images": "odd"},
        {"provider_specific_fields": "odd"},
    ],
)
def test_what_stands_where_another_shape_belongs_is_kept(delta: Json) -> None:
    seen = openai(chunk(delta), chunk({"content": "x"}, "stop"))

    assert seen.text == "x"
    assert "odd" in json.dumps(seen.beside("raw"))


def test_one_call_may_stand_where_a_list_belongs() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}

    assert openai(chunk({"tool_calls": call}, "tool_calls")).tools == [("c", "f", "{}")]


def test_what_an_error_chunk_says_beside_is_kept() -> None:
    choice = {"index": 0, "delta": {"content": "last", "mood": "calm"}, "finish_reason": None}

    seen = openai({**chunk(), "choices": [choice], "error": {"message": "down"}})

    assert (seen.text, seen.failure) == ("last", "down")
    assert _kept(seen) == [{"delta": {"mood": "calm"}}]


def test_usage_counts_all_choices() -> None:
    """The protocol reports one usage for a response: each choice's call has it as it is."""
    events = [
        {**chunk(), "choices": [{"index": i, "delta": {"content": "x"}, "finish_reason": "stop"}]} for i in (0, 1)
    ]

    for choice in (0, 1):
        assert openai(*events, {**chunk(), "choices": [], "usage": usage(5, 14)}, choice=choice).usage == Usage(
            input_tokens=5, output_tokens=14
        )


def test_a_choice_without_an_end_was_cut_off_if_nothing_ends_the_response() -> None:
    events = [{**chunk(), "choices": [{"index": 1, "delta": {"content": "b"}}]}, chunk({"content": "a"}, "stop")]

    assert openai(*events, choice=0, done=False).finish == "stop"
    assert openai(*events, choice=1, done=False).finish == "aborted"


WHOLE = {**chunk(), "choices": [{"index": 0, "message": {"content": "<thi"}, "finish_reason": "stop"}]}


def test_a_whole_message_is_not_taken_for_one_while_a_tag_is_held_back() -> None:
    body = sse(chunk({"content": "<thi"}), WHOLE)

    assert Seen(run(OpenAIChat(think=True), body)).text == "<thi"


def test_what_a_call_has_beside_is_kept_and_nothing_is_not() -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    custom = {"index": 1, "id": "d", "type": "custom", "custom": {"name": "g", "input": "x"}, "why": {"a": ""}}

    seen = openai(chunk({"tool_calls": [{**call, "mood": "calm", "custom": None, "why": None}, custom]}, "tool_calls"))

    assert [one.id for one in seen.tools] == ["c", "d"]
    assert _kept(seen) == [{"toolCall": {"mood": "calm"}}]


def test_copies_of_what_a_delta_has_are_not_kept() -> None:
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "SIG"}]
    specific = {"refusal": None, "content": "x", "thinking_blocks": None, "mood": "calm"}

    seen = openai(chunk({"content": "x", "thinking_blocks": blocks, "provider_specific_fields": specific}), END)

    assert (seen.reasoning, seen.thinking[0].signature, seen.text) == ("hm", "SIG", "x")
    assert _kept(seen) == [
        {"delta": {"reasoning_details": [{"type": "thinking"}]}},
        {"delta": {"provider_specific_fields": {"mood": "calm"}}},
    ]


def test_what_says_nothing_is_not_kept() -> None:
    detail = {"type": "reasoning.text", "text": "hm", "mood": None}
    nothing: Json = {"mood": None, "moods": [], "why": "", "when": {"a": None}}

    seen = openai(chunk({**nothing, "reasoning_details": [detail]}, choice=nothing, mood=None, moods=[]), END)

    assert (seen.reasoning, seen.beside("raw")) == ("hm", [])

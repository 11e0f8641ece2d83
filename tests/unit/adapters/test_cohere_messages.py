"""Cohere's chat: what a message holds, its usage, and how it ends. Hand-written from the documentation."""

import json
from typing import Any

import pytest

from conformance.recorded import Seen
from runwire.adapters import adapter
from runwire_schemas.raw import Aborted, Failed, Stop, Usage
from unit.adapters.saying import Json, accepted, named, run, sse

START: Json = {"id": "m1", "type": "message-start", "delta": {"message": {"role": "assistant", "content": []}}}
TOKENS: Json = {
    "billed_units": {"input_tokens": 2, "output_tokens": 3},
    "tokens": {"input_tokens": 9, "output_tokens": 7},
}


def _event(kind: str, index: int | None = None, /, **message: Any) -> Json:
    event: Json = {"type": kind} if index is None else {"type": kind, "index": index}
    return {**event, "delta": {"message": message}} if message else event


def _end(reason: str | None = "COMPLETE", usage: Any = TOKENS, **more: Any) -> Json:
    return {"type": "message-end", "delta": {"finish_reason": reason, "usage": usage, **more}}


def _body(*events: Json, end: Json | None = None) -> bytes:
    return named(START, *events, end or _end()) + b"data: [DONE]\n\n"


def _cohere(*events: Json, end: Json | None = None) -> Seen:
    return accepted("cohere-v2", _body(*events, end=end))


def _text(text: str, index: int = 0) -> list[Json]:
    return [
        _event("content-start", index, content={"type": "text", "text": ""}),
        _event("content-delta", index, content={"text": text}),
        _event("content-end", index),
    ]


def _call(index: int, identity: str, name: str, *pieces: str) -> list[Json]:
    function = {"name": name, "arguments": ""}
    return [
        _event("tool-call-start", index, tool_calls={"id": identity, "type": "function", "function": function}),
        *(_event("tool-call-delta", index, tool_calls={"function": {"arguments": piece}}) for piece in pieces),
        _event("tool-call-end", index),
    ]


# Content


def test_text_and_reasoning_are_blocks_of_their_own() -> None:
    seen = _cohere(
        _event("content-start", 0, content={"type": "thinking", "thinking": ""}),
        _event("content-delta", 0, content={"thinking": "hm"}),
        _event("content-end", 0),
        *_text("a", 1),
        *_text("b", 2),
    )

    assert (seen.kinds, seen.reasoning, seen.text) == (["thinking", "text", "text"], "hm", "ab")


def test_a_start_may_hold_the_first_words() -> None:
    seen = _cohere(_event("content-start", 0, content={"type": "text", "text": "He"}), *_text("llo")[1:])

    assert (seen.text, seen.kinds) == ("Hello", ["text"])


def test_deltas_without_their_start_are_kept_apart_by_index() -> None:
    deltas = [_event("content-delta", index, content={"text": text}) for index, text in ((0, "a"), (0, "b"), (1, "c"))]

    seen = _cohere(*deltas)

    assert (seen.text, seen.kinds) == ("abc", ["text", "text"])


def test_the_plan_for_tools_is_reasoning_and_says_so() -> None:
    plan = [_event("tool-plan-delta", tool_plan=piece) for piece in ("I will", " search.")]

    seen = _cohere(*plan, *_call(0, "c", "search", "{}"), end=_end("TOOL_CALL"))

    assert (seen.reasoning, seen.kinds, seen.finish) == ("I will search.", ["thinking", "tool_use"], "tool_calls")
    assert seen.beside("response-metadata")[-1]["providerMetadata"]["cohere-v2"]["reasoningIs"] == "tool_plan"


def test_a_plan_after_reasoning_is_a_block_of_its_own() -> None:
    seen = _cohere(
        _event("content-delta", 0, content={"thinking": "hm"}),
        _event("tool-plan-delta", tool_plan="plan"),
        end=_end("COMPLETE"),
    )

    assert [block.text for block in seen.thinking] == ["hm", "plan"]


def test_the_end_of_a_block_counts_for_its_own_index() -> None:
    deltas = [_event("content-delta", 0, content={"text": text}) for text in ("a", "b")]

    assert _cohere(deltas[0], _event("content-end", 0), deltas[1]).kinds == ["text", "text"]
    assert _cohere(deltas[0], _event("content-end", 1), deltas[1]).kinds == ["text"]


def test_a_plan_may_have_more_in_it() -> None:
    seen = _cohere(_event("tool-plan-delta", tool_plan="plan", mood="calm"), {"type": "tool-plan-delta", "delta": {}})

    assert seen.reasoning == "plan"
    assert [kept["message"] for kept in seen.beside("raw")] == [{"mood": "calm"}]


@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_a_block_may_have_nothing_in_it(kind: str) -> None:
    start, end = _event("content-start", 0, content={"type": kind}), _event("content-end", 0)

    assert _cohere(start, end).kinds == [kind]
    assert _cohere(start, end, start, end).kinds == [kind, kind]


def test_an_empty_plan_is_no_reasoning() -> None:
    assert _cohere(_event("tool-plan-delta", tool_plan=""), *_text("x")).kinds == ["text"]


def test_reasoning_after_a_plan_is_a_block_of_its_own() -> None:
    seen = _cohere(_event("tool-plan-delta", tool_plan="plan"), _event("content-delta", 0, content={"thinking": "hm"}))

    assert [block.text for block in seen.thinking] == ["plan", "hm"]


def test_what_the_events_of_a_part_have_beside_it_is_kept() -> None:
    """In the event, in its delta, in the message, and in the part itself, at its start and later."""
    call = {"id": "a", "function": {"name": "f", "arguments": "", "in": 1}, "call": 1}
    later = {"function": {"arguments": "{}", "in": 2}, "call": 2}
    events = [
        {**_event("content-start", 0, content={"type": "text", "text": "x", "part": 1}, message=1), "event": 1},
        {**_event("content-end", 0), "event": 2, "delta": {"delta": 2}},
        {**_event("tool-call-start", 0, tool_calls=call), "event": 3},
        {**_event("tool-call-delta", 0, tool_calls=later), "event": 4},
        {**_event("tool-call-end", 0), "event": 5},
        {**_event("citation-start", 0, citations={"start": 0}), "event": 6},
        {**_event("citation-end", 0), "event": 7},
    ]

    seen = _cohere(*events, end=_end("TOOL_CALL"))

    assert seen.tools == [("a", "f", "{}")]
    kept = [(level, value) for one in seen.beside("raw") for level, value in one.items() if level != "provider"]
    assert kept == [
        ("content", {"part": 1}), ("event", {"event": 1}), ("message", {"message": 1}),
        ("event", {"event": 2}), ("delta", {"delta": 2}),
        ("toolCall", {"in": 1}), ("toolCall", {"call": 1}), ("event", {"event": 3}),
        ("toolCall", {"in": 2}), ("toolCall", {"call": 2}), ("event", {"event": 4}),
        ("event", {"event": 5}), ("event", {"event": 6}), ("event", {"event": 7}),
    ]  # fmt: skip


def test_a_kind_of_content_that_is_not_known_is_kept() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://a"}}

    seen = _cohere(_event("content-start", 0, content=image), _event("content-end", 0), *_text("x", 1))

    assert {"provider": "cohere-v2", "content": image} in seen.beside("raw")


def test_logprobs_and_members_that_are_not_known_are_kept() -> None:
    logprobs = {"text": "x", "token_ids": [1], "logprobs": [-0.5]}
    delta = {**_event("content-delta", 0, content={"text": "x", "mood": "calm"}), "logprobs": logprobs}

    seen = _cohere(delta, {**_event("content-end", 0), "why": "over"})

    assert seen.text == "x"
    assert [{key: kept[key] for key in kept if key != "provider"} for kept in seen.beside("raw")] == [
        {"content": {"mood": "calm"}},
        {"event": {"logprobs": logprobs}},
        {"event": {"why": "over"}},
    ]


def test_the_prompt_of_a_debug_event_and_events_that_are_not_known_are_kept() -> None:
    events: list[Json] = [{"type": "debug", "prompt": "<BOS>"}, {"type": "weather-delta", "delta": {"rain": 1}}]

    seen = _cohere(*events, *_text("x"))

    assert [kept["event"] for kept in seen.beside("raw")] == events


# Tool calls


def test_calls_are_told_apart_by_index_and_may_alternate() -> None:
    one, two = _call(0, "a", "f", '{"n":', "1}"), _call(1, "b", "f", '{"n":', "2}")
    events = [one[0], two[0], one[1], two[1], two[2], one[2], one[3], two[3]]

    seen = _cohere(*events, end=_end("TOOL_CALL"))

    assert seen.tools == [("a", "f", '{"n":1}'), ("b", "f", '{"n":2}')]


def test_a_call_without_arguments_has_an_empty_object() -> None:
    assert _cohere(*_call(0, "a", "now"), end=_end("TOOL_CALL")).tools == [("a", "now", "{}")]


def test_arguments_that_were_cut_are_passed_on_as_they_are() -> None:
    seen = _cohere(*_call(0, "a", "f", '{"city": "Par')[:-1], end=_end("MAX_TOKENS"))

    assert (seen.tools, seen.finish) == ([("a", "f", '{"city": "Par')], "max_tokens")


def test_arguments_may_come_with_the_start_or_as_an_object() -> None:
    text = _event("tool-call-start", 0, tool_calls={"id": "a", "function": {"name": "f", "arguments": '{"n":1}'}})
    given = _event("tool-call-start", 1, tool_calls={"id": "b", "function": {"name": "f", "arguments": {"n": 2}}})
    listed = _event("tool-call-start", 2, tool_calls=[{"id": "c", "function": {"name": "f", "arguments": ""}}])

    seen = _cohere(text, given, listed, _event("tool-call-end", 2), end=_end("TOOL_CALL"))

    assert sorted(seen.tools) == [("a", "f", '{"n":1}'), ("b", "f", '{"n":2}'), ("c", "f", "{}")]


def test_a_second_start_under_one_index_is_another_call() -> None:
    seen = _cohere(*_call(0, "a", "f", "{}")[:-1], *_call(0, "b", "g", '{"n":1}'), end=_end("TOOL_CALL"))

    assert seen.tools == [("a", "f", "{}"), ("b", "g", '{"n":1}')]


def test_a_call_without_an_id_gets_one() -> None:
    assert _cohere(*_call(0, "", "f", "{}"), end=_end("TOOL_CALL")).tools == [("generated-m1-0", "f", "{}")]


def test_an_end_or_nothing_without_its_call_means_nothing() -> None:
    empty = _event("tool-call-delta", 0, tool_calls={"function": {"arguments": ""}})

    seen = _cohere(_event("tool-call-end", 0), empty, *_text("x"))

    assert (seen.kinds, seen.finish) == (["text"], "stop")


def test_arguments_without_their_call_fail_the_call() -> None:
    seen = _cohere(*_call(0, "a", "f", '{"n":1}')[1:], end=_end("TOOL_CALL"))

    assert (seen.finish, seen.tools) == ("error", [])
    assert "no name" in seen.failure


def test_more_calls_than_may_be_open_are_all_kept() -> None:
    events = [event for n in range(300) for event in _call(n, f"c{n}", "f", f'{{"n":{n}}}')[:-1]]

    assert [call.id for call in _cohere(*events, end=_end("TOOL_CALL")).tools] == [f"c{n}" for n in range(300)]


# Citations


def test_each_source_of_a_citation_is_a_source() -> None:
    page = {"type": "document", "id": "doc:0", "document": {"title": "Facts", "url": "https://a", "text": "Ruby …"}}
    note = {"type": "document", "id": "doc:1", "document": {"title": "Notes", "text": "…"}}
    tool = {"type": "tool", "id": "search_1:0", "tool_output": {"content": "Ruby"}}
    place = {"start": 0, "end": 4, "text": "Ruby", "type": "TEXT_CONTENT", "content_index": 1}

    cited = _event("citation-start", 0, citations={**place, "sources": [page, note, tool]})
    seen = _cohere(*_text("Ruby")[:2], cited, _event("citation-end", 0), *_text(" is", 0)[1:])

    assert seen.kinds == ["text"]  # a citation does not cut the text in two
    said = seen.beside("source")
    assert [(one["id"], one["sourceType"], one["title"], one.get("url")) for one in said] == [
        ("m1:source:1", "url", "Facts", "https://a"),
        ("m1:source:2", "document", "Notes", None),
        ("m1:source:3", "document", "search_1:0", None),
    ]
    assert [one["providerMetadata"]["cohere-v2"] for one in said] == [
        {**place, "source": source} for source in (page, note, tool)
    ]


def test_citations_may_come_as_a_list() -> None:
    cited = [{"text": text, "sources": [{"type": "document", "id": text}]} for text in ("a", "b")]

    assert [one["title"] for one in _cohere(_event("citation-start", 0, citations=cited)).beside("source")] == [
        "a",
        "b",
    ]


def test_a_citation_without_sources_is_kept() -> None:
    seen = _cohere(*_text("Ruby"), _event("citation-start", 0, citations={"start": 0, "text": "Ruby", "sources": []}))

    assert [one["providerMetadata"]["cohere-v2"]["text"] for one in seen.beside("source")] == ["Ruby"]


# Usage


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (TOKENS, Usage(input_tokens=9, output_tokens=7)),
        ({**TOKENS, "cached_tokens": 4}, Usage(input_tokens=5, output_tokens=7, cache_read_tokens=4)),
        ({**TOKENS, "cached_tokens": 0}, Usage(input_tokens=9, output_tokens=7, cache_read_tokens=0)),
        ({**TOKENS, "cached_tokens": 99}, Usage(input_tokens=0, output_tokens=7, cache_read_tokens=99)),
        (
            {"tokens": {"input_tokens": 9.0, "output_tokens": 7.0, "reasoning_tokens": 6}},
            Usage(input_tokens=9, output_tokens=7, reasoning_tokens=6),
        ),
    ],
)
def test_counts_are_those_of_tokens_and_disjoint(said: Json, expected: Usage) -> None:
    seen = _cohere(*_text("x"), end=_end("COMPLETE", said))

    assert seen.usage == expected
    assert seen.beside("response-metadata")[-1]["providerMetadata"]["cohere-v2"]["usage"] == said


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        [],
        {"billed_units": {"input_tokens": 2, "output_tokens": 3}},
        {"tokens": {"input_tokens": 2}},
        {"tokens": {"input_tokens": -2, "output_tokens": 3}},
        {"tokens": {"input_tokens": 2, "output_tokens": 2**60}},
    ],
)
def test_what_is_no_report_makes_no_usage(said: Any) -> None:
    """Billed units leave out what Cohere adds to a prompt: they stand in for no count."""
    assert Seen(run(adapter("cohere-v2"), _body(*_text("x"), end=_end("COMPLETE", said)))).usage is None


def test_usage_is_required_here() -> None:
    assert adapter("cohere-v2").usage == "required"


# Ends


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("COMPLETE", "stop"),
        ("STOP_SEQUENCE", "stop"),
        ("MAX_TOKENS", "max_tokens"),
        ("TOOL_CALL", "tool_calls"),
        ("ERROR_TOXIC", "content_filter"),
        ("SOMETHING_NEW", "stop"),
        ("ERROR", "error"),
        ("ERROR_LIMIT", "error"),
        ("TIMEOUT", "error"),
        ("USER_CANCEL", "aborted"),
    ],
)
def test_every_reason_has_a_kind_and_is_kept(word: str, kind: str) -> None:
    seen = _cohere(*_text("x"), end=_end(word))

    assert seen.finish == kind
    assert seen.reason is not None
    assert seen.reason.raw == word


def test_no_reason_is_an_end_without_the_providers_word() -> None:
    assert _cohere(*_text("x"), end=_end(None)).reason == Stop()
    assert _cohere(*_call(0, "a", "f"), end=_end(None)).finish == "tool_calls"


def test_an_error_at_the_end_says_what_the_provider_said() -> None:
    seen = _cohere(*_text("x"), end=_end("ERROR", {}, error="no such tool", error_type="INVALID_TOOL_GENERATION"))

    assert isinstance(seen.reason, Failed)
    failure = seen.reason.failure
    assert (failure.message, failure.code, failure.retryable) == ("no such tool", "INVALID_TOOL_GENERATION", None)
    assert seen.text == "x"


def test_an_error_may_be_an_object() -> None:
    seen = _cohere(end=_end("ERROR", {}, error={"message": "busy", "code": "E1", "status": 503}))
    plain = _cohere(end=_end("COMPLETE", {}, error="odd"))

    assert isinstance(seen.reason, Failed)
    assert isinstance(plain.reason, Failed)
    failure = seen.reason.failure
    assert (failure.message, failure.code, failure.status, failure.retryable) == ("busy", "E1", 503, True)
    assert (plain.failure, plain.reason.failure.code, plain.reason.raw) == ("odd", None, "COMPLETE")


def test_a_timeout_may_be_tried_again_and_keeps_its_own_words() -> None:
    plain, worded = _cohere(end=_end("TIMEOUT", {})), _cohere(end=_end("TIMEOUT", {}, error="too slow"))

    for seen in (plain, worded):
        assert isinstance(seen.reason, Failed)
        assert (seen.reason.failure.code, seen.reason.failure.status) == ("TIMEOUT", 504)
        assert seen.reason.failure.retryable is True
    assert worded.failure == "too slow"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"message": "invalid api token"}', "invalid api token"),
        (b'{\n "id": "e1",\n "message": "too many tokens"\n}', "too many tokens"),
        (b'event: error\ndata: {"message": "down"}\n\n', "down"),
        (b"event: error\ndata: down\n\n", "down"),
        (b'event: error\ndata: "down"\n\n', "down"),
        (b'data: {"type": "stream-error", "reason": "down"}\n\n', "down"),
        (b'data: {"type": "stream-error", "message": "down"}\n\n', "down"),
        (b'data: {"type": "weather", "error": {"message": "down"}}\n\n', "down"),
        (b'{"detail": "no route"}', "no route"),
    ],
)
def test_errors_of_every_shape(body: bytes, message: str) -> None:
    seen = accepted("cohere-v2", body)

    assert seen.finish == "error"
    assert message in seen.failure


def test_the_words_of_an_error_are_its_message() -> None:
    assert accepted("cohere-v2", b'event: error\ndata: "down"\n\n').failure == "down"


def test_what_has_a_message_need_not_be_an_error() -> None:
    events: list[Json] = [
        {"type": "weather", "message": "sunny", "rain": 0},
        {"type": "weather", "message": {"role": "assistant", "content": [{"type": "text", "text": "no"}]}},
        {"rain": 1},
    ]

    seen = accepted("cohere-v2", named(START) + sse(*events, 7, done=False) + named(*_text("x"), _end()))  # type: ignore[arg-type]  # a number is JSON too

    assert (seen.text, seen.finish) == ("x", "stop")
    assert [kept.get("event", kept.get("value")) for kept in seen.beside("raw")] == [*events, 7]


def test_the_name_of_an_event_counts_where_it_has_no_type() -> None:
    untyped = [{key: value for key, value in event.items() if key != "type"} for event in (*_text("Hi"), _end())]
    kinds = ("content-start", "content-delta", "content-end", "message-end")
    body = "".join(f"event: {kind}\ndata: {json.dumps(event)}\n\n" for kind, event in zip(kinds, untyped, strict=True))

    assert (accepted("cohere-v2", body.encode()).text, accepted("cohere-v2", body.encode()).finish) == ("Hi", "stop")


def test_an_error_in_the_middle_keeps_what_came() -> None:
    body = named(START, *_text("Hi")[:2]) + b'data: {"message": "overloaded"}\n\n'

    assert (accepted("cohere-v2", body).text, accepted("cohere-v2", body).finish) == ("Hi", "error")


def test_a_body_without_message_end_was_cut_off() -> None:
    for rest in (b"", b"data: [DONE]\n\n", b'data: {"type":"mess'):
        seen = accepted("cohere-v2", named(START, *_text("Hi")) + rest)
        assert (seen.text, seen.finish, seen.usage) == ("Hi", "aborted", None)
        assert isinstance(seen.reason, Aborted)
        assert "cut off" in seen.failure


def test_what_follows_message_end_means_nothing() -> None:
    assert accepted("cohere-v2", _body(*_text("a")) + named(*_text("b"))).text == "a"


def test_facts_at_the_end_that_are_not_known_are_kept() -> None:
    seen = _cohere(*_text("x"), end={**_end("COMPLETE", warnings=["old model"]), "region": "eu"})

    said = seen.beside("response-metadata")[-1]["providerMetadata"]["cohere-v2"]
    assert said == {"warnings": ["old model"], "region": "eu", "usage": TOKENS}


def test_what_the_message_has_at_its_start_is_kept() -> None:
    start = {**START, "delta": {"message": {"role": "assistant", "content": [], "tool_plan": "", "mood": "calm"}}}

    seen = accepted("cohere-v2", named(start, *_text("x"), _end()))

    assert (seen.kinds, seen.beside("raw")) == (["text"], [{"provider": "cohere-v2", "message": {"mood": "calm"}}])


def test_nothing_to_say_is_not_said() -> None:
    body = _body(*_text("x"), end={**_end("COMPLETE", None, warnings=[]), "region": ""})

    assert [said.keys() for said in Seen(run(adapter("cohere-v2"), body)).beside("response-metadata")] == [{"id"}]


def test_an_answer_that_was_not_streamed_is_read_all_the_same() -> None:
    message = {
        "role": "assistant",
        "tool_plan": "I will look.",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi"}],
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"n":1}'}}],
        "citations": [{"start": 0, "end": 2, "text": "Hi", "sources": [{"type": "document", "id": "d"}]}],
    }
    whole = {"id": "m2", "finish_reason": "TOOL_CALL", "message": message, "usage": TOKENS}

    seen = accepted("cohere-v2", json.dumps(whole, indent=1).encode())

    assert (seen.reasoning, seen.text, seen.finish) == ("I will look.hm", "Hi", "tool_calls")
    assert seen.tools == [("a", "f", '{"n":1}')]
    assert (len(seen.beside("source")), seen.usage) == (1, Usage(input_tokens=9, output_tokens=7))


def test_a_stream_that_begins_again_goes_on_in_new_blocks() -> None:
    seen = accepted("cohere-v2", named(START, *_text("a")[:2], START, *_text("b"), _end()))

    assert (seen.text, seen.kinds) == ("ab", ["text", "text"])

    deltas = [_event("content-delta", 0, content={"text": text}) for text in ("a", "b")]
    assert accepted("cohere-v2", named(START, deltas[0], START, deltas[1], _end())).kinds == ["text", "text"]


@pytest.mark.parametrize(
    "event",
    [
        _event("content-start", 0, content={"type": "text", "text": ["KEPT"]}),
        _event("content-delta", 0, content={"text": {"KEPT": 1}}),
        _event("content-delta", 0, content="KEPT"),
        _event("tool-plan-delta", tool_plan=["KEPT"]),
        _event("tool-call-start", 0, tool_calls={"id": ["KEPT"], "function": {"name": "f", "arguments": ""}}),
        _event("citation-start", 0, citations="KEPT"),
        {"id": "m1", "type": "message-start", "delta": {"message": {"content": {"KEPT": 1}}}},
        {"type": "message-start", "delta": {"message": {"tool_plan": ["KEPT"], "citations": "no"}}},
    ],
    ids=lambda event: json.dumps(event)[:90],
)
def test_members_of_another_shape_are_kept(event: Json) -> None:
    seen = _cohere(event)

    assert "KEPT" in json.dumps(seen.agent)
    assert seen.finish == "stop"


def test_the_content_of_a_message_may_be_text() -> None:
    whole = {"id": "m2", "finish_reason": "COMPLETE", "message": {"content": "Hello"}, "usage": TOKENS}

    assert accepted("cohere-v2", json.dumps(whole).encode()).text == "Hello"

"""Cohere's Command R on Bedrock: events with an `event_type`, whose last one repeats the answer. Hand-written."""

from typing import Any

import pytest

from conformance.recorded import Seen
from runwire_schemas.raw import Usage
from unit.adapters.invoking import COUNTED, METRICS, invoke
from unit.adapters.saying import Json, accepted


def _command_r(*events: Json, end: Json | None = None, **response: Any) -> Seen:
    start = {"event_type": "stream-start", "generation_id": "g1", "is_finished": False}
    last = {
        "event_type": "stream-end",
        "is_finished": True,
        "finish_reason": "COMPLETE",
        "response": response,
        **METRICS,
    }
    return invoke(start, *events, {**last, **(end or {})})


def _text(text: str) -> Json:
    return {"event_type": "text-generation", "is_finished": False, "text": text}


def test_command_rs_answer_is_not_said_twice() -> None:
    asked: Json = {"chat_history": [{"role": "USER", "message": "asked"}], "generation_id": "g1", "response_id": "r1"}

    seen = _command_r(_text("H"), _text("i"), text="Hi", finish_reason="COMPLETE", **asked)

    assert (seen.text, seen.finish, seen.usage, seen.beside("raw")) == ("Hi", "stop", COUNTED, [])
    identity, facts = seen.beside("response-metadata")
    assert (identity["id"], facts["providerMetadata"]["bedrock-invoke"]) == ("g1", METRICS)


def test_an_empty_piece_begins_nothing() -> None:
    seen = _command_r(_text(""), {**_text(""), "note": None}, {}, {"event_type": "tool-calls-generation", "text": ""})

    assert (seen.kinds, seen.beside("raw")) == ([], [])


def test_what_its_events_say_beside_is_kept() -> None:
    events: list[Json] = [
        {"event_type": "stream-start", "more": 1, "nothing": None},
        {**_text("Hi"), "more": 2},
        {"event_type": "citation-generation", "citations": [], "more": 3},
        {"event_type": "tool-calls-chunk", "more": 4},
        {"event_type": "tool-calls-generation", "tool_calls": [], "more": 5},
    ]

    seen = _command_r(*events, end={"more": 6})

    assert seen.text == "Hi"
    assert [raw["event"] for raw in seen.beside("raw")] == [{"more": number} for number in range(1, 7)]


def test_whole_calls_need_not_come_again() -> None:
    calls = [{"name": "n", "parameters": {}, "id": "i"}]

    seen = _command_r(_text("I will"), {"event_type": "tool-calls-generation", "text": "I will", "tool_calls": calls})

    assert (seen.text, [tuple(one) for one in seen.tools]) == ("I will", [("i", "n", "{}")])


def test_what_only_the_end_has_is_taken_from_it() -> None:
    calls = [{"name": "n", "parameters": {"a": 1}}]
    meta = {"tokens": {"input_tokens": 9, "output_tokens": 8}, "billed_units": {}}

    seen = _command_r(text="Hi", tool_calls=calls, citations=[{"start": 0, "end": 2, "text": "Hi"}], meta=meta, more=1)

    assert (seen.text, seen.finish, seen.kinds) == ("Hi", "tool_calls", ["text", "tool_use"])
    assert [tuple(one) for one in seen.tools] == [("generated-g1-1", "n", '{"a":1}')]
    assert len(seen.beside("source")) == 1
    assert [raw["event"] for raw in seen.beside("raw")] == [{"more": 1}]
    said = seen.beside("response-metadata")[-1]["providerMetadata"]["bedrock-invoke"]
    assert (said["meta"], seen.usage) == (meta, COUNTED)
    end = {"event_type": "stream-end", "finish_reason": "COMPLETE", "response": {"text": "Hi", "meta": meta}}
    assert invoke(end).usage == Usage(input_tokens=9, output_tokens=8)


def test_command_rs_calls_come_in_pieces_or_whole_and_once() -> None:
    pieces: list[Json] = [
        {"event_type": "tool-calls-chunk", "text": "I will"},
        {"event_type": "tool-calls-chunk", "tool_call_delta": {"index": 0, "name": "n", "id": "i"}},
        {"event_type": "tool-calls-chunk", "tool_call_delta": {"index": 0, "parameters": '{"a":'}},
        {"event_type": "tool-calls-chunk", "tool_call_delta": {"index": 0, "parameters": "1}"}},
        {"event_type": "tool-calls-chunk", "tool_call_delta": {"index": 1, "name": "m", "more": 1}},
    ]
    calls = [{"name": "n", "parameters": {"a": 1}}, {"name": "m", "parameters": {}}]
    whole: Json = {"event_type": "tool-calls-generation", "text": "I will", "tool_calls": calls}

    both = _command_r(*pieces, whole, tool_calls=calls)
    alone = _command_r(whole, tool_calls=calls)

    for seen in (both, alone):
        assert (seen.text, [one[1:] for one in seen.tools]) == ("I will", [("n", '{"a":1}'), ("m", "{}")])
        assert seen.finish == "tool_calls"
    assert [raw["event"] for raw in both.beside("raw")] == [{"more": 1}]
    assert both.tools[0].id == "i"


def test_a_piece_after_the_whole_is_another_call() -> None:
    piece: Json = {"event_type": "tool-calls-chunk", "tool_call_delta": {"index": 0, "name": "n"}}
    whole: Json = {"event_type": "tool-calls-generation", "tool_calls": [{"name": "n"}]}

    assert [one.name for one in _command_r(piece, whole, piece).tools] == ["n", "n"]


def test_a_call_may_lack_its_parameters() -> None:
    seen = _command_r(tool_calls=[{"name": "n"}, {"name": "m", "parameters": None}])

    assert [one.arguments for one in seen.tools] == ["{}", "{}"]


def test_a_call_that_was_cut_off_is_no_reason() -> None:
    assert _command_r(end={"finish_reason": "MAX_TOKENS"}, tool_calls=[{"name": "n"}]).finish == "max_tokens"


def test_the_reason_may_be_in_the_answer() -> None:
    assert _command_r(_text("a"), end={"finish_reason": None}, finish_reason="MAX_TOKENS").finish == "max_tokens"


def test_a_name_may_come_after_its_calls_beginning() -> None:
    pieces: list[Json] = [
        {"event_type": "tool-calls-chunk", "tool_call_delta": {"index": 0, "parameters": "{}"}},
        {"event_type": "tool-calls-chunk", "tool_call_delta": {"index": 0, "name": "n"}},
    ]

    assert [one.name for one in _command_r(*pieces).tools] == ["n"]


def test_command_rs_citations_and_searches_are_kept() -> None:
    citation = {"start": 0, "end": 2, "text": "Hi", "document_ids": ["d"]}
    search = {"event_type": "search-results", "documents": [{"id": "d"}]}

    seen = _command_r(
        search, _text("Hi"), {"event_type": "citation-generation", "citations": [citation]}, citations=[citation]
    )

    assert [one["providerMetadata"]["bedrock-invoke"] for one in seen.beside("source")] == [citation]
    assert [raw["event"] for raw in seen.beside("raw")] == [search]


@pytest.mark.parametrize(
    ("word", "finish"), [("MAX_TOKENS", "max_tokens"), ("ERROR", "error"), ("USER_CANCEL", "aborted")]
)
def test_command_rs_ends(word: str, finish: str) -> None:
    assert _command_r(_text("a"), end={"finish_reason": word}).finish == finish


def test_command_r_without_its_end_was_cut_off() -> None:
    assert "stream-end" in invoke(_text("a")).failure


def test_errors_and_values_among_its_events() -> None:
    text = b'data: {"event_type":"text-generation","text":"a"}\n\n'

    for error in (b'"broken"', b'{"text":"broken"}'):
        seen = accepted("bedrock-invoke", text + b"event: error\ndata: " + error + b"\n\n")
        assert (seen.text, seen.finish, "broken" in seen.failure) == ("a", "error", True)
    seen = accepted("bedrock-invoke", text + b'data: [1]\n\ndata: ""\n\n')
    assert [raw["value"] for raw in seen.beside("raw")] == [[1]]

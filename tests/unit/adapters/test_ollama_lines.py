"""Ollama's lines: chat and generate, tool calls that come whole, counts, and how a response ends. Hand-written."""

import json
from typing import Any

import pytest

from conformance.recorded import Seen
from runwire.adapters import adapter
from runwire_schemas.raw import Aborted, Failed, Stop, Usage
from unit.adapters.saying import Json, accepted, run

TIME = "2025-06-09T17:58:55.337823Z"
COUNTS: Json = {"total_duration": 90, "load_duration": 5, "prompt_eval_count": 4, "eval_count": 3, "eval_duration": 60}


def _line(message: Json | None = None, /, **more: Any) -> Json:
    said = {} if message is None else {"message": {"role": "assistant", **message}}
    return {"model": "llama3", "created_at": TIME, **said, "done": False, **more}


def _done(reason: str | None = "stop", message: Json | None = None, /, **more: Any) -> Json:
    said = {} if reason is None else {"done_reason": reason}
    return _line(message or {"content": ""}, **{**said, "done": True, **COUNTS, **more})


def _tool(arguments: Any, name: str = "f", **more: Any) -> Json:
    function = {key: more.pop(key) for key in ("index",) if key in more}
    return {**more, "function": {**function, "name": name, "arguments": arguments}}


def _body(*lines: Json) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _ollama(*lines: Json) -> Seen:
    return accepted("ollama", _body(*lines))


# Content


def test_chat_and_generate_say_the_same() -> None:
    chat = [_line({"content": "", "thinking": "hm"}), _line({"content": "Hel"}), _line({"content": "lo"}), _done()]
    generate = [
        _line(response="", thinking="hm"),
        _line(response="Hel"),
        _line(response="lo"),
        _done(None, response=""),
    ]

    for seen in (_ollama(*chat), _ollama(*generate)):
        assert (seen.reasoning, seen.text, seen.finish) == ("hm", "Hello", "stop")
        assert seen.kinds == ["thinking", "text"]
        assert seen.usage == Usage(input_tokens=4, output_tokens=3)


def test_text_on_the_done_line_is_kept() -> None:
    assert _ollama(_line({"content": "a"}), _done("stop", {"content": "b", "thinking": "c"})).text == "ab"
    assert _ollama(_done("stop", response="whole", message=None)).text == "whole"


def test_the_context_and_other_facts_are_kept() -> None:
    seen = _ollama(_line(response="x"), _done("stop", context=[1, 2, 3], remote_host="https://ollama.com:443"))

    said = seen.beside("response-metadata")[-1]["providerMetadata"]["ollama"]
    assert said == {"context": [1, 2, 3], "remote_host": "https://ollama.com:443", "usage": COUNTS}


def test_who_answers_and_since_when_is_said_once() -> None:
    seen = _ollama(_line({"content": "a"}), _line({"content": "b"}, created_at="later"), _done())

    assert seen.beside("response-metadata")[0] == {"modelId": "llama3", "timestamp": TIME}
    assert len([said for said in seen.beside("response-metadata") if "modelId" in said]) == 1


def test_who_answers_may_be_said_late_or_in_an_unusual_line() -> None:
    unusual = _line({"content": "", "tool_calls": [_tool({}, id="a")]})
    nameless = {"message": {"content": "a"}, "done": False}

    for lines in ([unusual, _done()], [nameless, _line({"content": "b"}), _done()], [_done("stop", {"content": "x"})]):
        named = [said for said in _ollama(*lines).beside("response-metadata") if "modelId" in said]
        assert named == [{"modelId": "llama3", "timestamp": TIME}]


def test_nothing_to_say_is_not_said() -> None:
    line = {"message": {"content": "x"}, "done": True, "context": [], "remote_host": ""}

    assert _ollama(line).beside("response-metadata") == []


def test_values_that_are_no_lines_are_kept() -> None:
    body = _body(_line({"content": "x"})) + b"7\nnull\n" + _body(_done())

    assert accepted("ollama", body).beside("raw") == [{"provider": "ollama", "value": 7}]


def test_logprobs_and_members_that_are_not_known_are_kept() -> None:
    logprobs = [{"token": "x", "logprob": -0.5}]

    seen = _ollama(_line({"content": "x", "mood": "calm"}, logprobs=logprobs), _done())

    assert [{key: kept[key] for key in kept if key != "provider"} for kept in seen.beside("raw")] == [
        {"message": {"mood": "calm"}},
        {"logprobs": logprobs},
    ]


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        ("iVBORw0KGgo=", "image/png"),
        ("/9j/4AAQ", "image/jpeg"),
        ("UklGRh4=", "image/webp"),
        ("R0lGODlh", "image/gif"),
        ("AAAA", "image/*"),
    ],
)
def test_images_are_blocks(start: str, kind: str) -> None:
    body = _body(_line({"content": "", "images": [start]}), _line(image=start, response=""), _done())

    emitted = run(adapter("ollama"), body)

    assert Seen(emitted).kinds == ["image", "image"]
    block = json.dumps({"kind": "image", "mediaType": kind, "data": start}, separators=(",", ":"))
    assert sum(block in chunk.body.decode() for chunk in emitted) == 2


def test_the_progress_of_an_image_is_no_flood() -> None:
    seen = _ollama(*(_line(completed=step, total=9) for step in range(9)), _done("stop", image="iVBORw0KGgo="))

    assert seen.beside("raw") == []
    said = seen.beside("response-metadata")[-1]["providerMetadata"]["ollama"]
    assert (said["completed"], said["total"]) == (8, 9)


def test_think_tags_are_reasoning_for_models_that_are_known() -> None:
    lines = [_line({"content": piece}) for piece in ("<thi", "nk>hm</think", ">Yes")]
    known = [{**line, "model": "deepseek-r1:8b"} for line in lines]

    assert (_ollama(*known, _done()).reasoning, _ollama(*known, _done()).text) == ("hm", "Yes")
    assert _ollama(*lines, _done()).text == "<think>hm</think>Yes"
    assert Seen(run(adapter("ollama", think=True), _body(*lines, _done()))).text == "Yes"
    assert Seen(run(adapter("ollama", think=False), _body(*known, _done()))).text == "<think>hm</think>Yes"


def test_a_model_may_be_named_after_an_empty_line() -> None:
    lines = [{"message": {"content": ""}}, _line({"content": "<think>hm</think>Yes"}, model="qwq"), _done()]

    assert _ollama(*lines).text == "Yes"


def test_what_was_held_back_is_not_lost() -> None:
    held = {**_line({"content": "<thi"}), "model": "qwq"}
    call = {**_line({"content": "", "tool_calls": [_tool({})]}), "model": "qwq"}

    assert _ollama(held, _done()).text == "<thi"
    assert accepted("ollama", _body(held)).text == "<thi"
    assert _ollama(held, {"error": "down"}).text == "<thi"
    assert _ollama(held, call, _done()).kinds == ["text", "tool_use"]
    assert _ollama(held, {**_line({"images": ["AAAA"]}), "model": "qwq"}, _done()).kinds == ["text", "image"]


# Tool calls


def test_every_call_of_every_line_is_a_call_of_its_own() -> None:
    seen = _ollama(
        _line({"content": "", "tool_calls": [_tool({"n": 1}, id="a", index=0), _tool({"n": 1}, id="b", index=1)]}),
        _line({"content": "", "tool_calls": [_tool({"n": 2}, "g", id="c", index=2)]}),
        _done("stop", {"content": "", "tool_calls": [_tool({"n": 3}, id="d")]}),
    )

    assert seen.tools == [("a", "f", '{"n":1}'), ("b", "f", '{"n":1}'), ("c", "g", '{"n":2}'), ("d", "f", '{"n":3}')]
    assert seen.finish == "tool_calls"


def test_ids_that_are_missing_are_made_and_differ_between_responses() -> None:
    lines = [_line({"content": "x"}), _line({"content": "", "tool_calls": [_tool({}), _tool({})]}), _done()]
    later = [{**line, "created_at": "2025-06-09T18:00:00Z"} for line in lines]

    assert [call.id for call in _ollama(*lines).tools] == [f"generated-{TIME}-1", f"generated-{TIME}-2"]
    assert not {call.id for call in _ollama(*lines).tools} & {call.id for call in _ollama(*later).tools}
    assert [call.id for call in _ollama({"message": {"tool_calls": [_tool({})]}}, _done()).tools] == ["generated-0"]


@pytest.mark.parametrize(
    ("given", "text"),
    [({"a": 1.50}, '{"a":1.5}'), ({}, "{}"), ('{"a": 1}', '{"a": 1}'), ("", "{}"), (None, "{}"), ([], "[]")],
)
def test_arguments_are_an_object_or_text(given: Any, text: str) -> None:
    assert _ollama(_line({"tool_calls": [_tool(given, id="a")]}), _done()).tools == [("a", "f", text)]


def test_numbers_of_arguments_keep_their_spelling() -> None:
    body = _body(_line({"tool_calls": [_tool("HERE", id="a")]}), _done()).replace(b'"HERE"', b'{ "n": 1.50e+3 }')

    assert accepted("ollama", body).tools == [("a", "f", '{"n":1.50e+3}')]


def test_what_a_call_has_beside_is_kept() -> None:
    call = {**_tool({}, id="a"), "type": "function", "hint": "x"}

    call["function"]["why"] = "y"
    kept = [one["toolCall"] for one in _ollama(_line({"tool_calls": [call]}), _done()).beside("raw")]

    assert kept == [{"hint": "x"}, {"why": "y"}]


def test_a_call_without_a_name_fails_the_call() -> None:
    assert _ollama(_line({"tool_calls": [_tool({}, "", id="a")]}), _done()).finish == "error"


# Usage


@pytest.mark.parametrize(
    "more",
    [
        {"prompt_eval_count": None},
        {"eval_count": None},
        {"prompt_eval_count": -1},
        {"eval_count": 2**60},
        {"eval_count": "many"},
    ],
)
def test_what_is_no_report_makes_no_usage(more: Json) -> None:
    """A prompt that was cached whole has no prompt_eval_count."""
    seen = _ollama(_line({"content": "x"}), _done("stop", **more))

    assert seen.usage is None
    assert "usage" in seen.beside("response-metadata")[-1]["providerMetadata"]["ollama"]


def test_usage_is_optional_here() -> None:
    assert adapter("ollama").usage == "optional"


# Ends


@pytest.mark.parametrize(
    ("word", "kind"),
    [("stop", "stop"), ("length", "max_tokens"), ("load", "stop"), ("unload", "stop"), ("something_new", "stop")],
)
def test_every_reason_has_a_kind_and_is_kept(word: str, kind: str) -> None:
    seen = _ollama(_line({"content": "x"}), _done(word))

    assert seen.finish == kind
    assert seen.reason is not None
    assert seen.reason.raw == word


def test_old_versions_give_no_reason() -> None:
    assert _ollama(_line({"content": "x"}), {"message": {"content": "y"}, "done": True}).text == "xy"
    assert _ollama(_line({"content": "x"}), {"message": {"content": "y"}, "done": True}).finish == "stop"
    assert _ollama(_line({"content": "x"}), _done(None)).reason == Stop()


def test_arguments_may_be_cut_by_length() -> None:
    assert _ollama(_line({"tool_calls": [_tool({}, id="a")]}), _done("length")).finish == "max_tokens"


def test_loading_a_model_is_a_response_without_content() -> None:
    line = {"model": "llama3", "created_at": TIME, "message": {"role": "assistant", "content": ""}}

    seen = _ollama({**line, "done_reason": "load", "done": True})

    assert (seen.kinds, seen.finish, seen.usage) == ([], "stop", None)


def test_a_body_without_a_done_line_was_cut_off() -> None:
    for rest in (b"", b'{"model":"llama3","crea'):
        seen = accepted("ollama", _body(_line({"content": "Hi"})) + rest)
        assert (seen.text, seen.finish) == ("Hi", "aborted")
        assert isinstance(seen.reason, Aborted)
        assert "cut off" in seen.failure


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"error": "model 'x' not found"}, ("model 'x' not found", None, None)),
        ({"error": "unauthorized", "signin_url": "https://a"}, ("unauthorized", None, None)),
        ({"error": {"message": "no", "code": "api_error", "status": 500}}, ("no", "api_error", 500)),
        ({"StatusCode": 503, "Status": "503", "error": "busy", "status_code": 503}, ("busy", "503", 503)),
    ],
)
def test_an_error_line_ends_the_call_with_what_it_says(line: Json, expected: tuple[object, ...]) -> None:
    seen = _ollama(_line({"content": "Hi"}), line, _line({"content": "never"}))

    assert isinstance(seen.reason, Failed)
    failure = seen.reason.failure
    assert (failure.message, failure.code, failure.status) == expected
    assert seen.text == "Hi"


def test_what_an_error_says_beside_is_kept() -> None:
    seen = _ollama(_line({"content": "Hi"}), {"error": "unauthorized", "signin_url": "https://a"})

    assert seen.beside("response-metadata")[-1]["providerMetadata"]["ollama"] == {"signin_url": "https://a"}


def test_an_error_that_says_more_than_a_failure_holds_is_kept_whole() -> None:
    error = {"message": "no", "reason": "because"}

    assert _ollama(_line({"content": "Hi"}), {"error": error}).beside("raw") == [{"provider": "ollama", "error": error}]


def test_an_error_body_is_an_error() -> None:
    assert accepted("ollama", b'{"error":"model is required"}').failure == "model is required"


def test_what_follows_the_done_line_means_nothing() -> None:
    assert _ollama(_line({"content": "a"}), _done(), _line({"content": "b"})).text == "a"


def test_an_answer_that_was_not_streamed_is_read_all_the_same() -> None:
    whole = json.dumps(_done("stop", {"content": "Hi", "thinking": "hm"}), indent=1).encode()

    assert (accepted("ollama", whole).text, accepted("ollama", whole).finish) == ("Hi", "stop")


@pytest.mark.parametrize(
    "line",
    [
        _line({"content": ["KEPT"]}),
        _line({"content": "", "thinking": {"KEPT": 1}}),
        _line({"content": "", "tool_calls": {"KEPT": 1}}),
        _line({"content": "", "images": {"KEPT": 1}}),
        _line({"content": "", "tool_calls": [_tool({}, id={"KEPT": 1})]}),
        _line(response={"KEPT": 1}),
        _line(thinking=["KEPT"]),
        {**_line(), "message": ["KEPT"]},
    ],
    ids=lambda line: json.dumps(line)[64:120],
)
def test_members_of_another_shape_are_kept(line: Json) -> None:
    seen = _ollama(_line({"content": "a"}), line, _done())

    assert "KEPT" in json.dumps(seen.agent)
    assert seen.finish in ("stop", "tool_calls")

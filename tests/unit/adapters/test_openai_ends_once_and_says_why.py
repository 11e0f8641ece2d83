"""How calls of the OpenAI family end: late usage, second finishes, errors of every shape, and streams cut off."""

import pytest

from conformance.recorded import Seen
from runwire.adapters.openai_chat.chat import OpenAIChat
from runwire_schemas.raw import Failed, Stop
from unit.adapters.saying import Json, accepted, chunk, openai, run, sse, tool, usage


def _failure(seen: Seen) -> Json:
    assert isinstance(seen.reason, Failed)
    said = seen.reason.failure
    return {"message": said.message, "code": said.code, "status": said.status, "retryable": said.retryable}


def test_two_finish_chunks_end_once_and_after_usage() -> None:
    seen = openai(chunk({"content": "Hi"}), chunk(None, "stop"), chunk({"content": ""}, "stop", usage=usage()))

    assert seen.finish == "stop"
    assert seen.usage is not None


def test_text_after_a_finish_reason_is_kept() -> None:
    assert openai(chunk({"content": "a"}, "stop"), chunk({"content": "b"})).text == "ab"


def test_the_end_of_the_body_is_an_end_after_a_finish_reason() -> None:
    assert openai(chunk({"content": "Hi"}, "stop"), done=False).finish == "stop"


def test_done_without_a_finish_reason_is_an_end_without_the_providers_word() -> None:
    assert openai(chunk({"content": "Hi"})).reason == Stop()
    assert openai(chunk(tool("{}", index=0, id="c", name="f"))).finish == "tool_calls"


def test_neither_is_a_stream_that_was_cut_off() -> None:
    seen = openai(chunk({"content": "Hi"}), done=False)

    assert (seen.finish, seen.text) == ("aborted", "Hi")
    assert "cut off" in seen.failure


def test_a_body_that_stops_inside_an_event_is_cut_off_too() -> None:
    body = sse(chunk({"content": "Hi"}), chunk({"content": "never whole"}), done=False)

    seen = Seen(run(OpenAIChat(), body[:-20]))

    assert (seen.finish, seen.text) == ("aborted", "Hi")


def test_an_empty_finish_reason_is_none() -> None:
    assert openai(chunk({"content": "Hi"}, ""), done=False).finish == "aborted"


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("STOP", "stop"),
        ("length", "max_tokens"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("content_filter", "content_filter"),
        ("something_new", "stop"),
        ("error", "error"),
        ("abort", "aborted"),
        ("insufficient_system_resource", "error"),
    ],
)
def test_every_word_has_a_kind_and_is_kept(word: str, kind: str) -> None:
    seen = openai(chunk({"content": "Hi"}, word))

    assert seen.finish == kind
    assert seen.reason is not None
    assert seen.reason.raw == word


def test_a_choice_that_never_finishes_ends_at_done() -> None:
    events = [{**chunk(), "choices": [{"index": 1, "delta": {"content": "b"}}]}, chunk({"content": "a"}, "stop")]

    assert openai(*events, choice=1).text == "b"
    assert openai(*events, choice=1).finish == "stop"


def test_only_the_asked_choice_is_emitted() -> None:
    events = [
        {**chunk(), "choices": [{"index": i, "delta": {"content": f"{i}"}, "finish_reason": None} for i in (0, 1)]},
        {
            **chunk(),
            "choices": [{"index": i, "delta": {}, "finish_reason": word} for i, word in enumerate(("stop", "length"))],
        },
    ]

    assert [(openai(*events, choice=i).text, openai(*events, choice=i).finish) for i in (0, 1)] == [
        ("0", "stop"),
        ("1", "max_tokens"),
    ]


def test_a_choice_that_is_not_there_is_an_error() -> None:
    assert _failure(openai(chunk({"content": "a"}, "stop"), choice=2))["code"] == "no-such-choice"


def test_an_error_event_ends_the_call_with_what_it_says() -> None:
    error = {"message": "bad tool", "type": "invalid_request_error", "code": "tool_use_failed", "status_code": 400}
    body = f'event: error\ndata: {{"error": {str(error).replace(chr(39), chr(34))}}}\n\n'

    seen = openai(chunk({"content": "Hi"}), body, done=False)

    assert _failure(seen) == {"message": "bad tool", "code": "tool_use_failed", "status": 400, "retryable": False}
    assert seen.text == "Hi"


def test_an_error_beside_choices_and_usage_keeps_both() -> None:
    error = {"code": 502, "message": "upstream died", "metadata": {"provider_name": "x", "raw": "stack"}}

    seen = openai(chunk(None, "length"), chunk({"content": "last"}, None, error=error, usage=usage()))

    assert _failure(seen) == {"message": "upstream died", "code": "502", "status": 502, "retryable": True}
    assert seen.text == "last"
    assert seen.usage is not None
    assert seen.beside("raw") == [{"provider": "openai-chat", "error": error}]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"error": "plain words"}, ("plain words", None, None, None)),
        ({"error": "busy", "status_code": 503}, ("busy", "503", 503, True)),
        (
            {"error": {"message": "slow down", "type": "rate_limit_exceeded"}},
            ("slow down", "rate_limit_exceeded", 429, True),
        ),
        (
            {"error": {"message": "pay", "code": "insufficient_quota", "status": 429}},
            ("pay", "insufficient_quota", 429, False),
        ),
        ({"error": {"code": 500}}, ('{"code":500}', "500", 500, True)),
        (
            {"object": "error", "message": "too long", "type": "BadRequestError", "code": 400},
            ("too long", "BadRequestError", 400, False),
        ),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            ("Overloaded", "overloaded_error", 529, True),
        ),
        ({"detail": "Not Found"}, ("Not Found", None, None, None)),
        ({"message": "no", "code": "401"}, ("no", "401", 401, False)),
        ({"x_groq": {"error": "over capacity"}, **chunk()}, ("over capacity", None, None, None)),
        ({"id": "e-1", "message": "invalid api token"}, ("invalid api token", None, None, None)),
        ({"statusCode": 401, "message": "Access denied"}, ("Access denied", "401", 401, False)),
        ({"error_code": "REQUEST_LIMIT_EXCEEDED", "message": "later"}, ("later", "REQUEST_LIMIT_EXCEEDED", None, None)),
        (
            {"errors": [{"code": 10000, "message": "Authentication error"}], "success": False, "result": {}},
            ("Authentication error", None, None, None),
        ),
        ({"errors": ["no such model"], "success": False}, ("no such model", None, None, None)),
    ],
)
def test_errors_of_every_shape(event: Json, expected: tuple[object, ...]) -> None:
    seen = openai(chunk({"content": "Hi"}), event)

    assert tuple(_failure(seen).values()) == expected


def test_an_error_of_broken_unicode_is_said_all_the_same() -> None:
    body = sse(chunk({"content": "Hi"}), {"error": "half HALF"}).replace(b"HALF", b"\\ud83c")

    assert accepted("openai-chat", body).failure == "half \ufffd"


def test_an_error_before_anything_else_is_the_whole_call() -> None:
    seen = openai({"error": {"message": "no", "type": "authentication_error"}}, done=False)

    assert (seen.kinds, _failure(seen)["status"]) == ([], 401)


def test_an_event_that_is_no_json_ends_the_call() -> None:
    seen = openai(chunk({"content": "Hi"}), "data: upstream connect error\n\n", chunk({"content": "never"}))

    assert (seen.text, _failure(seen)["code"]) == ("Hi", "undecodable")
    assert "upstream connect error" in seen.failure


def test_what_comes_after_done_means_nothing() -> None:
    assert openai(chunk({"content": "a"}, "stop"), "data: [DONE]\n\n", chunk({"content": "b"})).text == "a"


def test_closing_twice_says_nothing_new() -> None:
    wire = OpenAIChat()
    wire.feed(sse(chunk({"content": "a"}), done=False))

    assert wire.close() != []
    assert wire.close() == []
    assert wire.feed(b"data: {}\n\n") == []


@pytest.mark.parametrize(
    "event", [{"errors": []}, {"errors": None}, {"errors": {"a": 1}}, {**chunk(), "errors": ["x"]}]
)
def test_what_only_has_a_list_of_errors_is_none(event: Json) -> None:
    assert openai(chunk({"content": "Hi"}), event, chunk(None, "stop")).finish == "stop"

"""How the AI SDK's streams end: reasons of three versions, errors of any shape, and streams that stop."""

from typing import Any

import pytest

from conformance.recorded import Seen
from runwire.adapters import adapter
from runwire_schemas.raw import Aborted, Failed
from unit.adapters.saying import Json, accepted, run
from unit.adapters.sdk_parts import V3_USAGE, beside, body, call, part, said, text, v2, v3

UNREAD: Json = {
    "name": "AI_TypeValidationError",
    "value": {"type": "new"},
    "cause": {"name": "ZodError", "message": "["},
}
EMPTY: Json = {"inputTokens": {}, "outputTokens": {}}


def error(value: Any = None) -> Json:
    return part("error", error=value)


def failure(seen: Seen) -> tuple[str, str | None, int | None, bool | None]:
    assert isinstance(seen.reason, Failed | Aborted)
    failure = seen.reason.failure
    return failure.message, failure.code, failure.status, failure.retryable


def raw(seen: Seen) -> str | None:
    assert seen.reason is not None
    return seen.reason.raw


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("stop", "stop"),
        ("tool-calls", "tool_calls"),
        ("length", "max_tokens"),
        ("content-filter", "content_filter"),
        ("other", "stop"),
        ("new-word", "stop"),
    ],
)
def test_reasons(word: str, kind: str) -> None:
    for finish, said_raw in ((v2(word), word), (v3(word, "END"), "END")):
        seen = said(*text("0", "a"), finish)
        assert (seen.finish, raw(seen)) == (kind, said_raw)


def test_what_follows_the_finish_part_is_ignored() -> None:
    seen = said(*text("0", "a"), v2(), *text("1", "b"), v2("length"), error("e"))

    assert (seen.text, seen.finish) == ("a", "stop")


def test_a_stream_without_a_finish_part_was_cut_off() -> None:
    seen = said(*text("0", "a"))

    assert (seen.text, seen.finish, failure(seen)[1]) == ("a", "aborted", "cut-off")
    assert said().finish == "aborted"


@pytest.mark.parametrize(
    "finish",
    [
        v2("unknown", {}),
        v2("unknown", {"inputTokens": 3}),
        v2(None, {}),
        part("finish"),
        v3("other", None),
        v3("interrupted", None, EMPTY),
        v3("interrupted", "stop"),
        v3("other", "in_progress"),
        v3("other", "queued"),
        v2("unknown"),
        v2("unknown", meta={}),
        v2("unknown", meta={"google": {"safetyRatings": None}}),
        v2("unknown", {}, meta={"together": {}}),
        part("finish", finishReason={}, usage=V3_USAGE),
    ],
)
def test_a_finish_part_that_only_says_that_the_stream_is_over_is_no_end(finish: Json) -> None:
    """The packages write one at the end of any stream, also of one that stopped."""
    seen = said(*text("0", "a"), finish)

    assert (seen.finish, failure(seen)[1], failure(seen)[3]) == ("aborted", "cut-off", True)


def test_usage_tells_that_a_reason_that_the_package_does_not_know_was_one() -> None:
    """V2 says `unknown` for both; only the packages that any server may answer meet words that they do not know."""
    meta: Json = {"together": {}}
    assert said(*text("0", "a"), v2("unknown", meta=meta)).finish == "stop"
    assert said(call("c", "f", "{}"), v2("unknown", meta=meta)).finish == "tool_calls"
    assert said(call("c", "f", "{}"), v2(None, meta=meta)).finish == "tool_calls"
    assert said(call("c", "f", "{}"), v2("stop")).finish == "stop"
    assert said(call("c", "f", "{}"), v3("other", "eos")).finish == "stop"


def test_an_error_part_and_a_finish_part_are_one_failed_end() -> None:
    for finish in ([], [v2("error")], [v3("error", None)], [v2("stop")], [v2("unknown", {})]):
        seen = said(*text("0", "a"), error({"message": "no", "code": "c", "statusCode": 429}), *finish)
        assert (seen.finish, failure(seen), seen.text) == ("error", ("no", "c", 429, True), "a")


def test_what_comes_between_an_error_and_the_end_is_kept() -> None:
    seen = said(*text("0", "a"), error("no"), *text("1", "b"), v3("error", "boom"))

    assert (seen.text, seen.finish, raw(seen)) == ("ab", "error", "boom")
    assert seen.usage is not None


def test_a_reason_that_is_an_error_without_an_error_part() -> None:
    seen = said(*text("0", "a"), v3("error", "insufficient"))

    assert (seen.finish, failure(seen)[1], raw(seen)) == ("error", "provider-error", "insufficient")


@pytest.mark.parametrize(
    ("value", "message", "code", "status", "retryable"),
    [
        ("plain words", "plain words", None, None, None),
        ({"message": "m", "type": "rate_limit_error"}, "m", "rate_limit_error", 429, True),
        ({"type": "error", "sequence_number": 2, "error": {"code": "c", "message": "m"}}, "m", "c", None, None),
        ({"error": "words"}, "words", None, None, None),
        ({"name": "AI_RetryError"}, "AI_RetryError", "AI_RetryError", None, None),
        ({"name": "TypeError", "cause": {"name": "Error", "message": "socket"}}, "socket", "TypeError", None, None),
        (
            {"name": "AI_APICallError", "statusCode": 503, "isRetryable": True, "data": {"error": {"message": "busy"}}},
            "busy",
            "503",
            503,
            True,
        ),
        (
            {
                "name": "AI_APICallError",
                "statusCode": 400,
                "isRetryable": False,
                "responseBody": '{"error":{"message":"m"}}',
            },
            "m",
            "400",
            400,
            False,
        ),
        ({"name": "AI_APICallError", "responseBody": "<html>"}, "AI_APICallError", "AI_APICallError", None, None),
        (
            {"name": "AI_APICallError", "responseBody": '"[' + "[" * 2000},
            "AI_APICallError",
            "AI_APICallError",
            None,
            None,
        ),
        ({"status": 500, "isRetryable": False}, '{"status":500,"isRetryable":false}', "500", 500, False),
        ({}, "the stream reported an error that does not say what it is", "provider-error", None, None),
        (None, "the stream reported an error that does not say what it is", "provider-error", None, None),
        ({"message": "half \ud83c"}, "half \ufffd", None, None, None),
        ([1], "[1]", None, None, None),
    ],
)
def test_errors_of_any_shape(
    value: Any, message: str, code: str | None, status: int | None, retryable: bool | None
) -> None:
    assert failure(said(error(value), v2("error"))) == (message, code, status, retryable)


@pytest.mark.parametrize("finish", [[], [v3("error", None)]])
def test_an_error_for_want_of_a_finish_reason_is_a_stream_that_was_cut_off(finish: list[Json]) -> None:
    seen = said(*text("0", "a"), error({"name": "AI_InvalidResponseDataError"}), *finish)
    other = said(*text("0", "a"), error({"name": "AI_InvalidResponseDataError", "data": {"n": 1}}), *finish)

    assert (seen.finish, failure(seen)[1], failure(seen)[3]) == ("aborted", "cut-off", True)
    assert beside(seen, "error") == [{"name": "AI_InvalidResponseDataError"}]
    assert (other.finish, failure(other)[1]) == ("error", "AI_InvalidResponseDataError")


def test_an_error_that_says_more_is_kept_whole_but_for_the_request() -> None:
    value = {"name": "AI_APICallError", "url": "u", "requestBodyValues": {"messages": ["secret"]}, "statusCode": 500}
    seen = said(error(value), v2("error"))

    assert beside(seen, "error") == [{"name": "AI_APICallError", "url": "u", "statusCode": 500}]


def test_several_errors_the_first_counts_and_all_are_kept() -> None:
    seen = said(error({"message": "first"}), error("second"), error({"message": "third", "more": 1}), v2("error"))

    assert failure(seen)[0] == "first"
    assert beside(seen, "error") == ["second", {"message": "third", "more": 1}]


def test_an_event_that_the_package_cannot_read_fails_no_response_that_ends_well() -> None:
    seen = said(*text("0", "a"), error(UNREAD), *text("1", "b"), v3())

    assert (seen.text, seen.finish) == ("ab", "stop")
    assert beside(seen, "error") == [UNREAD]


@pytest.mark.parametrize("finish", [[], [v3("error", None)], [v3("other", None, EMPTY)], [v2("unknown", {})]])
def test_an_event_that_the_package_cannot_read_explains_a_response_that_does_not(finish: list[Json]) -> None:
    seen = said(*text("0", "a"), error(UNREAD), *finish)

    assert failure(seen)[:2] == ("the AI SDK could not read an event of the provider", "AI_TypeValidationError")
    assert seen.finish == "error"


@pytest.mark.parametrize(
    "value", [{"type": "error", "error": {"message": "no"}}, {"type": "message-end", "delta": {"error": "no"}}]
)
def test_an_error_of_the_provider_in_an_event_that_the_package_cannot_read_is_one(value: Json) -> None:
    seen = said(*text("0", "a"), error({"name": "AI_TypeValidationError", "value": value}), v3())

    assert (seen.finish, failure(seen)[0]) == ("error", "no")


def test_the_providers_error_counts_before_an_event_that_was_not_read() -> None:
    assert failure(said(error(UNREAD), error("no"), v2("error")))[0] == "no"


def test_an_error_body_in_place_of_the_parts() -> None:
    seen = said({"error": {"message": "no key", "code": "auth", "status": 401}})

    assert failure(seen) == ("no key", "auth", 401, False)


def test_signs_of_life_say_nothing() -> None:
    seen = said(part("ping"), *text("0", "a"), part("ping"), v3())

    assert (seen.text, seen.beside("raw")) == ("a", [])


def test_what_is_not_known_is_kept() -> None:
    custom = part("custom", kind="anthropic.x", meta={"anthropic": {"a": 1}})
    seen = said(custom, part("raw", rawValue={"n": 1.0}), *text("0", "a"), v3())

    assert beside(seen, "part") == [custom]
    assert beside(seen, "rawValue") == [{"n": 1.0}]
    assert beside(said({"no": "type"}, v3()), "part") == [{"no": "type"}]
    assert [one["value"] for one in accepted("ai-sdk", b"data: 17\n\ndata: null\n\n" + body(v2())).beside("raw")] == [
        17
    ]


def test_server_sent_events_are_read_as_lines_are() -> None:
    parts = [part("response-metadata", id="r", modelId="m"), *text("0", "a"), v3()]
    lines = body(*parts).splitlines()
    events = b"".join(b"data: %s\n\n" % line for line in lines) + b"data: [DONE]\n\n"

    assert run(adapter("ai-sdk"), events) == run(adapter("ai-sdk"), body(*parts))


def test_facts_about_the_response() -> None:
    warning = {"type": "other", "message": "w"}
    seen = said(
        part("stream-start", warnings=[warning]),
        part("response-metadata", id="r", modelId="m", timestamp="2026-01-01T00:00:00.000Z"),
        part("response-metadata", id="r", modelId="m", timestamp="2026-01-01T00:00:00.000Z", headers={"h": 1}),
        *text("0", "a"),
        v3(meta={"google": {"groundingMetadata": [1], "safetyRatings": None}, "empty": None}, extra=1),
    )

    assert seen.beside("response-metadata") == [
        {"id": "r", "modelId": "m", "timestamp": "2026-01-01T00:00:00.000Z"},
        {
            "id": "r",
            "providerMetadata": {
                "ai-sdk": {
                    "warnings": [warning],
                    "headers": {"h": 1},
                    "usage": V3_USAGE,
                    "google": {"groundingMetadata": [1], "safetyRatings": None},
                    "extra": 1,
                }
            },
        },
    ]


@pytest.mark.parametrize(
    "finish", [v3("content-filter"), v3("content-filter", usage={}), v3("other", None), v2("error"), v2("error", {})]
)
def test_a_response_without_content_keeps_the_facts_that_say_why(finish: Json) -> None:
    blocked = {"google": {"promptFeedback": {"blockReason": "SAFETY"}}}
    seen = said(part("stream-start", warnings=[]), {**finish, "providerMetadata": blocked})

    assert seen.beside("response-metadata")[0]["providerMetadata"]["ai-sdk"]["google"] == blocked["google"]
    assert said(part("stream-start", warnings=[]), {**finish, "usage": {}}).kinds == []

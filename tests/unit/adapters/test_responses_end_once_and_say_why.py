"""How a response ends, what it counted, and what its failures say."""

from typing import Any

import pytest

from conformance.recorded import Seen, judge
from runwire.adapters import adapter
from runwire_schemas.raw import Aborted, Failed, Failure, Usage
from unit.adapters.responding import USAGE, added, created, done, ended, event, function, message, responses, text
from unit.adapters.saying import Json, run, sse

ERROR = {"type": "invalid_request_error", "code": "invalid_prompt", "message": "That is no prompt.", "param": None}


def raw_reason(seen: Seen) -> Any:
    return None if seen.reason is None else seen.reason.raw


def failure(seen: Seen) -> Failure:
    assert isinstance(seen.reason, Failed | Aborted)
    return seen.reason.failure


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("max_output_tokens", "max_tokens"),
        ("max_tokens", "max_tokens"),
        ("content_filter", "content_filter"),
        ("steered", "stop"),
        (None, "stop"),
    ],
)
def test_an_incomplete_response_says_why(reason: str | None, kind: str) -> None:
    seen = responses(created(), text("Hel"), ended(state="incomplete", incomplete_details={"reason": reason}))

    assert (seen.finish, seen.text) == (kind, "Hel")
    assert raw_reason(seen) == (reason or "incomplete")


def test_an_incomplete_response_may_have_called_a_tool() -> None:
    seen = responses(created(), done(function("{}")), ended(state="incomplete", incomplete_details=None))

    assert seen.finish == "tool_calls"


def test_what_the_response_says_of_its_state_counts_more_than_the_event() -> None:
    seen = responses(
        created(),
        ended()
        | {
            "response": {
                **ended()["response"],
                "status": "incomplete",
                "incomplete_details": {"reason": "content_filter"},
            }
        },
    )

    assert seen.finish == "content_filter"


def test_a_complete_response_has_the_providers_word() -> None:
    assert raw_reason(responses(created(), ended())) == "completed"


def test_response_done_is_an_end_too() -> None:
    assert responses(created(), event("done", response={**ended()["response"]})).finish == "stop"


def test_done_markers_mean_nothing() -> None:
    seen = responses("data: [DONE]\n\n", created(), "data: [DONE]\n\n", text("Hello"), ended(), "data: [DONE]\n\n")

    assert (seen.text, seen.finish) == ("Hello", "stop")


def test_nothing_follows_the_end() -> None:
    assert responses(created(), ended(), text("late"), ended(message("later"))).text == ""


@pytest.mark.parametrize("last", [[], ["data: [DONE]\n\n"], [event("in_progress", response={"status": "in_progress"})]])
def test_a_body_without_a_closing_event_was_cut_off(last: list[Any]) -> None:
    seen = responses(created(), added(message()), text("Hel"), *last)

    assert (seen.text, seen.finish) == ("Hel", "aborted")
    assert failure(seen).code == "cut-off"
    assert failure(seen).retryable is True


def test_a_response_that_is_still_being_made_was_cut_off() -> None:
    seen = responses({"object": "response", "id": "r", "status": "in_progress", "output": [message("Hel")]})

    assert (seen.text, seen.finish) == ("Hel", "aborted")


@pytest.mark.parametrize("state", ["cancelled", "canceled"])
def test_a_cancelled_response_is_aborted(state: str) -> None:
    seen = responses(created(), text("Hel"), ended(state=state))

    assert (seen.text, seen.finish, raw_reason(seen)) == ("Hel", "aborted", "cancelled")
    assert failure(seen).code == "provider-abort"


# Failures


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "error": ERROR},
        {"type": "error", **{name: ERROR[name] for name in ("code", "message", "param")}},
        {"error": ERROR},
        "event: error\ndata: " + '{"error":{"code":"invalid_prompt","message":"That is no prompt."}}' + "\n\n",
    ],
)
def test_an_error_event_ends_the_call_as_failed(error: Any) -> None:
    seen = responses(created(), text("Hel"), error)

    assert (seen.text, seen.finish) == ("Hel", "error")
    assert failure(seen).code == "invalid_prompt"
    assert failure(seen).message == "That is no prompt."


def test_an_error_and_the_failed_response_are_one_failure() -> None:
    failed = ended(state="failed", error={"code": "invalid_prompt", "message": "That is no prompt."}, usage=None)
    seen = responses(created(), {"type": "error", "error": ERROR}, failed)

    assert seen.finish == "error"
    assert failure(seen).message == "That is no prompt."
    assert seen.beside("raw") == []


def test_the_report_that_says_most_is_the_failure_and_the_other_is_kept() -> None:
    failed = ended(state="failed", error={"code": "rate_limit_exceeded", "message": "Slow down."}, usage=None)
    seen = responses(created(), {"type": "error", "code": "strange", "message": "Something."}, failed)

    assert (failure(seen).code, failure(seen).status, failure(seen).retryable) == ("rate_limit_exceeded", 429, True)
    assert [raw["error"] for raw in seen.beside("raw")] == [{"message": "Something.", "code": "strange"}]


def test_a_failed_response_without_an_error_says_that_it_failed() -> None:
    seen = responses(created(), ended(state="failed", error=None))

    assert failure(seen).code == "provider-error"


def test_an_error_before_the_end_is_not_a_clean_end() -> None:
    assert responses(created(), {"type": "error", "error": ERROR}, ended()).finish == "error"


def test_an_error_of_a_response_is_one_whatever_its_state() -> None:
    assert responses(created(), ended(error={"code": "server_error", "message": "no"})).finish == "error"


def test_done_after_an_error_ends_the_call() -> None:
    wire = adapter("openai-responses")
    emitted = wire.feed(sse(created(), {"type": "error", "error": ERROR}, done=True))

    assert Seen(emitted).finish == "error"
    assert wire.close() == []


def test_what_an_error_says_beyond_a_failure_is_kept() -> None:
    error = {**ERROR, "misalignment": {"error_type": "other"}}
    seen = responses(created(), {"type": "error", "error": error})

    assert [raw["error"]["misalignment"] for raw in seen.beside("raw")] == [{"error_type": "other"}]


def test_an_error_instead_of_a_response_is_a_failure() -> None:
    assert responses('{"error": {"message": "no", "code": "insufficient_quota"}}').failure == "no"
    assert responses('{"detail": "Unauthorized"}').failure == "Unauthorized"


def test_a_failed_response_keeps_its_usage_and_what_it_said() -> None:
    seen = responses(created(), ended(message("Hel"), state="failed", error={"code": "server_error", "message": "no"}))

    assert (seen.text, seen.finish) == ("Hel", "error")
    assert seen.usage == Usage(input_tokens=5, output_tokens=7, cache_read_tokens=0, reasoning_tokens=0)


# Usage


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        ({"input_tokens": 10, "output_tokens": 3}, Usage(input_tokens=10, output_tokens=3)),
        (
            {
                "input_tokens": 10,
                "output_tokens": 3,
                "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
            },
            Usage(input_tokens=4, output_tokens=3, cache_read_tokens=4, cache_write_tokens=2),
        ),
        (
            {"input_tokens": 1, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 4}},
            Usage(input_tokens=0, output_tokens=3, cache_read_tokens=4),
        ),
        (
            {
                "input_tokens": 1,
                "output_tokens": 3,
                "output_tokens_details": {"reasoning_tokens": 2},
                "total_tokens": 4,
            },
            Usage(input_tokens=1, output_tokens=3, reasoning_tokens=2),
        ),
        (
            {
                "input_tokens": 1,
                "output_tokens": 3,
                "output_tokens_details": {"reasoning_tokens": 2},
                "total_tokens": 6,
            },
            Usage(input_tokens=1, output_tokens=5, reasoning_tokens=2),
        ),
        (
            {"input_tokens": 1.0, "output_tokens": "3", "input_tokens_details": {"cached_tokens": -1}},
            Usage(input_tokens=1, output_tokens=3),
        ),
    ],
)
def test_counts_are_disjoint_and_as_reported(said: Json, usage: Usage) -> None:
    assert responses(created(), ended(usage=said)).usage == usage


@pytest.mark.parametrize(
    "said", [None, {}, {"input_tokens": 1}, {"output_tokens": 1}, {"input_tokens": -1, "output_tokens": 2**53}]
)
def test_a_report_without_its_main_counts_is_none(said: Json | None) -> None:
    emitted = run(adapter("openai-responses"), sse(created(), ended(usage=said), done=False))

    assert [finding.code for finding in judge(emitted, "required")[1]] == ["usage-missing"]
    assert Seen(emitted).usage is None


def test_the_whole_report_is_a_fact_about_the_response() -> None:
    said = {**USAGE, "cost": 0.1}
    facts = responses(created(), ended(usage=said)).beside("response-metadata")[-1]["providerMetadata"]

    assert facts["openai-responses"]["usage"] == said


def test_a_failed_state_is_a_failure_under_any_event() -> None:
    assert responses(created(), event("done", response={**ended()["response"], "status": "failed"})).finish == "error"
    assert responses(created(), event("done", response={**ended()["response"], "status": "expired"})).finish == "error"
    assert responses(created(), event("done", response={**ended()["response"], "status": "strange"})).finish == "stop"


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_what_was_announced_is_kept_whatever_the_end(state: str) -> None:
    assert responses(created(), added(message("Hello")), ended(state=state)).text == "Hello"


def test_more_that_is_said_of_an_incomplete_response_is_a_fact() -> None:
    details = {"reason": "max_output_tokens", "limit": 5}
    more = responses(created(), ended(state="incomplete", incomplete_details=details)).beside("response-metadata")[-1]
    end = ended(state="incomplete", incomplete_details={"reason": "x"})
    less = responses(created(), end).beside("response-metadata")[-1]

    assert more["providerMetadata"]["openai-responses"]["incomplete_details"] == details
    assert "incomplete_details" not in less["providerMetadata"]["openai-responses"]


def test_an_error_event_of_any_form_is_a_failure() -> None:
    assert "strange" in responses(created(), 'event: error\ndata: {"strange":1}\n\n').failure


def test_a_report_without_a_code_is_kept_as_it_is() -> None:
    seen = responses(created(), {"error": {"message": "no"}}, {"error": {"message": "never"}})

    assert failure(seen).message == "never"
    assert [raw["error"] for raw in seen.beside("raw")] == [{"message": "no"}]


def test_only_some_reports_of_one_failure_are_kept() -> None:
    seen = responses(created(), *({"type": "error", "message": f"no {number}"} for number in range(10, 40)))

    assert len(seen.beside("raw")) == 7

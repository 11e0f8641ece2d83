"""Errors of every provider in the contract's words. The statuses are those of the providers' documentation."""

import json

import msgspec
import pytest

from runwire.adapters.failures import details_in, failure_in, failure_of, raised_in
from runwire_schemas.raw import Failure
from unit.adapters.saying import Json


def _members(event: Json) -> dict[str, msgspec.Raw]:
    return {name: msgspec.Raw(json.dumps(value).encode()) for name, value in event.items()}


@pytest.mark.parametrize(
    ("word", "status", "retryable"),
    [
        ("invalid_request_error", 400, False),
        ("invalid_prompt", 400, False),
        ("context_length_exceeded", 400, False),
        ("authentication_error", 401, False),
        ("billing_error", 402, False),
        ("permission_error", 403, False),
        ("not_found_error", 404, False),
        ("request_too_large", 413, False),
        ("rate_limit_error", 429, True),
        ("rate_limit_exceeded", 429, True),
        ("insufficient_quota", 429, False),
        ("api_error", 500, True),
        ("server_error", 500, True),
        ("timeout_error", 504, True),
        ("overloaded_error", 529, True),
        ("something_else", None, None),
    ],
)
def test_a_word_without_a_status_has_the_documented_one(word: str, status: int | None, retryable: bool | None) -> None:
    said = Failure(message="m", code=word, status=status, retryable=retryable)

    assert failure_in(_members({"error": {"message": "m", "type": word}})) == said
    assert failure_in(_members({"error": {"message": "m", "code": word, "type": "other"}})) == said
    # The kind of error is the type, where the code says more than that.
    more = failure_in(_members({"error": {"message": "m", "code": "more", "type": word}}))
    assert more == Failure(message="m", code="more", status=status, retryable=retryable)


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        *((status, True) for status in (408, 425, 429, 500, 502, 503, 504, 529)),
        *((status, False) for status in (400, 401, 403, 404, 409, 422, 501, 599)),
    ],
)
def test_a_status_says_whether_the_same_request_may_succeed(status: int, retryable: bool) -> None:
    for name in ("status_code", "status", "http_status", "code", "statusCode"):
        said = failure_in(_members({"error": {"message": "m", name: status}}))
        assert said == Failure(message="m", code=str(status), status=status, retryable=retryable)
    around = failure_in(_members({"error": {"message": "m"}, "status_code": status}))
    assert around == Failure(message="m", code=str(status), status=status, retryable=retryable)


@pytest.mark.parametrize("status", [0, 200, 399, 600, 10000, "ok", None, True, [500]])
def test_a_number_that_is_no_status_of_an_error_is_none(status: object) -> None:
    said = failure_in(_members({"error": {"message": "m", "status": status, "type": "t"}}))

    assert said == Failure(message="m", code="t", status=None, retryable=None)


@pytest.mark.parametrize("name", ["message", "msg", "detail", "error", "error_message"])
def test_the_message_may_have_another_name(name: str) -> None:
    assert failure_of(msgspec.Raw(json.dumps({name: "m"}).encode())) == Failure(message="m")


@pytest.mark.parametrize("name", ["code", "type", "error_type", "error_code"])
def test_the_code_may_have_another_name(name: str) -> None:
    assert failure_of(msgspec.Raw(json.dumps({"message": "m", name: "c"}).encode())) == Failure(message="m", code="c")


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"error": None},
        {"error": False},
        {"error": ""},
        {"error": {}},
        {"message": {"role": "assistant"}},
        {"message": "m", "anything": "else"},
        {"choices": [], "message": "m"},
        {"choices": [], "detail": "m"},
        {"type": "text", "text": "error"},
        {"Error": {}},
        {"Error": "m"},
        {"somethingException": "m"},
        {"__type": 1},
    ],
)
def test_what_reports_no_failure_is_none(event: Json) -> None:
    assert failure_in(_members(event)) is None
    assert raised_in(_members(event)) is None


@pytest.mark.parametrize(
    ("name", "status", "retryable"),
    [
        ("AccessDeniedException", 403, False),
        ("ConflictException", 400, False),
        ("InternalServerException", 500, True),
        ("ModelErrorException", 424, False),
        ("ModelNotReadyException", 429, True),
        ("ModelStreamErrorException", 424, True),
        ("ModelTimeoutException", 408, True),
        ("ResourceNotFoundException", 404, False),
        ("ServiceQuotaExceededException", 400, False),
        ("ServiceUnavailableException", 503, True),
        ("ThrottlingException", 429, True),
        ("ValidationException", 400, False),
        ("ExpiredTokenException", 403, False),
        ("UnrecognizedClientException", 403, False),
        ("InternalFailure", 500, True),
        ("UnknownException", None, None),
    ],
)
def test_what_aws_raises_has_the_status_of_its_service_model(
    name: str, status: int | None, retryable: bool | None
) -> None:
    said = Failure(message="m", code=name, status=status, retryable=retryable)

    assert raised_in(_members({"__type": f"com.amazon.coral.service#{name}:http://internal", "message": "m"})) == said
    assert raised_in(_members({"Error": {"Code": name, "Message": "m"}})) == said
    if name.endswith("Exception"):
        small = name[0].lower() + name[1:]
        said = Failure(message="m", code=small, status=status, retryable=retryable)
        assert raised_in(_members({small: {"message": "m"}})) == said
        said = Failure(message=name, code=name, status=status, retryable=retryable)
        assert raised_in(_members({name: {}})) == said


def test_a_model_behind_bedrock_may_have_failed_with_a_status_of_its_own() -> None:
    def raised(original: int) -> Failure | None:
        return raised_in(_members({"ModelErrorException": {"message": "m", "originalStatusCode": original}}))

    assert raised(503) == Failure(message="m", code="ModelErrorException", status=424, retryable=True)
    assert raised(400) == Failure(message="m", code="ModelErrorException", status=424, retryable=False)


@pytest.mark.parametrize(
    ("event", "kept"),
    [
        ({"error": "m"}, None),
        ({"error": {"message": "m", "type": "t", "code": "c", "status": 1, "param": None}}, None),
        ({"error": {"message": "m", "status_code": 1, "http_status": 1, "param": "p", "more": None}}, None),
        ({"error": {"message": "m", "metadata": {"a": 1}}}, {"message": "m", "metadata": {"a": 1}}),
        ({"modelErrorException": {"message": "m", "p": "abc"}}, None),
        ({"modelErrorException": {"message": "m", "x": None}}, None),
        (
            {"modelErrorException": {"message": "m", "resourceName": "r"}},
            {"modelErrorException": {"message": "m", "resourceName": "r"}},
        ),
        ({"Error": {"Code": "c", "Message": "m"}}, None),
        ({"__type": "XException", "message": "m"}, None),
        ({}, None),
    ],
)
def test_what_a_failure_cannot_hold_is_kept_whole(event: Json, kept: Json | None) -> None:
    details = details_in(_members(event))

    assert (None if details is None else json.loads(details)) == kept

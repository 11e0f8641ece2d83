"""What a provider's error object says, in the words of the contract: message, code, status, retryable."""

from typing import Final

import msgspec

from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, quote, text_of
from runwire_schemas.raw import Failure

# By the meaning of HTTP: the same request may succeed later. 529 is Anthropic's "overloaded".
RETRYABLE_STATUS: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
# Where a provider sends only a word. The status is the one its documentation gives for that word.
STATUS_OF: Final = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
# What Bedrock raises, in a stream with a small first letter: the statuses of its service model. The last three are
# AWS's own words for any service.
AWS_STATUS: Final = {
    "AccessDeniedException": 403,
    "ConflictException": 400,
    "InternalServerException": 500,
    "ModelErrorException": 424,
    "ModelNotReadyException": 429,
    "ModelStreamErrorException": 424,
    "ModelTimeoutException": 408,
    "ResourceNotFoundException": 404,
    "ServiceQuotaExceededException": 400,
    "ServiceUnavailableException": 503,
    "ThrottlingException": 429,
    "ValidationException": 400,
    "ExpiredTokenException": 403,
    "InternalFailure": 500,
    "UnrecognizedClientException": 403,
}
# "An error occurred while streaming the response. Retry your request."
_AWS_RETRYABLE: Final = frozenset({"ModelStreamErrorException"})
_AWS_HELD: Final = frozenset({"message", "Message", "Code", "__type", "p"})
# Quotas do not come back by asking again, although they share their status with rate limits.
_NOT_RETRYABLE: Final = frozenset({"insufficient_quota", "billing_error"})
# What a failure holds, or only repeats.
_HELD: Final = frozenset({"message", "type", "code", "status", "status_code", "http_status", "param"})
# An error that is the whole event, without an `error` around it.
_BARE: Final = frozenset(
    {
        *("message", "code", "type", "status", "status_code", "param", "request_id", "object"),
        "id",  # Cohere's
        "statusCode",  # Azure's API Management
        "error_code",  # Databricks'
    }
)
_ERRORS: Final = range(400, 600)
_STATUS_FIELDS: Final = ("status_code", "status", "http_status", "code", "statusCode")
_CODE_FIELDS: Final = ("code", "type", "error_type", "error_code")
_MESSAGE_FIELDS: Final = ("message", "msg", "detail", "error", "error_message")


def cut_off(cause: str) -> Failure:
    """The body stopped before its protocol ended it."""
    return Failure(message=f"the stream was cut off: {cause}", code="cut-off", retryable=True)


def undecodable(data: bytes) -> Failure:
    """An event that is no JSON."""
    excerpt = data[:200].decode(errors="replace")
    return Failure(message=f"an event of the stream is no JSON: {excerpt}", code="undecodable")


def failure_in(top: dict[str, msgspec.Raw]) -> Failure | None:
    """The failure that this event reports, if it reports one: `error` in it, or the event itself is one."""
    raised = _raised_in(top)
    if raised is not None:
        return _raised(*raised)
    error = top.get("error")
    if error is not None and bytes(error) not in (b"null", b"false", b'""', b"{}"):
        return failure_of(error, top)
    if text_of(top.get("object")) == "error" or text_of(top.get("type")) == "error":
        return _from_fields(top, {})
    said = text_of(top.get("message")) is not None and set(top) <= _BARE
    if "choices" in top:
        return None
    if "detail" in top or said:
        return _from_fields(top, {})
    # Cloudflare's API gives a list.
    listed = next(iter(items_of(top["errors"])), None) if "errors" in top else None
    return None if listed is None else failure_of(listed)


def raised_in(top: dict[str, msgspec.Raw]) -> Failure | None:
    """The exception of an AWS service that this event is: `{"throttlingException": {"message": …}}`, as in a stream of
    events; `{"Error": {"Code": …, "Message": …}}`, the `response` of botocore's EventStreamError; or an error body with
    `__type`.
    """
    raised = _raised_in(top)
    return None if raised is None else _raised(*raised)


def details_in(top: dict[str, msgspec.Raw]) -> bytes | None:
    """The whole error, or exception, that an event reports, if it says more than a failure can hold, else None."""
    raised = _raised_in(top)
    if raised is None:
        return rest_of(top.get("error"))
    name, fields = raised
    if not {key for key, value in fields.items() if present(value)} - _AWS_HELD:
        return None
    return b"{%s:%s}" % (quote(name), compact(msgspec.json.encode(fields)))


def rest_of(error: msgspec.Raw | None) -> bytes | None:
    """The whole error object if it says more than a failure can hold (Groq's `failed_generation`), else None."""
    fields = None if error is None else fields_of(error)
    said = {key for key, value in (fields or {}).items() if present(value)}
    return compact(error) if error is not None and said - _HELD else None


def failure_of(error: msgspec.Raw | bytes, around: dict[str, msgspec.Raw] | None = None) -> Failure:
    """A failure from an error value of any shape; `around` is the event it lies in."""
    around = around or {}
    fields = fields_of(error)
    if fields is not None:
        return _from_fields(fields, around)
    words = text_of(error)
    if words is None:
        words = compact(error).decode()
    outer = {key: value for key, value in around.items() if key in (*_STATUS_FIELDS, *_CODE_FIELDS, "message")}
    return _from_fields({**outer, "message": msgspec.Raw(quote(words))}, {})


def _raised_in(top: dict[str, msgspec.Raw]) -> tuple[str, dict[str, msgspec.Raw]] | None:
    """The exception's name and members."""
    for name, raw in top.items():
        if name.endswith("Exception") and (fields := fields_of(raw)) is not None:
            return name, fields
    error = fields_of(top["Error"]) if "Error" in top else None
    if error is not None and (code := text_of(error.get("Code"))):
        return code, error
    kind = text_of(top.get("__type"))
    # `com.amazon.coral.service#AccessDeniedException:http://…` in older services.
    return (kind.rpartition("#")[2].partition(":")[0], top) if kind else None


def _raised(name: str, fields: dict[str, msgspec.Raw]) -> Failure:
    kind = name[:1].upper() + name[1:]
    status = AWS_STATUS.get(kind)
    # A server behind Bedrock may have failed with a status of its own.
    statuses = {status, integer_of(fields.get("originalStatusCode"))}
    retryable = kind in _AWS_RETRYABLE or not RETRYABLE_STATUS.isdisjoint(statuses)
    message = next((text for key in ("message", "Message") if (text := text_of(fields.get(key)))), name)
    return Failure(message=message, code=name, status=status, retryable=None if status is None else retryable)


def _from_fields(fields: dict[str, msgspec.Raw], around: dict[str, msgspec.Raw]) -> Failure:
    message = next((text for name in _MESSAGE_FIELDS if (text := text_of(fields.get(name)))), None)
    if message is None:
        message = compact(msgspec.json.encode(fields)).decode()
    code = next((word for name in _CODE_FIELDS if (word := text_of(fields.get(name)))), None)
    status = _status(fields) or _status(around)
    words = (code, text_of(fields.get("type")))
    if status is None:
        status = next((STATUS_OF[word] for word in words if word in STATUS_OF), None)
    if not code and status is not None:
        code = str(status)
    retryable = None if status is None else status in RETRYABLE_STATUS and _NOT_RETRYABLE.isdisjoint(words)
    return Failure(message=message, code=code or None, status=status, retryable=retryable)


def _status(fields: dict[str, msgspec.Raw]) -> int | None:
    for name in _STATUS_FIELDS:
        number = integer_of(fields.get(name))
        if number is not None and _ERRORS.start <= number < _ERRORS.stop:
            return number
    return None

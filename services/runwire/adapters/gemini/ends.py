"""What the words mean with which Gemini ends a response, and its errors."""

from typing import Final

import msgspec

from runwire.adapters.failures import RETRYABLE_STATUS, failure_in
from runwire.adapters.gemini.wire import Members
from runwire.adapters.opaque import fields_of, text_of
from runwire.adapters.writing.call import StopKind
from runwire_schemas.raw import Failure

# A word that is neither here nor below ends the call as `stop` and is kept as `raw`.
STOP: Final[dict[str, StopKind]] = {
    "STOP": "stop",
    "MAX_TOKENS": "max_tokens",
    # The server stopped in the middle and would go on if it were asked: what was cut is no answer yet.
    "CONTINUATION": "max_tokens",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
}
_FAILED: Final[dict[str, str]] = {
    "OTHER": "the provider stopped the response for a reason that it does not name",
    "IMAGE_OTHER": "the provider stopped the image for a reason that it does not name",
    "NO_IMAGE": "the model made no image",
    "MALFORMED_FUNCTION_CALL": "the model wrote a function call that the provider could not read",
    "MALFORMED_RESPONSE": "the model wrote a response that the provider could not read",
    "UNEXPECTED_TOOL_CALL": "the model called a tool that it was not given",
    "TOO_MANY_TOOL_CALLS": "the model called too many tools",
    "MISSING_THOUGHT_SIGNATURE": "the request lacks a thought signature",
}
# Enumerations as numbers, which Google's Go client asks for. Vertex counts differently from 6 on; its words 6 to 8 are
# of the same kind.
_NUMBERS: Final = (
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "IMAGE_SAFETY",
)
# Google's words for what went wrong, and the HTTP status that its documentation gives for each.
_STATUS: Final = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ABORTED": 409,
    "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "DATA_LOSS": 500,
    "INTERNAL": 500,
    "UNKNOWN": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


def stopped(word: str) -> StopKind:
    """The kind of a finish reason that is no failure."""
    return STOP.get(_named(word), "stop")


def failed(word: str, message: str) -> Failure | None:
    """The failure that a finish reason is, if it is one. `message`: what the provider says about it."""
    name = _named(word)
    return Failure(message=message or _FAILED[name], code=name) if name in _FAILED else None


def error_in(top: Members) -> Failure | None:
    """The failure that an event reports, if it reports one. Its code is Google's word, its status the number."""
    failure = failure_in(top)
    if failure is None or "error" not in top:
        return failure
    error = fields_of(top["error"]) or {}
    word = next((text for name in ("status", "code") if (text := text_of(error.get(name)))), None)
    status = failure.status or _STATUS.get((word or "").upper())
    retryable = None if status is None else status in RETRYABLE_STATUS
    return msgspec.structs.replace(failure, code=word or failure.code, status=status, retryable=retryable)


def _named(word: str) -> str:
    if word.isdecimal() and len(word) < len(_NUMBERS) and int(word) < len(_NUMBERS):
        return _NUMBERS[int(word)]
    return word.upper()

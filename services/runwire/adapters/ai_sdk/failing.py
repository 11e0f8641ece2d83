"""`error` parts: any value at all, since JavaScript throws any value. The JSON of an Error lacks its message."""

from typing import Final, NamedTuple

import msgspec

from runwire.adapters import failures
from runwire.adapters.ai_sdk.wire import Members, flag_of, inner_of, object_of
from runwire.adapters.opaque import fields_of, present, quote, text_of
from runwire.adapters.writing.call import FailedKind
from runwire_schemas.raw import Failure

# The package's own complaint about one event that it does not understand. The response goes on after it.
_COMPLAINTS: Final = frozenset({"AI_TypeValidationError", "AI_JSONParseError"})
_NAMED: Final = dict.fromkeys(_COMPLAINTS, "the AI SDK could not read an event of the provider")
# With nothing else in it: a stream that ended without a finish reason, as its message would say if it had JSON.
_STOPPED: Final = "AI_InvalidResponseDataError"
# What was asked: no part of the answer, and not for everybody to read.
_REQUEST: Final = "requestBodyValues"
_SILENT: Final = Failure(message="the stream reported an error that does not say what it is", code="provider-error")


class Reported(NamedTuple):
    """One error. `complaint`: the package could not read an event, and the provider reported no error in it.
    `whole`: compact JSON of the error if it says more than the failure does. `kind`: `aborted` if the error is that
    the provider's stream stopped.
    """

    failure: Failure
    complaint: bool = False
    whole: bytes | None = None
    kind: FailedKind = "error"


def reported(error: msgspec.Raw) -> Reported:
    """What the `error` of an error part says."""
    fields = fields_of(error)
    if fields is None:
        return Reported(failures.failure_of(error) if present(error) else _SILENT)
    fields.pop(_REQUEST, None)
    said = {name for name, raw in fields.items() if present(raw)}
    if not said:
        return Reported(_SILENT)
    if said == {"name"} and text_of(fields["name"]) == _STOPPED:
        stopped = failures.cut_off("the provider's stream ended without a finish reason")
        return Reported(stopped, whole=object_of(fields), kind="aborted")
    theirs = _provider_error(fields)
    complaint = theirs is None and text_of(fields.get("name")) in _COMPLAINTS
    whole = object_of(fields)
    more = failures.rest_of(msgspec.Raw(whole)) is not None
    return Reported(_failure(fields, theirs), complaint, whole if more else None)


def _failure(fields: Members, theirs: msgspec.Raw | None) -> Failure:
    """The provider's own words where they can be found, else those of the error, else its name."""
    name = text_of(fields.get("name")) or ""
    around = {key: raw for key, raw in fields.items() if key in _AROUND}
    if "statusCode" in fields:
        around["status"] = fields["statusCode"]
    if theirs is None:
        words = (
            text_of(fields.get("message")) or _cause(fields) or _NAMED.get(name) or name or object_of(fields).decode()
        )
        found = failures.failure_of(object_of({**around, "message": msgspec.Raw(quote(words))}))
    else:
        found = failures.failure_of(theirs, around)
    retryable = flag_of(fields, "isRetryable") if "isRetryable" in fields else found.retryable
    return Failure(message=found.message, code=found.code or name or None, status=found.status, retryable=retryable)


_AROUND: Final = frozenset({"message", "code", "type", "status"})


def _provider_error(fields: Members) -> msgspec.Raw | None:
    """The error that the provider sent, if the package's error holds it: in the event that it could not read, too."""
    value = inner_of(fields, "value")
    for holder in (fields, inner_of(fields, "data"), _body(fields), value, inner_of(value, "delta")):
        if present(holder.get("error")):
            return holder["error"]
    return None


def _body(fields: Members) -> Members:
    """The JSON of the response that failed."""
    try:
        return fields_of((text_of(fields.get("responseBody")) or "").encode(errors="replace")) or {}
    except (msgspec.DecodeError, RecursionError):
        return {}


def _cause(fields: Members) -> str:
    """One level of cause; a validation's cause is a list of complaints, which says nothing to people."""
    cause = inner_of(fields, "cause")
    return "" if text_of(cause.get("name")) == "ZodError" else text_of(cause.get("message")) or ""

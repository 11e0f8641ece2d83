"""How a response begins and ends: what it says of itself, its counts, and the failures it reports."""

from datetime import UTC, datetime
from typing import Final

import msgspec

from runwire.adapters.failures import failure_in, failure_of, rest_of
from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, text_of
from runwire.adapters.openai_responses.items import Items
from runwire.adapters.openai_responses.stage import object_of
from runwire.adapters.openai_responses.wire import NULL, Members, usage_in
from runwire.adapters.writing.call import Call, StopKind
from runwire_schemas.raw import Failure

# Members of a response that are read, or repeat the request: who sent it knows them, and they may be large.
_READ: Final = frozenset(
    {"id", "object", "model", "created_at", "output", "output_text", "usage", "error", "status", "incomplete_details"}
    | {"instructions", "input", "tools", "tool_choice", "text"}
)
_EVENT_READ: Final = frozenset({"type", "response", "sequence_number", "obfuscation", "stream_id"})
# The word in `incomplete_details`. One that is not here ends the call as if it were complete, and is kept as `raw`.
INCOMPLETE: Final[dict[str, StopKind]] = {
    "max_output_tokens": "max_tokens",
    "max_tokens": "max_tokens",
    "length": "max_tokens",
    "content_filter": "content_filter",
}
# The state that each closing event stands for, if the response in it does not say another one.
CLOSING: Final = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
    "response.canceled": "cancelled",
}
_STATES: Final = {
    "completed": "completed",
    "incomplete": "incomplete",
    "failed": "failed",
    "cancelled": "cancelled",
    "canceled": "cancelled",
    "expired": "failed",
}
_CANCELLED: Final = Failure(message="the response was cancelled", code="provider-abort")


class Ends:
    """What one call knows of its response as a whole."""

    def __init__(self, call: Call, items: Items) -> None:
        self._call = call
        self._items = items
        self._model = ""
        self._failures: list[Failure] = []

    @property
    def failing(self) -> bool:
        """An error was reported. What the provider says after it may say more."""
        return bool(self._failures)

    def about(self, top: Members, response: Members) -> None:
        """What a response says of itself: the first id and model, and the last value of everything else."""
        identity, model = text_of(response.get("id")) or "", text_of(response.get("model")) or ""
        if identity and not self._call.response_id:
            self._model = model
            self._call.identify(identity, model, _timestamp(integer_of(response.get("created_at"))))
        elif model != self._model and model:
            self._call.remember("model", compact(response["model"]))
        for name, raw in response.items():
            if name not in _READ and present(raw):
                self._call.remember(name, compact(raw))
        if response is not top:
            for name, raw in top.items():
                if name not in _EVENT_READ and present(raw):
                    self._call.remember(name, compact(raw))

    def closed(self, state: str, response: Members) -> None:
        """The closing event came."""
        usage = response.get("usage", NULL)
        if present(usage):
            self._call.remember("usage", compact(usage))
            self._call.usage = usage_in(usage)
        self._items.finished(items_of(response.get("output", NULL)))
        if present(response.get("error")):
            self._fails(failure_of(response["error"]), response["error"])
        state = _STATES.get(text_of(response.get("status")) or "", state)
        if state == "failed" or self._failures:
            self.fail()
        elif state == "cancelled":
            self._items.close(ended=False)
            self._call.fail(_CANCELLED, "aborted", "cancelled")
        else:
            self._finish(state, fields_of(response.get("incomplete_details", NULL)) or {})

    def error(self, top: Members, data: bytes) -> None:
        """An error event, nested or flat. The call fails when nothing more comes: `response.failed` may say more."""
        self._fails(failure_in(top) or failure_of(data), top.get("error", NULL))

    def fail(self) -> None:
        """The failed end, with the report that says most; others that differ are kept beside it."""
        said = self._failures or [Failure(message="the response failed", code="provider-error")]
        best = max(said, key=_weight)
        for other in said:
            if (other.message, other.code) != (best.message, best.code):
                self._call.beside("raw", {"error": msgspec.json.encode(_said(other))})
        self._items.close(ended=False)
        self._call.fail(best, "error", "failed")

    def cut(self, failure: Failure) -> None:
        """Nothing more comes, and the response has not ended."""
        if self._failures:
            self.fail()
        else:
            self._items.close(ended=False)
            self._call.fail(failure, "aborted")

    def _finish(self, state: str, details: Members) -> None:
        self._items.close(ended=True)
        word = text_of(details.get("reason")) or state
        if details.keys() > {"reason"}:
            self._call.remember("incomplete_details", object_of(details))
        as_usual: StopKind = "tool_calls" if self._items.for_client else "stop"
        self._call.finish(INCOMPLETE.get(word, as_usual), word)

    def _fails(self, failure: Failure, error: msgspec.Raw) -> None:
        rest = rest_of(error)
        if rest is not None:
            self._call.beside("raw", {"error": rest})
        if len(self._failures) < _REPORTS:
            self._failures.append(failure)


# Reports of one failure: an event and the closing one. More say nothing new.
_REPORTS: Final = 8


def _weight(failure: Failure) -> tuple[bool, int]:
    return failure.status is not None, len(failure.message)


def _said(failure: Failure) -> dict[str, str]:
    """What a failure says, as JSON can hold it."""
    words = {"message": failure.message, **({"code": failure.code} if failure.code else {})}
    whole = {name: word.encode("utf-16-le", "surrogatepass") for name, word in words.items()}
    return {name: word.decode("utf-16-le", "replace") for name, word in whole.items()}


def _timestamp(created: int | None) -> str:
    """ISO 8601 from seconds since 1970; "" if there are none."""
    if created is None or not 0 < created < _MAX_CREATED:
        return ""
    return datetime.fromtimestamp(created, UTC).isoformat().replace("+00:00", "Z")


_MAX_CREATED: Final = 10**11  # the year 5138

"""Gemini's Interactions API: events of steps, or of contents as its first version had them, or a whole interaction.

The end is `interaction.completed`; a body without it was cut off, unless a status said that the interaction failed or
was cancelled. `[DONE]`, which follows it, means nothing.
"""

from collections.abc import Callable
from typing import ClassVar, Final, assert_never

import msgspec

from runwire.adapters.base import MAX_EVENT, Framing
from runwire.adapters.failures import cut_off, failure_of
from runwire.adapters.failures import rest_of as rest_of_error
from runwire.adapters.gemini.ends import error_in
from runwire.adapters.gemini.usage import Metered
from runwire.adapters.gemini.wire import object_of, rest_of
from runwire.adapters.gemini_interactions.steps import Steps
from runwire.adapters.gemini_interactions.wire import (
    NULL,
    ArgumentsDelta,
    Members,
    TextDelta,
    counts_in,
    decode_delta,
)
from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, text_of
from runwire.adapters.wire import WireAdapter
from runwire.adapters.writing.call import FailedKind, StopKind
from runwire_schemas.raw import Failure
from runwire_schemas.record import UsageRule

# A status that is neither here nor below ends the call as `stop` and is kept as `raw`.
STOP: Final[dict[str, StopKind]] = {
    "completed": "stop",
    "requires_action": "tool_calls",
    # The answer is not whole: for want of tokens, of money, or since the server would go on if it were asked.
    "incomplete": "max_tokens",
    "budget_exceeded": "max_tokens",
    "requires_continuation": "max_tokens",
}
FAILED: Final[dict[str, tuple[FailedKind, Failure]]] = {
    "failed": ("error", Failure(message="the interaction failed", code="failed")),
    "cancelled": ("aborted", Failure(message="the interaction was cancelled", code="cancelled")),
}
_READ: Final = frozenset({"id", "model", "object", "status", "usage", "steps", "outputs"})
_EVENT_READ: Final = frozenset(
    {"event_type", "event_id", "index", "delta", "step", "content", "interaction", "interaction_id", "status", "usage"}
    | {"metadata", "error"}
)


class GeminiInteractions(WireAdapter):
    """One interaction. Protocols without choices ignore `choice`."""

    provider: ClassVar[str] = "gemini-interactions"
    usage: UsageRule = "required"

    def __init__(self, choice: int = 0, framing: Framing | None = None, *, limit: int = MAX_EVENT) -> None:
        super().__init__(framing, limit)
        del choice
        self._steps = Steps(self._call)
        self._metered = Metered(counts_in)
        self._status = ""
        self._error: Failure | None = None
        self._identified = False
        self._over = False  # the interaction reached its end
        self._call.closing = self._close
        self._handlers: dict[str, Callable[[Members], None]] = {
            "interaction.created": self._created,
            "interaction.start": self._created,
            "interaction.status_update": self._updated,
            "interaction.completed": self._completed,
            "interaction.complete": self._completed,
            "interaction.cancelled": self._cancelled,
        } | {f"{kind}.{what}": handle for kind in ("step", "content") for what, handle in self._on_step().items()}

    def _on_step(self) -> dict[str, Callable[[Members], None]]:
        return {"start": self._step_start, "delta": self._step_delta, "stop": self._step_stop}

    def _read(self, name: str, data: bytes) -> None:
        try:
            event = decode_delta(data)
        except msgspec.ValidationError:
            self._loose(name, data)
            return
        delta = event.delta
        match delta:
            case TextDelta():
                self._steps.text(delta.text)
            case ArgumentsDelta():
                self._steps.arguments(event.index, delta.arguments)
            case _:
                assert_never(delta)
        if event.metadata is not NULL:
            self._counted(event.metadata)

    def _loose(self, name: str, data: bytes) -> None:
        top = fields_of(data)
        if top is None:
            if name == "error":
                self._fail(failure_of(data))
            elif present(msgspec.Raw(data)):
                self._call.beside("raw", {"value": compact(data)})
            return
        kind = text_of(top.get("event_type")) or name
        handle = self._handlers.get(kind)
        failure = error_in(top)
        if handle is not None:
            handle(top)
            self._around(top)
        elif failure is not None or kind == "error":
            self._fail(failure or failure_of(data), rest_of_error(top.get("error")))
        elif "steps" in top or "outputs" in top or text_of(top.get("object")) == "interaction":
            self._completed({"interaction": msgspec.Raw(data)})
        else:
            self._call.beside("raw", {"event": compact(data)})

    def _around(self, top: Members) -> None:
        """What any event may say beside its own: its place in the stream, and what was counted so far."""
        self._counted(top.get("metadata", NULL))
        place = top.get("event_id", NULL)
        if present(place):
            self._call.remember("event_id", compact(place))
        rest = rest_of(top, _EVENT_READ)
        if rest:
            self._call.beside("raw", {"event": object_of(rest)})

    def _counted(self, metadata: msgspec.Raw) -> None:
        members = fields_of(metadata) or {}
        for name in ("usage", "total_usage"):
            if present(members.get(name)):
                self._metered.report(members[name])
        rest = rest_of(members, frozenset({"usage", "total_usage"}))
        if rest:
            self._call.beside("raw", {"metadata": object_of(rest)})

    # Events ---------------------------------------------------------------------------------------------------------

    def _step_start(self, top: Members) -> None:
        self._begin(_index(top), _inner(top, "step") or _inner(top, "content"))

    def _begin(self, index: int, step: Members) -> None:
        self._note_error(step)
        self._steps.start(index, step)

    def _note_error(self, members: Members) -> None:
        """What went wrong, which the interaction's status may confirm."""
        error = members.get("error", NULL)
        if present(error):
            self._error = error_in({"error": error})

    def _step_delta(self, top: Members) -> None:
        self._steps.delta(_index(top), _inner(top, "delta"))

    def _step_stop(self, top: Members) -> None:
        self._steps.stop(_index(top))
        self._metered.report(top.get("usage", NULL))

    def _created(self, top: Members) -> None:
        self._about(_inner(top, "interaction"))

    def _updated(self, top: Members) -> None:
        if not self._identified:
            # A stream that was resumed begins without `interaction.created`.
            self._identify(text_of(top.get("interaction_id")) or "", "", "")
        self._status = text_of(top.get("status")) or self._status
        self._metered.report(top.get("usage", NULL))

    def _cancelled(self, top: Members) -> None:
        self._metered.report(top.get("usage", NULL))
        self._finish("cancelled")

    def _completed(self, top: Members) -> None:
        interaction = _inner(top, "interaction")
        self._about(interaction)
        self._steps.close()
        self._snapshot([*items_of(interaction.get("steps", NULL)), *items_of(interaction.get("outputs", NULL))])
        self._finish(self._status)

    def _about(self, interaction: Members) -> None:
        """What an interaction is said to be, at its beginning and at its end."""
        identity, model = (text_of(interaction.get(name)) or "" for name in ("id", "model"))
        created = interaction.get("created", NULL)
        if not self._identified:
            self._identify(identity, model, text_of(created) or "")
        self._note_error(interaction)
        for name, raw in interaction.items():
            if name not in _READ and present(raw):
                self._call.remember(name, compact(raw))
        self._status = text_of(interaction.get("status")) or self._status
        self._metered.report(interaction.get("usage", NULL))

    def _identify(self, identity: str, model: str, created: str) -> None:
        self._identified = bool(identity)
        self._call.identify(identity, model, created)

    def _snapshot(self, steps: list[msgspec.Raw]) -> None:
        """The steps of an interaction that is over. Those that were streamed are repeated here; others are not."""
        streamed = dict(self._steps.seen)
        for index, raw in enumerate(steps):
            step = fields_of(raw) or {}
            kind = text_of(step.get("type")) or ""
            if streamed.get(kind, 0) > 0:
                streamed[kind] -= 1
            elif not step:
                self._call.beside("raw", {"step": compact(raw)})
            elif kind != "user_input":
                self._begin(index, step)
                self._steps.stop(index)

    # Ends -----------------------------------------------------------------------------------------------------------

    def _end_of_body(self) -> None:
        if self._status in FAILED:
            self._finish(self._status)
        else:
            self._fail(cut_off("it ended before interaction.completed"), None, "aborted")

    def _finish(self, status: str) -> None:
        failed = FAILED.get(status)
        if failed is not None:
            kind, failure = failed
            self._fail(self._error or failure, None, kind, status)
            return
        self._over = True
        reason = STOP.get(status, "stop")
        self._call.finish("tool_calls" if reason == "stop" and self._steps.waiting else reason, status)

    def _fail(self, failure: Failure, rest: bytes | None = None, kind: FailedKind = "error", word: str = "") -> None:
        if rest is not None:
            self._call.beside("raw", {"error": rest})
        self._over = bool(word)
        self._call.fail(failure, kind, word)

    def _close(self) -> None:
        """What was counted so far, whatever ends the call."""
        whole = self._metered.whole
        if whole:
            self._call.remember("usage", whole)
        self._call.usage = self._metered.usage(over=self._over)


def _index(top: Members) -> int:
    return max(0, integer_of(top.get("index")) or 0)


def _inner(members: Members, name: str) -> Members:
    return fields_of(members.get(name, NULL)) or {}

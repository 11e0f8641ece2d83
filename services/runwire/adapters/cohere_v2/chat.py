"""Cohere's /v2/chat.

The end is `message-end`; a body without it was cut off, whatever came before. `[DONE]`, which follows it, means
nothing. An answer that was not streamed is read as well.
"""

from collections.abc import Callable
from typing import ClassVar, Final, assert_never

import msgspec

from runwire.adapters.base import MAX_EVENT, Framing
from runwire.adapters.cohere_v2.content import Content
from runwire.adapters.cohere_v2.wire import NULL, CallDelta, ContentDelta, Members, PlanDelta, decode_delta, usage_of
from runwire.adapters.failures import cut_off, failure_in, failure_of
from runwire.adapters.opaque import compact, fields_of, present, text_of
from runwire.adapters.wire import WireAdapter
from runwire.adapters.writing.call import FailedKind, StopKind
from runwire_schemas.raw import Failure
from runwire_schemas.record import UsageRule

# A reason that is neither here nor below ends the call as `stop` and is kept as `raw`.
STOP: Final[dict[str, StopKind]] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "TOOL_CALL": "tool_calls",
    "MAX_TOKENS": "max_tokens",
    "ERROR_TOXIC": "content_filter",
}
FAILED: Final[dict[str, tuple[FailedKind, Failure]]] = {
    "ERROR": ("error", Failure(message="the provider ended the response with an error", code="ERROR")),
    "TIMEOUT": (
        "error",
        Failure(message="the generation took longer than it may", code="TIMEOUT", status=504, retryable=True),
    ),
    "ERROR_LIMIT": ("error", Failure(message="the context is longer than the model's", code="ERROR_LIMIT")),
    "USER_CANCEL": ("aborted", Failure(message="the generation was cancelled", code="USER_CANCEL")),
}
_END_READ: Final = frozenset({"finish_reason", "usage", "error", "error_type", "delta", "type", "id"})


class CohereV2(WireAdapter):
    """One message. Protocols without choices ignore `choice`."""

    provider: ClassVar[str] = "cohere-v2"
    usage: UsageRule = "required"

    def __init__(self, choice: int = 0, framing: Framing | None = None, *, limit: int = MAX_EVENT) -> None:
        super().__init__(framing, limit)
        del choice
        self._content = Content(self._call)
        self._handlers: dict[str, Callable[[Members], None]] = {
            "message-start": self._message_start,
            "content-start": self._content.start,
            "content-delta": self._content.delta,
            "content-end": self._content.stop,
            "tool-plan-delta": self._content.plan_delta,
            "tool-call-start": self._content.tool_start,
            "tool-call-delta": self._content.tool_delta,
            "tool-call-end": self._content.tool_stop,
            "citation-start": self._content.citation_start,
            "citation-end": self._content.citation_stop,
            "message-end": self._message_end,
        }

    def _read(self, name: str, data: bytes) -> None:
        try:
            event = decode_delta(data)
        except msgspec.ValidationError:
            self._loose(name, data)
            return
        match event:
            case ContentDelta():
                piece = event.delta.message.content
                self._content.pieces(event.index, piece.thinking, piece.text)
            case PlanDelta():
                self._content.plan(event.delta.message.tool_plan)
            case CallDelta():
                self._content.arguments(event.index, event.delta.message.tool_calls.function.arguments)
            case _:
                assert_never(event)

    def _loose(self, name: str, data: bytes) -> None:
        top = fields_of(data)
        if top is None:
            if name == "error":
                self._call.fail(failure_of(data))
            elif present(msgspec.Raw(data)):
                self._call.beside("raw", {"value": compact(data)})
            return
        kind = text_of(top.get("type")) or name
        handle = self._handlers.get(kind)
        if handle is not None:
            handle(top)
        elif (failure := self._failure(kind, top, data)) is not None:
            self._call.fail(failure)
        elif not kind and "message" in top:
            self._whole(top)
        else:
            # `debug` holds the prompt; the others are not known here.
            self._call.beside("raw", {"event": compact(data)})

    def _failure(self, kind: str, top: Members, data: bytes) -> Failure | None:
        """Error bodies are `{"message": "…"}`, some with an id; an event may be one by its name."""
        failed = kind.endswith("error") or (not kind and text_of(top.get("message")) is not None)
        return failure_in(top) or (failure_of(data) if failed else None)

    # Starts and ends ------------------------------------------------------------------------------------------------

    def _message_start(self, top: Members) -> None:
        # A gateway that retries may begin again inside the same body: what follows are new blocks.
        self._content.close()
        self._call.identify(text_of(top.get("id")) or "", "", "")
        delta = fields_of(top.get("delta", NULL)) or {}
        self._content.message(fields_of(delta.get("message", NULL)) or {})

    def _message_end(self, top: Members) -> None:
        self._end({**top, **(fields_of(top.get("delta", NULL)) or {})})

    def _whole(self, top: Members) -> None:
        """An answer that was not streamed."""
        self._message_start({**top, "delta": msgspec.Raw(msgspec.json.encode({"message": top["message"]}))})
        self._end({name: raw for name, raw in top.items() if name != "message"})

    def _end(self, said: Members) -> None:
        for name, raw in said.items():
            if name not in _END_READ and present(raw):
                self._call.remember(name, compact(raw))
        usage = said.get("usage", NULL)
        if present(usage):
            self._call.remember("usage", compact(usage))
            self._call.usage = usage_of(fields_of(usage) or {})
        word = text_of(said.get("finish_reason")) or ""
        failed = self._failed(word, said)
        if failed is not None:
            kind, failure = failed
            self._call.fail(failure, kind, word)
        else:
            reason = STOP.get(word.upper(), "stop")
            self._call.finish("tool_calls" if not word and self._call.has_tools else reason, word)

    def _failed(self, word: str, said: Members) -> tuple[FailedKind, Failure] | None:
        """An error in its own words if it has any, else in those of its kind."""
        known = FAILED.get(word.upper())
        error = said.get("error", NULL)
        if not present(error):
            return known
        own = failure_of(error)
        kind, like = known or ("error", Failure(message="", code=own.code))
        code = text_of(said.get("error_type")) or own.code or like.code
        retryable = like.retryable if own.retryable is None else own.retryable
        return kind, Failure(message=own.message, code=code, status=own.status or like.status, retryable=retryable)

    def _end_of_body(self) -> None:
        self._call.fail(cut_off("it ended before message-end"), "aborted")

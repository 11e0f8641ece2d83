"""Bedrock's ConverseStream, as binary frames, as their decoded lines, and as the dicts that AWS's SDKs hand out.

The end is `messageStop`; a body without it was cut off. `metadata`, with usage, follows it (on one gateway it comes
before), so `finish` waits for both, or for the end of the body. An answer that was not streamed is read as well.
"""

from collections.abc import Callable
from typing import ClassVar, Final

import msgspec

from runwire.adapters.base import MAX_EVENT, Framing
from runwire.adapters.bedrock_converse.blocks import Blocks
from runwire.adapters.bedrock_converse.wire import NULL, Members, decode_event, usage_of
from runwire.adapters.failures import cut_off, details_in, failure_in, failure_of
from runwire.adapters.opaque import compact, fields_of, items_of, present, text_of
from runwire.adapters.wire import WireAdapter
from runwire.adapters.writing.call import StopKind
from runwire_schemas.raw import Failure
from runwire_schemas.record import UsageRule

# A reason that is neither here nor below ends the call as `stop` and is kept as `raw`.
STOP: Final[dict[str, StopKind]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
}
FAILED: Final[dict[str, Failure]] = {
    "malformed_model_output": Failure(
        message="the model's output could not be understood", code="malformed_model_output"
    ),
    "malformed_tool_use": Failure(
        message="the model wrote a tool call that could not be understood", code="malformed_tool_use"
    ),
}
_START_READ: Final = frozenset({"role", "p"})
_STOP_READ: Final = frozenset({"stopReason", "p"})
_WHOLE: Final = "output"
_WHOLE_READ: Final = frozenset({_WHOLE, "stopReason", "p"})


class BedrockConverse(WireAdapter):
    """One message. Protocols without choices ignore `choice`."""

    provider: ClassVar[str] = "bedrock-converse"
    usage: UsageRule = "required"
    joined: ClassVar[bool] = False

    def __init__(self, choice: int = 0, framing: Framing | None = None, *, limit: int = MAX_EVENT) -> None:
        super().__init__(framing, limit)
        del choice
        self._blocks = Blocks(self._call, joined=self.joined)
        self._reason = ""
        self._stopped = False
        self._reported = False
        self._handlers: dict[str, Callable[[Members], None]] = {
            "messageStart": self._message_start,
            "contentBlockStart": self._blocks.start,
            "contentBlockDelta": self._blocks.delta,
            "contentBlockStop": self._blocks.stopped,
            "messageStop": self._message_stop,
            "metadata": self._metadata,
        }

    def _read(self, name: str, data: bytes) -> None:
        try:
            event = decode_event(data)
        except msgspec.ValidationError:
            self._loose(name, data)
            return
        said, stop = event.content_block_delta, event.content_block_stop
        if said is not None:
            index, delta = said.content_block_index, said.delta
            if delta.text is not None:
                self._blocks.text(index, delta.text)
            if delta.reasoning_content is not None:
                self._blocks.reasoning(index, delta.reasoning_content.text)
            if delta.tool_use is not None:
                self._blocks.arguments(index, delta.tool_use.input)
        if stop is not None:
            self._blocks.leave(stop.content_block_index)

    def _loose(self, name: str, data: bytes) -> None:
        top = fields_of(data)
        if top is None:
            if name == "error":
                self._call.fail(failure_of(data))
            elif present(msgspec.Raw(data)):
                self._call.beside("raw", {"value": compact(data)})
            return
        if name in self._handlers and name not in top:
            # As server-sent events: the event's type is its name.
            top = {name: msgspec.Raw(data)}
        if _WHOLE in top:
            self._whole(top)
        else:
            self._events_in(name, top)
        if self._stopped and self._reported:
            self._finish()

    def _events_in(self, name: str, top: Members) -> None:
        failure = failure_in(top) or (failure_of(msgspec.json.encode(top)) if name == "error" else None)
        rest: Members = {}
        for kind, raw in top.items():
            handle = self._handlers.get(kind)
            if handle is not None:
                handle(fields_of(raw) or {})
            elif present(raw) and kind != "p":
                rest[kind] = raw
        if failure is not None:
            details = details_in(top)
            if details is not None:
                self._call.beside("raw", {"error": details})
            self._call.fail(failure)
        elif rest:
            self._call.beside("raw", {"event": compact(msgspec.json.encode(rest))})

    # Starts and ends ------------------------------------------------------------------------------------------------

    def _message_start(self, event: Members) -> None:
        # A gateway that retries may begin again inside the same body: what follows are new blocks.
        self._blocks.close()
        self._facts(event, _START_READ)

    def _message_stop(self, event: Members) -> None:
        self._stopped = True
        self._reason = text_of(event.get("stopReason")) or ""
        self._facts(event, _STOP_READ)

    def _metadata(self, event: Members) -> None:
        self._reported = True
        self._call.usage = usage_of(fields_of(event.get("usage", NULL)) or {}) or self._call.usage
        self._facts(event, frozenset({"p"}))

    def _whole(self, top: Members) -> None:
        """An answer that was not streamed."""
        output = fields_of(top[_WHOLE]) or {}
        message = fields_of(output.get("message", NULL)) or {}
        self._blocks.whole(items_of(message.get("content", NULL)))
        self._metadata({name: raw for name, raw in top.items() if name not in _WHOLE_READ})
        self._message_stop({"stopReason": top.get("stopReason", NULL)})

    def _facts(self, members: Members, read: frozenset[str]) -> None:
        for name, raw in members.items():
            if name not in read and present(raw):
                self._call.remember(name, compact(raw))

    def _finish(self) -> None:
        kind: StopKind = STOP.get(self._reason, "stop")
        self._blocks.close(cut=kind == "max_tokens")
        failure = FAILED.get(self._reason)
        if failure is not None:
            self._call.fail(failure, raw=self._reason)
        else:
            self._call.finish("tool_calls" if not self._reason and self._call.has_tools else kind, self._reason)

    def _end_of_body(self) -> None:
        if self._stopped:
            self._finish()
        else:
            self._call.fail(cut_off("it ended without messageStop"), "aborted", self._reason)

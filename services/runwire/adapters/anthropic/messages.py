"""Anthropic Messages: direct, on Vertex, through gateways, and decoded from Bedrock's InvokeModel.

The end is `message_stop`; a body without it was cut off, whatever came before. `[DONE]`, which one gateway adds,
means nothing.
"""

from collections.abc import Callable
from typing import ClassVar, Final, assert_never

import msgspec

from runwire.adapters.anthropic.blocks import Blocks, Members
from runwire.adapters.anthropic.wire import (
    InputDelta,
    SignatureDelta,
    TextDelta,
    ThinkingDelta,
    decode_delta,
    usage_in,
)
from runwire.adapters.base import MAX_EVENT, Framing
from runwire.adapters.failures import cut_off, details_in, failure_of, raised_in
from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, text_of
from runwire.adapters.wire import WireAdapter
from runwire.adapters.writing.call import StopKind
from runwire_schemas.raw import Usage
from runwire_schemas.record import UsageRule

# A reason that is not here ends the call as `stop` and is kept as `raw`.
STOP: Final[dict[str, StopKind]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "content_filter",
}
# Events that the SDK's stream helper derives from the wire's own (they repeat what was read), and `ping`.
_PASSED_OVER: Final = frozenset({"text", "thinking", "citation", "signature", "input_json", "compaction", "ping"})
# Members of a message and its delta that are read, or say nothing. All others are facts about the response.
_READ: Final = frozenset({"type", "id", "model", "role", "content", "stop_reason", "usage", "delta", "message", "p"})
_BEDROCK: Final = "amazon-bedrock-"
_SURE: Final = 2**53
_MANY: Final = 64
_NULL: Final = msgspec.Raw(b"null")


class Anthropic(WireAdapter):
    """One message. Protocols without choices ignore `choice`."""

    provider: ClassVar[str] = "anthropic"
    usage: UsageRule = "required"

    def __init__(self, choice: int = 0, framing: Framing | None = None, *, limit: int = MAX_EVENT) -> None:
        super().__init__(framing, limit)
        del choice
        self._blocks = Blocks(self._call)
        self._counts: dict[str, int] = {}
        self._said: Members = {}  # all of usage, for the metadata at the end
        self._reason = ""
        self._handlers: dict[str, Callable[[Members], None]] = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
        }

    def _read(self, name: str, data: bytes) -> None:
        try:
            event = decode_delta(data)
        except msgspec.ValidationError:
            self._loose(name, data)
            return
        delta = event.delta
        match delta:
            case TextDelta():
                self._blocks.text(event.index, delta.text)
            case InputDelta():
                self._blocks.arguments(event.index, delta.partial_json)
            case ThinkingDelta():
                self._blocks.thinking(event.index, delta.thinking)
            case SignatureDelta():
                self._blocks.signature(event.index, delta.signature)
            case _:
                assert_never(delta)

    def _loose(self, name: str, data: bytes) -> None:
        top = fields_of(data)
        if top is None:
            if present(msgspec.Raw(data)):
                self._call.beside("raw", {"value": compact(data)})
            return
        kind = text_of(top.get("type")) or name
        for fact in top:
            # Bedrock says in any event what its guardrail did.
            if fact.startswith(_BEDROCK):
                self._call.remember(fact, compact(top[fact]))
        handle = self._handlers.get(kind)
        if handle is not None:
            handle(top)
        elif kind == "error" or present(top.get("error")) or raised_in(top) is not None:
            self._error(top, data)
        elif text_of(top.get("type")) == "message":
            self._whole(top)
        elif kind not in _PASSED_OVER:
            self._call.beside("raw", {"event": compact(data)})

    def _block_start(self, top: Members) -> None:
        self._blocks.start(_index(top), _inner(top, "content_block"))

    def _block_delta(self, top: Members) -> None:
        self._blocks.loose_delta(_index(top), _inner(top, "delta"))

    def _block_stop(self, top: Members) -> None:
        self._blocks.stop(_index(top))

    def _message_start(self, top: Members) -> None:
        message = _inner(top, "message")
        # A gateway that retries may begin again inside the same body: what follows are new blocks.
        self._blocks.close()
        self._call.identify(text_of(message.get("id")) or "", text_of(message.get("model")) or "", "")
        self._about(message)
        content = message.get("content", _NULL)
        for index, raw in enumerate(items_of(content)):
            self._blocks.start(index, fields_of(raw) or {})
            self._blocks.stop(index)
        text = text_of(content)
        if text:
            self._blocks.text(0, text)
            self._blocks.stop(0)
        elif fields_of(content):
            self._call.beside("raw", {"content": compact(content)})

    def _message_delta(self, top: Members) -> None:
        self._about({**top, **_inner(top, "delta")})

    def _about(self, members: Members) -> None:
        """What a message and its delta both tell: the stop reason, usage and facts about the response."""
        self._reason = text_of(members.get("stop_reason")) or self._reason
        for name, raw in members.items():
            if name not in _READ and present(raw):
                self._call.remember(name, compact(raw))
        self._usage(members.get("usage", _NULL))

    def _usage(self, raw: msgspec.Raw) -> None:
        """Counts are totals so far: a later one replaces the earlier one of its name, one left out leaves it."""
        members = fields_of(raw) or {}
        if members:
            # At most what one report holds: names are the provider's to choose.
            self._said = {**self._said, **members} if len(self._said) < _MANY else members
            self._call.remember("usage", compact(msgspec.json.encode(self._said)))
        said = usage_in(members)
        details = said.output_tokens_details
        counts = {
            "input": said.input_tokens,
            "output": said.output_tokens,
            "read": said.cache_read_input_tokens,
            "written": said.cache_creation_input_tokens,
            "reasoning": None if details is None else details.thinking_tokens,
        }
        self._counts.update({name: count for name, count in counts.items() if count is not None and 0 <= count < _SURE})

    def _message_stop(self, top: Members) -> None:
        # Bedrock's metrics lie here. The SDK's stream helper adds the message, which was read before.
        self._about(top)
        self._blocks.close()
        counts = self._counts
        if "input" in counts and "output" in counts:
            self._call.usage = Usage(
                input_tokens=counts["input"],
                output_tokens=counts["output"],
                cache_read_tokens=counts.get("read"),
                cache_write_tokens=counts.get("written"),
                reasoning_tokens=counts.get("reasoning"),
            )
        self._call.finish(STOP.get(self._reason, "stop"), self._reason)

    def _whole(self, top: Members) -> None:
        """An answer that was not streamed."""
        self._message_start({"message": msgspec.Raw(msgspec.json.encode(top))})
        self._message_stop({})

    def _error(self, top: Members, data: bytes) -> None:
        error = top.get("error")
        rest = details_in(top)
        if rest is not None:
            self._call.beside("raw", {"error": rest})
        self._call.fail(raised_in(top) or failure_of(data if error is None else error, top))

    def _end_of_body(self) -> None:
        self._call.fail(cut_off("it ended without message_stop"), "aborted", self._reason)


def _index(top: Members) -> int:
    return integer_of(top.get("index")) or 0


def _inner(members: Members, name: str) -> Members:
    return fields_of(members.get(name, _NULL)) or {}

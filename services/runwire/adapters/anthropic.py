"""Anthropic Messages: direct, on Vertex, through gateways, and decoded from Bedrock's InvokeModel.

The end is `message_stop`; a body without it was cut off, whatever came before. `[DONE]`, which one gateway adds,
means nothing.
"""

from typing import ClassVar, Final

import msgspec

from runwire.adapters.anthropic_wire import (
    BlockDelta,
    InputDelta,
    SignatureDelta,
    TextDelta,
    ThinkingDelta,
    UsageIn,
    decode_delta,
)
from runwire.adapters.base import MAX_EVENT, Framing
from runwire.adapters.call import Block, StopKind
from runwire.adapters.failures import cut_off, failure_of, rest_of
from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, quote, text_of
from runwire.adapters.sources import Sources
from runwire.adapters.wire import WireAdapter
from runwire_schemas.raw import Failure, Usage
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
# Calls that the provider executes itself.
_SERVER_TOOLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
# Events that the SDK's stream helper derives from the wire's own. They repeat what was read before.
_DERIVED: Final = frozenset({"text", "thinking", "citation", "signature", "input_json", "compaction", "ping"})
_BLOCK_READ: Final = frozenset({"type", "text", "citations", "thinking", "signature", "data", "id", "name", "input"})
_RESULT_READ: Final = frozenset({"type", "tool_use_id", "content", "is_error"})
_MESSAGE_META: Final = ("stop_sequence", "stop_details", "container", "context_management", "service_tier")
_SURE: Final = 2**53

Members = dict[str, msgspec.Raw]


class _Open:
    """A block that has begun: `kind` is ours, `block` what is written of it (none for what is kept beside)."""

    __slots__ = ("block", "input", "kind", "type")

    def __init__(self, kind: str, provider_type: str, block: Block | None = None, given: bytes = b"") -> None:
        self.kind = kind
        self.type = provider_type
        self.block = block
        self.input = given  # arguments that came with the block's start


class Anthropic(WireAdapter):
    """One message."""

    provider: ClassVar[str] = "anthropic"
    usage: ClassVar[UsageRule] = "required"

    def __init__(self, framing: Framing | None = None, limit: int = MAX_EVENT) -> None:
        super().__init__(framing, limit)
        self._open: dict[int, _Open] = {}
        self._sources = Sources(self._call)
        self._counts: dict[str, int] = {}
        self._reason = ""
        self._started = False

    # Events ---------------------------------------------------------------------------------------------------------

    def _read(self, name: str, data: bytes) -> None:
        try:
            event = decode_delta(data)
        except msgspec.ValidationError:
            self._other(name, data)
            return
        self._delta(event)

    def _delta(self, event: BlockDelta) -> None:
        delta = event.delta
        match delta:
            case TextDelta():
                self._text(event.index, delta.text)
            case InputDelta():
                self._input(event.index, delta.partial_json)
            case ThinkingDelta():
                self._thinking(event.index, delta.thinking)
            case SignatureDelta():
                self._signature(event.index, delta.signature)

    def _other(self, name: str, data: bytes) -> None:
        top = fields_of(data)
        if top is None:
            self._call.beside("raw", {"value": compact(data)})
            return
        kind = text_of(top.get("type")) or name
        index = integer_of(top.get("index")) or 0
        if kind == "message_start":
            self._message(fields_of(top.get("message", msgspec.Raw(b"null"))) or {})
        elif kind == "content_block_start":
            self._start(index, fields_of(top.get("content_block", msgspec.Raw(b"null"))) or {})
        elif kind == "content_block_delta":
            self._loose_delta(index, fields_of(top.get("delta", msgspec.Raw(b"null"))) or {})
        elif kind == "content_block_stop":
            self._stop(index)
        elif kind == "message_delta":
            self._message_delta(top)
        elif kind == "message_stop":
            self._message_stop(top)
        elif kind == "error" or "error" in top:
            self._error(top, data)
        elif kind not in _DERIVED:
            self._call.beside("raw", {"event": compact(data)})

    def _error(self, top: Members, data: bytes) -> None:
        error = top.get("error")
        rest = rest_of(error)
        if rest is not None:
            self._call.beside("raw", {"error": rest})
        self._call.fail(failure_of(data if error is None else error, top))

    # The message ----------------------------------------------------------------------------------------------------

    def _message(self, message: Members) -> None:
        if self._started:
            # A gateway that retries begins again inside the same body: what follows belongs to new blocks.
            self._close_open()
        self._started = True
        self._call.identify(text_of(message.get("id")) or "", text_of(message.get("model")) or "", "")
        self._about(message)
        for index, raw in enumerate(items_of(message.get("content", msgspec.Raw(b"[]")))):
            self._start(index, fields_of(raw) or {})
            self._stop(index)

    def _message_delta(self, top: Members) -> None:
        delta = fields_of(top.get("delta", msgspec.Raw(b"null"))) or {}
        self._about({**top, **delta})

    def _about(self, members: Members) -> None:
        """What a message and its delta both tell: the stop reason, usage and facts about the response."""
        self._reason = text_of(members.get("stop_reason")) or self._reason
        for name in _MESSAGE_META:
            if present(members.get(name)):
                self._call.meta[name] = compact(members[name])
        usage = members.get("usage")
        if present(usage):
            self._usage(usage or msgspec.Raw(b"{}"))

    def _usage(self, raw: msgspec.Raw) -> None:
        """Counts are totals so far: a later one replaces the earlier one of its name, one left out leaves it."""
        self._call.meta["usage"] = compact(raw)
        said = _usage_in(raw)
        details = said.output_tokens_details
        counts = {
            "input": said.input_tokens,
            "output": said.output_tokens,
            "read": said.cache_read_input_tokens,
            "written": said.cache_creation_input_tokens,
            "reasoning": None if details is None else _first(details.thinking_tokens, details.reasoning_tokens),
        }
        self._counts.update({name: count for name, count in counts.items() if count is not None and 0 <= count < _SURE})

    def _message_stop(self, top: Members) -> None:
        for name, raw in top.items():
            if name not in ("type", "message") and present(raw):
                self._call.meta[name] = compact(raw)
        self._close_open()
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

    def _end_of_body(self) -> None:
        self._call.fail(cut_off("it ended without message_stop"), "aborted", self._reason)

    # Blocks ---------------------------------------------------------------------------------------------------------

    def _start(self, index: int, block: Members) -> None:
        if index in self._open:
            self._stop(index)
        kind = text_of(block.get("type")) or ""
        if kind == "text":
            self._start_text(index, block)
        elif kind == "thinking":
            self._start_thinking(index, block)
        elif kind == "redacted_thinking":
            self._call.redacted(text_of(block.get("data")) or "")
            self._open[index] = _Open("whole", kind)
        elif kind == "tool_use" or kind in _SERVER_TOOLS:
            self._start_tool(index, kind, block)
        elif kind.endswith("tool_result") and "tool_use_id" in block:
            self._result(block)
            self._open[index] = _Open("whole", kind)
        elif kind == "image" and self._image(block):
            self._open[index] = _Open("whole", kind)
        else:
            self._call.beside("raw", {"block": _object(block)})
            self._open[index] = _Open("raw", kind)
            return
        self._rest(block, _RESULT_READ if "tool_use_id" in block else _BLOCK_READ)

    def _start_text(self, index: int, block: Members) -> None:
        self._open[index] = _Open("text", "text", self._call.open_text())
        if text := text_of(block.get("text")):
            self._text(index, text)
        for citation in items_of(block.get("citations", msgspec.Raw(b"null"))):
            self._sources.cited(citation)

    def _start_thinking(self, index: int, block: Members) -> None:
        self._open[index] = _Open("thinking", "thinking", self._call.open_thinking())
        if text := text_of(block.get("thinking")):
            self._thinking(index, text)
        if signature := text_of(block.get("signature")):
            self._call.sign(signature)

    def _start_tool(self, index: int, kind: str, block: Members) -> None:
        given = block.get("input")
        written = self._call.open_tool(
            text_of(block.get("id")) or "", text_of(block.get("name")) or "", executed=kind in _SERVER_TOOLS
        )
        arguments = compact(given) if given is not None and bytes(given) != b"null" else b""
        self._open[index] = _Open("tool", kind, written, arguments)

    def _result(self, block: Members) -> None:
        content = compact(block.get("content", msgspec.Raw(b"null")))
        inner = fields_of(content) or {}
        said = block.get("is_error")
        failed = (text_of(inner.get("type")) or "").endswith("_error")
        is_error = True if failed else None if said is None else bytes(said) == b"true"
        self._call.tool_result(text_of(block.get("tool_use_id")) or "", content, is_error)

    def _image(self, block: Members) -> bool:
        source = fields_of(block.get("source", msgspec.Raw(b"null"))) or {}
        data, url = text_of(source.get("data")), text_of(source.get("url"))
        if data:
            self._call.image(text_of(source.get("media_type")) or "image/*", "data", data)
        elif url:
            self._call.image(text_of(source.get("media_type")) or "image/*", "url", url)
        return bool(data or url)

    def _rest(self, block: Members, read: frozenset[str]) -> None:
        """Members that no block of ours has a place for: an MCP server's name, who called the tool."""
        rest = {name: raw for name, raw in block.items() if name not in read and present(raw)}
        rest = {name: raw for name, raw in rest.items() if not (name == "caller" and compact(raw) == _DIRECT)}
        if not rest:
            return
        key = "tool_use_id" if "tool_use_id" in block else "id"
        about: dict[str, bytes] = {"block": _object(rest)}
        if identity := text_of(block.get(key)):
            about = {"toolCallId": quote(identity), **about}
        self._call.beside("raw", about)

    def _text(self, index: int, text: str) -> None:
        opened = self._open.get(index)
        if opened is None or opened.kind != "text":
            # A provider that begins a block with its delta, or writes another kind into it.
            self._leave(index, opened)
            self._open[index] = _Open("text", "text")
        if text:
            self._call.text(text)

    def _thinking(self, index: int, text: str) -> None:
        opened = self._open.get(index)
        if opened is None or opened.kind != "thinking":
            self._leave(index, opened)
            self._open[index] = _Open("thinking", "thinking")
        if text:
            self._call.thinking(text)

    def _signature(self, index: int, signature: str) -> None:
        opened = self._open.get(index)
        if opened is None or opened.kind != "thinking":
            self._thinking(index, "")
        if signature:
            self._call.sign(signature)

    def _input(self, index: int, text: str) -> None:
        opened = self._open.get(index)
        if opened is None or opened.kind != "tool" or opened.block is None:
            if text:
                message = f"arguments of a tool call came without the call (block {index})"
                self._call.fail(Failure(message=message, code="tool-name-missing"))
        elif text:
            self._call.tool_arguments(opened.block, text)

    def _loose_delta(self, index: int, delta: Members) -> None:
        kind = text_of(delta.get("type")) or ""
        said = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}.get(kind)
        text = text_of(delta.get(said or ""))
        part = text_of(delta.get("partial_json"))
        if kind == "citations_delta" and "citation" in delta:
            self._sources.cited(delta["citation"])
        elif kind == "input_json_delta" and part is not None:
            self._input(index, part)
        elif text is None:
            self._call.beside("raw", {"delta": _object(delta), "index": b"%d" % index})
        else:
            write = {"text": self._text, "thinking": self._thinking, "signature": self._signature}
            write[said or "text"](index, text)
        extra = {name: raw for name, raw in delta.items() if name not in _DELTA_READ and present(raw)}
        if text is not None and extra:
            self._call.beside("raw", {"delta": _object(extra), "index": b"%d" % index})

    def _leave(self, index: int, opened: _Open | None) -> None:
        if opened is not None and opened.kind == "tool":
            self._stop(index)

    def _stop(self, index: int) -> None:
        opened = self._open.pop(index, None)
        if opened is None:
            return
        if opened.kind == "text":
            self._call.end_text()
        elif opened.kind == "thinking":
            self._call.end_thinking()
        elif opened.kind == "tool" and opened.block is not None:
            self._call.end_tool(opened.block, opened.input)

    def _close_open(self) -> None:
        for index in list(self._open):
            self._stop(index)


_DIRECT: Final = b'{"type":"direct"}'
_DELTA_READ: Final = frozenset({"type", "text", "thinking", "signature", "estimated_tokens"})


def _object(members: Members) -> bytes:
    return compact(msgspec.json.encode(members))


def _first(*numbers: int | None) -> int | None:
    return next((number for number in numbers if number is not None), None)


def _usage_in(raw: msgspec.Raw) -> UsageIn:
    """`usage`, leaving out what is no integer."""
    try:
        return msgspec.json.decode(bytes(raw), type=UsageIn)
    except msgspec.ValidationError:
        members = fields_of(raw) or {}
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        return UsageIn(**{name: integer_of(members.get(name)) for name in names})

"""Cohere's Command R on Bedrock: Cohere's chat, version 1, whose events say their `event_type`.

The end is `stream-end`, which repeats the whole answer: of that only what did not come before is taken.
"""

from collections.abc import Callable
from typing import ClassVar, Final, Literal

import msgspec

from runwire.adapters.base import MAX_EVENT, Framing
from runwire.adapters.bedrock_invoke.told import NULL, Members, Told
from runwire.adapters.cohere_v2.chat import FAILED, STOP
from runwire.adapters.cohere_v2.wire import usage_of
from runwire.adapters.failures import cut_off, details_in, failure_in, failure_of
from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, text_of
from runwire.adapters.wire import WireAdapter
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.sources import Sources
from runwire.adapters.writing.writer import Block
from runwire_schemas.record import UsageRule

_EVENT_READ: Final = frozenset({"event_type", "is_finished", "text", "generation_id"})
_END_READ: Final = frozenset({*_EVENT_READ, "finish_reason", "response", "error"})
# Of the answer as a whole; `chat_history` is what was asked, and the answer once more.
_WHOLE_READ: Final = frozenset(
    {"text", "generation_id", "response_id", "chat_history", "finish_reason", "tool_calls", "citations", "meta"}
)
_CALL_READ: Final = frozenset({"name", "parameters", "index", "id"})


class _Text(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    event_type: Literal["text-generation"]
    text: str
    is_finished: bool = False


class CommandR(WireAdapter):
    """One answer. Protocols without choices ignore `choice`."""

    provider: ClassVar[str] = "bedrock-invoke"
    usage: UsageRule = "optional"

    def __init__(self, choice: int = 0, framing: Framing | None = None, *, limit: int = MAX_EVENT) -> None:
        super().__init__(framing, limit)
        del choice
        self._told = Told(self._call)
        self._sources = Sources(self._call)
        self._tools = _Tools(self._call)
        self._cited = False
        self._handlers: dict[str, Callable[[Members], None]] = {
            "stream-start": self._stream_start,
            "text-generation": self._text,
            "citation-generation": self._citations,
            "tool-calls-chunk": self._tool_chunk,
            "tool-calls-generation": self._tool_calls,
            "stream-end": self._stream_end,
        }

    def _read(self, name: str, data: bytes) -> None:
        try:
            event = decode_text(data)
        except msgspec.ValidationError:
            self._loose(name, data)
            return
        if event.text:
            self._call.text(event.text)

    def _loose(self, name: str, data: bytes) -> None:
        top = fields_of(self._told.without(data))
        if top is None:
            if name == "error":
                self._call.fail(failure_of(data))
            elif present(msgspec.Raw(data)):
                self._call.beside("raw", {"value": compact(data)})
            return
        failure = failure_in(top) or (failure_of(data) if name == "error" else None)
        if failure is not None:
            details = details_in(top)
            if details is not None:
                self._call.beside("raw", {"error": details})
            self._call.fail(failure)
            return
        handle = self._handlers.get(text_of(top.get("event_type")) or "")
        if handle is not None:
            handle(top)
        elif top:
            # Search queries and their results, and what is not known here.
            self._call.beside("raw", {"event": compact(msgspec.json.encode(top))})

    def _stream_start(self, top: Members) -> None:
        self._call.identify(text_of(top.get("generation_id")) or "", "", "")
        self._rest(top, _EVENT_READ)

    def _text(self, top: Members) -> None:
        if text := text_of(top.get("text")):
            self._call.text(text)
        self._rest(top, _EVENT_READ)

    def _citations(self, top: Members) -> None:
        for citation in items_of(top.get("citations", NULL)):
            self._cited = True
            self._sources.grounded(citation)
        self._rest(top, _EVENT_READ | {"citations"})

    def _tool_chunk(self, top: Members) -> None:
        """Pieces of a call, or of what the model writes before it."""
        if text := text_of(top.get("text")):
            self._call.text(text)
        delta = fields_of(top.get("tool_call_delta", NULL))
        if delta is not None:
            self._tools.delta(delta)
            self._rest(delta, _CALL_READ)
        self._rest(top, _EVENT_READ | {"tool_call_delta"})

    def _tool_calls(self, top: Members) -> None:
        """All calls; the text before them too, if its pieces did not come."""
        text = text_of(top.get("text"))
        if text and not self._call.opened:
            self._call.text(text)
        self._tools.whole(items_of(top.get("tool_calls", NULL)))
        self._rest(top, _EVENT_READ | {"tool_calls"})

    def _stream_end(self, top: Members) -> None:
        response = fields_of(top.get("response", NULL)) or {}
        text = text_of(response.get("text"))
        if text and b"text" not in self._call.kinds:
            self._call.text(text)
        self._tools.whole(items_of(response.get("tool_calls", NULL)))
        if not self._cited:
            self._citations({"citations": response.get("citations", NULL)})
        meta = response.get("meta", NULL)
        if present(meta):
            self._call.remember("meta", compact(meta))
            self._call.usage = self._call.usage or usage_of(fields_of(meta) or {})
        self._rest(response, _WHOLE_READ)
        self._rest(top, _END_READ)
        self._finish(text_of(top.get("finish_reason")) or text_of(response.get("finish_reason")) or "")

    def _finish(self, word: str) -> None:
        failed = FAILED.get(word.upper())
        if failed is not None:
            kind, failure = failed
            self._call.fail(failure, kind, word)
            return
        reason = STOP.get(word.upper(), "stop")
        # Version 1 knows no word for it.
        self._call.finish("tool_calls" if reason == "stop" and self._call.has_tools else reason, word)

    def _rest(self, members: Members, read: frozenset[str]) -> None:
        rest = {name: raw for name, raw in members.items() if name not in read and present(raw)}
        if rest:
            self._call.beside("raw", {"event": compact(msgspec.json.encode(rest))})

    def _end_of_body(self) -> None:
        self._call.fail(cut_off("it ended before stream-end"), "aborted")


class _Tools:
    """Calls by the index of their pieces, or whole. Version 1 gives no ids."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._index = -1
        self._block: Block | None = None
        self._any = False

    def delta(self, delta: Members) -> None:
        index, name = integer_of(delta.get("index")) or 0, text_of(delta.get("name")) or ""
        if self._block is None or index != self._index:
            self.close()
            self._block = self._call.open_tool(text_of(delta.get("id")) or "", name)
            self._index, self._any = index, True
        elif name:
            self._call.name_tool(self._block, name)
        if text := text_of(delta.get("parameters")):
            self._call.tool_arguments(self._block, text)

    def whole(self, calls: list[msgspec.Raw]) -> None:
        """The calls, unless they came in pieces or whole before: then the last one is over."""
        self.close()
        if self._any:
            return
        for raw in calls:
            call = fields_of(raw) or {}
            parameters = call.get("parameters", NULL)
            block = self._call.open_tool(text_of(call.get("id")) or "", text_of(call.get("name")) or "")
            self._call.end_tool(block, compact(parameters) if present(parameters) else b"{}")
            self._any = True

    def close(self) -> None:
        block, self._block = self._block, None
        if block is not None:
            self._call.end_tool(block, b"{}")


decode_text = msgspec.json.Decoder(_Text).decode

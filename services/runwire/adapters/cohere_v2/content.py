"""What a message of Cohere holds: text, reasoning, the plan for its tools, tool calls and citations."""

from collections.abc import Mapping
from typing import Final

import msgspec

from runwire.adapters.cohere_v2.wire import NULL, Members
from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, text_of, unread
from runwire.adapters.writing.call import MAX_OPEN_TOOLS, Call
from runwire.adapters.writing.sources import Sources
from runwire.adapters.writing.writer import Block

# Members that are read, and what the JSON of their shapes begins with (`b""`: any).
_CONTENT_READ: Final = {"type": b"", "text": b'"', "thinking": b'"'}
_CALL_READ: Final = {"function": b"{", "type": b"", "id": b'"'}
_FUNCTION_READ: Final = {"name": b'"', "arguments": b""}
_MESSAGE_READ: Final = {"role": b"", "content": b'["', "tool_plan": b'"', "tool_calls": b"[", "citations": b"["}
_EVENT_READ: Final = {"type": b"", "index": b"", "delta": b"{"}
_DELTA_READ: Final = {"message": b"{"}
_PARTS: Final = b"{["
# The plan has no index of its own: no content block has this one.
_PLAN: Final = -1
_NOWHERE: Final = -2


class Content:
    """The parts of one message, by the index that their events give."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._sources = Sources(call)
        self._at = _NOWHERE  # which content block is open
        self._tools: dict[int, Block] = {}

    # Text, reasoning and the plan -----------------------------------------------------------------------------------

    def start(self, top: Members) -> None:
        """`content-start`."""
        self._start(_index(top), _inner(top, "content"), top)

    def delta(self, top: Members) -> None:
        """A `content-delta` that has more in it than text or reasoning."""
        index, content = _index(top), _inner(top, "content")
        self.pieces(index, text_of(content.get("thinking")), text_of(content.get("text")))
        self._rest("content", content, _CONTENT_READ)
        self._around(top, "content")

    def pieces(self, index: int, thinking: str | None, text: str | None) -> None:
        """The usual `content-delta`."""
        if index != self._at:
            # Its start did not come, or another block's events lie between.
            self._leave()
            self._at = index
        if thinking:
            self._call.thinking(thinking)
        if text:
            self._call.text(text)

    def stop(self, top: Members) -> None:
        """`content-end`."""
        if _index(top) == self._at:
            self._leave()
        self._around(top, "")

    def plan_delta(self, top: Members) -> None:
        """A `tool-plan-delta` that has more in it than the plan."""
        self.plan(text_of(_message(top).get("tool_plan")) or "")
        self._around(top, "tool_plan")

    def plan(self, text: str) -> None:
        """What the model thinks about the tools that it is going to call: reasoning."""
        if self._at != _PLAN:
            self._leave()
            self._at = _PLAN
            # It has to be sent back under its own name.
            self._call.remember("reasoningIs", b'"tool_plan"')
        if text:
            self._call.thinking(text)

    def _start(self, index: int, content: Members, around: Members) -> None:
        self._leave()
        self._at = index
        kind = text_of(content.get("type"))
        if kind == "thinking":
            self._call.open_thinking()
        elif kind == "text":
            self._call.open_text()
        self.pieces(index, text_of(content.get("thinking")), text_of(content.get("text")))
        if kind in ("text", "thinking"):
            self._rest("content", content, _CONTENT_READ)
        elif content:
            # A kind that is not known here: kept whole.
            self._call.beside("raw", {"content": _object(content)})
        self._around(around, "content")

    def _leave(self) -> None:
        self._call.end_text()
        self._call.end_thinking()
        self._at = _NOWHERE

    # Tool calls -----------------------------------------------------------------------------------------------------

    def tool_start(self, top: Members) -> None:
        """`tool-call-start`."""
        self._tool(_index(top), _inner(top, "tool_calls"))
        self._around(top, "tool_calls")

    def tool_delta(self, top: Members) -> None:
        """A `tool-call-delta` that has more in it than arguments."""
        call = _inner(top, "tool_calls")
        self._piece(_index(top), fields_of(call.get("function", NULL)) or {})
        self._rest("toolCall", call, _CALL_READ)
        self._around(top, "tool_calls")

    def arguments(self, index: int, text: str) -> None:
        """The usual `tool-call-delta`."""
        block = self._tools.get(index)
        if block is None:
            if not text:
                return
            # Its start did not come. The call fails for want of a name when it ends.
            block = self._open(index, "", "")
        if text:
            self._call.tool_arguments(block, text)

    def tool_stop(self, top: Members) -> None:
        """`tool-call-end`. A call without arguments has an empty object."""
        block = self._tools.pop(_index(top), None)
        if block is not None:
            self._call.end_tool(block, b"{}")
        self._around(top, "")

    def _tool(self, index: int, call: Members) -> None:
        function = fields_of(call.get("function", NULL)) or {}
        self._open(index, text_of(call.get("id")) or "", text_of(function.get("name")) or "")
        self._piece(index, function)
        self._rest("toolCall", call, _CALL_READ)

    def _piece(self, index: int, function: Members) -> None:
        """A function's arguments: text, or an object, whose JSON is the text."""
        raw = function.get("arguments", NULL)
        text = text_of(raw)
        self.arguments(index, compact(raw).decode() if text is None and present(raw) else text or "")
        self._rest("toolCall", function, _FUNCTION_READ)

    def _open(self, index: int, identity: str, name: str) -> Block:
        self._leave()
        earlier = self._tools.pop(index, None)
        if earlier is not None:
            self._call.end_tool(earlier, b"{}")
        if len(self._tools) >= MAX_OPEN_TOOLS:
            oldest = next(iter(self._tools))
            self._call.end_tool(self._tools.pop(oldest), b"{}")
        block = self._call.open_tool(identity, name)
        self._tools[index] = block
        return block

    # Citations and what else a message has --------------------------------------------------------------------------

    def citation_start(self, top: Members) -> None:
        """`citation-start`: what an answer says, and the documents or tool results that say it."""
        message = _message(top)
        found = message.get("citations", NULL)
        for citation in items_of(found) or [found]:
            self._sources.grounded(citation)
        self._around(top, "citations")

    def citation_stop(self, top: Members) -> None:
        """`citation-end`."""
        self._around(top, "")

    def message(self, message: Members) -> None:
        """What a message has as a whole: nothing where it is streamed, all of an answer that came in one piece."""
        plan = text_of(message.get("tool_plan"))
        if plan:
            self.plan(plan)
            self._leave()
        for index, raw in enumerate(items_of(message.get("content", NULL))):
            content = fields_of(raw)
            if content is not None:
                self._start(index, content, {})
                self._leave()
        text = text_of(message.get("content"))
        if text:
            self._call.text(text)
            self._leave()
        for index, raw in enumerate(items_of(message.get("tool_calls", NULL))):
            self._tool(index, fields_of(raw) or {})
            self._call.end_tool(self._tools.pop(index), b"{}")
        for citation in items_of(message.get("citations", NULL)):
            self._sources.grounded(citation)
        self._rest("message", message, _MESSAGE_READ)

    def close(self) -> None:
        """The message is over, or another begins in its place."""
        self._leave()
        self._tools.clear()

    def _around(self, top: Members, read: str) -> None:
        """Members beside the one that was read: `logprobs`, and whatever is not known here."""
        self._rest("event", top, _EVENT_READ)
        delta = fields_of(top.get("delta", NULL)) or {}
        self._rest("delta", delta, _DELTA_READ)
        self._rest("message", _message(top), {"role": b"", read: b'"' if read == "tool_plan" else _PARTS})

    def _rest(self, level: str, members: Members, read: Mapping[str, bytes]) -> None:
        rest = unread(members, read)
        if rest:
            self._call.beside("raw", {level: _object(rest)})


def _index(top: Members) -> int:
    return max(0, integer_of(top.get("index")) or 0)


def _message(top: Members) -> Members:
    delta = fields_of(top.get("delta", NULL)) or {}
    return fields_of(delta.get("message", NULL)) or {}


def _inner(top: Members, name: str) -> Members:
    """`delta.message.<name>`, which is one part and not a list."""
    raw = _message(top).get(name, NULL)
    one = next(iter(items_of(raw)), raw)
    return fields_of(one) or {}


def _object(members: Members) -> bytes:
    return compact(msgspec.json.encode(members))

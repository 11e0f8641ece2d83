"""The content blocks of one Anthropic message, by the index that its events give."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from runwire.adapters.opaque import compact, fields_of, items_of, present, quote, text_of, unread
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.sources import Sources
from runwire.adapters.writing.writer import MAX_BLOCKS, Block
from runwire_schemas.raw import Failure

Members = dict[str, msgspec.Raw]

# Calls that the provider executes itself.
_SERVER_TOOLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
# Members that are read, and what the JSON of their shapes begins with.
_BLOCK_READ: Final = {
    **dict.fromkeys(("type", "text", "thinking", "signature", "data", "id", "name"), b'"'),
    "citations": b"[",
    "input": b"",
}
_RESULT_READ: Final = {"type": b'"', "tool_use_id": b'"', "content": b"", "is_error": b"tf"}
_DELTA_READ: Final = frozenset({"type", "text", "thinking", "signature", "estimated_tokens"})
_DIRECT: Final = b'{"type":"direct"}'
_NULL: Final = msgspec.Raw(b"null")


class _Open(NamedTuple):
    """A block that has begun. `kind` is ours, or `beside` for what is kept beside, or `whole` for what is over."""

    kind: str
    block: Block | None = None  # of a tool call
    given: bytes = b""  # its arguments, if they came with its start


class Blocks:
    """Starts, deltas and stops of blocks, written to the call."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._sources = Sources(call)
        self._open: dict[int, _Open] = {}
        self._prose: int | None = None  # whose text or reasoning the call has open

    def start(self, index: int, block: Members) -> None:
        """`content_block_start`, or an element of a message that came whole."""
        self.stop(index)
        if len(self._open) > MAX_BLOCKS:
            self._call.fail(Failure(message="the response has too many open blocks", code="too-many-blocks"))
        kind = text_of(block.get("type")) or ""
        if kind == "text":
            self._start_text(index, block)
        elif kind == "thinking":
            self._start_thinking(index, block)
        elif kind == "tool_use" or kind in _SERVER_TOOLS:
            self._start_tool(index, block, executed=kind in _SERVER_TOOLS)
        elif not self._whole(kind, block):
            # A kind that is not known here: kept with all that follows under its index.
            self._call.beside("raw", {"block": _object(block)})
            self._open[index] = _Open("beside")
            return
        else:
            self._open[index] = _Open("whole")
        self._rest(block, _RESULT_READ if "tool_use_id" in block else _BLOCK_READ)

    def text(self, index: int, text: str) -> None:
        opened = self._open.get(index)
        if opened is None or opened.kind != "text":
            # Some providers begin a block with its delta; others may write another kind into it.
            self._leave(index, opened)
            self._open[index] = _Open("text")
        if index != self._prose:
            self._turn(index)
        if text:
            self._call.text(text)

    def thinking(self, index: int, text: str) -> None:
        opened = self._open.get(index)
        if opened is None or opened.kind != "thinking":
            self._leave(index, opened)
            self._open[index] = _Open("thinking")
        if index != self._prose:
            self._turn(index)
        if text:
            self._call.thinking(text)

    def signature(self, index: int, signature: str) -> None:
        self.thinking(index, "")
        if signature:
            self._call.sign(signature)

    def arguments(self, index: int, text: str) -> None:
        opened = self._open.get(index)
        if not text:
            return
        if opened is None or opened.block is None:
            message = f"arguments of a tool call came without the call (block {index})"
            self._call.fail(Failure(message=message, code="tool-name-missing"))
        else:
            self._call.tool_arguments(opened.block, text)

    def loose_delta(self, index: int, delta: Members) -> None:
        """A delta that is none of the usual ones, or has more in it."""
        kind = text_of(delta.get("type")) or ""
        name = _TEXT_OF.get(kind, "")
        text = text_of(delta.get(name))
        if kind == "citations_delta" and "citation" in delta:
            self._sources.cited(delta["citation"])
        elif kind == "input_json_delta" and (part := text_of(delta.get("partial_json"))) is not None:
            self.arguments(index, part)
        elif text is None:
            self._call.beside("raw", {"delta": _object(delta), "index": b"%d" % index})
        else:
            write = self.text if name == "text" else self.thinking if name == "thinking" else self.signature
            write(index, text)
            extra = {name: raw for name, raw in delta.items() if name not in _DELTA_READ and present(raw)}
            if extra:
                self._call.beside("raw", {"delta": _object(extra), "index": b"%d" % index})

    def stop(self, index: int) -> None:
        """`content_block_stop`; one without a start means nothing."""
        opened = self._open.pop(index, None)
        if opened is None:
            return
        if opened.block is not None:
            self._call.end_tool(opened.block, opened.given)
        elif index == self._prose:
            self._turn(None)

    def close(self) -> None:
        """The message is over, or another begins in its place: ends what was not stopped."""
        for index in list(self._open):
            self.stop(index)

    def _turn(self, index: int | None) -> None:
        """What follows is of this block. Blocks may overlap: no text is written into another one."""
        self._call.end_text()
        self._call.end_thinking()
        self._prose = index

    def _start_text(self, index: int, block: Members) -> None:
        self._turn(index)
        self._call.open_text()
        self._open[index] = _Open("text")
        self.text(index, text_of(block.get("text")) or "")
        for citation in items_of(block.get("citations", _NULL)):
            self._sources.cited(citation)

    def _start_thinking(self, index: int, block: Members) -> None:
        self._turn(index)
        self._call.open_thinking()
        self._open[index] = _Open("thinking")
        self.thinking(index, text_of(block.get("thinking")) or "")
        self.signature(index, text_of(block.get("signature")) or "")

    def _start_tool(self, index: int, block: Members, *, executed: bool) -> None:
        name, identity = text_of(block.get("name")) or "", text_of(block.get("id")) or ""
        given = block.get("input", _NULL)
        written = self._call.open_tool(identity, name, executed=executed)
        self._open[index] = _Open("tool", written, b"" if bytes(given) == b"null" else compact(given))

    def _whole(self, kind: str, block: Members) -> bool:
        """Blocks that have no deltas. False for a kind that is not known."""
        if kind == "redacted_thinking":
            self._call.redacted(text_of(block.get("data")) or "")
            return True
        if kind.endswith("tool_result") and "tool_use_id" in block:
            self._result(block)
            return True
        return kind == "image" and self._image(block)

    def _result(self, block: Members) -> None:
        content = compact(block.get("content", _NULL))
        inner = fields_of(content) or {}
        said = block.get("is_error")
        failed = (text_of(inner.get("type")) or "").endswith("_error")
        is_error = True if failed else None if said is None else bytes(said) == b"true"
        self._call.tool_result(text_of(block.get("tool_use_id")) or "", content, is_error=is_error)

    def _image(self, block: Members) -> bool:
        source = fields_of(block.get("source", _NULL)) or {}
        media_type = text_of(source.get("media_type")) or "image/*"
        data, url = text_of(source.get("data")), text_of(source.get("url"))
        if data:
            self._call.image(media_type, "data", data)
        elif url:
            self._call.image(media_type, "url", url)
        return bool(data or url)

    def _rest(self, block: Members, read: Mapping[str, bytes]) -> None:
        """Members that no block of ours has a place for: an MCP server's name, who called the tool."""
        rest = unread(block, read)
        if "caller" in rest and compact(rest["caller"]) == _DIRECT:
            del rest["caller"]
        if not rest:
            return
        identity = text_of(block.get("tool_use_id")) or text_of(block.get("id"))
        about = {} if identity is None else {"toolCallId": quote(identity)}
        self._call.beside("raw", {**about, "block": _object(rest)})

    def _leave(self, index: int, opened: _Open | None) -> None:
        """Another kind of delta came under this index. What it was ends, so that nothing is mixed."""
        if opened is not None:
            self.stop(index)


_TEXT_OF: Final = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


def _object(members: Members) -> bytes:
    return compact(msgspec.json.encode(members))

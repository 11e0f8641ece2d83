"""The raw chunks of one call, written so that they obey the raw grammar whatever the provider does.

Every rule of the grammar that an adapter could break is kept here, once: indices count up and are never used again,
a block's end repeats exactly what its deltas said, usage comes once and before a successful finish, `finish` comes
once and last, and no chunk is larger than a raw chunk may be.
"""

from typing import Final, Literal

import msgspec

from runwire.adapters.base import Emitted
from runwire.adapters.opaque import compact, quote
from runwire_schemas.raw import Failure, Usage

# A raw chunk may have 1 MiB. A block's end repeats the block, so a longer text goes on in a block of its own, and a
# delta is cut so that the two together stay below, whatever JSON escapes make of it (six bytes a character at most).
MAX_RAW: Final = 1024 * 1024
MAX_BLOCK: Final = 640 * 1024
MAX_DELTA: Final = 32 * 1024
MAX_AGENT: Final = 8 * 1024 * 1024
# A call may have 1,024 blocks. Near the end text and reasoning stay open beside each other, so that a model that
# alternates between them needs no more blocks.
MAX_BLOCKS: Final = 1024
MANY_BLOCKS: Final = 900
# At most 256 may be open; tool calls are kept open since their arguments may interleave.
MAX_OPEN_TOOLS: Final = 200
MAX_MESSAGE: Final = 16 * 1024

StopKind = Literal["stop", "tool_calls", "max_tokens", "content_filter"]

_HIGH: Final = ("\ud800", "\udbff")


class Block:
    """An open block: what was sent of it, as JSON string content without its quotes."""

    __slots__ = ("carry", "id", "index", "name", "pieces", "prefix", "redacted", "signature", "size", "told")

    def __init__(self, index: int, prefix: bytes) -> None:
        self.index = index
        self.prefix = prefix
        self.pieces: list[bytes] = []
        self.size = 0
        self.carry = ""  # half a surrogate pair whose other half is still to come
        self.id = ""
        self.name = ""
        self.told = False  # the name has been sent
        self.signature = ""
        self.redacted = ""


class Call:
    """Writes one call. `take` hands out what was written since the last time."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.finished = False
        self.usage: Usage | None = None
        self.meta: dict[str, bytes] = {}  # what the provider said about the response, for its metadata at the end
        self.response_id = ""
        self._model = ""
        self._out: list[Emitted] = []
        self._waiting: list[bytes] = []  # agent chunks that wait for the call's first raw chunk
        self._begun = False
        self._opened = 0
        self._text: Block | None = None
        self._thinking: Block | None = None
        self._tools: dict[int, Block] = {}
        self._ids: set[str] = set()

    def take(self) -> list[Emitted]:
        out = self._out
        self._out = []
        return out

    @property
    def empty(self) -> bool:
        """No block was opened so far."""
        return self._opened == 0

    @property
    def has_tools(self) -> bool:
        return bool(self._ids)

    # Text and reasoning ---------------------------------------------------------------------------------------------

    def text(self, text: str) -> None:
        """More answer text. It closes reasoning that is open."""
        if self._thinking is not None and self._opened < MANY_BLOCKS:
            self.end_thinking()
        block = self._text
        if block is None or block.size > MAX_BLOCK:
            block = self.open_text()
        self._delta(block, text)

    def open_text(self) -> Block:
        """Begins a text block even if no text follows, as some providers do."""
        self.end_text()
        self._text = self._open(b"text", b"text-delta")
        return self._text

    def end_text(self) -> None:
        block, self._text = self._text, None
        if block is not None:
            self._end(block, b'{"kind":"text","text":"%s"}' % self._content(block))

    def thinking(self, text: str) -> None:
        """More reasoning. It closes text that is open."""
        if self._text is not None and self._opened < MANY_BLOCKS:
            self.end_text()
        block = self._thinking
        if block is None or block.size > MAX_BLOCK:
            block = self.open_thinking()
        self._delta(block, text)

    def open_thinking(self) -> Block:
        self.end_thinking()
        self._thinking = self._open(b"thinking", b"thinking-delta")
        return self._thinking

    def sign(self, signature: str) -> None:
        """The signature of the reasoning that is open, or of an empty one."""
        block = self._thinking or self.open_thinking()
        block.signature = signature

    @property
    def signed(self) -> bool:
        return self._thinking is not None and self._thinking.signature != ""

    def redacted(self, data: str) -> None:
        """Reasoning that only the provider can read: a block of its own."""
        if self._opened < MANY_BLOCKS:
            self.end_text()
        self.open_thinking().redacted = data
        self.end_thinking()

    def end_thinking(self) -> None:
        block, self._thinking = self._thinking, None
        if block is None:
            return
        body = b'{"kind":"thinking","text":"%s"' % self._content(block)
        if block.signature:
            body += b',"signature":' + quote(block.signature)
        if block.redacted:
            body += b',"redacted":' + quote(block.redacted)
        self._end(block, body + b"}")

    def _delta(self, block: Block, text: str) -> None:
        if len(text) > MAX_DELTA:
            for start in range(0, len(text), MAX_DELTA):
                self._delta(self._room(block), text[start : start + MAX_DELTA])
            return
        try:
            piece = _encode(text) if not block.carry else self._repair(block, text)
        except UnicodeEncodeError:
            piece = self._repair(block, text)
        self._out.append(Emitted("provider", block.prefix + piece + b"}"))
        block.pieces.append(piece[1:-1])
        block.size += len(piece)

    def _room(self, block: Block) -> Block:
        """The block that goes on where this kind of block is full."""
        if block is self._text or (self._text is not None and block.prefix.startswith(b'{"type":"text')):
            return self._text if self._text is not None and self._text.size <= MAX_BLOCK else self.open_text()
        if block.id:
            return block
        return self._thinking if self._thinking is not None and self._thinking.size <= MAX_BLOCK else self.open_thinking()

    def _repair(self, block: Block, text: str) -> bytes:
        """Some servers cut a surrogate pair between two deltas: the halves are joined, a lone one becomes U+FFFD."""
        text = block.carry + text
        block.carry = ""
        if text and _HIGH[0] <= text[-1] <= _HIGH[1]:
            block.carry, text = text[-1], text[:-1]
        return _encode(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))

    # Tool calls -----------------------------------------------------------------------------------------------------

    def open_tool(self, identity: str, name: str, *, executed: bool = False, gemini: bytes = b"") -> Block:
        """Begins a tool call. An id that this response used before becomes `<id>~2`; a missing one is made."""
        if self._opened < MANY_BLOCKS:
            self.end_text()
            self.end_thinking()
        if len(self._tools) >= MAX_OPEN_TOOLS:
            self.end_tool(next(iter(self._tools.values())))
        block = self._open(b"tool_use", b"tool-call-delta")
        block.id = self._unique(identity or self._made(block.index))
        self._tools[block.index] = block
        head = b'{"type":"tool-call-delta","index":%d,"id":%s' % (block.index, quote(block.id))
        block.prefix = head + b',"argumentsDelta":'
        block.redacted = ',"providerExecuted":true' if executed else ""
        self.name_tool(block, name, gemini)
        return block

    def name_tool(self, block: Block, name: str, gemini: bytes = b"") -> None:
        """The tool's name, if it was not known. Later names of the same call are not sent again."""
        name = "" if block.told else name
        if not name and not gemini:
            return
        body = block.prefix + b'""'
        if name:
            block.name, block.told = name, True
            body += b',"name":' + quote(name) + block.redacted.encode()
        if gemini:
            body += b',"gemini":' + gemini
        self._put(body + b"}")

    def tool_arguments(self, block: Block, text: str) -> None:
        """More of the arguments' JSON text."""
        self._delta(block, text)
        if block.size > MAX_RAW:
            self.fail(Failure(message="the arguments of one tool call are too large", code="tool-arguments-too-large"))

    def end_tool(self, block: Block, unsent: bytes = b"") -> None:
        """`unsent`: arguments (JSON text) of a call that had no delta."""
        if self._tools.pop(block.index, None) is None or self.finished:
            return
        if not block.name:
            self.fail(Failure(message=f"tool call {block.id!r} has no name", code="tool-name-missing"))
            return
        arguments = self._content(block)
        if not arguments and unsent:
            arguments = quote(unsent.decode())[1:-1]
        body = b'{"kind":"tool_use","id":%s,"name":%s,"arguments":"%s"' % (quote(block.id), quote(block.name), arguments)
        self._end(block, body + block.redacted.encode() + b"}")

    def _made(self, index: int) -> str:
        return f"generated-{self.response_id}-{index}" if self.response_id else f"generated-{index}"

    def _unique(self, identity: str) -> str:
        unique, count = identity, 1
        while unique in self._ids:
            count += 1
            unique = f"{identity}~{count}"
        self._ids.add(unique)
        return unique

    # Blocks that come whole -----------------------------------------------------------------------------------------

    def tool_result(self, call_id: str, content: bytes, is_error: bool | None) -> None:
        """The provider's own answer to a call. One that is too large for a raw chunk is kept whole beside it."""
        head = b'{"kind":"tool_result","toolCallId":%s,"content":' % quote(call_id)
        tail = b"" if is_error is None else b',"isError":true' if is_error else b',"isError":false'
        if len(head) + len(content) > MAX_RAW - MAX_DELTA:
            self.beside("raw", {"toolCallId": quote(call_id), "toolResult": content})
            content = b'{"runwire":"the whole result is in the raw chunk before this one","bytes":%d}' % len(content)
        self._whole(b"tool_result", head + content + tail + b"}")

    def image(self, media_type: str, key: Literal["data", "url"], value: str) -> None:
        """An image block, or a `file` chunk if it is too large for a raw chunk."""
        if len(value) > MAX_BLOCK:
            self.beside("file", {"data": quote(value), "mimeType": quote(media_type)}, named=False)
            return
        body = b'{"kind":"image","mediaType":%s,"%s":%s}' % (quote(media_type), key.encode(), quote(value))
        self._whole(b"image", body)

    def _whole(self, kind: bytes, body: bytes) -> None:
        if self._opened < MANY_BLOCKS:
            self.end_text()
            self.end_thinking()
        block = self._open(kind, b"")
        self._end(block, body)

    # Beside the raw union -------------------------------------------------------------------------------------------

    def beside(self, kind: str, payload: dict[str, bytes], *, named: bool = True) -> None:
        """An agent chunk: `payload` maps names to JSON. `named` says which provider it is from, where types are open."""
        if self.finished:
            return
        fields = {"provider": quote(self.provider), **payload} if named else payload
        inner = b",".join(quote(key) + b":" + value for key, value in fields.items())
        body = b'{"type":%s,"payload":{%s}}' % (quote(kind), inner)
        if len(body) > MAX_AGENT:
            self.fail(Failure(message="the provider sent a part that is too large", code="event-too-large"))
        elif self._begun:
            self._out.append(Emitted("agent", body))
        else:
            self._waiting.append(body)

    def identify(self, response_id: str, model: str, timestamp: str) -> None:
        """Who answered: one `response-metadata` chunk. The first id that is not empty stays."""
        if response_id and not self.response_id:
            self.response_id = response_id
        if model and not self._model:
            self._model = model
        payload = {"id": response_id, "modelId": model, "timestamp": timestamp}
        said = {key: quote(value) for key, value in payload.items() if value}
        if said:
            self.beside("response-metadata", said, named=False)

    # Ends -----------------------------------------------------------------------------------------------------------

    def finish(self, kind: StopKind, raw: str) -> None:
        """A successful end: closes what is open, then usage, then `finish`. Nothing follows."""
        if self.finished:
            return
        self._close_blocks()
        self._before_finish()
        if self.finished:  # closing found a tool call without a name
            return
        reason = b'"kind":"%s"' % kind.encode()
        if raw:
            reason += b',"raw":' + quote(raw[:MAX_MESSAGE])
        self._last(reason)

    def fail(self, failure: Failure, kind: Literal["error", "aborted"] = "error", raw: str = "") -> None:
        """A failed end. Open blocks stay open: what they hold is all that came."""
        if self.finished:
            return
        self._before_finish()
        failure = msgspec.structs.replace(failure, message=failure.message[:MAX_MESSAGE])
        reason = b'"kind":"%s","failure":%s' % (kind.encode(), compact(msgspec.json.encode(failure)))
        if raw:
            reason += b',"raw":' + quote(raw[:MAX_MESSAGE])
        self._last(reason)

    def _last(self, reason: bytes) -> None:
        self._put(b'{"type":"finish","reason":{%s}}' % reason)
        self.finished = True
        self._text = self._thinking = None
        self._tools.clear()

    def _close_blocks(self) -> None:
        """In the order of their indices, so that the log reads as the response did."""
        for block in sorted((b for b in (self._text, self._thinking, *self._tools.values()) if b), key=_index):
            if block is self._text:
                self.end_text()
            elif block is self._thinking:
                self.end_thinking()
            else:
                self.end_tool(block)

    def _before_finish(self) -> None:
        if self.usage is not None:
            self._put(b'{"type":"usage","usage":%s}' % msgspec.json.encode(self.usage))
            self.usage = None
        if self.meta:
            inner = b",".join(quote(key) + b":" + value for key, value in self.meta.items())
            said = {"providerMetadata": b"{%s:{%s}}" % (quote(self.provider), inner)}
            if self.response_id:
                said = {"id": quote(self.response_id), **said}
            self.meta = {}
            self.beside("response-metadata", said, named=False)
        if any(not body.startswith(b'{"type":"response-metadata"') for body in self._waiting) and not self._begun:
            # What was kept needs a step to be in, and only a raw chunk opens one.
            self.open_text()
            self.end_text()

    # Writing --------------------------------------------------------------------------------------------------------

    def _open(self, kind: bytes, delta: bytes) -> Block:
        index = self._opened
        if index >= MAX_BLOCKS:
            self.fail(Failure(message=f"the response has more than {MAX_BLOCKS} blocks", code="too-many-blocks"))
        self._opened += 1
        self._put(b'{"type":"block-start","index":%d,"blockKind":"%s"}' % (index, kind))
        return Block(index, b'{"type":"%s","index":%d,"text":' % (delta, index))

    def _content(self, block: Block) -> bytes:
        if block.carry:
            block.carry = ""
            self._delta(block, "\ufffd")
        return b"".join(block.pieces)

    def _end(self, block: Block, content: bytes) -> None:
        self._put(b'{"type":"block-end","index":%d,"block":%s}' % (block.index, content))

    def _put(self, body: bytes) -> None:
        """Every raw chunk but the deltas, which follow one of these."""
        if self.finished:
            return
        if len(body) > MAX_RAW:
            self.fail(Failure(message="the provider sent a part that is too large", code="event-too-large"))
            return
        self._out.append(Emitted("provider", body))
        if not self._begun:
            self._begun = True
            self._out.extend(Emitted("agent", waiting) for waiting in self._waiting)
            self._waiting.clear()


def _index(block: Block) -> int:
    return block.index


_encode = msgspec.json.Encoder().encode

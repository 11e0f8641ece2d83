"""The raw chunks of one call, written so that they obey the raw grammar whatever the provider does.

Every rule of the grammar that an adapter could break is kept here, once: indices count up and are never used again,
a block's end repeats exactly what its deltas said, usage comes once and before a successful finish, `finish` comes
once and last, and no chunk is larger than a raw chunk may be.
"""

import re
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from runwire.adapters.opaque import quote
from runwire.adapters.writing.writer import MANY_BLOCKS, MAX_BLOCK, MAX_DELTA, MAX_RAW, Block, Writer
from runwire_schemas.raw import Failure, Usage

# At most 256 blocks may be open; tool calls are kept open since their arguments may interleave.
MAX_OPEN_TOOLS: Final = 200
# A provider's message or word is cut here: it is for people to read.
MAX_MESSAGE: Final = 16 * 1024
MAX_CODE: Final = 256
# Facts about one response that are kept until its end: real ones have about ten.
MAX_FACTS: Final = 64
# Arguments may wait 64 KiB for their call's name.
MAX_NAMELESS: Final = 48 * 1024

# Ids of tool calls that say no more than which call of the response it is.
_NUMBERED: Final = re.compile(r"(?:call|tool|function|fc)?[_-]?[0-9]{1,4}")

StopKind = Literal["stop", "tool_calls", "max_tokens", "content_filter"]
FailedKind = Literal["error", "aborted"]


class Call(Writer):
    """Writes one call."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self.usage: Usage | None = None
        self.filtered = False  # a filter beside the model changed its answer, whatever the model says of its end
        self._facts: dict[str, bytes] = {}
        self.response_id = ""
        self._text: Block | None = None
        self._thinking: Block | None = None
        self._tools: dict[int, Block] = {}
        self._ids: set[str] = set()
        self._answered: set[str] = set()
        # What a protocol still has to say when the call ends, whatever ends it: facts, usage.
        self.closing: Callable[[], None] = _nothing

    @property
    def has_tools(self) -> bool:
        return bool(self._ids)

    # Text and reasoning ---------------------------------------------------------------------------------------------

    def text(self, text: str, gemini: bytes = b"") -> None:
        """More answer text. It closes reasoning that is open. `gemini`: metadata of the part, on its first delta."""
        if self._thinking is not None and self.opened < MANY_BLOCKS:
            self.end_thinking()
        if len(text) > MAX_DELTA:
            self.text(text[:MAX_DELTA], gemini)
            for start in range(MAX_DELTA, len(text), MAX_DELTA):
                self.text(text[start : start + MAX_DELTA])
            return
        block = self._text
        if block is None or block.full:
            block = self.open_text()
        self.delta(block, text, gemini)

    def open_text(self) -> Block:
        """Begins a text block even if no text follows, as some providers do."""
        self.end_text()
        self._text = self.open(b"text", b"text-delta")
        return self._text

    def end_text(self) -> None:
        block, self._text = self._text, None
        if block is not None:
            self.end(block, b'{"kind":"text","text":"%s"}' % self.content(block))

    def thinking(self, text: str) -> None:
        """More reasoning. It closes text that is open."""
        if self._text is not None and self.opened < MANY_BLOCKS:
            self.end_text()
        if len(text) > MAX_DELTA:
            for start in range(0, len(text), MAX_DELTA):
                self.thinking(text[start : start + MAX_DELTA])
            return
        block = self._thinking
        if block is None or block.full:
            block = self.open_thinking()
        self.delta(block, text)

    def open_thinking(self) -> Block:
        """Begins a reasoning block even if no text follows."""
        self.end_thinking()
        self._thinking = self.open(b"thinking", b"thinking-delta")
        return self._thinking

    def sign(self, signature: str) -> None:
        """The signature of the reasoning that is open, or of an empty one."""
        block = self._thinking or self.open_thinking()
        block.signature = signature

    @property
    def signed(self) -> bool:
        """The reasoning that is open has its signature."""
        return self._thinking is not None and self._thinking.signature != ""

    def note_text(self, gemini: bytes) -> None:
        """Gemini's metadata of the text that is open, or of an empty one: compact JSON, on a delta of its own."""
        self._note(self._text or self.open_text(), gemini)

    def note_thinking(self, gemini: bytes) -> None:
        """The same for reasoning."""
        self._note(self._thinking or self.open_thinking(), gemini)

    def _note(self, block: Block, gemini: bytes) -> None:
        self.put(block.prefix + b'"","gemini":' + gemini + b"}")

    def hide(self, data: str) -> None:
        """What only the provider can read of the reasoning that is open, or of an empty one."""
        (self._thinking or self.open_thinking()).redacted = data

    def redacted(self, data: str) -> None:
        """Reasoning that only the provider can read: a block of its own."""
        if self.opened < MANY_BLOCKS:
            self.end_text()
        self.open_thinking().redacted = data
        self.end_thinking()

    def end_thinking(self) -> None:
        block, self._thinking = self._thinking, None
        if block is None:
            return
        body = b'{"kind":"thinking","text":"%s"' % self.content(block)
        if block.signature:
            body += b',"signature":' + quote(block.signature)
        if block.redacted:
            body += b',"redacted":' + quote(block.redacted)
        self.end(block, body + b"}")

    # Tool calls -----------------------------------------------------------------------------------------------------

    def open_tool(self, identity: str, name: str, *, executed: bool = False, gemini: bytes = b"") -> Block:
        """Begins a tool call. An id that this response used before becomes `<id>~2`; a missing one is made.

        `executed`: the provider runs it itself. `gemini`: metadata of the part, compact JSON.
        """
        if len(identity) + len(name) > MAX_MESSAGE:
            self.fail(Failure(message="the id or name of a tool call is too long", code="event-too-large"))
        self._leave_prose()
        if len(self._tools) >= MAX_OPEN_TOOLS:
            self.end_tool(next(iter(self._tools.values())))
        block = self.open(b"tool_use", b"tool-call-delta")
        block.id = self._unique(identity or self.made_id(block.index))
        self._tools[block.index] = block
        head = b'{"type":"tool-call-delta","index":%d,"id":%s' % (block.index, quote(block.id))
        block.prefix = head + b',"argumentsDelta":'
        block.executed = b',"providerExecuted":true' if executed else b""
        self.name_tool(block, name, gemini)
        return block

    def name_tool(self, block: Block, name: str, gemini: bytes = b"") -> None:
        """The tool's name, if it was not known, and metadata. A name is sent once; later ones are not."""
        if block.name:
            name = ""
        if not name and not gemini:
            return
        body = block.prefix + b'""'
        if name:
            block.name = name
            body += b',"name":' + quote(name) + block.executed
        if gemini:
            body += b',"gemini":' + gemini
        self.put(body + b"}")

    def tool_arguments(self, block: Block, text: str) -> None:
        """More of the arguments' JSON text."""
        if not block.name and block.size + len(text) > MAX_NAMELESS:
            self.fail(Failure(message=f"tool call {block.id!r} has no name", code="tool-name-missing"))
            return
        if block.size + len(text) > MAX_RAW - MAX_DELTA:
            self.fail(Failure(message="the arguments of one tool call are too large", code="tool-arguments-too-large"))
            return
        for start in range(0, len(text), MAX_DELTA):
            self.delta(block, text[start : start + MAX_DELTA])

    def end_tool(self, block: Block, unsent: bytes = b"") -> None:
        """`unsent`: arguments (JSON text) of a call that had no delta."""
        if self._tools.pop(block.index, None) is None or self.finished:
            return
        if not block.name:
            self.fail(Failure(message=f"tool call {block.id!r} has no name", code="tool-name-missing"))
            return
        arguments = self.content(block)
        if not arguments and unsent:
            arguments = quote(unsent.decode())[1:-1]
        head = b'{"kind":"tool_use","id":%s,"name":%s' % (quote(block.id), quote(block.name))
        self.end(block, b'%s,"arguments":"%s"%s}' % (head, arguments, block.executed))

    def qualified(self, identity: str) -> str:
        """An id that is unique in a run: one that is only a number, as some providers count anew in every response,
        gets the response's id before it.
        """
        if not self.response_id or _NUMBERED.fullmatch(identity) is None:
            return identity
        return f"{self.response_id}:{identity}"

    def made_id(self, index: int | None = None) -> str:
        """An id for a call that the provider gave none, by the index of its block; the next block's if None."""
        index = self.opened if index is None else index
        return f"generated-{self.response_id}-{index}" if self.response_id else f"generated-{index}"

    def _unique(self, identity: str) -> str:
        unique, count = identity, 1
        while unique in self._ids:
            count += 1
            unique = f"{identity}~{count}"
        self._ids.add(unique)
        return unique

    # Blocks that come whole -----------------------------------------------------------------------------------------

    def tool_result(self, call_id: str, content: bytes, *, is_error: bool | None, name: str = "") -> None:
        """The provider's own answer to a call. One that is too large for a raw chunk is kept whole beside it, and so is
        a second one to the same call. `name` is the tool's: needed if the call itself is not in this response.
        """
        head = b'{"kind":"tool_result","toolCallId":%s,"content":' % quote(call_id)
        tail = b"" if is_error is None else b',"isError":true' if is_error else b',"isError":false'
        tail += b',"toolName":' + quote(name) if name else b""
        repeated = call_id in self._answered
        if repeated or len(head) + len(content) + len(tail) > MAX_RAW - MAX_DELTA:
            self.beside("raw", {"toolCallId": quote(call_id), "toolResult": content})
            if repeated:
                return
            content = b'{"runwire":"the whole result is in a raw chunk of this step","bytes":%d}' % len(content)
        self._answered.add(call_id)
        self._whole(b"tool_result", head + content + tail + b"}")

    def image(self, media_type: str, key: Literal["data", "url"], value: str) -> None:
        """An image block, or a `file` chunk if it is too large for a raw chunk."""
        if len(value) > MAX_BLOCK:
            self.beside("file", {"data": quote(value), "mimeType": quote(media_type)}, named=False)
            return
        body = b'{"kind":"image","mediaType":%s,"%s":%s}' % (quote(media_type), key.encode(), quote(value))
        self._whole(b"image", body)

    def _whole(self, kind: bytes, body: bytes) -> None:
        self._leave_prose()
        block = self.open(kind, b"")
        self.end(block, body)

    def _leave_prose(self) -> None:
        if self.opened < MANY_BLOCKS:
            self.end_text()
            self.end_thinking()

    # Metadata and ends ----------------------------------------------------------------------------------------------

    def identify(self, response_id: str, model: str, timestamp: str) -> None:
        """Who answered and when (ISO 8601): one `response-metadata` chunk. The first id that is not empty stays."""
        self.response_id = self.response_id or response_id
        payload = {"id": response_id, "modelId": model, "timestamp": timestamp}
        said = {key: quote(value) for key, value in payload.items() if value}
        if said:
            self.beside("response-metadata", said, named=False)

    def remember(self, name: str, value: bytes) -> None:
        """A fact about the response (JSON) for its metadata at the end; the last value of a name counts."""
        if name in self._facts or len(self._facts) < MAX_FACTS:
            self._facts[name] = value
        else:
            self.beside("raw", {"fact": b"{%s:%s}" % (quote(name), value)})

    def finish(self, kind: StopKind, raw: str) -> None:
        """A successful end: closes what is open, then usage, then `finish`. Nothing follows."""
        self._close_blocks()
        self._before_finish()
        said = "content_filter" if self.filtered else kind
        self._last(b'"kind":"%s"' % said.encode(), raw)

    def fail(self, failure: Failure, kind: FailedKind = "error", raw: str = "") -> None:
        """A failed end. Open blocks stay open: what they hold is all that came."""
        self._before_finish()
        said = Failure(
            message=_unicode(failure.message[:MAX_MESSAGE]),
            code=None if failure.code is None else _unicode(failure.code[:MAX_CODE]),
            status=failure.status,
            retryable=failure.retryable,
        )
        self._last(b'"kind":"%s","failure":%s' % (kind.encode(), msgspec.json.encode(said)), raw)

    def _last(self, reason: bytes, raw: str) -> None:
        if self.finished:
            return
        if raw:
            reason += b',"raw":' + quote(raw[:MAX_MESSAGE])
        self.put(b'{"type":"finish","reason":{%s}}' % reason)
        self.finished = True
        self._text = self._thinking = None
        self._tools.clear()

    def _close_blocks(self) -> None:
        """In the order of their indices, so that the log reads as the response did."""
        blocks = [block for block in (self._text, self._thinking, *self._tools.values()) if block is not None]
        for block in sorted(blocks, key=_index):
            if block is self._text:
                self.end_text()
            elif block is self._thinking:
                self.end_thinking()
            else:
                self.end_tool(block)

    def _before_finish(self) -> None:
        if self.finished:
            return
        closing, self.closing = self.closing, _nothing
        closing()
        if self.usage is not None:
            usage, self.usage = self.usage, None
            self.put(b'{"type":"usage","usage":%s}' % msgspec.json.encode(usage))
        if self._facts:
            facts, self._facts = self._facts, {}
            inner = b",".join(quote(key) + b":" + value for key, value in facts.items())
            said = {"id": quote(self.response_id)} if self.response_id else {}
            said["providerMetadata"] = b"{%s:{%s}}" % (quote(self.provider), inner)
            self.beside("response-metadata", said, named=False)
        if not self._begun:
            # What was kept needs a step to be in, and only a raw chunk opens one. Metadata alone is not worth a block.
            if any(not body.startswith(_METADATA) for body in self._waiting):
                self.begin()
            self._waiting.clear()


_METADATA: Final = b'{"type":"response-metadata"'


def _nothing() -> None:
    pass


def _index(block: Block) -> int:
    return block.index


def _unicode(text: str) -> str:
    """A provider's message may hold halves of surrogate pairs."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

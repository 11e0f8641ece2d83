"""The lower half of `Call`: blocks and their deltas, agent chunks beside them, and what no raw chunk may exceed."""

from abc import ABC, abstractmethod
from typing import Final

import msgspec

from runwire.adapters.base import Emitted
from runwire.adapters.opaque import quote
from runwire_schemas.raw import Failure

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
# Agent chunks before the first raw chunk: real streams have two or three.
MAX_WAITING: Final = 64

_HIGH_SURROGATES: Final = ("\ud800", "\udbff")
_encode = msgspec.json.Encoder().encode


class Block:
    """An open block: what was sent of it, as JSON string content without its quotes."""

    __slots__ = ("carry", "executed", "id", "index", "name", "pieces", "prefix", "redacted", "signature", "size")

    def __init__(self, index: int, prefix: bytes) -> None:
        self.index = index
        self.prefix = prefix  # every delta's bytes up to its text
        self.pieces: list[bytes] = []
        self.size = 0
        self.carry = ""  # half a surrogate pair whose other half is still to come
        self.id = ""
        self.name = ""
        self.executed = b""
        self.signature = ""
        self.redacted = ""

    @property
    def full(self) -> bool:
        return self.size > MAX_BLOCK


class Writer(ABC):
    """Writes raw chunks and agent chunks in their order. `take` hands out what was written since the last time."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.finished = False
        self.opened = 0  # blocks so far, and the next block's index
        self.kinds: set[bytes] = set()  # of the blocks so far
        self._out: list[Emitted] = []
        self._waiting: list[bytes] = []  # agent chunks that wait for the call's first raw chunk, which opens their step
        self._begun = False

    def take(self) -> list[Emitted]:
        out = self._out
        self._out = []
        return out

    @abstractmethod
    def fail(self, failure: Failure) -> None:
        """The call cannot go on."""

    def beside(self, kind: str, payload: dict[str, bytes], *, named: bool = True) -> None:
        """An agent chunk: `payload` maps names to JSON. `named` adds whose it is, where the type leaves that open."""
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
            if len(self._waiting) > MAX_WAITING:
                self.begin()

    def begin(self) -> None:
        """Opens the step for what waits for it, with an empty text block."""
        block = self.open(b"text", b"text-delta")
        self.end(block, b'{"kind":"text","text":""}')

    def put(self, body: bytes) -> None:
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

    def open(self, kind: bytes, delta: bytes) -> Block:
        index = self.opened
        if index >= MAX_BLOCKS:
            self.fail(Failure(message=f"the response has more than {MAX_BLOCKS} blocks", code="too-many-blocks"))
        self.opened += 1
        self.kinds.add(kind)
        self.put(b'{"type":"block-start","index":%d,"blockKind":"%s"}' % (index, kind))
        return Block(index, b'{"type":"%s","index":%d,"text":' % (delta, index))

    def delta(self, block: Block, text: str, gemini: bytes = b"") -> None:
        """At most MAX_DELTA characters more. The hot path: one encoding, no more.

        `gemini`: Gemini's metadata of the part that the text is, compact JSON.
        """
        if self.finished:
            return
        try:
            piece = _repaired(block, text) if block.carry else _encode(text)
        except UnicodeEncodeError:
            piece = _repaired(block, text)
        if gemini:
            self.put(block.prefix + piece + b',"gemini":' + gemini + b"}")
        else:
            self._out.append(Emitted("provider", block.prefix + piece + b"}"))
        block.pieces.append(piece[1:-1])
        block.size += len(piece)

    def content(self, block: Block) -> bytes:
        """All that was sent of the block, as JSON string content."""
        if block.carry:
            block.carry = ""
            self.delta(block, "\ufffd")
        return b"".join(block.pieces)

    def end(self, block: Block, content: bytes) -> None:
        self.put(b'{"type":"block-end","index":%d,"block":%s}' % (block.index, content))


def _repaired(block: Block, text: str) -> bytes:
    """Some servers cut a surrogate pair between two deltas: the halves are joined, a lone one becomes U+FFFD."""
    text = block.carry + text
    block.carry = ""
    if text and _HIGH_SURROGATES[0] <= text[-1] <= _HIGH_SURROGATES[1]:
        block.carry, text = text[-1], text[:-1]
    return _encode(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))

"""The text and reasoning blocks of one response, by the ids that its parts give.

Blocks may interleave. Raw blocks do not: a block whose text goes on after another block's goes on in a new one.
"""

from typing import Final

import msgspec

from runwire.adapters.ai_sdk.metadata import Metadata
from runwire.adapters.ai_sdk.wire import NULL
from runwire.adapters.opaque import quote
from runwire.adapters.writing.call import MAX_MESSAGE, Call
from runwire.adapters.writing.think import Think
from runwire.adapters.writing.writer import MANY_BLOCKS
from runwire_schemas.raw import Failure

# Blocks whose end has not come: real streams have two. Of more, the oldest is over.
_OPEN: Final = 64
TEXT: Final = "text"
REASONING: Final = "reasoning"


class _Open:
    __slots__ = ("id", "kind", "metadata", "noted")

    def __init__(self, kind: str, identity: str) -> None:
        self.kind = kind
        self.id = identity
        self.metadata = Metadata(thinking=kind == REASONING)
        self.noted = b""  # Gemini's metadata that was passed on


class Prose:
    """Starts, deltas and ends of text and of reasoning, written to the call."""

    def __init__(self, call: Call, think: Think) -> None:
        self._call = call
        self._think = think
        self._open: dict[tuple[str, str], _Open] = {}
        self._text: _Open | None = None  # whose text was written last
        self._reasoning: _Open | None = None
        self._hidden = ""  # what only the provider can read, as it was written last

    def start(self, kind: str, identity: str, metadata: msgspec.Raw) -> None:
        """A block without any text is none, unless its metadata says something."""
        self.end(kind, identity, NULL)
        self._note(self._opened(kind, identity), metadata)

    def text(self, identity: str, text: str, metadata: msgspec.Raw) -> None:
        block = self._text
        if block is None or block.id != identity:
            block = self._enter_text(identity)
        if text:
            self._think.text(text)
        if metadata is not NULL:
            self._note(block, metadata)

    def reasoning(self, identity: str, text: str, metadata: msgspec.Raw) -> None:
        block = self._reasoning
        if block is None or block.id != identity:
            block = self._enter_reasoning(identity)
        if text:
            self._think.thinking(text)
        if metadata is not NULL:
            self._note(block, metadata)

    def end(self, kind: str, identity: str, metadata: msgspec.Raw) -> None:
        """One without a start means nothing."""
        block = self._open.pop((kind, identity), None)
        if block is None:
            return
        self._note(block, metadata)
        self._sign(block)
        if block is self._text:
            self._leave_text()
        elif block is self._reasoning:
            self._leave_reasoning()
        self._beside(block)

    def close(self) -> None:
        """The response is over: ends what was not ended."""
        for kind, identity in list(self._open):
            self.end(kind, identity, NULL)

    def abandon(self) -> None:
        """The response failed: what is open stays open."""
        self._think.flush()
        for block in self._open.values():
            self._beside(block)

    def _beside(self, block: _Open) -> None:
        rest = block.metadata.rest()
        if rest is not None:
            about = b'{"type":%s,"id":%s}' % (quote(block.kind), quote(block.id))
            self._call.beside("raw", {"block": about, "providerMetadata": rest})

    def _opened(self, kind: str, identity: str) -> _Open:
        block = self._open.get((kind, identity))
        if block is None:
            if len(identity) > MAX_MESSAGE:
                self._call.fail(Failure(message="the id of a block is too long", code="event-too-large"))
            if len(self._open) >= _OPEN:
                self.end(*next(iter(self._open)), NULL)
            block = self._open[kind, identity] = _Open(kind, identity)
        return block

    def _enter_text(self, identity: str) -> _Open:
        self._leave_text()
        self._text = self._opened(TEXT, identity)
        return self._text

    def _enter_reasoning(self, identity: str) -> _Open:
        self._leave_reasoning()
        self._reasoning = self._opened(REASONING, identity)
        return self._reasoning

    def _leave_text(self) -> None:
        self._text = None
        self._think.flush()
        if self._call.opened < MANY_BLOCKS:
            self._call.end_text()

    def _leave_reasoning(self) -> None:
        self._reasoning = None
        self._think.flush()
        if self._call.opened < MANY_BLOCKS:
            self._call.end_thinking()

    def _note(self, block: _Open, metadata: msgspec.Raw) -> None:
        block.metadata.take(metadata)
        if block.metadata.full:
            self._beside(block)
        gemini = block.metadata.gemini
        if gemini == block.noted:
            return
        block.noted = gemini
        if block.kind == TEXT:
            if block is not self._text:
                self._enter_text(block.id)
            self._call.note_text(gemini)
        else:
            if block is not self._reasoning:
                self._enter_reasoning(block.id)
            self._call.note_thinking(gemini)

    def _sign(self, block: _Open) -> None:
        """Signatures come with the last parts. If other blocks came between, they stand in an empty block.

        What only the provider can read is of a whole item of OpenAI's: each of its summaries repeats it.
        """
        said = block.metadata
        if said.redacted == self._hidden:
            said.redacted = ""
        self._hidden = said.redacted or self._hidden
        if not said.signature and not said.redacted:
            return
        if block is not self._reasoning:
            self._leave_reasoning()
            self._reasoning = block
        if said.signature:
            self._call.sign(said.signature)
        if said.redacted:
            self._call.hide(said.redacted)

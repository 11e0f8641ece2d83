"""The texts of one kind in one item: in deltas, in done events that repeat them, and in the item as a whole."""

from typing import Final

from runwire.adapters.openai_responses.said import units, words
from runwire.adapters.openai_responses.stage import Part, Stage

# Texts of one kind in one item: a message has one or two, reasoning has a dozen. More share the last one.
_PARTS: Final = 256
# A text that comes before its deltas waits for them up to this length.
_PROMISED: Final = 64 * 1024


class Texts:
    """Parts by their index, in the order in which they began.

    A server may count its deltas in the index (vLLM) or begin at 1 (Bedrock), so an index alone begins no new part
    while the last one is open: an event that announces it does, or the done event before.
    """

    def __init__(self, stage: Stage, kind: str) -> None:
        self._stage = stage
        self._kind = kind
        self._by_index: dict[int, Part] = {}
        self.all: list[Part] = []

    @property
    def empty(self) -> bool:
        return all(part.said.empty for part in self.all)

    def said(self, text: str) -> bool:
        """All parts together are this text."""
        return self._after(units(text)) == b""

    def delta(self, index: int, text: str) -> Part | None:
        """More of a part. Returns it, so that the next delta finds it faster; None if it has to be looked up again."""
        if not text:
            return None
        part = self._part(index)
        if part.promise:
            promise, part.promise = part.promise, ""
            if not promise.startswith(text):
                self._stage.write(part, promise)
        self._stage.write(part, text)
        return part

    def announce(self, index: int, text: str) -> None:
        """A part begins, perhaps with text in it."""
        part = self._by_index.get(index) or self._begin(index)
        if part.said.empty:
            part.promise = text
            if len(text) > _PROMISED:
                self._keep(part)

    def done(self, index: int, text: str) -> bool:
        """A part is whole: writes what its deltas left out. False if they said something else."""
        last = self.all[-1] if self.all else None
        if index not in self._by_index and last is not None and last.done and last.said.rest(text) == "":
            return True  # once more, under another index
        part = self._part(index)
        added = part.said.rest(text)
        if added is None:
            return False
        self._write(part, added)
        self._end(part)
        return True

    def agrees(self, texts: list[tuple[int, str]]) -> bool:
        """All parts as the finished item has them, with their places, may follow what the deltas said.

        An item without any text says nothing about them.
        """
        places = dict(texts)
        return (
            not any(places.values())
            or self._after(_joined(texts)) is not None
            or all(part.said.rest(places.get(index, "")) is not None for index, part in self._by_index.items())
        )

    def whole(self, texts: list[tuple[int, str]]) -> None:
        """Writes what the deltas left out of the parts of the finished item, which agree with them."""
        added = self._after(_joined(texts))
        if added is not None:
            self._continue(texts, added)
        else:
            for index, text in texts:
                self.done(index, text)

    def close(self) -> None:
        """Nothing more comes: what was only promised is all there is."""
        for part in self.all:
            self._keep(part)
            self._end(part)

    def _part(self, index: int) -> Part:
        part = self._by_index.get(index)
        if part is None and self.all and not self.all[-1].done:
            return self.all[-1]
        return part or self._begin(index)

    def _begin(self, index: int) -> Part:
        if len(self.all) >= _PARTS:
            return self.all[-1]
        part = Part(self._kind)
        self.all.append(part)
        self._by_index.setdefault(index, part)
        return part

    def _keep(self, part: Part) -> None:
        self._write(part, part.promise)

    def _end(self, part: Part) -> None:
        part.done = True
        # Reasoning stays open until its item is whole: what only the provider can read comes last.
        if self._kind == "text":
            self._stage.ended(part)

    def _write(self, part: Part, text: str) -> None:
        """Text that is not a delta: nothing is promised any more."""
        part.promise = ""
        if text:
            self._stage.write(part, text)

    def _after(self, data: bytes) -> bytes | None:
        """What follows all parts, one after the other."""
        added: bytes | None = data
        for part in self.all:
            added = None if added is None else part.said.after(added)
        return added

    def _continue(self, texts: list[tuple[int, str]], added: bytes) -> None:
        """Writes the end of all texts together: the rest of one that was begun, and those that never were."""
        begun = len(_joined(texts)) - len(added)
        for index, text in texts:
            data = units(text)
            rest, begun = data[begun:], max(0, begun - len(data))
            if rest:
                self._write(self._unsaid(index) if len(rest) == len(data) else self._last(), words(rest))
        for part in self.all:
            part.promise = ""

    def _unsaid(self, index: int) -> Part:
        part = self._by_index.get(index)
        return part if part is not None and part.said.empty else self._begin(index)

    def _last(self) -> Part:
        return next(part for part in reversed(self.all) if not part.said.empty)


def _joined(texts: list[tuple[int, str]]) -> bytes:
    return units("".join(text for _, text in texts))

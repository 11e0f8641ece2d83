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
        part = self._part(index)
        if not text:
            return None
        if part.promise:
            promise, part.promise = part.promise, ""
            if not promise.startswith(text):
                self._stage.write(part, promise)
        self._stage.write(part, text)
        return part

    def announce(self, index: int, text: str) -> None:
        """A part begins, perhaps with text in it."""
        if index not in self._by_index:
            self._begin(index)
        part = self._by_index.get(index) or self._part(index)
        if text and part.said.empty:
            part.promise = text
            if len(text) > _PROMISED:
                self._keep(part)

    def done(self, index: int, text: str) -> bool:
        """A part is whole: writes what its deltas left out. False if they said something else."""
        last = self.all[-1] if self.all else None
        part = self._by_index.get(index)
        if part is None and last is not None and last.done and last.said.rest(text) == "":
            return True  # once more, under another index
        part = part or self._part(index)
        added = part.said.rest(text)
        if added is None:
            return False
        part.promise = ""
        self._add(part, added)
        part.done = True
        self._end(part)
        return True

    def whole(self, texts: list[tuple[int, str]], *, write: bool = True) -> bool:
        """All parts as the finished item has them, with their positions. False if the deltas said something else.

        `write` False: only asks. An item without any text says nothing about them.
        """
        if not any(text for _, text in texts):
            return True
        added = self._after(units("".join(text for _, text in texts)))
        if added is not None:
            if write:
                self._continue(texts, added)
            return True
        places = dict(texts)
        if any(
            not part.said.empty and part.said.rest(places.get(index, "")) is None
            for index, part in self._by_index.items()
        ):
            return False
        if write:
            for index, text in texts:
                self.done(index, text)
        return True

    def close(self) -> None:
        """Nothing more comes: what was only promised is all there is."""
        for part in self.all:
            self._keep(part)
            self._end(part)

    def _part(self, index: int) -> Part:
        part = self._by_index.get(index)
        if part is not None:
            return part
        last = self.all[-1] if self.all else None
        if last is None or (last.done and len(self.all) < _PARTS):
            return self._begin(index)
        if len(self._by_index) < _PARTS:
            self._by_index[index] = last
        return last

    def _begin(self, index: int) -> Part:
        if len(self.all) >= _PARTS:
            return self.all[-1]
        part = Part(self._kind)
        self.all.append(part)
        self._by_index[index] = part
        return part

    def _keep(self, part: Part) -> None:
        promise, part.promise = part.promise, ""
        if promise:
            self._add(part, promise)

    def _end(self, part: Part) -> None:
        # Reasoning stays open until its item is whole: what only the provider can read comes last.
        if self._kind == "text":
            self._stage.ended(part)

    def _add(self, part: Part, text: str) -> None:
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
        data = [units(text) for _, text in texts]
        begun = sum(map(len, data)) - len(added)
        for part in self.all:
            part.promise = ""
        for (index, _), text in zip(texts, data, strict=True):
            rest, begun = text[min(begun, len(text)) :], max(0, begun - len(text))
            if rest:
                part = self._unsaid(index) if len(rest) == len(text) else self._last()
                self._stage.write(part, words(rest))
        for part in self.all:
            part.done = True
            self._end(part)

    def _unsaid(self, index: int) -> Part:
        part = self._by_index.get(index)
        if part is not None and part.said.empty:
            return part
        return self._begin(index if part is None else _UNSEEN - len(self.all))

    def _last(self) -> Part:
        return next(part for part in reversed(self.all) if not part.said.empty)


# Indices of parts that no event named: below those that events may name.
_UNSEEN: Final = -(2**62)

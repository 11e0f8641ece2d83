"""One item of the output, whatever it is: how events reach it."""

from abc import ABC, abstractmethod
from typing import Final

from runwire.adapters.opaque import quote
from runwire.adapters.openai_responses.stage import Part, Stage
from runwire.adapters.openai_responses.wire import Members, Stream

# States that say no more than the event which has them.
USUAL: Final = frozenset({b'"completed"', b'"in_progress"', b'"incomplete"', b'"searching"', b'"generating"'})


class Item(ABC):
    """An item. `finish` comes once, `repeat` for each later event that holds the whole item."""

    def __init__(self, stage: Stage, kind: str, identity: str, index: int | None) -> None:
        self.stage = stage
        self.kind = kind  # its type
        self.id = identity
        self.index = index
        self.begun = False  # it was announced
        self.done = False
        self.matched = False  # the response's list of all items has it

    @abstractmethod
    def begin(self, members: Members) -> None:
        """`output_item.added`: as much as is known at first."""

    def delta(self, stream: Stream, index: int, text: str) -> Part | None:
        """More of a text. Returns its part if the next delta of the same text may be written to it directly."""
        about = {"index": b"%d" % index, "kind": quote(stream.kind)}
        self.stage.call.beside("raw", {"delta": quote(text), **about})
        return None

    def text_done(self, stream: Stream, index: int, text: str) -> bool:
        """A text is whole. False if its deltas said something else."""
        del stream, index, text
        return False

    @abstractmethod
    def agrees(self, members: Members) -> bool:
        """Whether the whole item may be this one, as far as its content tells."""

    @abstractmethod
    def whole(self, members: Members) -> None:
        """The whole item: writes what is missing."""

    @abstractmethod
    def close(self, *, ended: bool) -> None:
        """Nothing more comes. `ended`: the response ended well."""

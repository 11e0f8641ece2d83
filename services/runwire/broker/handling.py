"""What a node's author writes: a handler over batches. The partition runtime calls it, one partition at a time."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from runwire.broker.functions import Commit
from runwire.broker.reading import Entry


class Batch(NamedTuple):
    """Entries of one partition, in stream order and without a gap, that follow position `prev`.

    `attempts` counts the owners that vanished here since the last commit. `quarantine` asks the handler not to look
    into the only entry but to set it aside: it crashed its readers.
    """

    partition: int
    entries: list[Entry]
    prev: str
    attempts: int = 0
    quarantine: bool = False


class StoredState(NamedTuple):
    """What the state hash of a run holds; `blob` is None for a run without state."""

    run_id: str
    seq: int
    blob: bytes | None
    attempt: int


class BatchHandler(Protocol):
    """A node's logic. Every method is plain CPU work: no I/O, no clock, and it may keep state per partition.

    The runtime calls `missing` and then `handle` for each batch, commits what `handle` returned in the same order, and
    has at most two commits of a partition on their way. A commit that is refused is followed by `drop`.
    """

    def missing(self, batch: Batch) -> list[str]:
        """The runs of this batch whose stored state must be loaded before `handle`."""
        ...

    def load(self, partition: int, stored: Sequence[StoredState]) -> list[str]:
        """Take the stored states in. Returns ids of entries of the stream whose contents the states refer to."""
        ...

    def restore(self, partition: int, entries: Sequence[Entry]) -> None:
        """The entries that `load` asked for, as far as they still exist."""
        ...

    def handle(self, batch: Batch) -> Commit:
        """The commit for this batch. It may cover fewer records than the batch has: `records` and `last` tell."""
        ...

    def condemn(self, entry: Entry) -> tuple[str, bytes] | None:
        """The run and the control body that tell later readers to set this entry aside; None if it names no run."""
        ...

    def committed(self, partition: int, commit: Commit) -> None:
        """The commit took effect."""
        ...

    def drop(self, partition: int) -> None:
        """Forget everything of this partition: the lease is lost or a commit was refused."""
        ...

"""What a node's author writes: a handler over batches, and a ledger that says where the node's state lies.

The partition runtime calls both, one partition at a time.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from runwire.broker.commit import Commit, Lifetimes
from runwire.broker.connection import Arg, Command, Reply
from runwire.broker.reading import Entry
from runwire_schemas.keys import PartitionKeys


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


class Parcel(NamedTuple):
    """Commands, packed, that write into another partition. Those of one parcel take effect together or not at all."""

    partition: int
    data: bytes
    commands: int


class Work(Protocol):
    """What a batch came to, as far as the runtime must know: `records` records, from id `first` to id `last`."""

    @property
    def prev(self) -> str: ...
    @property
    def first(self) -> str: ...
    @property
    def last(self) -> str: ...
    @property
    def records(self) -> int: ...


WantT = TypeVar("WantT")
WantT_contra = TypeVar("WantT_contra", contravariant=True)
StoredT_co = TypeVar("StoredT_co", covariant=True)
StoredT_contra = TypeVar("StoredT_contra", contravariant=True)
WorkT = TypeVar("WorkT", bound=Work)
WorkT_contra = TypeVar("WorkT_contra", bound=Work, contravariant=True)


class Handler(Protocol[WantT, StoredT_contra, WorkT]):
    """A node's logic. Every method is plain CPU work: no I/O, no clock, and it may keep state per partition.

    The runtime calls `missing` and then `handle` for each batch, commits what `handle` returned in the same order, and
    has at most two commits of a partition on their way. A commit that is refused is followed by `drop`.
    """

    def missing(self, batch: Batch) -> list[WantT]:
        """What must be loaded before `handle`: for the enforcer, runs."""
        ...

    def load(self, partition: int, stored: Sequence[StoredT_contra]) -> list[str]:
        """Take what is stored in. Returns ids of entries of the stream whose contents it refers to."""
        ...

    def restore(self, partition: int, entries: Sequence[Entry]) -> None:
        """The entries that `load` asked for, as far as they still exist."""
        ...

    def handle(self, batch: Batch) -> WorkT:
        """The commit for this batch. It may cover fewer records than the batch has: `records` and `last` tell."""
        ...

    def condemn(self, entry: Entry) -> tuple[str, bytes] | None:
        """The run and the control body that tell later readers to set this entry aside; None if it names no run."""
        ...

    def committed(self, partition: int, commit: WorkT) -> None:
        """The commit took effect."""
        ...

    def drop(self, partition: int) -> None:
        """Forget everything of this partition: the lease is lost or a commit was refused."""
        ...


class BatchHandler(Handler[str, StoredState, Commit], Protocol):
    """A handler over records, whose states and commits are those of runs."""


class Ledger(Protocol[WantT_contra, StoredT_co, WorkT_contra]):
    """Where a node's state lies on the server, and how its commits are written. Pure: it makes and reads commands."""

    @property
    def posts(self) -> bool:
        """Whether commits have parcels, so that the node needs a connection for them."""
        ...

    def read(self, keys: PartitionKeys, want: WantT_contra) -> Command:
        """The command that loads what `missing` asked for."""
        ...

    def stored(self, want: WantT_contra, reply: Reply) -> StoredT_co:
        """What its answer says."""
        ...

    def parcels(self, work: WorkT_contra) -> Sequence[Parcel]:
        """What must be written to other partitions before the commit is sent."""
        ...

    def commit(
        self, keys: PartitionKeys, group: str, me: str, epoch: int, lifetimes: Lifetimes, work: WorkT_contra
    ) -> list[Arg]:
        """The command that commits; its answer is read by `commit_result`."""
        ...

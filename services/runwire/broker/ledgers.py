"""The ledger of the enforcer: states of runs, and commits that write logs. Other nodes have ledgers of their own."""

from collections.abc import Sequence
from typing import cast

from runwire.broker.commit import Commit, Lifetimes, commit_args
from runwire.broker.connection import Arg, Command, Reply
from runwire.broker.handling import Parcel, StoredState
from runwire_schemas.keys import PartitionKeys


class RunLedger:
    """States of runs by run id."""

    posts = False

    def read(self, keys: PartitionKeys, want: str) -> Command:
        """Sequence, blob and attempt."""
        return ("HMGET", keys.state(want), "s", "b", "a")

    def stored(self, want: str, reply: Reply) -> StoredState:
        """A run without state has sequence 0."""
        seq, blob, attempt = cast("list[bytes | None]", reply)
        return StoredState(want, int(seq or 0), blob, int(attempt or 1))

    def parcels(self, work: Commit) -> Sequence[Parcel]:  # noqa: ARG002 - the protocol's signature
        """Everything of a run lies in its own partition."""
        return ()

    def commit(
        self, keys: PartitionKeys, group: str, me: str, epoch: int, lifetimes: Lifetimes, work: Commit
    ) -> list[Arg]:
        """The whole of `rw_commit_1`."""
        return commit_args(keys, group, me, epoch, lifetimes, work)

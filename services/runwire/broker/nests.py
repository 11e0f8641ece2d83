"""Where the unwrapper's state lies: one hash a run, and the claims that travel ahead of it.

The hash `nest` of a run has the fields `b` (the unwrapper's state), `l` (lineage: where the run came from), `i` (its
account: usage, end, number of children), `<n>` (its n-th child) and `c:<child>` (the state of a child that is done). A
`claim` lies in the partition of a child from its first record on, until the run itself is seen there.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

from runwire.broker.commit import Lifetimes
from runwire.broker.connection import Arg, Command, Reply
from runwire.broker.handling import Parcel
from runwire.broker.packing import pack
from runwire.broker.settling import Settlement, settle_args
from runwire_schemas.keys import PartitionKeys
from runwire_schemas.record import Record, fields_of

BLOB: Final = "b"
LINEAGE: Final = "l"
ACCOUNT: Final = "i"
CLAIM: Final = "d"


def closed_field(child: str) -> str:
    """The field of a child that is done."""
    return f"c:{child}"


class NestWant(NamedTuple):
    """What is wanted of a run's nest: the whole state, or, where that is known, only these children that are done."""

    run_id: str
    children: tuple[str, ...]


class StoredNest(NamedTuple):
    """`claim` and `state` (of the run, by the enforcer) are there only where the nest is not and somebody claims it."""

    run_id: str
    blob: bytes | None
    claim: bytes | None
    state: bytes | None
    closed: dict[str, bytes | None]


class NestLedger:
    """Nests by run id."""

    posts = True

    def read(self, keys: PartitionKeys, want: NestWant) -> Command:
        """One call, however much is wanted."""
        run, fields = want.run_id, map(closed_field, want.children)
        return ("FCALL_RO", "rw_nest_1", 3, keys.nest(run), keys.claim(run), keys.state(run), BLOB, *fields)

    def stored(self, want: NestWant, reply: Reply) -> StoredNest:
        """The answer in the order of the fields."""
        claim, state, blob, *closed = cast("list[bytes | None]", reply)
        return StoredNest(want.run_id, blob, claim, state, dict(zip(want.children, closed, strict=True)))

    def parcels(self, work: Settlement) -> Sequence[Parcel]:
        """Records of children."""
        return work.parcels

    def commit(
        self, keys: PartitionKeys, group: str, me: str, epoch: int, lifetimes: Lifetimes, work: Settlement
    ) -> list[Arg]:
        """The whole of `rw_settle_1`."""
        return settle_args(keys, group, me, epoch, lifetimes, work)


def record_parcel(keys: PartitionKeys, partition: int, record: Record, claim: bytes | None, ttl_ms: int) -> Parcel:
    """A child's record on its way. The first one brings the claim along: whoever sees the run then knows whose it is.

    A claim that is there stays: the first one came with the first record, and that decides whose the run is.
    """
    data = pack("XADD", keys.raw, "*", *fields_of(record))
    if claim is None:
        return Parcel(partition, data, 1)
    key = keys.claim(record.run)
    return Parcel(partition, pack("HSETNX", key, CLAIM, claim) + pack("PEXPIRE", key, ttl_ms) + data, 3)

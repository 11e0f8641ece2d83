"""Where the unwrapper's state lies: one hash a run, and the claims that travel ahead of it.

The hash `nest` of a run has the fields `b` (the unwrapper's state), `l` (lineage: where the run came from), `i` (its
account: usage, end, number of children), `<n>` (its n-th child) and `c:<child>` (the state of a child that is done). A
`claim` lies in the partition of a child from its first record on, until the run itself is seen there.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, cast, get_args

from runwire.broker.commit import Lifetimes
from runwire.broker.connection import Arg, Command, Reply
from runwire.broker.handling import Parcel
from runwire.broker.packing import bulk, pack, pack_head
from runwire.broker.settling import Settlement, settle_args
from runwire_schemas.keys import PartitionKeys
from runwire_schemas.record import Kind

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


class Letters:
    """Records of one child, packed: they differ in seq, kind and body only."""

    __slots__ = ("_claim", "_head", "partition")

    def __init__(self, keys: PartitionKeys, partition: int, run: str, src: str, epoch: int) -> None:
        """`run` lies in `partition`, whose keys these are."""
        self.partition = partition
        fields = ("run", run, "src", src, "epoch", epoch)
        # Six more: seq, kind and body with their values.
        self._head = pack_head(len(fields) + 9, "XADD", keys.raw, "*", *fields, "seq")
        self._claim = keys.claim(run)

    def parcel(self, seq: int, kind: Kind, body: bytes) -> Parcel:
        """One record."""
        return Parcel(self.partition, self._packed(seq, kind, body), 1)

    def first_parcel(self, seq: int, kind: Kind, body: bytes, claim: bytes, ttl_ms: int) -> Parcel:
        """The first record, with the claim: whoever sees the run then knows whose it is.

        A claim that is there stays: it came with an earlier record, and the first one decides whose the run is.
        """
        words = pack("HSETNX", self._claim, CLAIM, claim) + pack("PEXPIRE", self._claim, ttl_ms)
        return Parcel(self.partition, words + self._packed(seq, kind, body), 3)

    def _packed(self, seq: int, kind: Kind, body: bytes) -> bytes:
        return b"%b$%d\r\n%d\r\n%b$%d\r\n%b\r\n" % (self._head, len(str(seq)), seq, _KINDS[kind], len(body), body)


_KINDS: Final[dict[Kind, bytes]] = {kind: bulk("kind") + bulk(kind) + bulk("body") for kind in get_args(Kind)}

"""The commit of a node behind the enforcer: hashes of its own and the position over `P:chunks`, in one step.

What such a node sends to other partitions goes out before, in parcels: they may lie on another server.
"""

from typing import Final, NamedTuple

from runwire.broker.commit import Lifetimes
from runwire.broker.connection import Arg
from runwire.broker.handling import Parcel
from runwire_schemas.keys import PartitionKeys

FIXED_KEYS: Final = 4


class HashWrite(NamedTuple):
    """Fields of one hash. `fresh` empties it first; `ttl_ms` 0 leaves its expiry as it is."""

    key: str
    fresh: bool
    ttl_ms: int
    fields: list[tuple[str, bytes]]


class Settlement(NamedTuple):
    """What `records` entries of P:chunks, from id `first` to id `last`, came to. `prev` is the position before them.

    `evidence`: (run or '', code, JSON). `parcels` must be acknowledged before the rest is sent.
    """

    prev: str
    first: str
    last: str
    records: int
    writes: list[HashWrite]
    evidence: list[tuple[str, str, bytes]]
    parcels: list[Parcel]


def settle_args(
    keys: PartitionKeys, group: str, me: str, epoch: int, lifetimes: Lifetimes, work: Settlement
) -> list[Arg]:
    """The whole command, for `Link.call_many` or `send_many`."""
    args: list[Arg] = [
        "FCALL", "rw_settle_1", FIXED_KEYS + len(work.writes),
        keys.lease(group), keys.pos_chunks, keys.chunks, keys.evidence, *(write.key for write in work.writes),
        group, me, epoch, lifetimes.lease_ms, lifetimes.evidence_max,
        work.prev, work.first, work.last, work.records, len(work.evidence),
    ]  # fmt: skip
    for write in work.writes:
        args += (int(write.fresh), write.ttl_ms, 2 * len(write.fields))
        for field in write.fields:
            args += field
    for item in work.evidence:
        args += item
    return args

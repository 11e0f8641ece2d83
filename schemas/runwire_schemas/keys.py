"""Every Redis key of Runwire: its name, its type, who writes it and how long it lives.

A run belongs to partition CRC-16/XMODEM(runId) mod P, the checksum of Redis Cluster's slots. Every key of a
partition carries the same hash tag, so one server-side function may touch all of them and a Redis Cluster may
place partitions on different shards.
"""

import re
from binascii import crc_hqx
from typing import Final, NamedTuple

import msgspec

DEFAULT_PREFIX: Final = "rw"
ENFORCER_GROUP: Final = "enforcer"
UNWRAPPER_GROUP: Final = "unwrapper"


def partition_of(run_id: str, partitions: int) -> int:
    """The partition of a run: a number from 0 below `partitions`."""
    return crc_hqx(run_id.encode(), 0) % partitions


class PartitionKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The fixed keys of one partition; those with a name in them are made on demand."""

    tag: str
    raw: str
    chunks: str
    open: str
    evidence: str
    outbox: str
    index: str
    expiring: str
    holds: str
    pos_raw: str
    pos_chunks: str

    def lease(self, group: str) -> str:
        return f"{self.tag}:lease:{group}"

    def state(self, run_id: str) -> str:
        return f"{self.tag}:state:{run_id}"

    def log(self, run_id: str, attempt: int = 1) -> str:
        return f"{self.tag}:run:{run_id}:{attempt}"

    def kept(self, run_id: str) -> str:
        return f"{self.tag}:kept:{run_id}"

    def nest(self, run_id: str) -> str:
        return f"{self.tag}:nest:{run_id}"

    def claim(self, run_id: str) -> str:
        return f"{self.tag}:claim:{run_id}"


class Keys(NamedTuple):
    """Names under one prefix. Two deployments may share a server under different prefixes."""

    prefix: str = DEFAULT_PREFIX

    def partition(self, number: int) -> PartitionKeys:
        tag = f"{{{self.prefix}:{number}}}"
        return PartitionKeys(
            tag=tag,
            raw=f"{tag}:raw",
            chunks=f"{tag}:chunks",
            open=f"{tag}:open",
            evidence=f"{tag}:evidence",
            outbox=f"{tag}:outbox",
            index=f"{tag}:index",
            expiring=f"{tag}:expiring",
            holds=f"{tag}:holds",
            pos_raw=f"{tag}:pos:raw",
            pos_chunks=f"{tag}:pos:chunks",
        )

    @property
    def meta(self) -> str:
        return f"{self.prefix}:meta"

    @property
    def events(self) -> str:
        return f"{self.prefix}:events"

    @property
    def commands(self) -> str:
        return f"{self.prefix}:commands"

    @property
    def continuations(self) -> str:
        return f"{self.prefix}:continuations"

    def members(self, group: str) -> str:
        return f"{self.prefix}:members:{group}"

    def nudge(self, group: str) -> str:
        return f"{self.prefix}:nudge:{group}"


class KeySpec(NamedTuple):
    """One kind of key. `expires` tells whether a key of this kind must carry a TTL once its run has finished."""

    name: str
    pattern: str
    type: str
    owner: str
    lifetime: str
    expires: bool


# `P` stands for `{prefix:<partition>}`, `R` for the prefix.
CATALOGUE: Final[tuple[KeySpec, ...]] = (
    KeySpec(
        "raw", "P:raw", "stream", "producers", "trimmed below all positions, holds and the raw horizon", expires=False
    ),
    KeySpec("kept", "P:kept:<run>", "stream", "enforcer", "TTL of evidence, at most 16 MiB a run", expires=True),
    KeySpec("run log", "P:run:<run>:<attempt>", "stream", "enforcer", "TTL after the end of the run", expires=True),
    KeySpec("chunks", "P:chunks", "stream", "enforcer", "trimmed like raw", expires=False),
    KeySpec("state", "P:state:<run>", "hash", "enforcer", "tombstone TTL after the end of the run", expires=True),
    KeySpec("open", "P:open", "zset", "enforcer", "an entry goes with its run's end", expires=False),
    KeySpec("evidence", "P:evidence", "stream", "enforcer", "trimmed by age and count", expires=False),
    KeySpec("outbox", "P:outbox", "stream", "enforcer", "an entry goes once its event is published", expires=False),
    KeySpec("index", "P:index", "zset", "enforcer", "an entry goes with its run's log", expires=False),
    KeySpec("expiring", "P:expiring", "zset", "enforcer", "an entry goes with its run's log", expires=False),
    KeySpec("holds", "P:holds", "hash", "enforcer", "a field goes with the reason to keep raw records", expires=False),
    KeySpec("nest", "P:nest:<run>", "hash", "unwrapper", "tombstone TTL after the end of the run", expires=True),
    KeySpec(
        "claim", "P:claim:<run>", "hash", "unwrapper", "goes once its run is seen, at most tombstone TTL", expires=True
    ),
    KeySpec(
        "lease", "P:lease:<group>", "hash", "group members", "for ever: an expiring fence could repeat", expires=False
    ),
    KeySpec("position", "P:pos:raw", "hash", "group owners", "for ever: the registry of groups", expires=False),
    KeySpec("position", "P:pos:chunks", "hash", "group owners", "for ever: the registry of groups", expires=False),
    KeySpec("meta", "R:meta", "hash", "first process to start", "for ever", expires=False),
    KeySpec("members", "R:members:<group>", "zset", "group members", "an entry goes with its heartbeat", expires=False),
    KeySpec("events", "R:events", "stream", "enforcer", "MAXLEN ~ 100,000", expires=False),
    KeySpec("commands", "R:commands", "stream", "operators", "MAXLEN ~ 100,000", expires=False),
    KeySpec("continuations", "R:continuations", "stream", "tasks", "MAXLEN ~ 100,000", expires=False),
)


def _matcher(pattern: str, prefix: str) -> re.Pattern[str]:
    known = {"P": r"\{" + re.escape(prefix) + r":\d+\}", "R": re.escape(prefix)}
    head, rest = pattern[0], re.escape(pattern[1:])
    for hole, expression in (("<run>", "(?s:.+)"), ("<attempt>", r"\d+"), ("<group>", "[^:]+")):
        rest = rest.replace(re.escape(hole), expression)
    return re.compile(known[head] + rest)


def spec_of(key: str, prefix: str = DEFAULT_PREFIX) -> KeySpec | None:
    """What kind of key this is, or None for a key that Runwire does not own."""
    for spec in CATALOGUE:
        if _matcher(spec.pattern, prefix).fullmatch(key):
            return spec
    return None

"""What a run of chaos leaves behind: the journals of its producers and readers, its faults, and the broker's data.

All times are seconds of the machine's monotonic clock, which all processes share.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from .content import Role
from .schedule import FaultKind

Outcome = Literal["ended", "cursor-ahead", "log-expired", "run-unknown", "lost"]


class Ack(NamedTuple):
    """The first `counts[run]` records of each run were acknowledged: asked for at `begun`, known at `at`."""

    begun: float
    at: float
    counts: Mapping[str, int]


class ProducerLog(NamedTuple):
    """The journal of one producer process. `roles`: the runs it wrote and as what; `died`: when it was killed."""

    slot: int
    generation: int
    roles: Mapping[str, Role]
    acks: Sequence[Ack]
    died: float | None


class Delivery(NamedTuple):
    """One chunk that a reader was given. `digest` is `digest_of` its bytes."""

    at: float
    seq: int
    digest: str


class Session(NamedTuple):
    """One iteration of a Reader over a run, after cursor `after` (0: from the start). `lost`: its process died."""

    slot: int
    run: str
    after: int
    begun: float
    ended: float
    deliveries: Sequence[Delivery]
    outcome: Outcome


class Cut(NamedTuple):
    """The AOF lost its tail: the server was killed at `killed` and answered again at `back`."""

    killed: float
    back: float


class RawEntry(NamedTuple):
    """A raw record as it stands in its partition. `fields` are the flat names and values that Redis sends."""

    id: str
    run: str
    call: str | None
    body: bytes
    fields: Sequence[bytes]


class LogEntry(NamedTuple):
    id: str
    data: bytes


class Stored(NamedTuple):
    """The broker's data at the end. `expiry`: every key with its TTL in ms (-1: none). `open`: unfinished runs.

    `announced`: runs whose end was published as an event.
    """

    raw: Mapping[int, Sequence[RawEntry]]
    logs: Mapping[str, Sequence[LogEntry]]
    partition_logs: Mapping[str, Sequence[bytes]]
    expiry: Mapping[str, int]
    open: frozenset[str]
    announced: frozenset[str]


class History(NamedTuple):
    seconds: float
    producers: Sequence[ProducerLog]
    sessions: Sequence[Session]
    cuts: Sequence[Cut]
    faults: Mapping[FaultKind, int]
    required: frozenset[FaultKind]
    stored: Stored
    idle_ms: int
    prefix: str = "rw"


class Replayed(NamedTuple):
    """What the grammar alone makes of a run's raw records, offline.

    `ended`: the id of the raw record that ended the run, None while it is open. `violations`: codes of its fatal
    evidence. `timeouts`: ids of `timeout` records that produced chunks.
    """

    chunks: Sequence[bytes]
    ended: str | None
    violations: Sequence[str]
    timeouts: Sequence[str]

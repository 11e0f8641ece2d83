"""Which faults happen when. Pure: a schedule follows from its length and its seed.

Faults run in three lanes at once. Two faults of one lane never overlap; those of different lanes do, since it is
their combinations that break things.
"""

import random
from enum import StrEnum
from typing import Final, NamedTuple


class FaultKind(StrEnum):
    """Every kind of fault. A run of chaos is only valid if each happened at least once."""

    PRODUCER_KILL = "producer-kill"
    PRODUCER_STOP = "producer-stop"
    ENFORCER_KILL = "enforcer-kill"
    ENFORCER_STOP = "enforcer-stop"
    READER_KILL = "reader-kill"
    READER_STOP = "reader-stop"
    ENFORCER_JOIN = "enforcer-join"
    ENFORCER_LEAVE = "enforcer-leave"
    SERVER_KILL_EVERYSEC = "server-kill-everysec"
    SERVER_KILL_ALWAYS = "server-kill-always"
    SERVER_PAUSE = "server-pause"
    AOF_CUT = "aof-cut"
    CONNECTIONS_CUT = "connections-cut"
    REPLIES_LOST = "replies-lost"


class Fault(NamedTuple):
    """One fault: when it begins (seconds after the start) and how long it lasts (0: it has no length)."""

    at: float
    kind: FaultKind
    seconds: float


class Lane(NamedTuple):
    """Faults that follow each other, about one every `gap` seconds."""

    kinds: tuple[FaultKind, ...]
    gap: float


# A server needs about a second to come back and its clients up to a second of back-off; faults of processes
# are felt alone for about a lease (3 s), and several at once are wanted.
_PROCESSES: Final = Lane(tuple(FaultKind)[:8], 1.5)
_SERVER: Final = Lane(tuple(FaultKind)[8:12], 5.0)
_NETWORK: Final = Lane(tuple(FaultKind)[12:], 3.5)

# The first second lets the processes start, the last two let the last fault be felt under load.
_HEAD, _TAIL = 1.0, 2.0
_LONGEST: Final = {
    FaultKind.PRODUCER_STOP: 10.0,
    FaultKind.ENFORCER_STOP: 10.0,
    FaultKind.READER_STOP: 10.0,
    FaultKind.SERVER_PAUSE: 4.0,
    FaultKind.REPLIES_LOST: 1.2,
}
_SHORTEST: Final = {FaultKind.SERVER_PAUSE: 0.5, FaultKind.REPLIES_LOST: 0.2}


def kinds_for(appendfsync: str | None) -> frozenset[FaultKind]:
    """The kinds that must happen: all, or without the restarts in a mode that was ruled out."""
    without = {"everysec": {FaultKind.SERVER_KILL_ALWAYS}, "always": {FaultKind.SERVER_KILL_EVERYSEC}}
    return frozenset(FaultKind) - (without[appendfsync] if appendfsync else set[FaultKind]())


def schedule(seconds: float, seed: int, appendfsync: str | None = None) -> tuple[tuple[Fault, ...], ...]:
    """The faults of each lane, in order: each kind once in random order, then kinds at random until time is up."""
    rng = random.Random(f"faults/{seed}")
    allowed = kinds_for(appendfsync)
    lanes = (Lane(tuple(k for k in lane.kinds if k in allowed), lane.gap) for lane in (_PROCESSES, _SERVER, _NETWORK))
    return tuple(_lane(lane, seconds, rng) for lane in lanes)


def _lane(lane: Lane, seconds: float, rng: random.Random) -> tuple[Fault, ...]:
    room = max(seconds - _HEAD - _TAIL, 1.0)
    count = max(len(lane.kinds), round(room / lane.gap))
    kinds = rng.sample(lane.kinds, len(lane.kinds))
    kinds += rng.choices(lane.kinds, k=count - len(kinds))
    step = room / count
    starts = [_HEAD + (i + 0.6 * rng.random()) * step for i in range(count)]
    return tuple(Fault(at, kind, _length(kind, seconds, rng)) for at, kind in zip(starts, kinds, strict=True))


def _length(kind: FaultKind, seconds: float, rng: random.Random) -> float:
    """Random between the kind's bounds; in a short run the long ones are shortened so that all still fit."""
    longest = _LONGEST.get(kind, 0.0)
    if longest == 0.0:
        return 0.0
    shortest = _SHORTEST.get(kind, 1.0)
    return rng.uniform(shortest, max(shortest, min(longest, seconds / 6)))

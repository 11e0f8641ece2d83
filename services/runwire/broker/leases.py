"""What one worker knows about each partition's lease: a table of states, and nothing else decides.

The server holds the truth (owner nonce, epoch); this is bookkeeping. A wrong belief here costs a refused commit, never
a wrong log. Times are this process's monotonic seconds.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final


class State(Enum):
    """Where a partition stands, seen from this worker."""

    AWAY = "away"  # somebody else's, or free
    OWNED = "owned"  # read, handled and committed here
    LEAVING = "leaving"  # nothing new is read; the commit in flight ends, then the lease is given away
    HALTED = "halted"  # owned and renewed, so that nobody else trips over the same fault; nothing moves


class Event(Enum):
    """What can happen to a lease."""

    TAKEN = "taken"
    FENCED = "fenced"  # the server knows a newer owner or epoch
    REFUSED = "refused"  # my picture of the partition is wrong: forget it and take again
    LEAVE = "leave"  # somebody rightful waits, or this worker drains
    RELEASED = "released"
    HALT = "halt"
    SERVER_LOST = "server-lost"  # outcome unknown: every belief is void


TRANSITIONS: Final[Mapping[State, Mapping[Event, State]]] = {
    State.AWAY: {Event.TAKEN: State.OWNED, Event.SERVER_LOST: State.AWAY},
    State.OWNED: {
        Event.FENCED: State.AWAY,
        Event.REFUSED: State.AWAY,
        Event.LEAVE: State.LEAVING,
        Event.HALT: State.HALTED,
        Event.SERVER_LOST: State.AWAY,
    },
    State.LEAVING: {
        Event.FENCED: State.AWAY,
        # What was in flight will not happen, so nothing is left to wait for: the lease is still given away.
        Event.REFUSED: State.LEAVING,
        Event.HALT: State.LEAVING,
        Event.RELEASED: State.AWAY,
        Event.SERVER_LOST: State.AWAY,
    },
    State.HALTED: {
        Event.FENCED: State.AWAY,
        Event.LEAVE: State.LEAVING,
        Event.SERVER_LOST: State.AWAY,
    },
}

HOLDING: Final = frozenset({State.OWNED, State.LEAVING, State.HALTED})
STRIKES: Final = 3  # refusals at one position until the partition is halted: twice may be a race, thrice is a fault


class Lease:
    """The bookkeeping of one partition."""

    __slots__ = (
        "_strike_position",
        "_strikes",
        "attempts",
        "count",
        "epoch",
        "free_since",
        "halted_because",
        "partition",
        "position",
        "progress_at",
        "renewed_at",
        "state",
        "successor",
        "taken_at",
        "trimmed_unread",
    )

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.state = State.AWAY
        self.epoch = 0
        self.position = "0-0"  # last committed id
        self.count = 0  # records committed since the stream began
        self.attempts = 0  # takes after a vanished owner since the last commit
        self.taken_at = 0.0
        self.renewed_at = 0.0
        self.progress_at = 0.0  # last time the oldest batch in work moved on
        self.free_since: float | None = None
        self.successor = ""  # who gets the lease once the commit in flight has ended; "" frees it
        self.trimmed_unread = 0
        self.halted_because = ""
        self._strikes = 0
        self._strike_position = ""

    def on(self, event: Event) -> None:
        """Move to the next state. An event that the table does not list for the state is a programming error."""
        try:
            self.state = TRANSITIONS[self.state][event]
        except KeyError:
            raise AssertionError(f"partition {self.partition}: {event.value} while {self.state.value}") from None

    @property
    def held(self) -> bool:
        """Whether this worker believes that the lease is its own."""
        return self.state in HOLDING

    def taken(self, epoch: int, position: str, count: int, attempts: int, now: float) -> None:
        """The server gave the lease: everything known before is replaced."""
        self.on(Event.TAKEN)
        self.epoch, self.position, self.count, self.attempts = epoch, position, count, attempts
        self.taken_at = self.renewed_at = self.progress_at = now
        self.free_since = None
        self.successor = self.halted_because = ""

    def committed(self, position: str, records: int, now: float) -> None:
        """The position moved: the worker did not crash on these records."""
        self.position = position
        self.count += records
        self.attempts = 0
        self.renewed_at = self.progress_at = now

    def leave(self, successor: str) -> None:
        """Give the lease away as soon as nothing is in flight."""
        if self.state is not State.LEAVING:
            self.on(Event.LEAVE)
        self.successor = successor

    def halt(self, reason: str) -> None:
        """Stop this partition until an operator or another worker looks at it."""
        self.on(Event.HALT)
        self.halted_because = reason

    def strike(self) -> bool:
        """Count a refusal at the present position; True when the partition must be halted instead of taken again."""
        if self.position != self._strike_position:
            self._strike_position, self._strikes = self.position, 0
        self._strikes += 1
        return self._strikes >= STRIKES

    def seen_free(self, now: float, *, free: bool) -> None:
        """Note whether the server's lease has no live owner; only this process's own clock measures for how long."""
        if not free:
            self.free_since = None
        elif self.free_since is None:
            self.free_since = now

    def orphaned(self, now: float, ttl_s: float) -> bool:
        """Free for longer than a lease lives: its rightful owner does not take it, so anybody may."""
        return self.state is State.AWAY and self.free_since is not None and now - self.free_since > ttl_s

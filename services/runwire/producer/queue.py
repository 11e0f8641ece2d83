"""What one partition's records go through: waiting, in flight, acknowledged, replayed. No I/O and no clock.

    fresh ──cut──▶ to_send ──next──▶ flight ──acknowledge──▶ tail ──prune──▶ gone
                      ▲                 │                      │
                      └──────────────── rewind ◀───────────────┘          on every new connection

At most one batch is in flight, and a rewind puts back everything from the oldest kept record on, so a partition only
ever receives complete suffixes in order. Whatever the broker lost or has twice, its first copies stay in order.
"""

from collections import deque
from collections.abc import Collection
from typing import NamedTuple

from runwire.broker.packing import transaction
from runwire.producer.options import ProducerOptions


class Batch:
    """Records that enter the broker together or not at all. `at`: when it was cut, then when it was acknowledged."""

    __slots__ = ("acknowledged", "at", "count", "data", "owners", "size")

    def __init__(self, records: list[bytes], owners: frozenset[str], at: float) -> None:
        self.data = transaction(records)
        self.size = len(self.data)
        self.count = len(records)
        self.owners = owners
        self.at = at
        self.acknowledged = False


class Failed(NamedTuple):
    """What was given up: the runs that have a hole now, and the ordinals above which nothing was acknowledged."""

    runs: frozenset[str]
    records: int


class Kept:
    """Bytes that all queues of a producer keep for replay."""

    __slots__ = ("total",)

    def __init__(self) -> None:
        self.total = 0


class PartitionQueue:
    """The records of one partition. Ordinals count its records from 1 in the order in which they were accepted."""

    def __init__(self, partitions: int, options: ProducerOptions, kept: Kept) -> None:
        self.accepted = 0
        self.acknowledged = 0
        self.given_up = 0
        self.pending_bytes = 0
        self.tail_bytes = 0
        self.flight: Batch | None = None
        # Too far behind: nothing new goes, but what is replayed does, because the broker may lack it.
        self.paused = False
        self._options = options
        self._all = kept
        # A share is never smaller than one batch, else many partitions would mean small batches.
        self._max_records = max(options.pending_records // partitions, options.batch_records)
        self._max_bytes = max(options.pending_bytes // partitions, options.batch_bytes // 4)
        self._fresh: deque[tuple[bytes, str]] = deque()
        self._fresh_bytes = 0
        self._fresh_since = 0.0
        self._last_cut = float("-inf")
        self._to_send: deque[Batch] = deque()
        self._tail: deque[Batch] = deque()

    @property
    def ripe(self) -> bool:
        """Whether the record pushed last changed when this queue is due: it was the first one, or filled a batch."""
        waiting = len(self._fresh)
        return waiting in (1, self._options.batch_records) or self._fresh_bytes >= self._options.batch_bytes

    @property
    def pending(self) -> int:
        """Records accepted and neither acknowledged nor given up."""
        return self.accepted - self.acknowledged - self.given_up

    @property
    def replaying(self) -> bool:
        """Whether what goes next was acknowledged before."""
        return bool(self._to_send) and self._to_send[0].acknowledged

    @property
    def kept(self) -> bool:
        """Whether there is anything that a new connection would send."""
        return bool(self._tail or self._to_send or self._fresh or self.flight)

    def has_room(self, records: int = 0, size: int = 0) -> bool:
        """Whether one more record fits beside `records` of `size` bytes that were promised room before it."""
        return self.pending + records < self._max_records and self.pending_bytes + size < self._max_bytes

    def push(self, packed: bytes, run: str, now: float) -> int:
        """Take a record; its ordinal."""
        if not self._fresh:
            self._fresh_since = now
        self._fresh.append((packed, run))
        self._fresh_bytes += len(packed)
        self.pending_bytes += len(packed)
        self.accepted += 1
        return self.accepted

    def due(self) -> float | None:
        """When the next batch should go, None if there is none to send or one is in flight."""
        if self.flight is not None or (self.paused and not self.replaying):
            return None
        if self._to_send:
            return float("-inf")
        if not self._fresh:
            return None
        if len(self._fresh) >= self._options.batch_records or self._fresh_bytes >= self._options.batch_bytes:
            return float("-inf")
        # After a quiet moment the first record does not wait; while records keep coming, a batch goes every linger.
        return max(self._fresh_since, self._last_cut + self._options.linger)

    def next(self, now: float) -> Batch:
        """The batch to send now: it is in flight until it is acknowledged, held back or rewound."""
        self.flight = self._to_send.popleft() if self._to_send else self._cut(now)
        return self.flight

    def acknowledge(self, now: float) -> None:
        """The batch in flight is in the broker; it is kept to be replayed."""
        batch = self._landed()
        if not batch.acknowledged:
            batch.acknowledged = True
            batch.owners = frozenset()
            self.acknowledged += batch.count
            self.pending_bytes -= batch.size
        batch.at = now
        self._tail.append(batch)
        self._keep(batch.size)

    def hold_back(self) -> None:
        """The broker refused the batch in flight as a whole: it is the next one again."""
        self._to_send.appendleft(self._landed())

    def rewind(self) -> None:
        """Nobody knows what the broker has: send the kept tail, then what was in flight, then what followed."""
        if self.flight is not None:
            self.hold_back()
        self._to_send.extendleft(reversed(self._tail))
        self._tail.clear()
        self._keep(-self.tail_bytes)

    def prune(self, acknowledged_before: float) -> None:
        """Forget what was acknowledged earlier than this."""
        while self._tail and self._tail[0].at < acknowledged_before:
            self.shrink()

    def shrink(self) -> None:
        """Forget the oldest kept batch."""
        self._keep(-self._tail.popleft().size)

    def expire(self, before: float) -> Failed | None:
        """After a rewind: drop what nobody may send any more; with an unacknowledged record all that follow it."""
        while self._to_send and self._to_send[0].acknowledged and self._to_send[0].at < before:
            self._to_send.popleft()
        unsent = next((b for b in self._to_send if not b.acknowledged), None)
        oldest = unsent.at if unsent is not None else self._fresh_since
        return self.give_up() if self.pending and oldest < before else None

    def give_up(self) -> Failed:
        """Drop everything unacknowledged. What was acknowledged is still kept and replayed."""
        if self.flight is not None:
            self.hold_back()
        lost = [b for b in self._to_send if not b.acknowledged]
        runs = frozenset(run for _, run in self._fresh).union(*(b.owners for b in lost))
        failed = Failed(runs, self.pending)
        self._to_send = deque(b for b in self._to_send if b.acknowledged)
        self._fresh.clear()
        self._fresh_bytes = self.pending_bytes = 0
        self.given_up += failed.records
        return failed

    def _keep(self, size: int) -> None:
        self.tail_bytes += size
        self._all.total += size

    def _landed(self) -> Batch:
        batch, self.flight = self.flight, None
        if batch is None:
            raise AssertionError("no batch is in flight")
        return batch

    def _cut(self, now: float) -> Batch:
        records: list[bytes] = []
        runs: set[str] = set()
        size = 0
        fresh = self._fresh
        while fresh and len(records) < self._options.batch_records:
            packed, run = fresh[0]
            if records and size + len(packed) > self._options.batch_bytes:
                break
            fresh.popleft()
            records.append(packed)
            runs.add(run)
            size += len(packed)
        batch = Batch(records, frozenset(runs), self._fresh_since)
        self._fresh_bytes -= size
        self.pending_bytes += batch.size - size
        self._fresh_since = self._last_cut = now
        return batch


def bound_tails(queues: Collection[PartitionQueue], kept: Kept, limit: int) -> None:
    """Keep all tails together within `limit` bytes. The largest pays: a busy partition cannot empty a quiet one's."""
    while kept.total > limit:
        max(queues, key=lambda queue: queue.tail_bytes).shrink()

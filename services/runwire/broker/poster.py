"""Carries parcels to other partitions ahead of the commits that they belong to. One task, one connection.

Like a producer it has one transaction in flight for each partition, so that nothing can enter after something was
refused, and it stops where a partition is too far behind. Unlike one it repeats nothing after a loss: the batch was not
committed, so its next owner makes the same records again, and their readers recognize what they have seen.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Final, assert_never, cast

from runwire.backoff import Backoff
from runwire.broker.batches import Full, Refused, Stored, Unusable, outcome_of
from runwire.broker.connection import Command, Link, Reply, ServerError
from runwire.broker.desk import Desk
from runwire.broker.handling import Parcel
from runwire.broker.packing import transaction
from runwire.broker.partition import Partition
from runwire.errors import LinkLost
from runwire_schemas.keys import ENFORCER_GROUP

# How often a partition that is written to is asked how far behind it is, as a producer asks it.
TICK_S: Final = 0.1
# Above the limit writing stops, below half of it it goes on: at the limit itself it would stop and go on all the time.
RESUME: Final = 0.5


class Errand:
    """The parcels of one batch. `done` when all are on the server; a ServerError if one of them is refused for good."""

    __slots__ = ("done", "generation", "open", "partition")

    def __init__(self, partition: Partition, parcels: int) -> None:
        self.partition = partition
        self.generation = partition.generation
        self.open = parcels
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not parcels:
            self.done.set_result(None)

    @property
    def void(self) -> bool:
        """Nobody waits for it any more."""
        return self.done.done() or self.partition.generation != self.generation

    def delivered(self) -> None:
        """One parcel more."""
        self.open -= 1
        if not self.open and not self.done.done():
            self.done.set_result(None)

    def failed(self, error: ServerError) -> None:
        """A parcel will never be taken."""
        if not self.done.done():
            self.done.set_exception(error)


class _Lane:
    """One partition that is written to."""

    __slots__ = ("backoff", "flight", "full", "hold_until", "measured", "number", "paused", "queue", "used")

    def __init__(self, number: int, backoff: Backoff) -> None:
        self.number = number
        self.backoff = backoff
        self.queue: deque[tuple[Parcel, Errand]] = deque()
        self.flight: list[tuple[Parcel, Errand]] = []
        self.measured = False  # whether anybody has asked yet how far behind it is
        self.paused = False  # too far behind
        self.full = False  # the server has no memory for it
        self.hold_until = 0.0
        self.used = False  # since its lag was last measured

    @property
    def uncertain(self) -> bool:
        """Whether it must be asked how far behind it is."""
        return self.used or self.paused or not self.measured

    def cut(self, records: int, size: int) -> list[tuple[Parcel, Errand]]:
        """What goes next, always at least one parcel; what nobody waits for is left out."""
        batch: list[tuple[Parcel, Errand]] = []
        while self.queue and len(batch) < records:
            parcel, errand = self.queue[0]
            if errand.void:
                errand.done.cancel()
            else:
                size -= len(parcel.data)
                if batch and size < 0:
                    break
                batch.append((parcel, errand))
            self.queue.popleft()
        return batch


class Poster:
    """Parcels of all partitions of a node."""

    def __init__(self, desk: Desk, link: Link) -> None:
        self._desk = desk
        self._link = link
        self._lanes: dict[int, _Lane] = {}
        self._error: Exception | None = None
        self._wake = asyncio.Event()

    def post(self, partition: Partition, parcels: Sequence[Parcel]) -> Errand:
        """Take parcels that a batch of `partition` has made; they go out in order."""
        errand = Errand(partition, len(parcels))
        touched: dict[int, _Lane] = {}
        for parcel in parcels:
            lane = touched.get(parcel.partition) or self._lane(parcel.partition)
            touched[parcel.partition] = lane
            lane.queue.append((parcel, errand))
        for lane in touched.values():
            self._pump(lane)
        return errand

    async def run(self) -> None:
        """Until cancelled. Raises LinkLost, or ServerError when the server refuses for a reason that passes."""
        clock = asyncio.get_running_loop().time
        while True:
            self._wake.clear()
            if self._error is not None:
                raise self._error
            await self._measure([lane for lane in self._lanes.values() if lane.uncertain])
            for lane in self._lanes.values():
                self._wait_patiently(lane, clock())
                self._pump(lane)
            busy = any(lane.used or lane.paused or lane.queue for lane in self._lanes.values())
            await _wait(self._wake, TICK_S if busy else None)

    def _lane(self, number: int) -> _Lane:
        lane = self._lanes.get(number)
        if lane is None:
            settings = self._desk.settings
            lane = self._lanes[number] = _Lane(number, Backoff(settings.backoff_min_s, settings.backoff_max_s))
            self._wake.set()
        return lane

    def _wait_patiently(self, lane: _Lane, now: float) -> None:
        """Waiting for room is no stall of those who wait. Who is about to leave gives up: its heir writes it again."""
        if not lane.paused and not lane.full:
            return
        for _, errand in lane.queue:
            partition = errand.partition
            if not errand.void and partition.flowing and not self._desk.draining:
                partition.lease.progress_at = now
            else:
                errand.done.cancel()

    def _pump(self, lane: _Lane) -> None:
        settings = self._desk.settings
        now = asyncio.get_running_loop().time()
        if lane.flight or lane.paused or not lane.measured or now < lane.hold_until or self._error is not None:
            return
        batch = lane.cut(settings.batch_records, settings.batch_bytes)
        if not batch:
            return
        commands = sum(parcel.commands for parcel, _ in batch)
        wire = transaction(parcel.data for parcel, _ in batch)
        try:
            sent = self._link.send_packed(wire, commands + 2)
        except LinkLost as error:
            self._fail(error)
            return
        lane.flight = batch
        if not lane.used:
            lane.used = True
            self._wake.set()
        sent.add_done_callback(partial(self._answered, lane, commands))

    def _answered(self, lane: _Lane, commands: int, sent: "asyncio.Future[list[Reply]]") -> None:
        batch, lane.flight = lane.flight, []
        if sent.cancelled():
            return
        error = sent.exception()
        if error is not None:
            self._fail(error if isinstance(error, Exception) else LinkLost(str(error)))
            return
        self._settle(lane, batch, sent.result(), commands)
        self._pump(lane)

    def _settle(self, lane: _Lane, batch: list[tuple[Parcel, Errand]], replies: list[Reply], commands: int) -> None:
        match outcome_of(replies, commands):
            case Stored():
                lane.full = False
                lane.backoff.reset()
                for _, errand in batch:
                    errand.delivered()
            case Full(reason):
                lane.queue.extendleft(reversed(batch))
                if not lane.full:
                    self._desk.observer.say("posting-waits", lane.number, reason=reason)
                lane.full = True
                lane.hold_until = asyncio.get_running_loop().time() + lane.backoff.delay()
            case Unusable(reason):
                self._fail(ServerError(reason))
            case Refused(reason):
                for _, errand in batch:
                    errand.failed(ServerError(f"records of partition {lane.number} were refused: {reason}"))
            case _ as never:
                assert_never(never)

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        self._wake.set()

    async def _measure(self, lanes: Sequence[_Lane]) -> None:
        """How far behind their readers are."""
        commands: list[Command] = []
        for lane in lanes:
            keys = self._desk.partitions[lane.number].keys
            commands += [("XINFO", "STREAM", keys.raw), ("HGET", keys.pos_raw, f"{ENFORCER_GROUP}:n")]
            lane.used = False
        if not commands:
            return
        replies = await self._link.call_many(commands)
        for lane, info, count in zip(lanes, replies[::2], replies[1::2], strict=True):
            lane.measured = True
            if isinstance(info, list):
                self._judge(lane, info, count)

    def _judge(self, lane: _Lane, info: list[Reply], count: Reply) -> None:
        fields = dict(zip(cast("list[bytes]", info[::2]), info[1::2], strict=False))
        added = fields.get(b"entries-added")
        if not isinstance(added, int):
            return
        lag = added - (int(count) if isinstance(count, bytes) and count.isdigit() else 0)
        limit = self._desk.settings.max_lag_records
        paused = lag > limit * (RESUME if lane.paused else 1)
        if paused and not lane.paused:
            self._desk.observer.say("posting-waits", lane.number, reason=f"{lag} records are not read yet")
        lane.paused = paused


async def _wait(event: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass

"""Keeps leases: beats, computes who should own what, takes, renews, hands over. One task, one connection."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, assert_never, cast

from runwire.broker import functions
from runwire.broker.alarms import alarm
from runwire.broker.connection import Link, ServerError
from runwire.broker.desk import Desk
from runwire.broker.leases import Event, State
from runwire.broker.membership import assign
from runwire.broker.partition import ISOLATE_AT, Partition
from runwire.errors import LinkLost

# A batch that is older than this is stuck, not slow (the slowest commit measured took 0.3 s): others may have it.
STALL_S: Final = 10.0
# Many members may nudge at once; one look at the members answers all of them.
NUDGE_PAUSE_S: Final = 0.02
LOOK_AFTER_S: Final = 0.01  # the server counts whole milliseconds, and its heartbeat was older than its lease
# Ten reads have then found nothing.
IDLE_S: Final = 1.0
SUSPECT_FIELD: Final = "t"  # of the lease hash: the record that an owner of an isolated partition is about to try


class Keeper:
    """Owns every change of a lease."""

    def __init__(self, desk: Desk, link: Link, nudges: Link, wake_intake: Callable[[], None]) -> None:
        self._desk = desk
        self._link = link
        self._nudges = nudges
        self._wake_intake = wake_intake
        self._want: Mapping[int, str] = {}
        self._ttl_ms = round(desk.settings.lease_ttl_s * 1000)
        self._nudged = False
        self._settled = asyncio.Event()
        self._wishes: set[int] = set()  # partitions that are ours by right and held by another, as the other was told
        self._announce_wishes = False
        self._look_at = math.inf  # when a lease runs out that its owner should have renewed by now
        self._went_back = False  # an epoch was not above the last one
        self.members: list[str] = []

    async def run(self) -> None:
        """Until the node drains. Raises LinkLost, and ServerError when the server refuses."""
        clock = asyncio.get_running_loop().time
        next_beat = 0.0
        while not self._desk.draining:
            self._desk.keeper_wake.clear()
            self._desk.turned_at = clock()
            full = self._nudged or clock() >= min(next_beat, self._look_at)
            if full:
                if not self._nudges.connected:
                    raise LinkLost("the subscription to the nudge channel was lost")
                self._nudged, self._look_at = False, math.inf
                next_beat = clock() + self._desk.settings.renew_s
                await self._beat()
                await asyncio.gather(self._renew_all(), self._peek_all())
            await self._give_away()
            await self._take_all()
            await self._write_alarms()
            self._settled.set()
            await _wait(self._desk.keeper_wake, max(min(next_beat, self._look_at) - clock(), 0.0))
            if self._nudged:
                await asyncio.sleep(NUDGE_PAUSE_S)

    def nudge(self, _channel: bytes, who: bytes) -> None:
        """Somebody joined, left or handed over: look now, not at the next beat."""
        if who.decode(errors="replace") != self._desk.me:
            self._nudged = True
            self._desk.keeper_wake.set()

    async def settled(self) -> None:
        """Return once the first look at members and leases is done."""
        await self._settled.wait()

    async def announce(self) -> None:
        """Tell the others to look at members and leases now."""
        await self._link.call("PUBLISH", self._desk.keys.nudge(self._desk.group), self._desk.me)

    async def leave(self) -> None:
        """Leave the members and give every lease to whoever comes next. Nothing may be in flight any more."""
        desk = self._desk
        # An answer is all that is wanted: where the members cannot be written, leases are still given away.
        await self._link.call_many([("ZREM", desk.keys.members(desk.group), desk.me)])
        heirs = assign((m for m in self.members if m != desk.me), len(desk.partitions))
        for partition in desk.held():
            partition.lease.leave(heirs.get(partition.number, ""))
        await asyncio.gather(*(self._apart(self._release, p) for p in list(desk.held())))
        await self.announce()

    async def _beat(self) -> None:
        desk = self._desk
        try:
            seen = await functions.beat(self._link, desk.keys.members(desk.group), desk.me, self._ttl_ms)
        except ServerError as error:
            if error.outcome == "refused" and not self.members:
                raise  # without any assignment nothing is begun: it would look healthy and do nothing
            # Who lives is advice. Without it the last assignment stands; leases and fences go on deciding.
            desk.observer.say("members-unreachable", reason=str(error))
            return
        joined = desk.me not in self.members
        self.members = sorted(seen.names)
        self._want = assign(self.members, len(desk.partitions))
        if joined:
            await self.announce()

    async def _renew_all(self) -> None:
        await asyncio.gather(*(self._apart(self._renew, p) for p in self._desk.held()))

    async def _apart(self, what: Callable[[Partition], Awaitable[None]], partition: Partition) -> None:
        """What is wrong with the keys of one partition must not stop the others: it is lost, and tried at each beat."""
        generation = partition.generation
        try:
            await what(partition)
        except ServerError as error:
            if error.outcome != "bug":
                raise
            if partition.defect != error.text:
                partition.defect = error.text
                self._desk.observer.say("partition-defect", partition.number, reason=error.text)
            if partition.generation == generation and partition.lease.held:
                partition.void(Event.FENCED)
                self._desk.handler.drop(partition.number)

    async def _renew(self, partition: Partition) -> None:
        desk, lease = self._desk, partition.lease
        now = asyncio.get_running_loop().time()
        if partition.idle or lease.state is State.HALTED:
            lease.progress_at = now
            if (lease.attempts or partition.isolated) and partition.flowing and now - lease.taken_at > IDLE_S:
                await self._absolve(partition)
        elif now - lease.progress_at > STALL_S:
            desk.observer.say("partition-stalled", partition.number, seconds=round(now - lease.progress_at, 1))
            return
        generation = partition.generation
        outcome = await functions.renew(self._link, partition.keys, desk.group, desk.me, lease.epoch, self._ttl_ms)
        if partition.generation != generation or not lease.held:
            return
        match outcome:
            case functions.Renewed(wanted_by=other):
                lease.renewed_at = now
                # Only the rightful owner may pull: a member with another view of the assignment must wait.
                if other and other != desk.me and other == self._want.get(partition.number):
                    lease.leave(other)
            case functions.Fenced():
                self._fenced(partition)
            case _:
                assert_never(outcome)

    async def _absolve(self, partition: Partition) -> None:
        """Nothing waits unread, so no record made the former owners vanish: the next one must not be blamed for it."""
        desk, lease = self._desk, partition.lease
        generation = partition.generation
        outcome = await functions.advance(
            self._link, partition.keys, desk.stream, desk.group, desk.me, lease.epoch, self._ttl_ms,
            prev=lease.position, last=lease.position, records=0,
        )  # fmt: skip
        if isinstance(outcome, functions.Advanced) and partition.generation == generation:
            partition.absolved()

    def _fenced(self, partition: Partition) -> None:
        self._desk.observer.say("partition-fenced", partition.number, epoch=partition.lease.epoch)
        self._desk.lose(partition, Event.FENCED)

    async def _peek_all(self) -> None:
        """Which partitions that I should not own have no live owner? Redis' clock decides, mine measures how long."""
        desk = self._desk
        others = [p for p in desk.partitions if p.lease.state is State.AWAY and self._want.get(p.number) != desk.me]
        if not others:
            return
        commands = [("TIME",), *(("HMGET", p.keys.lease(desk.group), "o", "x") for p in others)]
        time, *leases = await self._link.call_many(commands)
        if not isinstance(time, list):
            return
        seconds, micros = cast("list[bytes]", time)
        server_ms = int(seconds) * 1000 + int(micros) // 1000
        now = asyncio.get_running_loop().time()
        for partition, lease in zip(others, leases, strict=True):
            if isinstance(lease, list):
                owner, expires = cast("list[bytes | None]", lease)
                left = int(expires or 0) - server_ms
                partition.lease.seen_free(now, free=not owner or not 0 < left <= 2 * self._ttl_ms)
                self._expect(left)

    def _expect(self, left_ms: int) -> None:
        """Look as soon as a neglected lease runs out: at the next beat its readers would have waited for longer.

        A living owner renews in time, so its lease never has less than a beat left after two of them.
        """
        if 0 < left_ms < self._ttl_ms - 2 * round(self._desk.settings.renew_s * 1000):
            self._look_at = min(self._look_at, asyncio.get_running_loop().time() + left_ms / 1000 + LOOK_AFTER_S)

    async def _give_away(self) -> None:
        leaving = [p for p in self._desk.held() if p.lease.state is State.LEAVING and not p.in_flight]
        if leaving:
            await asyncio.gather(*(self._apart(self._release, p) for p in leaving))
            await self.announce()

    async def _release(self, partition: Partition) -> None:
        desk, lease = self._desk, partition.lease
        outcome = await functions.release(
            self._link, partition.keys, desk.group, desk.me, lease.epoch, self._ttl_ms, to=lease.successor
        )
        if lease.state is not State.LEAVING:
            return
        match outcome:
            case functions.Released():
                desk.observer.say("partition-released", partition.number, to=lease.successor or None)
                desk.lose(partition, Event.RELEASED)
            case functions.Fenced():
                self._fenced(partition)
            case _:
                assert_never(outcome)

    async def _take_all(self) -> None:
        desk = self._desk
        if desk.draining:
            return
        now = asyncio.get_running_loop().time()
        again, desk.to_take = desk.to_take, set()
        ttl_s = desk.settings.lease_ttl_s
        wanted = [
            p
            for p in desk.partitions
            if p.lease.state is State.AWAY
            and (self._want.get(p.number) == desk.me or p.number in again or p.lease.orphaned(now, ttl_s))
        ]
        for partition in desk.partitions:
            if partition.defect and partition not in wanted:
                partition.defect = ""  # another's to find out
        if wanted:
            await asyncio.gather(*(self._apart(self._take, p) for p in wanted))
        if self._went_back:
            # Then partition count, wire version and library may be gone, too: a new spell checks all of them.
            raise LinkLost("the server lost leases that it had given: its data was deleted, or older data restored")
        if self._announce_wishes:
            self._announce_wishes = False
            await self.announce()

    async def _take(self, partition: Partition) -> None:
        desk = self._desk
        outcome = await functions.take(self._link, partition.keys, desk.stream, desk.group, desk.me, self._ttl_ms)
        match outcome:
            case functions.Held():
                partition.lease.seen_free(0.0, free=False)
                partition.defect = ""
                self._expect(outcome.left_ms)
                self._wish(partition.number)
            case functions.Taken():
                self._wishes.discard(partition.number)
                if outcome.epoch <= partition.lease.epoch:
                    self._went_back, partition.lease.epoch = True, outcome.epoch
                    return
                # Before anything is read: afterwards the position moves on.
                if outcome.lost:
                    await self._count_trimmed(partition, outcome)
                if outcome.attempts >= ISOLATE_AT:
                    suspect = await self._link.call("HGET", partition.keys.lease(desk.group), SUSPECT_FIELD)
                    partition.suspect = suspect.decode() if isinstance(suspect, bytes) else ""
                self._begin(partition, outcome)
            case _:
                assert_never(outcome)

    def _begin(self, partition: Partition, taken: functions.Taken) -> None:
        lease = partition.lease
        now = asyncio.get_running_loop().time()
        lease.taken(taken.epoch, taken.position, taken.count + taken.lost, taken.attempts, now)
        # Of a stream that was made anew nobody knows how many records went with the old one.
        lease.trimmed_unread += max(taken.lost, int(taken.reset))
        partition.taken()
        self._desk.observer.say("partition-taken", partition.number, epoch=lease.epoch, position=lease.position)
        self._wake_intake()

    def _wish(self, number: int) -> None:
        """The owner finds the wish when it renews. Tell it to do so now, once."""
        if number not in self._wishes:
            self._wishes.add(number)
            self._announce_wishes = True

    async def _count_trimmed(self, partition: Partition, taken: functions.Taken) -> None:
        """Somebody else removed records that nobody had read: say so, and let the count be exact again."""
        desk, at, lost = self._desk, taken.position, taken.lost
        evidence = alarm("records-trimmed-unread", f"{lost} records", at, lost)
        await functions.write_alarm(self._link, partition.keys, evidence, desk.settings.evidence_max)
        await functions.advance(
            self._link, partition.keys, desk.stream, desk.group, desk.me, taken.epoch, self._ttl_ms,
            prev=at, last=at, records=lost,
        )  # fmt: skip

    async def _write_alarms(self) -> None:
        desk = self._desk
        while desk.alarms:
            number, evidence = desk.alarms[0]
            try:
                await functions.write_alarm(
                    self._link, desk.partitions[number].keys, evidence, desk.settings.evidence_max
                )
            except ServerError as error:
                if error.outcome != "bug":
                    raise
                desk.observer.say("alarm-not-written", number, code=evidence.code, reason=error.text)
            del desk.alarms[0]


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass

"""What an owner does beside its records: trimming, mirrored groups, lag. Each chore has its own pace.

A chore never decides anything: the functions it calls check the lease themselves, and what fails is tried again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from runwire.broker import functions
from runwire.broker.connection import Link
from runwire.broker.desk import Desk
from runwire.broker.partition import Partition
from runwire.broker.trimming import mirror
from runwire.broker.worker import Worker
from runwire.errors import LinkLost

LONGEST_PAUSE: Final = 32  # times a chore's pace, after failures in a row


class Spell(NamedTuple):
    """One spell of work over one set of connections."""

    desk: Desk
    link: Link
    worker: Worker


class Chore(Protocol):
    """Something to do again and again for the partitions that flow here."""

    every_s: ClassVar[float]

    async def run(self, spell: Spell) -> None:
        """Do it once. May raise LinkLost (ends the spell) and ServerError (tried again, more slowly each time)."""
        ...


async def repeat(chore: Chore, spell: Spell) -> None:
    """Run a chore at its pace until cancelled. Raises LinkLost."""
    failures = 0
    while True:
        try:
            await chore.run(spell)
            failures = 0
        except LinkLost:
            raise
        except Exception as error:  # noqa: BLE001 - a chore that fails must not stop the records
            failures += 1
            spell.desk.observer.say("chore-failed", chore=type(chore).__name__, error=error, failures=failures)
        end_if_cancelled()
        await asyncio.sleep(chore.every_s * min(2**failures, LONGEST_PAUSE))


class Apart:
    """Does something for one partition at a time. Where it fails it rests, longer each time; the others go on."""

    def __init__(self, chore: str, every_s: float) -> None:
        """`every_s` is the pace of the chore, in seconds."""
        self._chore = chore
        self._every_s = every_s
        self._failures: dict[int, int] = {}
        self._rests_until: dict[int, float] = {}

    async def attempt(self, spell: Spell, partition: Partition, what: Callable[[], Awaitable[Any]]) -> None:
        """Do it, unless the partition rests. Raises LinkLost only."""
        number, now = partition.number, asyncio.get_running_loop().time()
        if now < self._rests_until.get(number, now):
            return
        try:
            await what()
        except LinkLost:
            raise
        except Exception as error:  # noqa: BLE001 - a chore that fails in one partition must not stop it in others
            failures = self._failures[number] = self._failures.get(number, 0) + 1
            self._rests_until[number] = now + self._every_s * min(2**failures, LONGEST_PAUSE)
            spell.desk.observer.say("chore-failed", number, chore=self._chore, error=error, failures=failures)
            end_if_cancelled()
        else:
            self._failures.pop(number, None)
            self._rests_until.pop(number, None)


def end_if_cancelled() -> None:
    """After an error that was caught. Raises CancelledError.

    redis-py answers a cancellation in the middle of connecting with an error of its own: a drain that came then waited
    for this chore for ever.
    """
    if (task := asyncio.current_task()) is not None and task.cancelling():
        raise asyncio.CancelledError


class Trim:
    """Drops what every group has read and the horizon has passed; the answer also tells this group's lag."""

    every_s: ClassVar[float] = 1.0
    # A partition where nothing was committed is looked at only so often: that keeps an idle deployment idle.
    IDLE_ROUNDS: ClassVar[int] = 5

    def __init__(self) -> None:
        self._apart = Apart("Trim", self.every_s)
        self._round = 0
        self._seen: dict[int, str] = {}  # partition -> position at the last look

    async def run(self, spell: Spell) -> None:
        """A few calls for each partition that moved, and for all of them now and then."""
        self._round += 1
        moved = [p for p in spell.desk.flowing() if self._due(p)]
        # At once: one connection carries the calls behind each other.
        await asyncio.gather(*(self._apart.attempt(spell, p, partial(self._trim, spell, p)) for p in moved))

    def _due(self, partition: Partition) -> bool:
        position = partition.lease.position
        moved = self._seen.get(partition.number) != position or len(partition.backlog) > 0
        self._seen[partition.number] = position
        return moved or (self._round + partition.number) % self.IDLE_ROUNDS == 0

    async def _trim(self, spell: Spell, partition: Partition) -> None:
        desk, settings = spell.desk, spell.desk.settings
        generation = partition.generation
        horizon_ms, keep_ms = round(settings.raw_horizon_s * 1000), round(settings.keep_wait_s * 1000)
        trimmed = await functions.trim(spell.link, partition.keys, desk.stream, horizon_ms, keep_ms=keep_ms)
        if desk.stream == "raw":
            # The log of a partition is written by its owner here, so it is trimmed here too.
            await functions.trim(spell.link, partition.keys, "chunks", horizon_ms)
            await functions.expire_index(spell.link, partition.keys, round(settings.evidence_ttl_s * 1000))
        for progress in trimmed.groups:
            if progress.group == desk.group and partition.generation == generation:
                partition.lag = progress.lag
                await mirror(spell.link, partition.keys, desk.stream, desk.group, progress.position, progress.count)
                if (progress.lost or progress.lag < 0) and partition.flowing:
                    # Somebody else removed unread records, or made the stream anew (more was read than it ever had).
                    # Taking the lease again counts them exactly and says so.
                    desk.again(partition)

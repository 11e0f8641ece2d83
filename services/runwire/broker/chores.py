"""What an owner does beside its records: trimming, mirrored groups, lag. Each chore has its own pace.

A chore never decides anything: the functions it calls check the lease themselves, and what fails is tried again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
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
        if (task := asyncio.current_task()) is not None and task.cancelling():
            # redis-py answers a cancellation in the middle of connecting with an error of its own: a drain that came
            # then waited for this chore for ever.
            raise asyncio.CancelledError
        await asyncio.sleep(chore.every_s * min(2**failures, LONGEST_PAUSE))


async def each(partitions: Iterable[Partition], what: Callable[[Partition], Awaitable[Any]]) -> None:
    """Do something for several partitions at once: one connection carries the calls behind each other."""
    await asyncio.gather(*(what(p) for p in partitions))


class Trim:
    """Drops what every group has read and the horizon has passed; the answer also tells this group's lag."""

    every_s: ClassVar[float] = 1.0
    # A partition where nothing was committed is looked at only so often: that keeps an idle deployment idle.
    IDLE_ROUNDS: ClassVar[int] = 5

    def __init__(self) -> None:
        self._round = 0
        self._seen: dict[int, str] = {}  # partition -> position at the last look

    async def run(self, spell: Spell) -> None:
        """A few calls for each partition that moved, and for all of them now and then."""
        self._round += 1
        moved = [p for p in spell.desk.flowing() if self._due(p)]
        await each(moved, partial(self._trim, spell))

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
                if progress.lost and partition.flowing:
                    # Somebody else removed unread records. Taking the lease again counts them exactly and says so.
                    desk.again(partition)

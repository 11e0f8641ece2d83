"""Lets time end runs. The passing of a deadline enters the stream as a record: a log stays a function of records."""

from functools import partial
from typing import ClassVar, Final

from runwire.broker import functions
from runwire.broker.chores import Spell, each
from runwire.broker.leases import Event
from runwire.broker.partition import Partition
from runwire.enforcer.handler import RunHandler

# Looked at at once: a partition with more overdue runs gets through them at 400 a second.
DUE_LIMIT: Final = 100
# A `timeout` that was written takes effect with its commit, which moves the deadline. Should that not happen (a record
# overtook it), the run is looked at again after this.
RETRY_MS: Final = 5000


class Timeouts:
    """Asks each partition for runs whose deadline has passed, and writes their `timeout` records."""

    every_s: ClassVar[float] = 0.25

    def __init__(self, handler: RunHandler) -> None:
        self._handler = handler

    async def run(self, spell: Spell) -> None:
        """One call a partition when nothing is due."""
        await each(spell.desk.flowing(), partial(self._look, spell))

    async def _look(self, spell: Spell, partition: Partition) -> None:
        number = partition.number
        runs = await functions.due(spell.link, partition.keys, DUE_LIMIT)
        if not runs or not partition.flowing:
            return
        due = await spell.worker.ask(
            partition,
            lambda: self._handler.unloaded(number, runs),
            lambda: self._handler.due(number, runs, partition.lease.taken_at),
        )
        if due is None:
            return
        if due.ghosts:
            # A deadline without a run: its state expired or was deleted by hand. Nothing will ever move it.
            await spell.link.call("ZREM", partition.keys.open, *due.ghosts)
        if due.bodies:
            await self._write(spell, partition, due.bodies)

    async def _write(self, spell: Spell, partition: Partition, bodies: list[tuple[str, bytes]]) -> None:
        desk, generation, epoch = spell.desk, partition.generation, partition.lease.epoch
        outcome = await functions.write_timeouts(
            spell.link, partition.keys, desk.group, desk.me, epoch, bodies, RETRY_MS
        )
        if isinstance(outcome, functions.Fenced) and partition.generation == generation and partition.flowing:
            desk.lose(partition, Event.FENCED)

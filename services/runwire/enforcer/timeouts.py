"""Lets time end runs. The passing of a deadline enters the stream as a record: a log stays a function of records."""

from functools import partial
from typing import ClassVar, Final

from runwire.broker import functions
from runwire.broker.chores import Apart, Spell
from runwire.broker.connection import ServerError
from runwire.broker.deadlines import due_everywhere
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
        self._apart = Apart("Timeouts", self.every_s)

    async def run(self, spell: Spell) -> None:
        """One write when nothing is due."""
        flowing = [(p, p.generation) for p in spell.desk.flowing()]
        due = await due_everywhere(spell.link, [p.keys for p, _ in flowing], DUE_LIMIT)
        for (partition, generation), runs in zip(flowing, due, strict=True):
            if runs and partition.generation == generation and partition.flowing:
                await self._apart.attempt(spell, partition, partial(self._end, spell, partition, runs))

    async def _end(self, spell: Spell, partition: Partition, runs: list[str] | ServerError) -> None:
        if isinstance(runs, ServerError):
            raise runs
        number = partition.number
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

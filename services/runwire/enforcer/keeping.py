"""Copies a violated run's raw records aside, so that it can be explained and redriven after raw was trimmed.

The commit that ends the run leaves a hold: trimming waits for the copy, at most a minute. The hold is also the note of
what is still to do, so an owner that takes the partition over goes on where its predecessor stopped.
"""

import asyncio
from collections import deque
from typing import ClassVar, Final, NamedTuple, cast

from runwire.broker import functions
from runwire.broker.alarms import alarm
from runwire.broker.chores import Spell, end_if_cancelled
from runwire.broker.partition import Partition
from runwire.broker.reading import Appetite, Entry, entry_bytes
from runwire.enforcer.handler import KEEP, RunHandler
from runwire.errors import LinkLost
from runwire_schemas.record import parse

PAGE: Final = 200  # entries of the partition read at a time; fewer where they are large
TRIES: Final = 10  # of a copy that the server refuses, once a round, until it is given up
PAUSE_S: Final = 0.005  # between pages: the copy is in no hurry, commits are


class _Job(NamedTuple):
    partition: Partition
    generation: int
    run: str
    tries: int = 1

    @property
    def void(self) -> bool:
        return self.partition.generation != self.generation or not self.partition.flowing


class Keeping:
    """One copy at a time."""

    every_s: ClassVar[float] = 0.2

    def __init__(self, handler: RunHandler) -> None:
        self._handler = handler
        self._jobs: deque[_Job] = deque()
        self._resumed: dict[int, int] = {}  # partition -> generation whose inherited holds were read

    async def run(self, spell: Spell) -> None:
        """Do what there is to do. Costs nothing when there is nothing."""
        for partition in spell.desk.flowing():
            if self._resumed.get(partition.number) != partition.generation:
                await self._resume(spell, partition)
            for run in self._handler.take_to_keep(partition.number):
                self._jobs.append(_Job(partition, partition.generation, run))
        for _ in range(len(self._jobs)):
            job = self._jobs.popleft()
            if not job.void:
                await self._attempt(spell, job)

    async def _attempt(self, spell: Spell, job: _Job) -> None:
        """One copy that fails must not stop those behind it."""
        try:
            await self._copy(spell, job)
        except LinkLost:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            spell.desk.observer.say(
                "chore-failed", job.partition.number, chore="Keeping", run_id=job.run, error=error, failures=job.tries
            )
            end_if_cancelled()
            if job.tries < TRIES:
                self._jobs.append(job._replace(tries=job.tries + 1))
            else:
                await self._incomplete(spell, job, f"the copy failed {TRIES} times: {error}")

    async def _resume(self, spell: Spell, partition: Partition) -> None:
        generation = partition.generation
        fields = cast("list[bytes]", await spell.link.call("HKEYS", partition.keys.holds))
        for field in fields:
            name = field.decode(errors="replace")
            if name.startswith(KEEP):
                self._jobs.append(_Job(partition, generation, name.removeprefix(KEEP)))
        self._resumed[partition.number] = generation

    async def _copy(self, spell: Spell, job: _Job) -> None:
        keys = job.partition.keys
        hold = await spell.link.call("HGET", keys.holds, f"{KEEP}{job.run}")
        if not isinstance(hold, bytes):
            # Where a copy lies, the hold went with it. A copy is asked for twice when an owner sees the hold of its
            # commit before it hears the commit's answer.
            if not await spell.link.call("EXISTS", keys.kept(job.run)):
                await self._incomplete(spell, job, "0 records are kept")
            return
        begin = hold.split(b" ")[0].decode()
        end = job.partition.lease.position
        room, appetite = spell.desk.settings.kept_bytes, Appetite(PAGE)
        while not job.void:
            count = appetite.count(1)
            page = cast("list[Entry]", await spell.link.call("XRANGE", keys.raw, begin, end, "COUNT", count))
            appetite.saw(max(map(entry_bytes, page), default=0), full=len(page) == count)
            mine: list[Entry] = []
            for entry in page:
                if parse(*entry).run == job.run:
                    room -= entry_bytes(entry)
                    if room < 0:
                        break
                    mine.append(entry)
            done = len(page) < count or room < 0
            lapsed = done and not await spell.link.call("HEXISTS", keys.holds, f"{KEEP}{job.run}")
            if mine or done:
                await self._keep(spell, job, mine, done=done)
            if lapsed:
                await self._incomplete(spell, job, "the first may be missing")
            if done:
                return
            begin = f"({page[-1][0].decode()}"
            await asyncio.sleep(PAUSE_S)

    async def _incomplete(self, spell: Spell, job: _Job, detail: str) -> None:
        """The hold lapsed before the copy was done: raw records may have gone."""
        if not job.void:
            evidence = alarm("kept-incomplete", detail, job.partition.lease.position, run=job.run)
            await functions.write_alarm(spell.link, job.partition.keys, evidence, spell.desk.settings.evidence_max)

    async def _keep(self, spell: Spell, job: _Job, entries: list[Entry], *, done: bool) -> None:
        desk, partition = spell.desk, job.partition
        ttl_ms = round(desk.settings.evidence_ttl_s * 1000)
        if job.void:
            return
        # A fenced answer needs nothing here: the new owner finds the hold and does the copy.
        await functions.keep(
            spell.link, partition.keys, desk.group, desk.me, partition.lease.epoch, job.run, entries, ttl_ms, done
        )

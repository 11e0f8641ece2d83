"""One producer process of a chaos run: writes known content into several runs at once and notes what was acknowledged.

Run as a module: folder, url, slot, generation, seed, records per second. SIGTERM lets it finish the runs it has open.
"""

import asyncio
import json
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from runwire import Producer
from runwire.producer.options import ProducerOptions
from runwire_schemas.errors import RunwireError

from .content import Plan, Role, plan, run_id
from .journal import AckLine, Journal, OverLine, ProducerNotes, RunLine, producer_path

OPEN_RUNS: Final = 12
# A start may meet several outages in a row. Giving up with an error is what an impatient start is for, not a finding.
START_TIMEOUT_S: Final = 60.0
NOTE_EVERY_S: Final = 0.05
# Longer than every idle limit of a chaos run.
SILENCE_S: Final = 6.5
# What becomes of a killed process's open run: the rest of the shares is given up, so that its idle limit must end it.
REPLACED: Final = 0.6
JOINED, ABORTED = 0.35, 0.6

_encode = msgspec.json.Encoder().encode


class Task(NamedTuple):
    folder: Path
    url: str
    slot: int
    generation: int
    seed: int
    rate: float

    @property
    def name(self) -> str:
        return f"producer-{self.slot}-{self.generation}"

    @property
    def stable(self) -> bool:
        """Even slots keep their source and raise its epoch, odd ones are a new source each time."""
        return self.slot % 2 == 0


class Writer:
    """The runs of one process, and its journal."""

    def __init__(self, task: Task, producer: Producer) -> None:
        self.task, self.producer = task, producer
        self.journal = Journal(producer_path(task.folder, task.slot, task.generation))
        self.names = Journal(task.folder / f"runs-{task.name}")
        self.sent, self.noted = Counter[str](), Counter[str]()
        self.stopping = asyncio.Event()
        self.rng = random.Random(f"{task.seed}/{task.name}")

    async def work(self) -> None:
        """Adopt what a killed predecessor left open, then write new runs until told to stop."""
        notes = asyncio.create_task(self.keep_notes())
        jobs = self.jobs()
        async with asyncio.TaskGroup() as group:
            for _ in range(OPEN_RUNS):
                group.create_task(self.write_runs(jobs))
        notes.cancel()
        await asyncio.wait([notes])
        await self.note()

    def jobs(self) -> Iterator[tuple[str, Role]]:
        yield from self.adopted()
        number = 0
        while not self.stopping.is_set():
            # Numbers of another generation never repeat: each has its own hundred thousand.
            yield run_id(self.task.seed, self.task.slot, self.task.generation * 100_000 + number), "start"
            number += 1

    def adopted(self) -> Iterator[tuple[str, Role]]:
        for run in left_open(self.task):
            role = self.role_for(run)
            if role is None:
                self.journal.write([_encode(OverLine(run))], sync=True)
            else:
                yield run, role

    def role_for(self, run: str) -> Role | None:
        share = random.Random(f"{run}/{self.task.generation}/adopt").random()
        if self.task.stable:
            return "replace" if share < REPLACED else None
        return "join" if share < JOINED else "abort" if share < ABORTED else None

    async def write_runs(self, jobs: Iterator[tuple[str, Role]]) -> None:
        for run, role in jobs:
            self.journal.write([_encode(RunLine(run, role))], sync=True)
            self.names.write([run.encode()])
            try:
                await self.write_run(plan(run, self.task.generation, role))
            except RunwireError as error:
                # The rest of this run was never acknowledged; its idle limit ends it.
                print(f"{run}: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201  its log
            self.journal.write([_encode(OverLine(run))])

    async def write_run(self, what: Plan) -> None:
        async with self.producer.run(what.run_id) as run:
            for number, record in enumerate(what.records, 1):
                if record.call is None:
                    await run.control(json.loads(record.body))
                else:
                    await run.send(record.body, call=record.call)
                self.sent[what.run_id] = number
                if number == what.silent_after:
                    await asyncio.sleep(SILENCE_S)
                elif self.rng.random() < 1 / 4:
                    # Bursts of about four records, as token streams come.
                    await asyncio.sleep(self.rng.uniform(0.5, 1.5) * 4 * OPEN_RUNS / self.task.rate)

    async def keep_notes(self) -> None:
        while True:
            await asyncio.sleep(NOTE_EVERY_S)
            await self.note()

    async def note(self) -> None:
        """Ask for the acknowledgement of all that was sent, and write down what it covers."""
        counts = {run: count for run, count in self.sent.items() if count > self.noted[run]}
        if not counts:
            return
        begun = time.monotonic()
        try:
            await self.producer.flush()
        except RunwireError as error:
            print(f"flush: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201  its log
            return
        self.journal.write([_encode(AckLine(begun, time.monotonic(), counts))], sync=True)
        self.noted.update({run: count - self.noted[run] for run, count in counts.items()})


def left_open(task: Task) -> list[str]:
    """Runs that processes of this slot had open when they were killed, and that nobody has given up since."""
    runs: dict[str, None] = {}
    for generation in range(task.generation):
        notes = ProducerNotes(producer_path(task.folder, task.slot, generation))
        runs |= dict.fromkeys(notes.roles)
        runs = dict.fromkeys(run for run in runs if run not in notes.over)
    return list(runs)


async def main(task: Task) -> None:
    src, epoch = (f"slot-{task.slot}", task.generation) if task.stable else (None, None)
    options = ProducerOptions(start_timeout=START_TIMEOUT_S)
    async with Producer(task.url, src=src, epoch=epoch, options=options) as producer:
        writer = Writer(task, producer)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, writer.stopping.set)
        await writer.work()


if __name__ == "__main__":
    folder, url, slot, generation, seed, rate = sys.argv[1:]
    asyncio.run(main(Task(Path(folder), url, int(slot), int(generation), int(seed), float(rate))))

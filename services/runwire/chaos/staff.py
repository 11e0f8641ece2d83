"""The processes of a chaos run: started, killed, stopped and continued. None of them outlives it."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

from runwire.embedded.server import Server

from .reaper import Reaper

# An enforcer drains in well under its lease; a producer may have to finish its runs.
LEAVE_LIMIT_S: Final = 20.0
_LOOK_S: Final = 0.1


class Part(StrEnum):
    PRODUCER = "producer"
    ENFORCER = "enforcer"
    READER = "reader"


class Worker:
    """One child process. `slot` is its place, `generation` counts the processes that had this place before."""

    def __init__(self, part: Part, slot: int, generation: int, process: subprocess.Popen[bytes]) -> None:
        self.part, self.slot, self.generation, self.process = part, slot, generation, process
        self.name = f"{part}-{slot}-{generation}"
        self.died: float | None = None
        self.stopped = False
        self.ordered = False  # somebody asked it to end, or killed it

    @property
    def alive(self) -> bool:
        return self.process.poll() is None


class Staff:
    """All child processes, dead ones included. Not for several threads."""

    def __init__(self, folder: Path, url: str, environ: Mapping[str, str], seed: int, rate: float) -> None:
        self.folder, self.workers = folder, list[Worker]()
        self._url, self._seed, self._rate = url, seed, rate
        self._environ = {**os.environ, **environ, "RUNWIRE_REDIS_URL": url}
        self._generations = Counter[tuple[Part, int]]()
        self._reaper = Reaper()
        self._server: int | None = None
        self._stuck: list[Worker] = []

    def watch_server(self, server: Server) -> None:
        """The server's process changes with each restart."""
        if self._server is not None:
            self._reaper.forget(self._server)
        self._server = server.pid
        self._reaper.watch(server.pid)

    def start(self, part: Part, slot: int) -> Worker:
        generation = self._generations[part, slot]
        self._generations[part, slot] += 1
        log = (self.folder / f"{part}-{slot}-{generation}.log").open("ab")
        with log:
            process = subprocess.Popen(
                self._command(part, slot, generation),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=self._environ,
            )
        self._reaper.watch(process.pid)
        self.workers.append(Worker(part, slot, generation, process))
        return self.workers[-1]

    def _command(self, part: Part, slot: int, generation: int) -> list[str]:
        if part is Part.ENFORCER:
            return [sys.executable, "-m", "runwire", "enforcer"]
        module = f"runwire.chaos.{part}"
        arguments = [str(self.folder), self._url, str(slot), str(generation), str(self._seed), str(self._rate)]
        return [sys.executable, "-m", module, *arguments]

    def active(self, part: Part) -> list[Worker]:
        """Those that run and are not stopped."""
        return [w for w in self.workers if w.part is part and w.alive and not w.stopped]

    def free_slot(self, part: Part) -> int:
        taken = {w.slot for w in self.workers if w.part is part and w.alive}
        return next(slot for slot in range(len(taken) + 1) if slot not in taken)

    def kill(self, worker: Worker) -> None:
        worker.ordered = True
        worker.process.kill()
        worker.process.wait()
        self._gone(worker)

    def stop(self, worker: Worker) -> None:
        worker.process.send_signal(signal.SIGSTOP)
        worker.stopped = True

    def resume(self, worker: Worker) -> None:
        if worker.alive:
            worker.process.send_signal(signal.SIGCONT)
        worker.stopped = False

    def accidents(self) -> Iterator[tuple[str, str]]:
        """Processes that ended by themselves, with an error, or not at all when they were asked to."""
        for worker in self.workers:
            status, log = worker.process.poll(), self.folder / f"{worker.name}.log"
            if worker in self._stuck:
                yield worker.name, f"was asked to leave and did not within {LEAVE_LIMIT_S:.0f} s; its log is {log}"
            elif status is not None and (not worker.ordered or status > 0):
                yield worker.name, f"ended by itself with status {status}; its log is {log}"

    def ask_to_leave(self, worker: Worker) -> None:
        worker.ordered = True
        worker.process.send_signal(signal.SIGTERM)

    async def wait_until_left(self, leaving: Sequence[Worker]) -> None:
        """Those asked to leave should drain and go; one that does not is killed, and the verdict says so."""
        limit = time.monotonic() + LEAVE_LIMIT_S
        while any(worker.alive for worker in leaving) and time.monotonic() < limit:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(_LOOK_S)
        for worker in leaving:
            if worker.alive:
                self._stuck.append(worker)
                self.kill(worker)
            elif worker.died is None:
                self._gone(worker)

    def _gone(self, worker: Worker) -> None:
        worker.died = time.monotonic()
        self._reaper.forget(worker.process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            if worker.alive:
                self.kill(worker)
        self._reaper.close()

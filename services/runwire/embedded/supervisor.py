"""Processes kept alive: started, watched, restarted with back-off, stopped in order.

Watching costs nothing while nothing happens: one thread per process waits for its end.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Final, NamedTuple

from runwire_schemas.errors import RunwireError

FIRST_BACKOFF_S: Final = 0.2
MAX_BACKOFF_S: Final = 10.0
# What lived this long was healthy: its next crash starts the back-off anew.
HEALTHY_AFTER_S: Final = 30.0
# So many ends in a row, none healthy: a crash loop, which a human should look at.
CRASH_LOOP: Final = 5
# A log file larger than this is set aside as `<name>.log.1` when its process starts again.
LOG_BYTES: Final = 8 * 1024 * 1024
LOG_TAIL_BYTES: Final = 4096


class Ended(NamedTuple):
    """A process ended by itself. `how` is for people: its exit code or the signal that killed it."""

    name: str
    how: str


class Kept(ABC):
    """Something that is kept running."""

    def __init__(self, name: str, log: Path) -> None:
        self.name = name
        self.log = log
        self.restart_at: float | None = None
        self.failures = 0
        self._started_at = 0.0

    @property
    @abstractmethod
    def pid(self) -> int | None:
        """The process id while it runs."""

    @abstractmethod
    def launch(self, ended: Callable[[Ended], None]) -> None:
        """Start; `ended` is called once from another thread when it is over. Raises RunwireError or OSError."""

    def start(self, ended: Callable[[Ended], None]) -> None:
        """Start now. A start that fails counts as an end."""
        self.restart_at = None
        self._started_at = time.monotonic()
        try:
            self.launch(ended)
        except (RunwireError, OSError) as error:
            ended(Ended(self.name, str(error).splitlines()[0]))

    def plan_restart(self) -> float:
        """Note an end, and say after how many seconds to start again."""
        lived = time.monotonic() - self._started_at
        self.failures = 1 if lived >= HEALTHY_AFTER_S else self.failures + 1
        pause: float = min(MAX_BACKOFF_S, FIRST_BACKOFF_S * 2 ** (self.failures - 1))
        self.restart_at = time.monotonic() + pause
        return pause

    def last_words(self) -> str:
        """The last line of its log, or an empty string."""
        with contextlib.suppress(OSError), self.log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_TAIL_BYTES))
            lines = log.read().decode(errors="replace").split("\n")
            return next((line.strip() for line in reversed(lines) if line.strip()), "")
        return ""


class Child(Kept):
    """A child process. Its stdin is a pipe that nobody writes: it closes when this process dies, however it dies."""

    def __init__(self, name: str, log: Path, command: Sequence[str], environ: Mapping[str, str]) -> None:
        super().__init__(name, log)
        self._command = list(command)
        self._environ = dict(environ)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def launch(self, ended: Callable[[Ended], None]) -> None:
        with _log_file(self.log) as log:
            # A session of its own, so that Ctrl-C reaches only the supervisor, which stops its children in order.
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True, env=self._environ
            )
        threading.Thread(target=self._wait, args=(self._process, ended), daemon=True).start()

    def _wait(self, process: subprocess.Popen[bytes], ended: Callable[[Ended], None]) -> None:
        status = process.wait()
        if process.stdin is not None:
            process.stdin.close()
        ended(Ended(self.name, f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"))

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it still runs."""
        if self._process is not None:
            self._process.send_signal(number)

    def gone(self, limit_s: float) -> bool:
        """Whether it is over after at most `limit_s`."""
        try:
            if self._process is not None:
                self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return False
        return True


@contextlib.contextmanager
def _log_file(path: Path) -> Generator[IO[bytes]]:
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_name(path.name + ".1"))
    with path.open("ab") as log:
        yield log


class Supervisor:
    """Keeps things alive. `say` gets one sentence per event worth telling, from the thread that is in `run`."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._kept: dict[str, Kept] = {}
        self._say = say
        # SimpleQueue, for a signal handler may put into it while the same thread waits on it.
        self._events: SimpleQueue[Ended | None] = SimpleQueue()

    def start(self, one: Kept) -> None:
        """Start something and keep it alive from now on."""
        self._kept[one.name] = one
        one.start(self._events.put)

    def request_stop(self) -> None:
        """Make `run` return. Safe from a signal handler and from any thread."""
        self._events.put(None)

    def run(self) -> None:
        """Restart what ends, until `request_stop`."""
        while True:
            try:
                event = self._events.get(timeout=self._next_restart())
            except Empty:
                self._restart_due()
                continue
            if event is None:
                return
            self._plan(self._kept[event.name], event)

    def _next_restart(self) -> float | None:
        due = [one.restart_at for one in self._kept.values() if one.restart_at is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _restart_due(self) -> None:
        for one in self._kept.values():
            if one.restart_at is not None and one.restart_at <= time.monotonic():
                one.start(self._events.put)

    def _plan(self, one: Kept, event: Ended) -> None:
        pause = one.plan_restart()
        self._say(f"{event.name} ended ({event.how}); starting it again in {pause:.1f} s")
        if one.failures == CRASH_LOOP:
            words = one.last_words()
            self._say(f"{event.name} is in a crash loop; its log is {one.log}" + (f": {words}" if words else ""))


def stop_children(children: Sequence[Child], limit_s: float) -> list[str]:
    """SIGTERM to all, wait up to `limit_s` together, SIGKILL the rest; the names of those that had to be killed."""
    running = [child for child in children if child.pid is not None]
    for child in running:
        child.send(signal.SIGTERM)
    deadline = time.monotonic() + limit_s
    stuck = [child for child in running if not child.gone(max(0.0, deadline - time.monotonic()))]
    for child in stuck:
        child.send(signal.SIGKILL)
        child.gone(limit_s)
    return [child.name for child in stuck]

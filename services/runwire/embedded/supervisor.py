"""Child processes kept alive: started, watched, restarted with back-off, stopped in order.

Watching costs nothing while nothing happens: one thread per child waits for its end.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Final, NamedTuple

FIRST_BACKOFF_S: Final = 0.2
MAX_BACKOFF_S: Final = 10.0
# A child that lived this long was healthy: its next crash starts the back-off anew.
HEALTHY_AFTER_S: Final = 30.0
# So many ends in a row, none healthy: a crash loop, which a human should look at.
CRASH_LOOP: Final = 5
# A log file larger than this is set aside as `<name>.log.1` when its process starts again.
LOG_BYTES: Final = 8 * 1024 * 1024
LOG_TAIL_BYTES: Final = 4096


class Spec(NamedTuple):
    """A process to keep alive. `command` is argv; `name` is unique and names its log file."""

    name: str
    command: list[str]


class Ended(NamedTuple):
    """A child ended by itself. `status` is its exit code, or minus the signal that killed it."""

    name: str
    status: int


class Child:
    """One kept process. Its stdin is a pipe that nobody writes: it closes when this process dies, however it dies."""

    def __init__(self, spec: Spec, log: Path) -> None:
        self.spec = spec
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None
        self.started_at = 0.0
        self.restart_at: float | None = None
        self.failures = 0

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self.process.pid if self.process is not None and self.process.poll() is None else None

    def start(self, ended: Callable[[Ended], None]) -> None:
        """Start the process; `ended` is called from a thread when it is over."""
        self.restart_at = None
        self.started_at = time.monotonic()
        with _log_file(self.log) as log:
            # A group of its own, so that Ctrl-C reaches only the supervisor, which stops the children in order.
            self.process = subprocess.Popen(
                self.spec.command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )
        threading.Thread(target=self._wait, args=(self.process, ended), daemon=True).start()

    def _wait(self, process: subprocess.Popen[bytes], ended: Callable[[Ended], None]) -> None:
        ended(Ended(self.spec.name, process.wait()))
        if process.stdin is not None:
            process.stdin.close()

    def plan_restart(self) -> float:
        """Note an end, and say after how many seconds to start again."""
        lived = time.monotonic() - self.started_at
        self.failures = 1 if lived >= HEALTHY_AFTER_S else self.failures + 1
        pause = min(MAX_BACKOFF_S, FIRST_BACKOFF_S * 2 ** (self.failures - 1))
        self.restart_at = time.monotonic() + pause
        return pause

    def last_words(self) -> str:
        """The last line that the process logged, or an empty string."""
        with contextlib.suppress(OSError), self.log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_TAIL_BYTES))
            lines = log.read().decode(errors="replace").split("\n")
            return next((line.strip() for line in reversed(lines) if line.strip()), "")
        return ""


@contextlib.contextmanager
def _log_file(path: Path) -> Iterator[IO[bytes]]:
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_name(path.name + ".1"))
    with path.open("ab") as log:
        yield log


class Supervisor:
    """Keeps `specs` alive. `say` gets one sentence per event worth telling; it may be called from `run`'s thread."""

    def __init__(self, specs: list[Spec], logs: Path, say: Callable[[str], None]) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self.children = {spec.name: Child(spec, logs / f"{spec.name}.log") for spec in specs}
        self._say = say
        # SimpleQueue, for a signal handler may put into it while the same thread waits on it.
        self._events: SimpleQueue[Ended | None] = SimpleQueue()

    def start(self) -> None:
        """Start every process."""
        for child in self.children.values():
            child.start(self._events.put)

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
            self._plan(self.children[event.name], event)

    def _next_restart(self) -> float | None:
        due = [child.restart_at for child in self.children.values() if child.restart_at is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _restart_due(self) -> None:
        for child in self.children.values():
            if child.restart_at is not None and child.restart_at <= time.monotonic():
                child.start(self._events.put)

    def _plan(self, child: Child, event: Ended) -> None:
        pause = child.plan_restart()
        how = f"killed by {signal.Signals(-event.status).name}" if event.status < 0 else f"exit code {event.status}"
        self._say(f"{event.name} ended ({how}); starting it again in {pause:.1f} s")
        if child.failures == CRASH_LOOP:
            words = child.last_words()
            self._say(f"{event.name} is in a crash loop; its log is {child.log}" + (f": {words}" if words else ""))

    def stop(self, limit_s: float) -> list[str]:
        """SIGTERM to all, wait up to `limit_s` together, SIGKILL the rest; return the names that had to be killed."""
        running = [child for child in self.children.values() if child.pid is not None]
        for child in running:
            _signal(child, signal.SIGTERM)
        deadline = time.monotonic() + limit_s
        killed = [child.spec.name for child in running if not _gone(child, deadline)]
        for name in killed:
            _signal(self.children[name], signal.SIGKILL)
            _gone(self.children[name], time.monotonic() + limit_s)
        return killed


def _signal(child: Child, number: signal.Signals) -> None:
    if child.process is not None:
        child.process.send_signal(number)


def _gone(child: Child, deadline: float) -> bool:
    assert child.process is not None
    try:
        child.process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True

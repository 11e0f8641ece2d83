"""What the acceptance tests start, and how they see it end."""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

STOP_LIMIT_S = 20.0


class Result(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The only line of output."""
        (line,) = self.json_lines()
        return line

    def json_lines(self) -> list[Any]:
        lines: list[Any] = [msgspec.json.decode(line) for line in self.out.splitlines()]
        return lines


Run = Callable[..., Result]


class Up:
    """A running `runwire up --json`."""

    def __init__(self, process: "subprocess.Popen[bytes]", errors: Path, ready: dict[str, Any]) -> None:
        self.process = process
        self.errors = errors
        self.ready = ready

    @property
    def url(self) -> str:
        return cast("str", self.ready["url"])

    def descendants(self) -> set[int]:
        """The pids of its children, their children and so on."""
        found: set[int] = set()
        parents = {self.process.pid}
        table = process_table()
        while parents := {pid for pid, parent in table.items() if parent in parents} - found:
            found |= parents
        return found

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it as an operator would; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(STOP_LIMIT_S)


def process_table() -> dict[int, int]:
    """Pid -> pid of its parent, of everything that runs on this machine; the dead that nobody reaped are left out."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return {int(pid): int(parent) for pid, parent, state, *_ in rows if not state.startswith("Z")}

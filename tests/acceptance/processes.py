"""What the acceptance tests start, and how they see it end."""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import psutil

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
        return [msgspec.json.decode(line) for line in self.out.splitlines()]


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

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it as an operator would; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(STOP_LIMIT_S)

"""Nodes as processes, started as users start them, and a way to look at them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal
from urllib.error import HTTPError
from urllib.request import urlopen

import msgspec

from runwire.settings import Settings

Kind = Literal["enforcer", "unwrapper"]


def program(kind: Kind, *, health: bool) -> list[str]:
    """The command that runs a node with the settings of its environment; `health` gives it probes."""
    code = (
        f"from runwire.{kind}.app import run; from runwire.settings import load; import os; "
        f"run(load(os.environ), {0 if health else None}, json=True)"
    )
    return [sys.executable, "-c", code]


class Process:
    """One process of a node; `ready` is what it said when it had joined."""

    def __init__(self, command: list[str], settings: Settings, log: Path) -> None:
        changed = msgspec.to_builtins(settings)
        usual = msgspec.to_builtins(Settings())
        settings_given = {f"RUNWIRE_{k.upper()}": str(v) for k, v in changed.items() if v != usual[k]}
        self.log = log
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                command, env={**os.environ, **settings_given}, stdout=subprocess.PIPE, stderr=stderr, text=True
            )
        self.ready: dict[str, Any] = {}

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def name(self) -> str:
        return str(self.ready["name"])

    def wait_ready(self) -> "Process":
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("{"), f"it did not get ready: {line!r}\n{self.log.read_text()}"
        self.ready = json.loads(line)
        return self

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self, limit: float = 10.0) -> int:
        return self._process.wait(limit)

    def get(self, path: str) -> tuple[int, dict[str, Any]]:
        """Status and JSON body of a probe."""
        status, body = self.text(path)
        return status, json.loads(body)

    def text(self, path: str) -> tuple[int, str]:
        """Status and body of a probe."""
        try:
            with urlopen(f"http://127.0.0.1:{self.ready['health_port']}{path}", timeout=5) as reply:
                return reply.status, reply.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def end(self) -> None:
        if not self.ended:
            # A stopped process takes no other signal before it is continued.
            self.send(signal.SIGKILL)
            self.send(signal.SIGCONT)
        self._process.wait(10)
        if self._process.stdout is not None:
            self._process.stdout.close()

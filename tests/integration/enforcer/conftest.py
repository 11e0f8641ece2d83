"""Enforcer processes as users start them, and a way to look at them."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from helpers.processes import Process, program
from runwire.settings import Settings

HERE = Path(__file__).parent


Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start(settings)` starts an enforcer; `health=True` with probes, `script=` another program than the product."""
    processes: list[Process] = []

    def begin(settings: Settings, *, health: bool = False, script: str | None = None) -> Process:
        if script is None:
            command = program("enforcer", health=health)
        else:
            command = [sys.executable, str(HERE / script), msgspec.json.encode(settings).decode()]
        processes.append(Process(command, settings, tmp_path / f"enforcer-{len(processes)}.log"))
        return processes[-1]

    yield begin
    with contextlib.ExitStack() as stack:
        for process in processes:
            stack.callback(process.end)

"""Processes of the nodes, as users start them."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from helpers.processes import Kind, Process, program
from runwire.settings import Settings

HERE = Path(__file__).parent
Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start("unwrapper", settings)`; `health=True` with probes, `script=` another program than the product."""
    processes: list[Process] = []

    def begin(kind: Kind, settings: Settings, *, health: bool = False, script: str | None = None) -> Process:
        if script is None:
            command = program(kind, health=health)
        else:
            command = [sys.executable, str(HERE / script), msgspec.json.encode(settings).decode()]
        processes.append(Process(command, settings, tmp_path / f"{kind}-{len(processes)}.log"))
        return processes[-1]

    yield begin
    with contextlib.ExitStack() as stack:
        for process in processes:
            stack.callback(process.end)

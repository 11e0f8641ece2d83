"""An enforcer's log is JSON for a collector, and readable lines for a person at a terminal."""

import json
import os
import pty
import sys
from collections.abc import Callable
from typing import cast

import pytest

from runwire.service.telemetry import make_logger


def written_to(monkeypatch: pytest.MonkeyPatch, target: int, read: Callable[[], bytes]) -> str:
    with os.fdopen(target, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        make_logger("info").info("partition-taken", partition=3)
        stream.flush()
        return read().decode()


def test_a_terminal_gets_readable_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    master, terminal = pty.openpty()
    try:
        line = written_to(monkeypatch, terminal, lambda: os.read(master, 4096))
    finally:
        os.close(master)
    assert "partition-taken" in line
    assert "{" not in line


def test_a_file_or_a_collector_gets_json(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    try:
        line = written_to(monkeypatch, writer, lambda: os.read(reader, 4096))
    finally:
        os.close(reader)
    told = cast("dict[str, object]", json.loads(line))
    assert (told["event"], told["partition"], told["level"]) == ("partition-taken", 3, "info")

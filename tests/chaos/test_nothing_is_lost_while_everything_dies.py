"""Twenty seconds of chaos on each server, as a user would start it, and nothing of it is left running afterwards."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from helpers import left_out, wait_until_sync
from runwire.embedded.server import KINDS, Kind, find_server

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(240)]

COUNTERS = ("lost", "doubled", "reordered", "holes", "illegal", "unended", "leftover_keys")
SECONDS = 20
# Judging waits for every idle limit (5 s) and for backlogs of a busy machine.
LIMIT_S = 200


def command(kind: Kind, *more: str) -> list[str]:
    if (found := find_server(kind)).path is None:
        left_out(f"{kind} is missing: {found.reason}")
    return [sys.executable, "-m", "runwire", "chaos", "--server", kind, "--seconds", str(SECONDS), "--json", *more]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Data folders of failed runs stay below the test's own folder."""
    return {**os.environ, "TMPDIR": str(tmp_path)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_promise_holds_under_every_kind_of_fault(kind: Kind, environ: dict[str, str]) -> None:
    done = subprocess.run(command(kind), env=environ, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.stdout, done.stderr
    verdict = json.loads(done.stdout)
    assert {counter: verdict[counter] for counter in COUNTERS} == dict.fromkeys(COUNTERS, 0), done.stderr
    assert verdict["ok"], done.stderr
    assert done.returncode == 0
    assert verdict["published"] > 1000
    assert min(verdict["faults_by_kind"].values()) >= 1
    assert verdict["faults"] == sum(verdict["faults_by_kind"].values())
    assert verdict["seconds"] >= SECONDS


@pytest.fixture
def started(environ: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command("valkey-9.1"), env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_a_run_that_is_ended(started: subprocess.Popen[bytes], by: signal.Signals) -> None:
    def children() -> list[psutil.Process]:
        return psutil.Process(started.pid).children(recursive=True)

    # A server, the reaper, four enforcers, two readers, three producers.
    wait_until_sync(lambda: len(children()) >= 11, "every process of the run has started", 60)
    family = children()
    started.send_signal(by)
    started.wait(30)
    wait_until_sync(lambda: not any(map(alive, family)), f"no process is left after {by.name}", 30)


def alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

"""`runwire demo` proves its claims by itself; here only that it does so, in time, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from helpers import corpus, wait_until_sync

LIMIT_S = 60.0


@pytest.mark.timeout(120)
@pytest.mark.parametrize("recorded", [False, True], ids=["samples", "corpus"])
def test_the_demo_holds(tmp_path: Path, recorded: bool) -> None:
    folder = [] if not recorded else ["--corpus", str(corpus("anthropic")[0].parents[1])]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "runwire", "demo", *folder],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "160"},
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert time.monotonic() - began < LIMIT_S
    assert "kill -9 enforcer-" in done.stdout
    assert "delta-without-block" in done.stdout
    assert "FAILED" not in done.stdout
    assert list(tmp_path.iterdir()) == [], "the demo leaves nothing behind"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("begun", ["the folder is there", "an enforcer runs"])
def test_a_demo_that_is_stopped_leaves_nothing_behind(tmp_path: Path, number: signal.Signals, begun: str) -> None:
    sign = "runwire-demo-*/server" if begun == "the folder is there" else "runwire-demo-*/logs/enforcer-1.log"
    demo = subprocess.Popen(
        [sys.executable, "-m", "runwire", "demo"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        start_new_session=True,
    )
    try:
        wait_until_sync(lambda: list(tmp_path.glob(sign)), begun, 20)
        demo.send_signal(number)
        _, errors = demo.communicate(timeout=12)
    finally:
        demo.kill()
    assert (demo.returncode, errors) == (130, b"")
    assert list(tmp_path.iterdir()) == []
    assert not [pid for pid in psutil.pids() if _works_in(pid, tmp_path)]


def _works_in(pid: int, folder: Path) -> bool:
    try:
        return psutil.Process(pid).cwd().startswith(str(folder))
    except psutil.Error:
        return False

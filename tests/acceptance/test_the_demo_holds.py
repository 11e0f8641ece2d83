"""`runwire demo` proves its claims by itself; here only that it does so, in time, and leaves nothing behind."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers import corpus

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

"""Ctrl-C and a closed pipe are ordinary ends: a code, and no traceback."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acceptance.processes import Run, Up
from helpers import wait_until_sync
from runwire import Producer

pytestmark = pytest.mark.timeout(120)


async def open_run(url: str, run_id: str) -> None:
    async with Producer(url) as producer, producer.run(run_id) as run:
        await run.send({"type": "block-start", "index": 0, "blockKind": "text"})
        await run.send({"type": "text-delta", "index": 0, "text": "still talking"})


def test_commands_end_as_a_shell_expects(start_up: Callable[..., Up], run: Run, tmp_path: Path) -> None:
    up = start_up()
    asyncio.run(open_run(up.url, "open"))

    seen = tmp_path / "tail.out"
    with seen.open("wb") as out:
        tail = subprocess.Popen(
            [sys.executable, "-m", "runwire", "tail", "open"], stdout=out, stderr=subprocess.PIPE, cwd=tmp_path
        )
    wait_until_sync(lambda: "still talking" in seen.read_text(), "the run is shown", 15)
    tail.send_signal(signal.SIGINT)
    _, errors = tail.communicate(timeout=10)
    assert (tail.returncode, errors) == (130, b"")

    listing = subprocess.run(
        f"{sys.executable} -m runwire status --json --watch --sample 0.1 | head -1; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        timeout=20,
        cwd=tmp_path,
        check=True,
    )
    assert listing.stdout.splitlines()[-1] == b"141"
    assert listing.stderr == b""

    missing = run("runs", environ={"RUNWIRE_PREFIX": "other"})
    assert missing.code == 5
    assert "runwire up" in missing.err

    assert up.stop(signal.SIGINT) == 0

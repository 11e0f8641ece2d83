"""`runwire up`: everything on one machine, kept alive, stopped cleanly, with its data there the next time."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from acceptance.processes import Run, Up, process_table
from helpers import wait_until_sync

pytestmark = pytest.mark.timeout(120)


def test_data_survives_a_restart(start_up: Callable[..., Up], run: Run, answer: Path) -> None:
    up = start_up()
    assert run("publish", str(answer), "-p", "openai-chat", "--run", "kept").code == 0
    before = run("tail", "kept", "--json")
    assert up.stop() == 0
    start_up()
    after = run("tail", "kept", "--json")
    assert (after.code, after.out) == (0, before.out)


def test_sigterm_leaves_no_process_behind(start_up: Callable[..., Up]) -> None:
    up = start_up("--enforcers", "2")
    children = up.descendants()
    assert children >= {up.ready["server_pid"], *up.ready["enforcer_pids"]}
    assert up.stop(signal.SIGTERM) == 0
    assert children & process_table().keys() == set()


def test_a_second_up_on_the_same_folder_is_refused(start_up: Callable[..., Up], run: Run) -> None:
    up = start_up()
    second = run("up", "--port", "0")
    assert second.code == 6
    assert f"in use by another runwire up (pid {up.process.pid})" in second.err


def test_a_port_in_use_is_said(start_up: Callable[..., Up], run: Run) -> None:
    port = start_up().url.rpartition(":")[2].partition("/")[0]
    done = run("up", "--port", port, "--data", "elsewhere")
    assert done.code == 6
    assert f"port {port} is in use" in done.err


@pytest.mark.parametrize("victim", ["server_pid", "enforcer_pids"])
def test_a_killed_process_is_started_again(start_up: Callable[..., Up], run: Run, answer: Path, victim: str) -> None:
    up = start_up()
    pid = up.ready[victim] if victim == "server_pid" else up.ready[victim][0]
    os.kill(pid, signal.SIGKILL)
    wait_until_sync(lambda: "starting it again" in up.errors.read_text(), "the end is noticed", 10)
    wait_until_sync(lambda: run("status", "--json", "--sample", "0.1").code == 0, "the server answers again", 10)
    assert run("publish", str(answer), "-p", "openai-chat", "--run", "after").code == 0
    assert run("tail", "after", "--json").json_lines()[-1]["chunk"]["type"] == "finish"


def test_an_up_that_was_killed_leaves_nothing_that_the_next_one_cannot_take_over(
    start_up: Callable[..., Up], run: Run, answer: Path
) -> None:
    first = start_up()
    assert run("publish", str(answer), "-p", "openai-chat", "--run", "kept").code == 0
    enforcers = set(first.ready["enforcer_pids"])
    first.process.kill()
    first.process.wait()
    wait_until_sync(lambda: not enforcers & process_table().keys(), "its enforcers end with it", 10)
    start_up()
    assert run("tail", "kept", "--json").json_lines()[-1]["chunk"]["type"] == "finish"
    assert first.ready["server_pid"] not in process_table()

"""Processes are kept alive with back-off, and stopped in order. The processes are real, and short."""

import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import wait_until_sync
from runwire.embedded import supervisor as module
from runwire.embedded.supervisor import CRASH_LOOP, Child, Supervisor, stop_children

SLEEPER = "import time; print('up', flush=True); time.sleep(60)"
CRASHER = "raise SystemExit('cannot work')"
STUBBORN = "import signal, time; signal.signal(15, lambda *_: None); print('up', flush=True); time.sleep(60)"
UNTIL_ALONE = "import sys; print('up', flush=True); sys.stdin.read()"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def running(said: list[str]) -> Iterator[Supervisor]:
    one = Supervisor(said.append)
    thread = threading.Thread(target=one.run)
    thread.start()
    yield one
    one.request_stop()
    thread.join(10)
    assert not thread.is_alive()


def child(folder: Path, code: str, name: str = "worker") -> Child:
    return Child(name, folder / f"{name}.log", [sys.executable, "-c", code], {})


def wait_for_up(one: Child) -> None:
    wait_until_sync(lambda: one.log.read_text() == "up\n", "it runs", 5)


def test_a_killed_process_is_started_again(tmp_path: Path, running: Supervisor, said: list[str]) -> None:
    one = child(tmp_path, SLEEPER)
    running.start(one)
    first = one.pid
    one.send(signal.SIGKILL)
    wait_until_sync(lambda: one.pid not in (None, first), "a new process", 5)
    assert said == ["worker ended (killed by SIGKILL); starting it again in 0.2 s"]
    running.request_stop()
    assert stop_children([one], 5) == []


def test_a_crash_loop_is_reported_with_the_last_words(
    tmp_path: Path, running: Supervisor, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_BACKOFF_S", 0.001)
    running.start(child(tmp_path, CRASHER))
    wait_until_sync(lambda: any("crash loop" in line for line in said), "the report", 10)
    report = next(line for line in said if "crash loop" in line)
    assert report == f"worker is in a crash loop; its log is {tmp_path / 'worker.log'}: cannot work"
    assert said.index(report) == CRASH_LOOP


def test_the_back_off_doubles_up_to_its_bound(tmp_path: Path) -> None:
    one = child(tmp_path, SLEEPER)
    one._started_at = float("inf")
    assert [one.plan_restart() for _ in range(8)] == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


def test_what_lived_long_starts_the_back_off_anew(tmp_path: Path) -> None:
    one = child(tmp_path, SLEEPER)
    one.failures, one._started_at = 7, float("-inf")
    assert (one.plan_restart(), one.failures) == (0.2, 1)


def test_a_process_that_does_not_end_is_killed(tmp_path: Path, said: list[str]) -> None:
    keeper = Supervisor(said.append)
    stubborn, willing = child(tmp_path, STUBBORN, "stubborn"), child(tmp_path, SLEEPER, "willing")
    for one in (stubborn, willing):
        keeper.start(one)
        wait_for_up(one)
    assert stop_children([stubborn, willing], 0.5) == ["stubborn"]
    assert (stubborn.pid, willing.pid) == (None, None)


def test_a_child_sees_its_stdin_close_only_when_its_parent_is_gone(tmp_path: Path, said: list[str]) -> None:
    one = child(tmp_path, UNTIL_ALONE)
    Supervisor(said.append).start(one)
    wait_for_up(one)
    assert one.pid is not None
    assert one._process is not None
    assert one._process.stdin is not None
    one._process.stdin.close()
    assert one.gone(5)


def test_a_program_that_does_not_exist_counts_as_an_end(tmp_path: Path, running: Supervisor, said: list[str]) -> None:
    running.start(Child("ghost", tmp_path / "ghost.log", ["/nowhere/program"], {}))
    wait_until_sync(lambda: said, "the end is told", 5)
    assert said[0].startswith("ghost ended ([Errno 2]")


def test_a_large_log_is_set_aside(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOG_BYTES", 10)
    (tmp_path / "worker.log").write_text("an old log that is too large")
    one = child(tmp_path, "print('new')")
    Supervisor(said.append).start(one)
    assert one.gone(5)
    assert (tmp_path / "worker.log").read_text() == "new\n"
    assert (tmp_path / "worker.log.1").read_text() == "an old log that is too large"

"""Whatever a user gets wrong ends with a documented code and a line that says what to do, never with a traceback."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acceptance.processes import Run, Up

pytestmark = pytest.mark.timeout(120)

RUN_START = b'{"kind":"control","body":{"type":"run-start","mode":"agent-loop"}}\n'
OPENAI = b'data: {"id":"a","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
NOWHERE = "redis://127.0.0.1:1"


def test_the_version_is_told(run: Run) -> None:
    done = run("--version")
    assert done.code == 0
    assert done.out.startswith("runwire ")


def test_a_file_name_that_is_no_utf8_is_a_bad_run_id(run: Run, tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.ndjson")
    try:
        (tmp_path / name).write_bytes(RUN_START)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    done = run("check", "-p", "record", name)
    assert (done.code, done.json()["code"]) == (1, "record-invalid")
    assert "Traceback" not in done.err


def test_check_says_where_and_why(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.ndjson").write_bytes(RUN_START + b'{"kind":"provider","call":"1","body":{"type":"zzz"}}\n')
    done = run("check", "-p", "record", "bad.ndjson")
    assert done.code == 1
    assert done.err == "runwire: bad.ndjson: record 2: unknown-type: zzz is no type of a provider record\n"


def test_check_of_stdin_without_a_provider_is_a_wrong_command_line(run: Run) -> None:
    done = run("check", "-", stdin=RUN_START)
    assert (done.code, done.out) == (2, "")
    assert "--provider" in done.err


def test_check_takes_json_like_every_command(run: Run, tmp_path: Path) -> None:
    (tmp_path / "good.sse").write_bytes(OPENAI)
    assert run("check", "--json", "good.sse").json()["ok"] is True


def test_a_file_read_as_another_provider_is_remarked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "good.sse").write_bytes(OPENAI)
    done = run("check", "-p", "anthropic", "good.sse")
    assert done.code == 0
    assert done.err == "runwire: good.sse looks like openai-chat, and is read as anthropic\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_no_bug(tmp_path: Path) -> None:
    (tmp_path / "good.sse").write_bytes(OPENAI)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "runwire", "check", "good.sse"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            timeout=30,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"runwire: cannot write the output: No space left on device\n")


def test_nothing_is_announced_before_it_is_possible(run: Run, tmp_path: Path) -> None:
    (tmp_path / "good.sse").write_bytes(OPENAI)
    for args in (["-p", "nope"], ["-r", "~x"], ["-r", "a\nb"], ["-r", ""]):
        done = run("publish", "good.sse", *args, "--url", NOWHERE)
        assert (done.code, done.out) == (2, ""), args
    assert "record" in run("check", "good.sse", "-p", "nope").err


def test_a_broker_that_was_never_there_is_named(run: Run) -> None:
    done = run("tail", "x", "--wait", "0.5", "--url", NOWHERE)
    assert done.code == 3
    assert NOWHERE in done.err
    assert "runwire up" in done.err


def test_a_wrong_url_is_named(run: Run) -> None:
    done = run("runs", "--url", "http://x")
    assert done.code == 2
    assert "--url http://x" in done.err


def test_what_a_running_deployment_answers(start_up: Callable[..., Up], run: Run, tmp_path: Path) -> None:
    up = start_up()
    (tmp_path / "good.sse").write_bytes(OPENAI)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        busy = run("enforcer", "--health-port", str(port))
    assert busy.code == 6, busy.err
    assert f"127.0.0.1:{port}" in busy.err

    assert run("publish", "good.sse", "-r", "once").err == ""
    assert run("tail", "once").code == 0
    again = run("publish", "good.sse", "-r", "once")
    assert again.code == 0
    assert "run once has ended" in again.err
    assert "runwire evidence once" in again.err

    assert run("publish", "-", "-p", "raw", "-r", "esc", stdin=b'{"type":"\\u001b[31mred"}\n{"a\x1b[2J').code == 0
    assert run("tail", "esc").code == 1
    shown = run("evidence", "esc").out
    assert "unknown-type" in shown
    assert "\x1b" not in shown

    for command in (("publish", "good.sse"), ("tail", "once"), ("runs",)):
        other = run(*command, environ={"RUNWIRE_PARTITIONS": "4"})
        assert other.code == 5, command
        assert "16" in other.err
    assert up.stop() == 0

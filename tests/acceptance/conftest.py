"""Processes started as a user starts them: by the command `runwire`, in a folder of their own, ended by a signal."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

import msgspec
import pytest

from acceptance.processes import Result, Run, Up
from helpers import left_out, wait_until_sync
from runwire.embedded.server import find_server

READY_LIMIT_S = 30.0
COMMAND_LIMIT_S = 30.0


@pytest.fixture(scope="session", autouse=True)
def _embedded_server() -> None:
    found = find_server("valkey-9.1")
    if found.path is None:
        left_out(f"valkey-9.1 is missing: {found.reason}")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run("status", "--json", stdin=b"")`: one command, to its end, in the test's folder."""

    def call(*args: str, stdin: bytes = b"", environ: dict[str, str] | None = None, cwd: Path = tmp_path) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "runwire", *args],
            input=stdin,
            capture_output=True,
            timeout=COMMAND_LIMIT_S,
            cwd=cwd,
            env={**os.environ, **(environ or {})},
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


@pytest.fixture
def start_up(tmp_path: Path) -> Iterator[Callable[..., Up]]:
    """Starts `runwire up --json` on a free port and waits until it is ready."""
    started: list[Up] = []

    def start(*args: str, folder: str = ".runwire") -> Up:
        errors = tmp_path / f"up-{len(started)}.err"
        command = [sys.executable, "-m", "runwire", "up", "--json", "--port", "0", "--data", folder, *args]
        with errors.open("wb") as err:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, cwd=tmp_path)
        up = Up(process, errors, {})
        started.append(up)
        up.ready.update(_ready_line(process, errors))
        return up

    yield start
    for up in started:
        if up.process.poll() is None:
            up.stop()
        if up.process.stdout is not None:
            up.process.stdout.close()


def _ready_line(process: "subprocess.Popen[bytes]", errors: Path) -> dict[str, Any]:
    out = cast("IO[bytes]", process.stdout)
    os.set_blocking(out.fileno(), False)
    seen = bytearray()

    def complete() -> bool:
        seen.extend(out.read() or b"")
        if process.poll() is not None:
            pytest.fail(f"runwire up ended with {process.returncode}: {errors.read_text()}", pytrace=False)
        return b"\n" in seen

    wait_until_sync(complete, "runwire up prints its ready line", READY_LIMIT_S)
    return cast("dict[str, Any]", msgspec.json.decode(bytes(seen).splitlines()[0]))


@pytest.fixture(scope="session")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small response in the wire format of OpenAI Chat Completions."""
    return _write(tmp_path_factory.mktemp("wire") / "answer.sse", _openai_chat("Hello", ", ", "world", "!"))


def _openai_chat(*texts: str) -> list[dict[str, Any]]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    return [
        *({**head, "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]} for text in texts),
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {**head, "choices": [], "usage": usage},
    ]


def _write(path: Path, events: list[dict[str, Any]]) -> Path:
    lines = [b"data: %s\n\n" % msgspec.json.encode(event) for event in events]
    path.write_bytes(b"".join(lines) + b"data: [DONE]\n\n")
    return path

"""publish, tail, replay, runs, evidence and status: one deployment, seen from outside."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from acceptance.processes import Run, Up

pytestmark = pytest.mark.timeout(120)

BROKEN = [
    {"type": "block-start", "index": 0, "blockKind": "text"},
    {"type": "text-delta", "index": 0, "text": "so far"},
    {"type": "text-delta", "index": 3, "text": "nobody opened 3"},
]


def test_a_run_goes_round(  # long: one story, for a deployment takes seconds to start
    start_up: Callable[..., Up], run: Run, answer: Path, tmp_path: Path
) -> None:
    start_up("--enforcers", "2")

    published = run("publish", str(answer), "--provider", "openai-chat", "--run", "good", "--json")
    assert published.code == 0, published.err
    assert (published.json()["run"], published.json()["provider"]) == ("good", "openai-chat")
    offline = run("check", "--chunks", "-p", "openai-chat", str(answer)).out.replace('"answer', '"good').splitlines()

    tailed = run("tail", "good", "--json")
    assert tailed.code == 0, tailed.err
    lines = tailed.json_lines()
    assert [line["cursor"] for line in lines] == [str(n) for n in range(1, len(lines) + 1)]
    assert [line["chunk"] for line in lines] == [json.loads(line) for line in offline]

    resumed = run("tail", "good", "--after", lines[2]["cursor"], "--json")
    assert resumed.out.splitlines() == tailed.out.splitlines()[3:]
    assert run("replay", "good", "--json", "--speed", "50").out == tailed.out
    shown = run("replay", "good")
    assert "Hello, world!" in shown.out
    assert "finished: stop" in shown.out

    from_stdin = run("publish", "-", "-p", "openai-chat", "--json", stdin=answer.read_bytes())
    assert from_stdin.json()["run"].startswith("stdin-")
    assert from_stdin.json()["acknowledged"] == published.json()["acknowledged"]

    bad = tmp_path / "bad.ndjson"
    bad.write_text("".join(json.dumps(chunk) + "\n" for chunk in BROKEN))
    assert run("publish", str(bad), "--provider", "raw", "--run", "bad").code == 0
    stopped = run("tail", "bad", "--json")
    assert stopped.code == 1
    assert [line["chunk"]["type"] for line in stopped.json_lines()][-3:] == ["error", "step-finish", "finish"]
    found, *_ = run("evidence", "bad", "--json").json_lines()
    assert (found["code"], found["class"], found["run"]) == ("delta-without-block", "fatal", "bad")
    assert "delta-without-block" in run("evidence").out
    assert run("evidence", "good", "--json").out == ""

    listed = {line["run"]: line for line in run("runs", "--json").json_lines()}
    assert len(listed) == 3
    assert (listed["good"]["state"], listed["good"]["reason"]) == ("finished", "stop")
    assert listed["good"]["chunks"] == len(lines)
    assert listed["bad"]["reason"] == "error"
    assert len(run("runs", "--json", "-n", "1").json_lines()) == 1

    status = run("status", "--json", "--sample", "0.1").json()
    assert (status["lag"], status["unowned"], status["open_runs"]) == (0, [], 0)
    assert len(status["owners"]) == 2
    assert len(status["partitions"]) == 16
    assert "nobody" not in run("status", "--sample", "0.1").out

    assert run("tail", "nobody-knows", "--wait", "0.2").code == 4
    ahead = run("tail", "good", "--after", "999", "--wait", "0.2")
    assert ahead.code == 4
    assert "Traceback" not in ahead.err
    assert run("tail", "good", "--after", "soon").code == 2


def test_without_a_broker_the_command_says_which_one_it_tried(run: Run) -> None:
    done = run("status", "--url", "redis://:secret@127.0.0.1:1/0")
    assert done.code == 3
    assert "127.0.0.1:1" in done.err
    assert "--url" in done.err
    assert "runwire up" in done.err
    assert "secret" not in done.err


def test_a_provider_may_be_told_and_every_choice_may_be_a_run(
    start_up: Callable[..., Up], run: Run, answer: Path, tmp_path: Path
) -> None:
    start_up()
    told = run("publish", "-", "--provider", "auto", "--run", "told", "--json", stdin=answer.read_bytes())
    assert told.json()["provider"] == "openai-chat"
    assert told.err == "runwire: read as openai-chat: the first event has choices\n"
    refused = run("publish", "-", stdin=answer.read_bytes())
    assert (refused.code, refused.out) == (2, "")

    several = tmp_path / "several.ndjson"
    chunk = '{"choices":[{"index":%d,"delta":{"content":"%s"},"finish_reason":"stop"}]}\n'
    several.write_text(chunk % (0, "A") + chunk % (1, "B"))
    for name, more in (("fast", []), ("slow", ["--speed", "100"])):
        done = run("publish", str(several), "--choice", "all", "--run", name, "--json", *more)
        assert [line["run"] for line in done.json_lines()] == [name, f"{name}.1"], done.err
        for letter, line in zip("AB", done.json_lines(), strict=True):
            said = [chunk["chunk"] for chunk in run("tail", line["run"], "--json").json_lines()]
            assert [chunk["payload"]["text"] for chunk in said if chunk["type"] == "text-delta"] == [letter]
    shown = run("publish", str(several), "--choice", "all", "--run", "shown").out
    assert "records acknowledged in run shown.1\n" in shown
    assert run("publish", str(several), "--choice", "1", "--run", "one", "--json").json()["run"] == "one"

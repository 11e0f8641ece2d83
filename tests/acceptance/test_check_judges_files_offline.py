"""`runwire check`: one JSON line per file, and an exit code that a script can rely on."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from acceptance.processes import Run

START = {"type": "block-start", "index": 0, "blockKind": "text"}
HELLO = {"type": "text-delta", "index": 0, "text": "Hello"}
WORLD = {"type": "text-delta", "index": 0, "text": " wörld"}
END = {"type": "block-end", "index": 0, "block": {"kind": "text", "text": "Hello wörld"}}
USAGE = {"type": "usage", "usage": {"inputTokens": 3, "outputTokens": 2, "cacheReadTokens": 4}}
FINISH = {"type": "finish", "reason": {"kind": "stop"}}
GOOD = [START, HELLO, WORLD, END, USAGE, FINISH]
NOTHING = hashlib.sha256(b"").hexdigest()


def ndjson(path: Path, lines: Sequence[object]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_a_good_file_is_ok(run: Run, tmp_path: Path) -> None:
    done = run("check", "--provider", "raw", ndjson(tmp_path / "good.ndjson", GOOD))
    assert done.code == 0, done.err
    verdict = done.json()
    assert list(verdict) == ["file", "ok", "code", "chunks", "text_sha256", "usage", "finish"]
    assert verdict == {
        "file": str(tmp_path / "good.ndjson"),
        "ok": True,
        "code": None,
        "chunks": 8,  # start, step-start, text-start, two deltas, text-end, step-finish, finish
        "text_sha256": hashlib.sha256("Hello wörld".encode()).hexdigest(),
        "usage": {"inputTokens": 7, "cachedInputTokens": 4, "outputTokens": 2, "totalTokens": 9},
        "finish": "stop",
    }


def test_the_chunks_are_those_of_a_run_named_after_the_file(run: Run, tmp_path: Path) -> None:
    done = run("check", "-p", "raw", "--chunks", ndjson(tmp_path / "my.run.ndjson", GOOD))
    chunks = done.json_lines()
    assert [chunk["type"] for chunk in chunks] == [
        "start", "step-start", "text-start", "text-delta", "text-delta", "text-end", "step-finish", "finish",
    ]  # fmt: skip
    assert {chunk["runId"] for chunk in chunks} == {"my.run"}


def test_a_violation_and_a_refusal_are_not_ok_and_others_are_still_checked(run: Run, tmp_path: Path) -> None:
    broken = ndjson(tmp_path / "broken.ndjson", [START, HELLO, {**HELLO, "index": 5}, FINISH])
    good = ndjson(tmp_path / "good.ndjson", GOOD)
    late = ndjson(tmp_path / "late.ndjson", [*GOOD, HELLO])
    done = run("check", "--provider", "raw", broken, good, late)
    assert done.code == 1
    verdicts = done.json_lines()
    assert [verdict["ok"] for verdict in verdicts] == [False, True, False]
    assert verdicts[0]["code"] == "delta-without-block"
    assert verdicts[0]["finish"] == "error"
    assert verdicts[2]["finish"] == "stop"


def test_a_raw_line_that_is_no_json_is_the_grammars_to_judge(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "noise.ndjson"
    path.write_bytes(json.dumps(START).encode() + b"\n\xff\xfe\n")
    done = run("check", "--provider", "raw", str(path))
    assert (done.code, done.json()["code"]) == (1, "undecodable")


def test_raw_chunks_must_report_usage(run: Run, tmp_path: Path) -> None:
    done = run("check", "--provider", "raw", ndjson(tmp_path / "x.ndjson", [START, HELLO, WORLD, END, FINISH]))
    assert (done.code, done.json()["code"]) == (1, "usage-missing")


def test_a_failed_finish_is_ok_and_shows(run: Run, tmp_path: Path) -> None:
    failed = {"type": "finish", "reason": {"kind": "error", "failure": {"message": "overloaded"}}}
    done = run("check", "--provider", "raw", ndjson(tmp_path / "failed.ndjson", [START, HELLO, failed]))
    assert done.code == 0
    assert (done.json()["ok"], done.json()["finish"]) == (True, "error")


def test_an_unfinished_run_is_ok_and_has_no_finish(run: Run, tmp_path: Path) -> None:
    done = run("check", "--provider", "raw", ndjson(tmp_path / "open.ndjson", [START, HELLO]))
    assert done.code == 0
    verdict = done.json()
    assert (verdict["ok"], verdict["finish"], verdict["usage"]) == (True, None, None)


def test_a_provider_stream_is_told_from_its_first_event(run: Run, answer: Path) -> None:
    done = run("check", str(answer))
    assert done.code == 0, done.err
    verdict = done.json()
    assert verdict["text_sha256"] == hashlib.sha256(b"Hello, world!").hexdigest()
    assert (verdict["usage"]["outputTokens"], verdict["finish"]) == (4, "stop")


def test_a_stream_that_was_cut_off_ends_as_aborted(run: Run, answer: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.sse"
    cut.write_bytes(answer.read_bytes().split(b"\n\n")[0] + b"\n\n")
    done = run("check", "--provider", "openai-chat", str(cut))
    assert (done.code, done.json()["finish"]) == (0, "abort")


def provider(seq: int | None, body: object, **more: object) -> dict[str, object]:
    line: dict[str, object] = {"kind": "provider", "call": "c", "body": body, **more}
    return line if seq is None else {**line, "seq": seq}


def records(path: Path, *more: dict[str, object], skip: int | None = None) -> str:
    lines = [provider(n, body) for n, body in enumerate(GOOD, 1) if n != skip]
    return ndjson(path, [*lines, *more])


def test_records_number_themselves(run: Run, tmp_path: Path) -> None:
    done = run("check", "-p", "record", ndjson(tmp_path / "r.ndjson", [provider(None, body) for body in GOOD]))
    assert (done.code, done.json()["finish"]) == (0, "stop")


def test_a_duplicate_record_counts_for_nothing(run: Run, tmp_path: Path) -> None:
    done = run("check", "-p", "record", records(tmp_path / "r.ndjson", provider(2, HELLO)))
    assert (done.code, done.json()["chunks"]) == (0, 8)


def test_a_gap_that_the_file_never_fills_is_a_violation(run: Run, tmp_path: Path) -> None:
    done = run("check", "-p", "record", records(tmp_path / "gap.ndjson", skip=3))
    assert (done.code, done.json()["code"], done.json()["finish"]) == (1, "sequence-gap", "error")


def test_a_gap_that_is_filled_late_is_none(run: Run, tmp_path: Path) -> None:
    done = run("check", "-p", "record", records(tmp_path / "late.ndjson", provider(3, WORLD), skip=3))
    assert (done.code, done.json()["text_sha256"]) == (0, hashlib.sha256("Hello wörld".encode()).hexdigest())


def test_a_null_field_of_a_record_is_an_absent_one(run: Run, tmp_path: Path) -> None:
    nothing = dict.fromkeys(("src", "epoch", "seq", "usage", "ts", "traceparent", "body_base64"))
    begin = {**nothing, "kind": "control", "call": None, "body": {"type": "run-start"}}
    end = {**nothing, "kind": "control", "call": None, "body": {"type": "run-end", "reason": "stop"}}
    lines = [begin, *({**nothing, **provider(None, body)} for body in GOOD), end]
    done = run("check", "-p", "record", "--chunks", ndjson(tmp_path / "nulls.ndjson", [*lines]))
    assert (done.code, done.err) == (0, "")
    assert [chunk["type"] for chunk in done.json_lines()][-2:] == ["step-finish", "finish"]
    done = run("check", "-p", "record", ndjson(tmp_path / "body.ndjson", [provider(None, None)]))
    assert done.json()["code"] == "undecodable"


def test_a_quarantine_is_looked_up_before_its_record(run: Run, tmp_path: Path) -> None:
    poison = {"kind": "control", "src": "~enforcer", "body": {"type": "quarantine", "record": "3"}}
    path = ndjson(tmp_path / "poison.ndjson", [*(provider(None, body) for body in GOOD[:3]), poison])
    done = run("check", "-p", "record", path)
    assert (done.code, done.json()["code"], done.json()["finish"]) == (1, "enforcer-crash", "error")
    assert done.json()["text_sha256"] == hashlib.sha256(b"Hello").hexdigest()


def test_the_id_of_a_record_is_its_line_number(run: Run, tmp_path: Path) -> None:
    silence = {"type": "timeout", "phase": "call", "after": "2"}
    timeout = {"kind": "control", "src": "~enforcer", "body": silence}
    path = ndjson(tmp_path / "idle.ndjson", [*(provider(None, body) for body in GOOD[:2]), timeout])
    done = run("check", "-p", "record", path)
    assert (done.code, done.json()["code"], done.json()["finish"]) == (0, None, "error")
    path = ndjson(tmp_path / "bad.ndjson", [provider(None, GOOD[0]), provider(None, {"type": "what"})])
    chunks = run("check", "-p", "record", "--chunks", path).json_lines()
    assert [chunk["payload"]["error"]["evidenceId"] for chunk in chunks if chunk["type"] == "error"] == ["2"]


def test_a_record_body_keeps_its_bytes(run: Run, tmp_path: Path) -> None:
    """A number that no float can hold must come out as it went in."""
    path = tmp_path / "exact.ndjson"
    call = '{"kind":"tool_use","id":"t","name":"f","arguments":"{\\"n\\":1.10e400}"}'
    bodies = [
        '{"type":"block-start","index":0,"blockKind":"tool_use"}',
        '{"type":"block-end","index":0,"block":' + call + "}",
        json.dumps(USAGE),
        '{"type":"finish","reason":{"kind":"tool_calls"}}',
    ]
    path.write_text("".join('{"kind":"provider","call":"c","body":' + body + "}\n" for body in bodies))
    done = run("check", "-p", "record", "--chunks", str(path))
    assert done.code == 0, done.err
    assert '"args":{"n":1.10e400}' in done.out


def test_a_malformed_record_is_refused_and_the_run_goes_on(run: Run, tmp_path: Path) -> None:
    nonsense: dict[str, object] = {"kind": "nonsense", "body": {}, "src": "other"}
    path = ndjson(tmp_path / "r.ndjson", [nonsense, *(provider(None, body) for body in GOOD)])
    done = run("check", "-p", "record", path)
    assert (done.code, done.json()["code"], done.json()["finish"]) == (1, "record-invalid", "stop")


def test_a_record_line_that_is_no_json_names_its_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.ndjson"
    path.write_text(json.dumps(provider(1, START)) + "\n{nope\n")
    done = run("check", "-p", "record", str(path))
    assert done.code == 1
    assert done.json()["code"] == "not-json"
    assert "line 2" in done.err
    assert "Traceback" not in done.err


def test_a_missing_file_is_said_and_the_others_are_checked(run: Run, tmp_path: Path) -> None:
    done = run("check", "-p", "raw", "nowhere.ndjson", ndjson(tmp_path / "good.ndjson", GOOD))
    assert done.code == 1
    assert [verdict["code"] for verdict in done.json_lines()] == ["file-unreadable", None]
    assert "cannot read nowhere.ndjson: No such file or directory" in done.err


def test_an_unknown_provider_lists_the_known_ones(run: Run, answer: Path) -> None:
    done = run("check", "--provider", "openai", str(answer))
    assert done.code == 2
    assert "openai-chat" in done.err
    assert "anthropic" in done.err
    assert "Traceback" not in done.err


def test_a_file_without_records_has_no_chunks(run: Run, tmp_path: Path) -> None:
    done = run("check", "-p", "raw", ndjson(tmp_path / "empty.ndjson", []))
    assert (done.code, done.json()["chunks"], done.json()["text_sha256"]) == (0, 0, NOTHING)


@pytest.mark.parametrize("args", [("check",), ("check", "--nonsense"), ("nonsense",)])
def test_a_wrong_command_line_ends_with_2(run: Run, args: tuple[str, ...]) -> None:
    assert run(*args).code == 2


def test_an_unknown_setting_is_refused(run: Run, tmp_path: Path) -> None:
    done = run("check", "-p", "raw", ndjson(tmp_path / "good.ndjson", GOOD), environ={"RUNWIRE_IDEL_MS": "5"})
    assert done.code == 2
    assert "RUNWIRE_IDEL_MS" in done.err


SEVERAL = [
    {"choices": [{"index": 0, "delta": {"content": "A"}}, {"index": 1, "delta": {"content": "B"}}]},
    {"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]
CLAUDE = [
    {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1, "output_tokens": 1}}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_auto_says_what_it_was_told_by(run: Run, answer: Path, tmp_path: Path) -> None:
    done = run("check", "--provider", "auto", str(answer))
    assert (done.code, done.json()["text_sha256"]) == (0, sha256("Hello, world!"))
    assert done.err == "runwire: read as openai-chat: the first event has choices\n"

    piped = run("check", "--provider", "auto", "-", stdin=answer.read_bytes())
    assert (piped.code, piped.json()["text_sha256"], piped.err) == (0, sha256("Hello, world!"), done.err)

    array = tmp_path / "array.json"
    array.write_text(json.dumps(SEVERAL))
    assert run("check", str(array)).json()["text_sha256"] == sha256("A")


def test_what_nobody_can_tell_is_said_with_what_was_seen(run: Run, tmp_path: Path) -> None:
    (tmp_path / "odd.sse").write_text('data: {"hello":1,"world":2}\n\n')
    done = run("check", "--provider", "auto", "odd.sse")
    assert (done.code, done.json()["code"], done.json()["chunks"]) == (1, "provider-unclear", 0)
    assert "seen: an event with hello, world" in done.err
    assert "openai-chat" in done.err
    assert run("publish", "--provider", "auto", "odd.sse").code == 2


def test_each_choice_may_be_judged_for_itself(run: Run, tmp_path: Path) -> None:
    path = ndjson(tmp_path / "two.ndjson", SEVERAL)
    one = run("check", "--choice", "1", path)
    assert (one.json()["text_sha256"], one.json()["finish"]) == (sha256("B"), "length")

    every = run("check", "--choice", "all", path).json_lines()
    assert [(verdict["choice"], verdict["finish"]) for verdict in every] == [(0, "stop"), (1, "length")]
    assert [verdict["text_sha256"] for verdict in every] == [sha256("A"), sha256("B")]
    assert {**every[1], "choice": None} == {**one.json(), "choice": None}
    chunks = run("check", "--choice", "all", "--chunks", path).json_lines()
    assert {chunk["runId"] for chunk in chunks} == {"two", "two.1"}
    assert run("check", "--choice", "some", path).code == 2


def test_many_files_end_with_a_table(run: Run, answer: Path, tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    (folder / "deep").mkdir(parents=True)
    good = folder / "deep" / "good.sse"
    good.write_bytes(answer.read_bytes())
    ndjson(folder / "claude.jsonl", CLAUDE)
    broken = ndjson(tmp_path / "broken.ndjson", [START, HELLO, {**HELLO, "index": 5}, FINISH])
    (folder / "NOTES.md").write_text("# What these are\n\n[a link](b)\n")

    done = run("check", "--provider", "auto", str(folder))
    assert done.code == 0, done.err
    assert [verdict["ok"] for verdict in done.json_lines()] == [True, True]
    assert f"{folder}/NOTES.md is not a stream, and is passed over" in done.err
    assert f"runwire: {good} is read as openai-chat: the first event has choices" in done.err
    assert table(done.err) == [
        ["protocol", "files", "ok", "violations"],
        ["(passed over)", "1", "0", ""],
        ["anthropic", "1", "1", ""],
        ["openai-chat", "1", "1", ""],
        ["all", "3", "2", ""],
    ]

    done = run("check", str(good), broken, f"{folder}/NOTES.md")
    assert done.code == 1
    assert [verdict["code"] for verdict in done.json_lines()] == [None, "delta-without-block", "not-a-stream"]
    assert table(done.err)[1:] == [
        ["(not a stream)", "1", "0", "not-a-stream 1"],
        ["openai-chat", "1", "1", ""],
        ["raw", "1", "0", "delta-without-block 1"],
        ["all", "3", "1", "delta-without-block 1, not-a-stream 1"],
    ]


def test_the_table_alone_may_be_asked_for(run: Run, tmp_path: Path) -> None:
    path, broken = ndjson(tmp_path / "a.jsonl", CLAUDE), ndjson(tmp_path / "b.jsonl", [*GOOD, HELLO])
    done = run("check", "--provider", "auto", "--summary", path, path)
    assert (done.code, done.err) == (0, "")
    assert table(done.out)[1:] == [["anthropic", "2", "2", ""], ["all", "2", "2", ""]]

    done = run("check", "--summary", "--json", path, broken)
    row = {"files": 1, "ok": 0, "violations": {"chunk-after-finish": 1}}
    assert done.code == 1
    assert done.json() == {
        "protocols": [
            {"protocol": "anthropic", "files": 1, "ok": 1, "violations": {}},
            {"protocol": "raw", **row},
        ],
        **row,
        "files": 2,
        "ok": 1,
    }


def table(text: str) -> list[list[str]]:
    """The cells of the Markdown table at the end, without the rule below its heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    return [rows[0], *rows[2:]]


def test_check_does_not_load_the_framework() -> None:
    """Start-up time: nothing but the adapters and the grammar is needed."""
    code = (
        "import sys, runwire.cli.app, runwire.cli.judging, runwire.cli.summary, runwire.cli.target, runwire.adapters\n"
        "print(sorted({'faststream', 'redis', 'uvicorn', 'rich', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == "[]"

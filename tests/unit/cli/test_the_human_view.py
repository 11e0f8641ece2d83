"""What people see of a run: its words and its turns, and nothing that a terminal would obey."""

import json
from io import StringIO

import pytest
from rich.console import Console

from runwire.cli.view import Piece, Screen, is_violation, piece_of


def chunk(kind: str, payload: object) -> bytes:
    return json.dumps({"type": kind, "runId": "r", "from": "AGENT", "payload": payload}, separators=(",", ":")).encode()


def test_text_flows_and_the_rest_has_lines_of_its_own() -> None:
    out = StringIO()
    screen = Screen(Console(file=out, width=40))
    for data in (
        chunk("start", {}),
        chunk("text-delta", {"id": "1", "text": "Hel"}),
        chunk("text-delta", {"id": "1", "text": "lo [b]world[/b]"}),
        chunk("tool-call", {"toolCallId": "t", "toolName": "add", "args": {"a": 1}}),
        chunk("finish", {"stepResult": {"reason": "stop"}, "output": {"usage": {"inputTokens": 3, "outputTokens": 4}}}),
    ):
        screen.show(data)
    assert out.getvalue().splitlines() == [
        "Hello [b]world[/b]",
        '→ add({"a": 1})'.replace(" ", "").replace("→", "→ "),
        "— finished: stop, 3 tokens in, 4 tokens out",
    ]


def test_reasoning_and_text_have_lines_of_their_own() -> None:
    out = StringIO()
    screen = Screen(Console(file=out, width=40))
    for kind, text in (("reasoning", "let me "), ("reasoning", "think"), ("text", "So "), ("text", "it is.\n")):
        screen.show(chunk(f"{kind}-delta", {"id": "1", "text": text}))
    screen.show(chunk("reasoning-delta", {"id": "2", "text": "wait"}))
    screen.show(chunk("text-delta", {"id": "3", "text": ""}))
    screen.end_line()
    assert out.getvalue() == "let me think\nSo it is.\nwait\n"


def test_nothing_moves_the_cursor_or_renames_the_terminal() -> None:
    piece = piece_of(chunk("text-delta", {"id": "1", "text": "a\x1b]0;pwned\x07\x1b[2Jb\r\x9b\n\tc"}))
    assert piece is not None
    assert piece.text == "a�]0;pwned��[2Jb��\n\tc"


def test_opaque_json_is_shown_as_it_is_spelled() -> None:
    data = b'{"type":"tool-call","payload":{"toolName":"f","args":{"n":1.10e400}}}'
    assert piece_of(data) == Piece('→ f({"n":1.10e400})', "cyan")


def test_long_values_are_cut() -> None:
    piece = piece_of(chunk("tool-result", {"toolName": "f", "result": "x" * 5000}))
    assert piece is not None
    assert len(piece.text) < 400


@pytest.mark.parametrize("kind", ["step-start", "text-start", "data-anything", "a-type-of-tomorrow"])
def test_what_only_machines_need_is_left_out(kind: str) -> None:
    assert piece_of(chunk(kind, {})) is None
    assert piece_of(json.dumps({"type": kind, "data": [1]}).encode()) is None


@pytest.mark.parametrize(
    ("payload", "violation"),
    [
        ({"error": {"code": "grammar-violation", "rule": "unknown-type"}}, True),
        ({"code": "grammar-violation"}, True),
        ({"error": {"code": "run-idle-timeout"}}, False),
        ({"error": "grammar-violation"}, False),
        ({}, False),
    ],
)
def test_a_violation_is_told_from_other_errors(payload: object, violation: bool) -> None:
    assert is_violation(chunk("error", payload)) is violation
    assert is_violation(chunk("text-delta", {"text": "grammar-violation"})) is False

"""The demo's panels: whole ones only, and of too many runs those that are still going."""

import json
from io import StringIO

import pytest
from rich.console import Console

from runwire.cli.demo.stage import NEWS_LINES, PanelStage

RUNS = [f"run-{number:02}" for number in range(15)]


def finish(stage: PanelStage, run: str) -> None:
    payload = {"stepResult": {"reason": "stop"}}
    stage.chunk(run, json.dumps({"type": "finish", "payload": payload}, separators=(",", ":")).encode())


def screen(width: int, height: int) -> list[str]:
    out = StringIO()
    stage = PanelStage(Console(file=out, width=width, height=height, force_terminal=True, no_color=True))
    for run in RUNS:
        stage.chunk(run, b'{"type":"text-delta","payload":{"text":"words and more words"}}')
    finish(stage, RUNS[0])
    stage.console.print(stage)
    return out.getvalue().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (100, 40), (200, 50), (40, 24), (30, 12)])
def test_every_panel_is_whole(width: int, height: int) -> None:
    lines = screen(width, height)[: height - NEWS_LINES - 2]
    assert sum(line.count("╭") for line in lines) == sum(line.count("╰") for line in lines) > 0


def test_runs_that_go_on_are_preferred() -> None:
    text = "\n".join(screen(80, 24))
    assert RUNS[0] not in text
    assert RUNS[1] in text


def test_a_usual_terminal_shows_all() -> None:
    text = "\n".join(screen(100, 40))
    assert [run for run in RUNS if run not in text] == []

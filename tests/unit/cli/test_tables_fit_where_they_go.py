"""Tables: whole where they are piped, and on a narrow terminal the columns that matter."""

from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from runwire.broker.overview import RunView
from runwire.cli.commands.look import runs_table, show, status_table

LONG = "support-" + "x" * 120


def run_view(name: str) -> RunView:
    return RunView(run=name, partition=3, started_ms=0, chunks=12, attempt=1, state="finished", reason="stop")


def shown(console: Console, table: Table) -> str:
    show(table, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_piped_table_is_never_cut() -> None:
    text = shown(Console(file=StringIO(), width=80), runs_table([run_view(LONG)], 80))
    assert LONG in text
    assert "…" not in text


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_shows_whole_what_it_shows(width: int) -> None:
    partition = {
        "partition": 3, "owner": "enforcer-20059-517b2738", "lag": 12345, "oldest_unread_ms": 1234, "open_runs": 2,
        "written_per_s": 1.0, "read_per_s": 1.0,
    }  # fmt: skip
    total = {**partition, "evidence": 1, "partitions": [partition]}
    for table in (runs_table([run_view("chat-7")], width), status_table(total, width)):
        text = shown(Console(file=StringIO(), width=width, force_terminal=True, no_color=True), table)
        assert "…" not in text
        assert "chat-7" in text or "12345" in text

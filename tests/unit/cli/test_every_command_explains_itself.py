"""Help with an example, for every command."""

import pytest
from typer.testing import CliRunner

from runwire.cli.app import app

COMMANDS = ("up", "enforcer", "publish", "tail", "replay", "runs", "evidence", "status", "check", "demo")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example(name: str) -> None:
    done = CliRunner().invoke(app, [name, "--help"])
    assert done.exit_code == 0
    assert f"runwire {name}" in done.output.partition("Examples")[2]


def test_the_list_of_commands_is_complete() -> None:
    assert sorted(command.name or "" for command in app.registered_commands) == sorted((*COMMANDS, "bench", "chaos"))

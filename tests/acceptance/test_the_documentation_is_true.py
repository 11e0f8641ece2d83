"""What README and docs/cli.md say is executed or compared, not believed."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acceptance.processes import Run, Up
from helpers import PROJECT
from runwire.cli.exits import Exit

README = PROJECT / "README.md"


def code_blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.timeout(120)
def test_the_quick_start_runs(start_up: Callable[..., Up], tmp_path: Path) -> None:
    """As printed, but for the address: the test's deployment has a port of its own."""
    url = start_up().url
    (source,) = code_blocks(README, "python")
    assert '"redis://127.0.0.1:6379"' in source
    program = tmp_path / "quickstart.py"
    program.write_text(source.replace("redis://127.0.0.1:6379", url))
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    (shown,) = re.findall(r"It prints `(.*?)`", README.read_text(encoding="utf-8"))
    assert done.stdout.strip() == shown


def test_the_readme_opens_with_the_two_commands() -> None:
    commands = [line.split("#")[0].strip() for line in code_blocks(README, "sh")[0].splitlines()]
    assert commands == ["make demo", "make test"]
    assert README.read_text(encoding="utf-8").startswith("# Runwire\n\n```sh\n")


def test_every_exit_code_is_documented_as_it_is() -> None:
    source = (PROJECT / "services" / "runwire" / "cli" / "exits.py").read_text(encoding="utf-8")
    (table,) = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    docstrings = [node.value for node in table.body if isinstance(node, ast.Expr)]
    meanings = [str(node.value) for node in docstrings if isinstance(node, ast.Constant)]
    rows = [f"| {code.value} | `{code.name}` | {text} |" for code, text in zip(Exit, meanings[1:], strict=True)]
    page = (PROJECT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [row for row in rows if row not in page] == []


@pytest.mark.parametrize("page", [README, PROJECT / "docs" / "cli.md"], ids=lambda page: page.name)
def test_every_command_is_listed(run: Run, page: Path) -> None:
    commands = re.findall(r"^│ ([a-z]+)  ", run("--help").out, re.MULTILINE)
    assert len(commands) == 12
    text = page.read_text(encoding="utf-8")
    assert [name for name in commands if f"runwire {name}" not in text] == []

"""tools/node.py: it installs what the AI SDK's tests need, once, or says in one line why it cannot."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from helpers import PROJECT

NEW_ENOUGH = "exit 0"
# npm writes this file last.
INSTALLS = "echo ran >> calls; mkdir -p node_modules; echo {} > node_modules/.package-lock.json"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, for an empty folder on a machine that has what the tests put into `bin`."""
    spec = importlib.util.spec_from_file_location("node", PROJECT / "tools" / "node.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path / "tests" / "conformance" / "node"
    folder.mkdir(parents=True)
    (folder / "package-lock.json").write_text("{}")
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(module, "FOLDER", folder)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin" if not Path("/usr/bin/node").exists() else "")
    return module


def put(module: ModuleType, name: str, script: str) -> None:
    path = Path(sys.executable).parent / name
    path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    path.chmod(0o755)


def test_they_are_installed_once(node: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    put(node, "node", NEW_ENOUGH)
    put(node, "npm", INSTALLS)

    assert [node.main(), node.main()] == [0, 0]

    assert (node.FOLDER / "calls").read_text() == "ran\n"
    assert capsys.readouterr().out.splitlines() == ["AI SDK      tests/conformance/node/node_modules"] * 2


def test_they_are_installed_again_when_the_list_changed(node: ModuleType) -> None:
    put(node, "node", NEW_ENOUGH)
    put(node, "npm", INSTALLS)
    node.main()
    installed = (node.FOLDER / "node_modules" / ".package-lock.json").stat().st_mtime
    os.utime(node.FOLDER / "package-lock.json", (installed + 10, installed + 10))

    assert node.main() == 0
    assert (node.FOLDER / "calls").read_text() == "ran\nran\n"


@pytest.mark.parametrize(
    ("programs", "reason"),
    [
        ({}, "no node and npm on this machine"),
        ({"node": NEW_ENOUGH}, "no node and npm on this machine"),
        ({"node": "exit 1", "npm": INSTALLS}, "node is not version 20 or later"),
        ({"node": NEW_ENOUGH, "npm": "echo no network >&2; echo more >&2; exit 1"}, "npm ci failed: no network"),
        ({"node": NEW_ENOUGH, "npm": "exit 3"}, "npm ci failed: exit code 3"),
    ],
)
@pytest.mark.parametrize("required", [False, True])
def test_what_is_missing_is_left_out_unless_everything_is_required(
    node: ModuleType,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    programs: dict[str, str],
    reason: str,
    required: bool,
) -> None:
    monkeypatch.setenv("RUNWIRE_REQUIRE_ALL", "1" if required else "")
    for name, script in programs.items():
        put(node, name, script)

    assert node.main() == (1 if required else 0)
    assert f"left out: {reason}\n" in capsys.readouterr().out

"""tools/venv.sh on machines without a usable Python: it names what to install, and installs nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from helpers import PROJECT

OLD = 'echo "Python 3.9.2"\nexit 1\n'
# Debian without python3-venv: everything works but making environments.
WITHOUT_ENSUREPIP = f'case "$*" in *ensurepip*) exit 1;; esac\nexec {sys.executable} "$@"\n'


def run(folder: Path, interpreters: dict[str, str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script in `folder` with only these interpreters on PATH."""
    path = folder / "bin"
    path.mkdir()
    for name, script in interpreters.items():
        (path / name).write_text(f"#!/bin/sh\n{script}")
        (path / name).chmod(0o755)
    return subprocess.run(
        ["/bin/sh", str(PROJECT / "tools" / "venv.sh")],
        cwd=folder,
        env={"PATH": str(path), **environment},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_no_python(tmp_path: Path) -> None:
    done = run(tmp_path, {})
    assert done.returncode == 1
    assert "no Python 3.11 or later found" in done.stderr


def test_only_an_old_python(tmp_path: Path) -> None:
    done = run(tmp_path, {"python3": OLD, "python3.11": "exit 127\n"})
    assert done.returncode == 1
    assert "python3 is Python 3.9.2" in done.stderr
    assert "apt-get install python3" in done.stderr


def test_a_python_that_cannot_make_environments(tmp_path: Path) -> None:
    done = run(tmp_path, {"python3": WITHOUT_ENSUREPIP})
    assert done.returncode == 1
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"apt-get install python{version}-venv" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_the_chosen_python_must_be_new_enough(tmp_path: Path) -> None:
    done = run(tmp_path, {"mine": OLD}, PYTHON="mine")
    assert done.returncode == 1
    assert "PYTHON=mine is not Python 3.11 or later" in done.stderr


@pytest.mark.parametrize("broken", ["python3.11", "python3.12"])
def test_a_python_that_can_is_preferred_to_one_that_cannot(tmp_path: Path, broken: str) -> None:
    """It then fails for want of pyproject.toml, which is far enough: no index is asked."""
    able = f'case "$*" in *"-m venv"*) echo chosen; exit 3;; esac\nexec {sys.executable} "$@"\n'
    done = run(tmp_path, {broken: WITHOUT_ENSUREPIP, "python3.13": able})
    assert done.returncode == 3
    assert "making .venv with python3.13" in done.stderr

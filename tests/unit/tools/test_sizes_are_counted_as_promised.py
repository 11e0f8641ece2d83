"""tools/sizes.py counts code lines only, and takes an exception only with a reason."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from helpers import PROJECT


@pytest.fixture(scope="module")
def sizes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sizes", PROJECT / "tools" / "sizes.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def function(lines: int, mark: str = "") -> str:
    body = "\n".join(f"    x{n} = {n}" for n in range(lines))
    return f'def f() -> None:{mark}\n    """Doc\n    of two lines."""\n\n    # a comment\n{body}\n'


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (function(30), ""),
        (function(31), "f has 31 code lines, over 30"),
        (function(31, "  # long: a table"), ""),
        (f"# long: a table\n{function(31)}", ""),
        (f"# long: too far away\n\n{function(31)}", "f has 31 code lines, over 30"),
        (function(31, "  # long:"), "f has 31 code lines, over 30"),
        ("x = 1\n" * 300, ""),
        ("x = 1\n" * 301, "301 code lines, over 300"),
        ("# long: generated\n" + "x = 1\n" * 301, ""),
        ("x = 1\n\n# why\n" * 300, ""),
    ],
)
def test_only_code_counts(sizes: ModuleType, tmp_path: Path, source: str, problem: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(source)
    found = "\n".join(sizes.problems(path))
    assert found.endswith(problem)
    assert bool(found) == bool(problem)

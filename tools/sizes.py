"""Limits of size: a file has at most 300 code lines, a function at most 30. Exceptions carry their reason.

Code lines are those with code on them: no blank lines, comments, docstrings or signatures. An exception is a comment
`# long: <reason>` on the line of the `def` or above it, or in the first 15 lines of a file that is too long itself.
"""

import ast
import sys
from pathlib import Path

FILE_LIMIT = 300
FUNCTION_LIMIT = 30
ROOTS = ("schemas", "services", "tools", "tests")
MARK = "# long: "


def code_lines(source: str, nodes: list[ast.stmt]) -> set[int]:
    """The numbers of the lines that carry code of these statements, docstrings left out."""
    lines = source.splitlines()
    docs: set[int] = set()
    spans: set[int] = set()
    for top in nodes:
        spans.update(range(top.lineno, (top.end_lineno or top.lineno) + 1))
        for node in ast.walk(top):
            constant = node.value if isinstance(node, ast.Expr) else None
            if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                docs.update(range(constant.lineno, (constant.end_lineno or constant.lineno) + 1))
    return {n for n in spans - docs if (text := lines[n - 1].strip()) and not text.startswith("#")}


def problems(path: Path) -> list[str]:
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    tree = ast.parse(source)
    found: list[str] = []
    size = len(code_lines(source, tree.body))
    if size > FILE_LIMIT and not any(line.startswith(MARK) for line in lines[:15]):
        found.append(f"{path}: {size} code lines, over {FILE_LIMIT}")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = len(code_lines(source, node.body))
            signature = lines[max(node.lineno - 2, 0) : node.body[0].lineno]
            if size > FUNCTION_LIMIT and not any(MARK in line for line in signature):
                found.append(f"{path}:{node.lineno}: {node.name} has {size} code lines, over {FUNCTION_LIMIT}")
    return found


def main() -> int:
    root = Path(__file__).resolve().parents[1]
    files = sorted(path for name in ROOTS for path in (root / name).rglob("*.py"))
    found = [problem.replace(f"{root}/", "") for path in files for problem in problems(path)]
    print("\n".join(found) or f"{len(files)} files within the limits of size")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())

"""Many files in one table: for each protocol how many there are, how many are ok, and what broke the others."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

# In place of a protocol, for files of which none is known, by their code.
UNKNOWN: Final = {
    "not-a-stream": "(not a stream)",
    "provider-unclear": "(provider unclear)",
    "file-unreadable": "(unreadable)",
}
PASSED_OVER: Final = "(passed over)"


class Row:
    """The files of one protocol."""

    def __init__(self) -> None:
        self.files = 0
        self.ok = 0
        self.codes = Counter[str]()


class Summary:
    """Adds up verdicts. `everything_ok`: no file was found wrong."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self.everything_ok = True

    def add(self, protocol: str, codes: Sequence[str | None]) -> None:
        """One file: its protocol, "" if it has none, and what each of its runs was stopped by, None for nothing."""
        found = [code for code in codes if code is not None]
        row = self._rows.setdefault(protocol or UNKNOWN.get(found[0], "(unknown)"), Row())
        row.files += 1
        row.ok += not found
        row.codes.update(found)
        self.everything_ok = self.everything_ok and not found

    def passed_over(self) -> None:
        """A file that is no stream, and of which nobody said that it is one: neither ok nor wrong."""
        self._rows.setdefault(PASSED_OVER, Row()).files += 1

    def result(self) -> dict[str, Any]:
        """For JSON: one object a protocol, and the sums."""
        rows = [{"protocol": name, **_object(row)} for name, row in sorted(self._rows.items())]
        return {"protocols": rows, **_object(self._sum())}

    def table(self) -> str:
        """The same as a Markdown table."""
        named = sorted(self._rows.items())
        rows = [(name, str(row.files), str(row.ok), _codes(row)) for name, row in [*named, ("all", self._sum())]]
        return markdown(("protocol", "files", "ok", "violations"), rows, numbers={1, 2})

    def _sum(self) -> Row:
        total = Row()
        for row in self._rows.values():
            total.files += row.files
            total.ok += row.ok
            total.codes += row.codes
        return total


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: set[int]) -> str:
    """A Markdown table that is one for the eye too; `numbers` are the columns that stand right."""
    widths = [max(3, *map(len, column)) for column in zip(heads, *rows, strict=True)]
    rule = ["-" * (width - 1) + (":" if at in numbers else "-") for at, width in enumerate(widths)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if at in numbers else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    return "\n".join([line(heads), line(rule), *map(line, rows)])


def _object(row: Row) -> dict[str, Any]:
    return {"files": row.files, "ok": row.ok, "violations": dict(sorted(row.codes.items()))}


def _codes(row: Row) -> str:
    return ", ".join(f"{code} {count}" for code, count in sorted(row.codes.items()))

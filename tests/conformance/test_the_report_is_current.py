"""docs/adapters.md carries the table that `make corpus-report` prints, as it is now."""

import re

from conformance.report import Read, read, report
from helpers import PROJECT

PAGE = PROJECT / "docs" / "adapters.md"


def test_the_page_carries_the_table() -> None:
    found = re.search(
        r"<!-- generated: corpus -->\n(.*)\n<!-- end: corpus -->", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )

    assert found is not None
    assert found[1] == report(read()), "run make corpus-report ARGS=--write"


def test_a_violation_that_nobody_has_reviewed_stands_out() -> None:
    made_up = Read("openai-chat", ["a.sse", "b.sse"], {"b.sse": "usage-missing"})

    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in report([made_up]).splitlines()]

    assert rows[2][:4] == ["openai-chat", "2", "1", "usage-missing 1"]
    assert ["openai-chat", "violation `usage-missing`", "1", "not reviewed"] in rows

"""Prints what the recorded streams show of every adapter. With --write it puts that into docs/adapters.md.

Run it with `make corpus-report`; a conformance test checks that the page is current. RUNWIRE_CORPUS names the folder of
the recordings, by default ../shared/corpus.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # the tests know how to read the recordings

from _pytest.outcomes import Skipped  # noqa: E402 - after the path
from tools.generate import between  # noqa: E402

from conformance.report import read, report  # noqa: E402

PAGE = ROOT / "docs" / "adapters.md"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--write"]):
        print(__doc__)
        return 2
    try:
        tables = report(read())
    except Skipped as left_out:
        print(f"nothing to report: {left_out}", file=sys.stderr)
        return 1
    if arguments:
        PAGE.write_text(between(PAGE, "corpus", tables), encoding="utf-8")
    print(tables)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

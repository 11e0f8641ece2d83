"""The reviewed table of what each recorded run becomes: `runs.toml`, one `[[run]]` for each run of each trace.

    [[run]]
    trace = "m1-02-delta-without-text-start"
    run = 1                      # the first run that the trace names
    chunks = 7
    finish = "stop"              # "" for a run that waits
    live = 0                     # background tasks that are not over
    repairs = ["block-opened"]   # in order, each code once
    made = ["text-start"]        # types of chunks that nobody sent
    swallowed = ["text-end"]     # types of chunks that readers do not get
    sha256 = "..."               # of the log, a line a chunk

`python -m conformance.mastra.reviewed` in `tests/` writes it anew. Read the difference before committing it: every
change of a repair or of a number of chunks must have a reason.
"""

import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.mastra.traces import Told, names, runs, tell

TABLE = Path(__file__).with_name("runs.toml")
Row = dict[str, Any]


def reviewed() -> dict[tuple[str, int], Row]:
    return {(row["trace"], row["run"]): row for row in tomllib.loads(TABLE.read_text())["run"]}


def row_of(trace: str, number: int, legs: list[list[bytes]], told: Told) -> Row:
    sent = Counter(json.loads(body)["type"] for leg in legs for body in leg)
    got = Counter(chunk["type"] for chunk in told.chunks)
    return {
        "trace": trace,
        "run": number,
        "chunks": len(told.log),
        "finish": told.machine.state.end,
        "live": len(told.machine.state.tasks),
        "repairs": [found.code for found in told.evidence],
        "made": sorted((got - sent).elements()),
        "swallowed": sorted((sent - got).elements()),
        "sha256": hashlib.sha256(b"\n".join(told.log)).hexdigest(),
    }


def rows() -> Iterator[Row]:
    for trace in names():
        for number, (run, legs) in enumerate(runs(trace).items(), 1):
            yield row_of(trace, number, legs, tell(run, legs))


def _toml(row: Row) -> str:
    # What JSON writes for strings, whole numbers and lists of strings is TOML, too.
    return "[[run]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in row.items())


if __name__ == "__main__":
    TABLE.write_text("\n".join(map(_toml, rows())))

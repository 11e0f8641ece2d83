"""`runwire chaos`: break everything at random for a while, then say what became of the promises."""

import asyncio
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from rich.console import Console
from rich.table import Table

from .stage import Wish, chaos
from .verdict import COUNTERS, Verdict

app = typer.Typer(name="chaos", add_completion=False, pretty_exceptions_enable=False)

ServerKind = Literal["valkey-9.1", "redis-8.2", "redis-7.0"]
# Findings of one fault look alike; the folder has them all.
SHOWN: Final = 20


@app.command()
def run(
    *,
    seconds: Annotated[
        float, typer.Option(min=5, help="How long faults happen; it takes about 20 s more to judge.")
    ] = 60,
    server: Annotated[ServerKind, typer.Option(help="The server that is started, killed and cut.")] = "valkey-9.1",
    appendfsync: Annotated[
        Literal["everysec", "always", "both"], typer.Option(help="The mode that the server is restarted in.")
    ] = "both",
    seed: Annotated[int | None, typer.Option(min=0, help="Repeats content and schedule of an earlier run.")] = None,
    rate: Annotated[float, typer.Option(min=10, help="Records per second of all producers together.")] = 1500,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as one JSON object.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the data folder even if all is well.")] = False,
) -> None:
    """Kill, stop, pause and cut everything at random while known content flows, and check every promise.

    Exit code 0 only if no record was lost, doubled or reordered, every log is legal and ended, every reader saw a
    gapless piece of its log, no key stays for ever, and every kind of fault happened. Otherwise 1, and the data
    folder is kept.

    Example: runwire chaos --seconds 120 --server redis-8.2 --json
    """
    console = Console(stderr=True)
    folder = Path(tempfile.mkdtemp(prefix="runwire-chaos-"))
    chosen = random.randrange(10**6) if seed is None else seed
    console.print(f"seed {chosen}, data in {folder}", highlight=False)
    mode = None if appendfsync == "both" else appendfsync
    wish = Wish(seconds, server, mode, chosen, rate, folder)
    verdict = asyncio.run(chaos(wish, lambda text: console.print(text, style="dim", highlight=False)))
    if as_json:
        sys.stdout.write(json.dumps(verdict.summary()) + "\n")
    else:
        Console().print(_table(verdict))
    if not verdict.ok:
        _explain(console, verdict, folder)
        raise typer.Exit(1)
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)


def _table(verdict: Verdict) -> Table:
    table = Table(title=f"chaos: {'ok' if verdict.ok else 'NOT OK'}")
    table.add_column("what")
    table.add_column("count", justify="right")
    summary = verdict.summary()
    for name in ("seconds", "faults", "published", *COUNTERS, "cut"):
        table.add_row(name.replace("_", " "), str(summary[name]))
    for kind, count in summary["faults_by_kind"].items():
        table.add_row(f"  {kind}", str(count), style="dim")
    return table


def _explain(console: Console, verdict: Verdict, folder: Path) -> None:
    lines = [f"{finding.counter}: {finding.subject}: {finding.sentence}" for finding in verdict.findings]
    lines += [f"never happened: {kind}" for kind in verdict.missing]
    if not verdict.published:
        lines.append("nothing was published: nothing was proved")
    (folder / "findings.txt").write_text("\n".join(lines) + "\n")
    for line in lines[:SHOWN]:
        console.print(line, style="red", markup=False, highlight=False)
    console.print(f"{len(lines)} findings, all in {folder / 'findings.txt'}; data and logs are kept beside it")

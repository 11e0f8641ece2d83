"""`runwire bench`: the enforcer beside its floor and beside FastStream's pipeline, in one run on one server."""

import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from rich.console import Console

from .report import Wish, measure, table

app = typer.Typer(name="bench", add_completion=False, pretty_exceptions_enable=False)

ServerKind = Literal["valkey-9.1", "redis-8.2", "redis-7.0"]
QUICK_SECONDS: Final = 2.0


@app.command()
def run(
    *,
    seconds: Annotated[float, typer.Option(min=1, help="Length of one measurement.")] = 10,
    repeats: Annotated[int, typer.Option(min=1, help="Rates are medians of so many.")] = 5,
    server: Annotated[ServerKind, typer.Option(help="The server to measure on.")] = "valkey-9.1",
    quick: Annotated[bool, typer.Option("--quick", help="One repeat of 2 s each: is the machine set up?")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
) -> None:
    """Measure rates, latencies, memory and CPU on a server of its own in a temporary folder.

    With the defaults it takes about ten minutes and up to 4 GB of memory. Leave the machine alone meanwhile: floor and
    enforcer take turns, so the ratio bears some noise, the rates do not.

    Example: runwire bench --json > bench.json
    """
    console = Console(stderr=True)
    if quick:
        seconds, repeats = QUICK_SECONDS, 1
    folder = Path(tempfile.mkdtemp(prefix="runwire-bench-"))
    wish = Wish(seconds, repeats, server, folder)
    try:
        result = asyncio.run(measure(wish, lambda text: console.print(text, style="dim", highlight=False)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if as_json:
        sys.stdout.write(json.dumps(result) + "\n")
    else:
        Console().print(table(result))

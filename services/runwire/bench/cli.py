"""`runwire bench`: the enforcer beside its floor and FastStream's pipeline; `runwire bench adapters`: the adapters."""

import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from rich.console import Console

app = typer.Typer(name="bench", add_completion=False, pretty_exceptions_enable=False)

ServerKind = Literal["valkey-9.1", "redis-8.2", "redis-7.0"]
QUICK_SECONDS: Final = 2.0


@app.callback(invoke_without_command=True)
def run(
    ctx: typer.Context,
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
    if ctx.invoked_subcommand is not None:
        return
    from .report import Wish, measure, table  # noqa: PLC0415 - the adapters are timed without FastStream

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


@app.command()
def adapters(
    *,
    corpus: Annotated[
        Path | None,
        typer.Option(help="Recorded bodies in folders named after their protocols. Default: one made-up body each."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.01, help="Length of one measurement.")] = 1,
    repeats: Annotated[int, typer.Option(min=1, help="Rates are medians of so many.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
) -> None:
    """Measure how many events a second each adapter reads, and how many its provider's SDK where one is installed.

    Both read the same bytes in turns. With the defaults it takes about two minutes.

    Example: runwire bench adapters --corpus recordings --json > adapters.json
    """
    from runwire.adapters import PROVIDERS  # noqa: PLC0415 - start-up time of the other benchmark

    from .adapters import Wish, measure, table  # noqa: PLC0415
    from .bodies import bodies  # noqa: PLC0415

    console = Console(stderr=True)
    timed = bodies(PROVIDERS, corpus)
    result = measure(timed, Wish(seconds, repeats), lambda text: console.print(text, style="dim", highlight=False))
    if as_json:
        sys.stdout.write(json.dumps(result) + "\n")
    else:
        Console().print(table(result))

"""`runwire demo`: everything at once, in half a minute, with its claims checked."""

from pathlib import Path
from typing import Annotated

import typer

from runwire.cli.exits import Exit


def demo(
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", metavar="DIR", exists=True, file_okay=False, help="Also publish recorded streams."),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the data folder and print where it is.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines instead of live panels.")] = False,
) -> None:
    """See it work: streams of two providers, enforced live, with a worker killed and a broken stream stopped.

    Starts everything on a temporary folder, and ends with a table of checks. 0 if all of them hold, else 1.

    [bold]Examples[/bold]

    [cyan]runwire demo[/cyan]

    [cyan]runwire demo --plain --corpus recorded/providers[/cyan]
    """
    import asyncio

    from runwire.cli.demo.program import run_demo

    if not asyncio.run(run_demo(corpus, keep=keep, plain=plain)):
        raise typer.Exit(Exit.FAILED)

"""`runwire tail` and `runwire replay`: one run, live or again."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from runwire.cli.exits import Exit
from runwire.cli.options import Data, Json, Url
from runwire.cli.pace import Pace, Speed
from runwire.cli.target import NeverReached, Target, find_target, reaching

if TYPE_CHECKING:
    from runwire import Chunk

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run id.")]


def tail(
    run: RunId,
    after: Annotated[
        str | None, typer.Option("--after", metavar="CURSOR", help="Only what comes after this cursor.")
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", min=0.0, metavar="SECONDS", help="How long the run may take to appear.")
    ] = 10.0,
    url: Url = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Follow a run: what is there already, then live, until it ends.

    With --json one line per chunk: {"cursor", "chunk"}. Ends with 1 if the run broke the grammar, 4 if there is none.

    [bold]Examples[/bold]

    [cyan]runwire tail support-42[/cyan]

    [cyan]runwire tail support-42 --after 117 --json | jq -c .chunk[/cyan]
    """
    _read(find_target(url, data), run, after, wait, None, as_json)


def replay(run: RunId, speed: Speed = None, url: Url = None, data: Data = None, as_json: Json = False) -> None:
    """Show a run again from its start, at the speed you like; one that is still open is followed to its end.

    [bold]Examples[/bold]

    [cyan]runwire replay support-42 --speed 4[/cyan]

    [cyan]runwire replay support-42 --json > support-42.ndjson[/cyan]
    """
    _read(find_target(url, data), run, None, 0.0, speed, as_json)


def _read(target: Target, run: str, after: str | None, wait: float, speed: float | None, as_json: bool) -> None:
    import asyncio

    show, end = _json_output() if as_json else _human_output()
    try:
        with reaching(target):
            violated = asyncio.run(_follow(target, run, after, wait, Pace(speed), show))
    finally:
        end()
    if violated:
        raise typer.Exit(Exit.FAILED)


async def _follow(
    target: Target, run: str, after: str | None, wait: float, pace: Pace, show: Callable[["Chunk"], None]
) -> bool:
    """Show every chunk; return whether the run broke the grammar."""
    from runwire import Reader
    from runwire.cli.view import is_violation
    from runwire.errors import ReaderDisconnected

    violated = reached = False
    async with Reader(target.url, prefix=target.settings.prefix, partitions=target.partitions) as reader:
        try:
            async for chunk in reader.run(run, after=after, wait=wait):
                reached = True
                await pace.tick()
                show(chunk)
                violated = violated or is_violation(chunk.data)
        except ReaderDisconnected as error:
            if reached:
                raise
            raise NeverReached(str(error)) from error
    return violated


def _json_output() -> tuple[Callable[["Chunk"], None], Callable[[], None]]:
    out = sys.stdout.buffer

    def show(chunk: "Chunk") -> None:
        out.write(b'{"cursor":"%s","chunk":%s}\n' % (chunk.cursor.encode(), chunk.data))
        out.flush()

    return show, out.flush


def _human_output() -> tuple[Callable[["Chunk"], None], Callable[[], None]]:
    from rich.console import Console

    from runwire.cli.view import Screen

    screen = Screen(Console())
    return (lambda chunk: screen.show(chunk.data)), screen.end_line

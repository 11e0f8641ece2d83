"""`runwire status`, `runs`, `evidence`: what is going on and what went wrong."""

import sys
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from runwire.cli.options import Data, Json, Url
from runwire.cli.target import Target, find_target, reaching

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from runwire.broker.connection import Link
    from runwire.broker.overview import Finding, Overview, RunView
    from runwire_schemas.keys import Keys

MAX_BODY_SHOWN: Final = 200
# Columns of a terminal, below which a table has fewer of its own.
NARROW: Final = 72
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="At most so many, the newest.")]


def status(
    url: Url = None,
    data: Data = None,
    as_json: Json = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Refresh until Ctrl-C.")] = False,
    sample: Annotated[
        float, typer.Option("--sample", min=0.1, max=60.0, metavar="SECONDS", help="Measure rates over this long.")
    ] = 1.0,
) -> None:
    """Show the partitions: owner, lag, age of the oldest unread record, rates.

    [bold]Examples[/bold]

    [cyan]runwire status --watch[/cyan]

    [cyan]runwire status --json | jq .lag[/cyan]
    """
    import asyncio

    from runwire.broker.overview import overview

    async def look(link: "Link", keys: "Keys", partitions: int) -> None:
        before = await overview(link, keys, partitions)
        while True:
            await asyncio.sleep(sample)
            now = await overview(link, keys, partitions)
            _print_status(target, before, now, as_json, clear=watch)
            if not watch:
                return
            before = now

    target = find_target(url, data)
    with_broker(target, look)


def runs(url: Url = None, data: Data = None, as_json: Json = False, limit: Limit = 50) -> None:
    """List runs, newest first, with their state and how they ended.

    [bold]Examples[/bold]

    [cyan]runwire runs -n 10[/cyan]

    [cyan]runwire runs --json | jq -r 'select(.state == "open") | .run'[/cyan]
    """
    from runwire.broker.overview import list_runs

    async def look(link: "Link", keys: "Keys", partitions: int) -> None:
        found = await list_runs(link, keys, partitions, limit)
        if as_json:
            _write_json_lines(found)
        else:
            _console_print(lambda width: runs_table(found, width))

    with_broker(find_target(url, data), look)


def evidence(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="Only this run's.", show_default=False)] = None,
    url: Url = None,
    data: Data = None,
    as_json: Json = False,
    limit: Limit = 50,
) -> None:
    """Show what the enforcer refused, repaired or stopped, and why.

    [bold]Examples[/bold]

    [cyan]runwire evidence support-42[/cyan]

    [cyan]runwire evidence --json | jq .code[/cyan]
    """
    from runwire.broker.overview import newest_findings

    async def look(link: "Link", keys: "Keys", partitions: int) -> None:
        found = await newest_findings(link, keys, partitions, run, limit)
        for finding in found:
            if as_json:
                sys.stdout.buffer.write(finding.data + b"\n")
            else:
                print_finding(finding)
        if not found and not as_json:
            print(f"No evidence{f' of run {run}' if run else ''}.")

    with_broker(find_target(url, data), look)


def with_broker(target: Target, look: Callable[["Link", "Keys", int], Coroutine[Any, Any, None]]) -> None:
    """Run `look(link, keys, partition count)` on a connection of its own."""
    import asyncio

    from runwire.broker.connection import open_link
    from runwire.broker.overview import stored_partitions
    from runwire.producer.session import check_partitions
    from runwire_schemas.keys import Keys

    async def session() -> None:
        keys = Keys(target.settings.prefix)
        async with await open_link(target.url, "runwire-cli") as link:
            partitions = await stored_partitions(link, keys)
            check_partitions(target.partitions, partitions, keys)
            await look(link, keys, partitions)

    with reaching(target):
        asyncio.run(session())


def _print_status(target: Target, before: "Overview", now: "Overview", as_json: bool, *, clear: bool) -> None:
    import msgspec

    seconds = max(0.001, (now.at_ms - before.at_ms) / 1000)
    rows = [
        {
            **msgspec.structs.asdict(view),
            "written_per_s": round((view.written - earlier.written) / seconds, 1),
            "read_per_s": round((view.read - earlier.read) / seconds, 1),
        }
        for earlier, view in zip(before.partitions, now.partitions, strict=True)
    ]
    ages = [view.oldest_unread_ms for view in now.partitions if view.oldest_unread_ms is not None]
    total = {
        "url": target.url,
        "prefix": target.settings.prefix,
        "lag": sum(view.lag for view in now.partitions),
        "oldest_unread_ms": max(ages, default=None),
        "written_per_s": round(sum(row["written_per_s"] for row in rows), 1),
        "read_per_s": round(sum(row["read_per_s"] for row in rows), 1),
        "open_runs": sum(view.open_runs for view in now.partitions),
        "evidence": sum(view.evidence for view in now.partitions),
        "owners": sorted({view.owner for view in now.partitions if view.owner is not None}),
        "unowned": [view.partition for view in now.partitions if view.owner is None],
        "partitions": rows,
    }
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(total) + b"\n")
        sys.stdout.buffer.flush()
    else:
        _console_print(lambda width: status_table(total, width), clear=clear)


def status_table(total: dict[str, Any], width: int) -> "Table":
    """Partitions; on a narrow terminal without rates, which `--json` has."""
    from rich.table import Table

    age = f", oldest {total['oldest_unread_ms']} ms" if total["oldest_unread_ms"] is not None else ""
    table = Table(
        title=f"{total['open_runs']} open runs, {total['lag']} records unread{age}, "
        f"{total['written_per_s']:.0f} written/s, {total['read_per_s']:.0f} read/s, {total['evidence']} findings"
    )
    names = ["#", "lag", "oldest", "owner", "open runs", "written/s", "read/s"]
    if width < NARROW:
        names = names[:4]
    for name in names:
        left = name == "owner"
        table.add_column(name, justify="left" if left else "right", no_wrap=not left, overflow="fold")
    for row in total["partitions"]:
        oldest = row["oldest_unread_ms"]
        cells = (
            str(row["partition"]),
            str(row["lag"]),
            "" if oldest is None else f"{oldest} ms",
            row["owner"] or "[red]nobody[/red]",
            str(row["open_runs"]),
            f"{row['written_per_s']:.0f}",
            f"{row['read_per_s']:.0f}",
        )
        table.add_row(*cells[: len(names)])
    return table


def runs_table(found: list["RunView"], width: int) -> "Table":
    """Runs; on a narrow terminal without when and where, which `--json` has."""
    from rich.markup import escape
    from rich.table import Table

    table = Table()
    names = ["run", "chunks", "state", "reason", "started", "partition"]
    if width < NARROW:
        names = names[:4]
    for name in names:
        right = name in {"partition", "chunks"}
        table.add_column(name, justify="right" if right else "left", no_wrap=name != "run", overflow="fold")
    for run in found:
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started_ms / 1000))
        bad = run.reason in {"error", "abort", "tripwire"}
        reason = f"[red]{escape(run.reason or '')}[/red]" if bad else escape(run.reason or "")
        cells = (escape(run.run), str(run.chunks), run.state, reason, started, str(run.partition))
        table.add_row(*cells[: len(names)])
    return table


def print_finding(finding: "Finding") -> None:
    """One finding for people: what rule, which record, why, what would have been legal."""
    import msgspec
    from rich.console import Console
    from rich.markup import escape as no_markup

    from runwire.cli.view import clean
    from runwire_schemas.evidence import Evidence

    def escape(text: str) -> str:
        return no_markup(clean(text))

    seen = msgspec.json.decode(finding.data, type=Evidence)
    colour = {"fatal": "red", "refused": "yellow"}.get(seen.cls, "cyan")
    console = Console(highlight=False, soft_wrap=True)
    where = f"run {seen.run}" if seen.run is not None else "no run"
    console.print(f"[bold {colour}]{escape(seen.code)}[/] ({seen.cls}) {escape(where)}, record {seen.record}")
    console.print(f"  {escape(seen.message)}")
    if seen.expected:
        console.print(f"  [dim]legal here:[/dim] {escape(', '.join(seen.expected))}")
    if seen.count > 1:
        console.print(f"  [dim]stands for[/dim] {seen.count} records, the last {seen.last_record}")
    if seen.body is not None:
        console.print(f"  [dim]record:[/dim] {escape(seen.body[:MAX_BODY_SHOWN].decode(errors='backslashreplace'))}")


def _write_json_lines(values: list["RunView"]) -> None:
    import msgspec

    for value in values:
        sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")


def _console_print(make: Callable[[int], "Table"], *, clear: bool = False) -> None:
    from rich.console import Console

    console = Console()
    if clear and console.is_terminal:
        console.clear()
    show(make(console.width if console.is_terminal else NARROW), console)


def show(table: "Table", console: "Console") -> None:
    """Print a table. Where nobody looks at it, a file or a pipe, it is as wide as it must be."""
    if not console.is_terminal:
        console.width = max(console.width, console.measure(table, options=console.options.update(width=10_000)).maximum)
    console.print(table)

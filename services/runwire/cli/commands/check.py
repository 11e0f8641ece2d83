"""`runwire check`: adapter and grammar over files, offline."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runwire.cli.exits import Exit
from runwire.cli.failures import CommandError, report, say
from runwire.cli.options import Choice, Json, Provider
from runwire.cli.sources import RECORD, entries, known, named, opened, provider_of, remark, run_id_of

if TYPE_CHECKING:
    from runwire.cli.verdict import Tally


def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Files to check; - is stdin.")],
    provider: Provider = None,
    choice: Choice = 0,
    chunks: Annotated[bool, typer.Option("--chunks", help="Print the normalized chunks (NDJSON) instead.")] = False,
    _as_json: Json = False,
) -> None:
    """Check recorded streams against the grammar, without a broker.

    Prints one JSON line per file: file, ok, code (of the first violation or refusal), chunks, text_sha256, usage,
    finish; stderr says where and why. The run id is the file's stem. Ends with 1 if any file is not ok.

    [bold]Examples[/bold]

    [cyan]runwire check --provider anthropic answers/*.sse[/cyan]

    [cyan]runwire check --provider raw --chunks broken.ndjson | jq .type[/cyan]
    """
    import msgspec

    from runwire.cli.verdict import Tally
    from runwire.cli.view import clean

    if provider is not None:
        known(provider)
    elif "-" in files:
        raise CommandError("stdin has no provider of its own", "say which with --provider")
    everything_ok = True
    for file in files:
        tally = Tally()
        try:
            _judge_file(file, provider, choice, tally, chunks)
        except CommandError as error:
            # Other files may still be fine: this one gets its line like any other, and the reason on stderr.
            report(error)
            tally.code = tally.code or error.code
        verdict = tally.verdict(named(file))
        everything_ok = everything_ok and verdict.ok
        if (first := tally.first) is not None:
            text = f"{verdict.file}: record {first.record.removesuffix('-0')}: {first.code}: {first.message}"
            say(f"runwire: {clean(text)}")
        if not chunks:
            sys.stdout.buffer.write(msgspec.json.encode(verdict) + b"\n")
            sys.stdout.buffer.flush()
    if not everything_ok:
        raise typer.Exit(Exit.FAILED)


def _judge_file(file: str, provider: str | None, choice: int, tally: "Tally", show_chunks: bool) -> None:
    from runwire.cli.verdict import condemned, judge
    from runwire.enforcer.limits import limits_of
    from runwire.grammar.machine import RunMachine
    from runwire.settings import load

    run_id = run_id_of(file)
    name = provider or provider_of(file)
    if provider is not None:
        remark(file, provider)
    machine = RunMachine(named(run_id), limits_of(load(os.environ)))
    crashes = frozenset[str]()
    # A pipe cannot be read twice: there a quarantine comes too late to be looked up.
    if name == RECORD and Path(file).is_file():
        with suppress(CommandError), opened(file) as stream:
            crashes = condemned(entries(stream, file, run_id, name, choice))
    with opened(file) as stream:
        found = entries(stream, file, run_id, name, choice)
        judge(machine, found, tally, _print_chunk if show_chunks else None, crashes)


def _print_chunk(chunk: bytes) -> None:
    sys.stdout.buffer.write(chunk + b"\n")

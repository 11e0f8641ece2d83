"""`runwire check`: adapter and grammar over files, offline."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from runwire.cli.exits import Exit
from runwire.cli.failures import CommandError, say
from runwire.cli.files import files_of
from runwire.cli.options import Choices, Json, Provider, Think, choice_of
from runwire.cli.recognizing import AUTO, is_stream, known
from runwire.cli.sources import named

if TYPE_CHECKING:
    from runwire.cli.judging import Judged, Wish
    from runwire.cli.summary import Summary


def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Files, and folders of files; - is stdin.")],
    provider: Provider = None,
    choice: Choices = "0",
    think: Think = None,
    chunks: Annotated[bool, typer.Option("--chunks", help="Print the normalized chunks (NDJSON) instead.")] = False,
    summary: Annotated[
        bool, typer.Option("--summary", help="Print only the table of all files; with --json as one object.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check recorded streams against the grammar, without a broker.

    Prints one JSON line per file: file, ok, code (of the first violation or refusal), chunks, text_sha256, usage,
    finish; stderr says where and why. The run id is the file's stem. With several files stderr ends with a table:
    for each protocol how many, how many are ok, and the violations. Ends with 1 if any file is not ok.

    [bold]Examples[/bold]

    [cyan]runwire check --provider anthropic answers/*.sse[/cyan]

    [cyan]runwire check --provider raw --chunks broken.ndjson | jq .type[/cyan]

    [cyan]runwire check --provider auto --summary recordings/[/cyan]
    """
    from runwire.cli.judging import Wish, judged
    from runwire.cli.summary import Summary

    if provider is not None:
        known(provider)
    elif "-" in files:
        raise CommandError(
            "stdin is read as nothing until somebody says what it is", "--provider auto looks for itself"
        )
    targets, total = list(files_of(files)), Summary()
    told = provider == AUTO and not summary
    wish = Wish(provider, choice_of(choice), think, chunks, told, several=len(targets) > 1)
    for file, found in targets:
        if found and not is_stream(file):
            say(f"runwire: {named(file)} is not a stream, and is passed over")
            total.passed_over()
            continue
        result = judged(file, wish)
        total.add(result.protocol, [tally.code for tally in result.tallies.values()])
        _say_what_broke(file, result)
        if not summary and not chunks:
            _print_verdicts(file, result, wish)
    if summary:
        _print_summary(total, as_json)
    elif wish.several:
        say(f"\n{total.table()}")
    if not total.everything_ok:
        raise typer.Exit(Exit.FAILED)


def _say_what_broke(file: str, result: "Judged") -> None:
    from runwire.cli.view import clean

    for choice, tally in result.tallies.items():
        if (first := tally.first) is not None:
            where = f"choice {choice}, record" if choice else "record"
            text = f"{named(file)}: {where} {first.record.removesuffix('-0')}: {first.code}: {first.message}"
            say(f"runwire: {clean(text)}")


def _print_verdicts(file: str, result: "Judged", wish: "Wish") -> None:
    import msgspec

    for choice, tally in result.tallies.items():
        verdict = tally.verdict(named(file), choice if wish.choice == "all" else None)
        sys.stdout.buffer.write(msgspec.json.encode(verdict) + b"\n")
    sys.stdout.buffer.flush()


def _print_summary(total: "Summary", as_json: bool) -> None:
    import msgspec

    shown = msgspec.json.encode(total.result()) if as_json else total.table().encode()
    sys.stdout.buffer.write(shown + b"\n")
    sys.stdout.buffer.flush()

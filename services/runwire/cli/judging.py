"""One file through adapter and grammar: what `runwire check` does with each of its arguments."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from runwire.adapters.several import run_of
from runwire.cli.failures import CommandError, report, say
from runwire.cli.recognizing import AUTO, Body, recognized, remark
from runwire.cli.sources import RECORD, Choice, entries, entries_of_choices, named, opened, run_id_of
from runwire.cli.verdict import Judge, Tally, condemned
from runwire.enforcer.limits import limits_of
from runwire.errors import ExtraMissing
from runwire.grammar.machine import RunMachine
from runwire.settings import load


class Wish(NamedTuple):
    """What the command line asks for. `told`: say what was told of a file; `several`: and of which file."""

    provider: str | None
    choice: Choice
    think: bool | None
    chunks: bool
    told: bool
    several: bool


class Judged(NamedTuple):
    """One file: the protocol it was read as, "" if that is unknown, and what came of each choice that was read."""

    protocol: str
    tallies: dict[int, Tally]


def judged(file: str, wish: Wish) -> Judged:
    """Judge a file; what keeps it from being read is reported, and is the code of its only run."""
    protocol, judges = "", dict[int, Judge]()
    stopped: CommandError | ExtraMissing | None = None
    try:
        if wish.provider is not None and wish.provider != AUTO:
            remark(file, wish.provider)
        with recognized(file, wish.provider, wish.think) as body:
            protocol = body.provider
            if wish.told:
                _say_what_told(file, body, wish)
            _read(file, body, wish, judges)
    except (CommandError, ExtraMissing) as error:
        # Other files may still be fine: this one gets its line like any other, and the reason on stderr.
        report(error)
        stopped = error
    tallies = {choice: judge.tally for choice, judge in sorted(judges.items())} or {0: Tally()}
    if stopped is not None:
        first = next(iter(tallies.values()))
        first.code = first.code or stopped.code
    return Judged(protocol, tallies)


def _say_what_told(file: str, body: Body, wish: Wish) -> None:
    where = f"{named(file)} is " if wish.several else ""
    say(f"runwire: {where}read as {body.provider}: {body.reason}")


def _read(file: str, body: Body, wish: Wish, judges: dict[int, Judge]) -> None:
    run_id = run_id_of(file)

    def judge_of(choice: int) -> Judge:
        if choice not in judges:
            machine = RunMachine(named(run_of(run_id, choice)), limits_of(load(os.environ)))
            show = _print_chunk if wish.chunks else None
            judges[choice] = Judge(machine, Tally(), show, _crashes(file, run_id, body.provider))
        return judges[choice]

    if wish.choice == "all" and body.provider != RECORD:
        for choice, entry in entries_of_choices(body.stream, run_id, body.provider, body.options):
            judge_of(choice).feed(*entry)
    else:
        only = judge_of(0)
        choice = 0 if wish.choice == "all" else wish.choice
        for entry in entries(body.stream, file, run_id, body.provider, choice, body.options):
            only.feed(*entry)
    for judge in judges.values():
        judge.close()


def _crashes(file: str, run_id: str, provider: str) -> frozenset[str]:
    """The records that a quarantine names. A pipe cannot be read twice: there it comes too late to be looked up."""
    if provider == RECORD and Path(file).is_file():
        with suppress(CommandError), opened(file) as stream:
            return condemned(entries(stream, file, run_id, provider, 0))
    return frozenset()


def _print_chunk(chunk: bytes) -> None:
    sys.stdout.buffer.write(chunk + b"\n")

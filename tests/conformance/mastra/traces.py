"""Recorded agent streams as records: what a producer makes of a stream that may span several runs."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from helpers import PROJECT, left_out
from runwire.grammar import Limits, RunMachine
from runwire_schemas.evidence import Evidence
from runwire_schemas.record import Kind, Record

Chunk = dict[str, Any]

# A leg of its own file is fed after the leg that it resumes. The first leg of the declined call was not recorded: it is
# that of the approved one, which is the same up to its run id.
FIRST_LEG = {
    "m2-09-approval-resumed-leg": "m2-08-approval-first-leg",
    "m2-10-declined-resumed-leg": "m2-08-approval-first-leg",
}

# Longer than a stop or a suspension waits, shorter than anything else.
SILENCE_MS = 10_000


def folder() -> Path:
    named = os.environ.get("RUNWIRE_CORPUS")
    return (Path(named) if named else PROJECT.parent / "shared" / "corpus") / "mastra-agent"


def names() -> list[str]:
    found = sorted(path.stem for path in folder().glob("*.jsonl"))
    if not found:
        left_out(f"no recorded agent streams in {folder()} (RUNWIRE_CORPUS names the corpus folder)")
    return found


def lines(name: str) -> list[bytes]:
    return (folder() / f"{name}.jsonl").read_bytes().splitlines()


def runs(name: str) -> dict[str, list[list[bytes]]]:
    """The bodies of each run, leg by leg and in order. A chunk that names no run is of the turn that is on."""
    parts: dict[str, list[list[bytes]]] = {}
    for run, body in _placed(lines(name)):
        parts.setdefault(run, [[]])[-1].append(body)
    first = FIRST_LEG.get(name)
    if first is not None:
        [run] = parts
        [[before]] = runs(first).values()
        own = json.loads(before[0])["runId"]
        parts[run].insert(0, [body.replace(own.encode(), run.encode()) for body in before])
    return parts


def _placed(bodies: list[bytes]) -> Iterator[tuple[str, bytes]]:
    turn = ""
    for body in bodies:
        chunk: Chunk = json.loads(body)
        payload = chunk.get("payload")
        if chunk["type"].startswith("background-task-") and isinstance(payload, dict) and "runId" in payload:
            yield payload["runId"], body
            continue
        turn = chunk.get("runId", turn)
        yield turn, body


class Told(NamedTuple):
    """What came of one run: its log and the findings, and its machine."""

    log: list[bytes]
    evidence: list[Evidence]
    machine: RunMachine

    @property
    def chunks(self) -> list[Chunk]:
        return [json.loads(chunk) for chunk in self.log]


class _Teller:
    def __init__(self, run: str, *, reload: bool) -> None:
        self.run, self.reload, self.number = run, reload, 0
        self.told = Told([], [], RunMachine(run, Limits()))

    def feed(self, kind: Kind, src: str, seq: int, body: bytes) -> None:
        self.number += 1
        log, evidence, machine = self.told
        machine.feed(Record(f"{1000 + self.number}-0", self.run, kind, src, 0, seq, body))
        produced = machine.take()
        log.extend(produced.chunks)
        evidence.extend(produced.evidence)
        if self.reload:
            self.told = Told(log, evidence, RunMachine(self.run, Limits(), machine.blob(), machine.seq))


def tell(run: str, legs: list[list[bytes]], *, reload: bool = False) -> Told:
    """Feed a run's agent records. Silence follows each leg, for ten seconds: what then must be said is said."""
    teller, seq = _Teller(run, reload=reload), 0
    for leg in legs:
        for body in leg:
            seq += 1
            teller.feed("agent", "producer", seq, body)
        while 0 < teller.told.machine.deadline_ms() <= SILENCE_MS:
            teller.feed("control", "~enforcer", 0, teller.told.machine.due() or b"")
    return teller.told

"""What the grammar alone makes of the raw records: the same machine as the enforcer's, fed offline. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

from runwire.grammar.limits import Limits
from runwire.grammar.machine import RunMachine
from runwire_schemas.record import ENFORCER_SRC, Record, parse

from .history import RawEntry, Replayed


def replay(raw: Mapping[int, Sequence[RawEntry]], limits: Limits) -> dict[str, Replayed]:
    """Every run of every partition. Runs without records are not in it."""
    results: dict[str, Replayed] = {}
    for partition, entries in raw.items():
        runs: dict[str, _Replay] = {}
        for entry in entries:
            if entry.run not in runs:
                runs[entry.run] = _Replay(RunMachine(entry.run, limits, partition=partition))
            runs[entry.run].expect(entry)
        for entry in entries:
            runs[entry.run].feed(entry)
        results |= {run: one.result() for run, one in runs.items()}
    return results


class _Control(msgspec.Struct):
    type: str
    record: str = ""


class _Replay:
    def __init__(self, machine: RunMachine) -> None:
        self.machine = machine
        self.quarantined: set[str] = set()
        self.ended: str | None = None
        self.chunks: list[bytes] = []
        self.violations: list[str] = []
        self.timeouts: list[str] = []

    def expect(self, entry: RawEntry) -> None:
        """A quarantine stands behind the record it sets aside, and is looked up before that one is fed."""
        control = _own_control(entry)
        if control is not None and control.type == "quarantine":
            self.quarantined.add(control.record)

    def feed(self, entry: RawEntry) -> None:
        record = parse(entry.id.encode(), list(entry.fields))
        if isinstance(record, Record) and entry.id in self.quarantined:
            self.machine.quarantine(record)
        else:
            self.machine.feed(record)
        produced = self.machine.take()
        control = _own_control(entry)
        if produced.chunks and control is not None and control.type == "timeout":
            self.timeouts.append(entry.id)
        self.chunks += produced.chunks
        self.violations += [finding.code for finding in produced.evidence if finding.cls == "fatal"]
        if self.machine.finished and self.ended is None:
            self.ended = entry.id

    def result(self) -> Replayed:
        return Replayed(self.chunks, self.ended, self.violations, self.timeouts)


def _own_control(entry: RawEntry) -> _Control | None:
    """A control record that the enforcer wrote itself."""
    fields = entry.fields
    for at in range(0, len(fields), 2):
        if fields[at] == b"src":
            return msgspec.json.decode(entry.body, type=_Control) if fields[at + 1] == ENFORCER_SRC.encode() else None
    return None

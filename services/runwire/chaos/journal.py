"""Journals: what a process knew when it died. Lines are appended with one write each, so a killed process loses none.

A producer's lines are JSON objects: {run, role} before it writes into a run, {over: run} when it leaves one, and
{begun, at, counts} when records were acknowledged. A reader's lines are words: `B session run after time` begins an
iteration, `D session seq digest time` is a delivery, `E session outcome time` ends one.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, cast

import msgspec

from .content import Role
from .history import Ack, Delivery, Outcome, ProducerLog, Session

SEPARATOR: Final = b"\n"


class Journal:
    """A file that only grows. `sync` makes a line survive the machine too, which an acknowledgement should."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, lines: Iterable[bytes], *, sync: bool = False) -> None:
        if data := b"".join(line + SEPARATOR for line in lines):
            os.write(self._file, data)
            if sync:
                os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


class Tail:
    """Reads the complete lines of growing files: each line once."""

    def __init__(self, folder: Path, pattern: str) -> None:
        self._folder, self._pattern = folder, pattern
        self._offsets: dict[Path, int] = {}

    def lines(self) -> Iterator[bytes]:
        for path in sorted(self._folder.glob(self._pattern)):
            with path.open("rb") as file:
                file.seek(self._offsets.get(path, 0))
                data = file.read()
            complete = data.rfind(SEPARATOR) + 1
            self._offsets[path] = self._offsets.get(path, 0) + complete
            yield from data[:complete].splitlines()


class RunLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    run: str
    role: Role


class OverLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    over: str


class AckLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    begun: float
    at: float
    counts: dict[str, int]


class ProducerNotes:
    """A producer's journal, read back. A torn last line is what a killed process leaves: it counts as not written.

    A process that was killed before its first line has an empty one.
    """

    def __init__(self, path: Path) -> None:
        self.roles: dict[str, Role] = {}
        self.over: set[str] = set()
        self.acks: list[Ack] = []
        for line in Tail(path.parent, path.name).lines():
            if line.startswith(b'{"run"'):
                run = msgspec.json.decode(line, type=RunLine)
                self.roles[run.run] = run.role
            elif line.startswith(b'{"over"'):
                self.over.add(msgspec.json.decode(line, type=OverLine).over)
            else:
                ack = msgspec.json.decode(line, type=AckLine)
                self.acks.append(Ack(ack.begun, ack.at, ack.counts))


def producer_path(folder: Path, slot: int, generation: int) -> Path:
    return folder / f"producer-{slot}-{generation}.jsonl"


def reader_path(folder: Path, slot: int, generation: int) -> Path:
    return folder / f"reader-{slot}-{generation}.words"


def producer_log(folder: Path, slot: int, generation: int, died: float | None) -> ProducerLog:
    notes = ProducerNotes(producer_path(folder, slot, generation))
    return ProducerLog(slot, generation, notes.roles, notes.acks, died)


def reader_sessions(folder: Path, slot: int, generation: int, died: float | None) -> list[Session]:
    """The iterations of one reader process. One without an end was going on when the process died."""
    path = reader_path(folder, slot, generation)
    begun: dict[bytes, Session] = {}
    deliveries: dict[bytes, list[Delivery]] = {}
    for line in Tail(path.parent, path.name).lines():
        kind, session, *rest = line.split()
        if kind == b"B":
            begun[session] = Session(slot, rest[0].decode(), int(rest[1]), float(rest[2]), died or 0.0, (), "lost")
            deliveries[session] = []
        elif kind == b"D":
            deliveries[session].append(Delivery(float(rest[2]), int(rest[0]), rest[1].decode()))
        else:
            outcome = cast("Outcome", rest[0].decode())
            begun[session] = begun[session]._replace(outcome=outcome, ended=float(rest[1]))
    return [session._replace(deliveries=deliveries[number]) for number, session in begun.items()]

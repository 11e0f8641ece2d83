"""The offline judge: one run's records through the grammar, and what came of them. Pure; `check` prints it."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import msgspec

from runwire.grammar.machine import RunMachine
from runwire_schemas.control import Quarantine
from runwire_schemas.evidence import Evidence
from runwire_schemas.record import ENFORCER_SRC, Record, parse

# Results are taken from the machine this often: memory stays flat however long the file.
TAKE_EVERY = 256


class Verdict(msgspec.Struct, kw_only=True):
    """What `runwire check` says of one run; the field order is the order of the JSON keys.

    `choice` is there only where every choice of a file is a run of its own.
    """

    file: str
    choice: int | msgspec.UnsetType = msgspec.UNSET
    ok: bool
    code: str | None
    chunks: int
    text_sha256: str
    usage: msgspec.Raw | None
    finish: str | None


class _Chunk(msgspec.Struct):
    type: str
    payload: msgspec.Raw = msgspec.Raw(b"{}")


class _Text(msgspec.Struct):
    text: str


class _Output(msgspec.Struct):
    # Not `Raw | None`: msgspec then decodes nothing but null.
    usage: msgspec.Raw = msgspec.Raw(b"null")


class _StepFinish(msgspec.Struct):
    output: _Output = msgspec.field(default_factory=_Output)


class _StepResult(msgspec.Struct):
    reason: str


class _Finish(msgspec.Struct, rename="camel"):
    step_result: _StepResult


_quarantine = msgspec.json.Decoder(Quarantine).decode
_chunk = msgspec.json.Decoder(_Chunk).decode
_text = msgspec.json.Decoder(_Text).decode
_step_finish = msgspec.json.Decoder(_StepFinish).decode
_finish = msgspec.json.Decoder(_Finish).decode


class Tally:
    """Adds up chunks and evidence of one run."""

    def __init__(self) -> None:
        self.chunks = 0
        self.code: str | None = None
        self.first: Evidence | None = None
        self.usage: msgspec.Raw | None = None
        self.finish: str | None = None
        self._digest = hashlib.sha256()

    def add(self, chunks: Iterable[bytes], evidence: Iterable[Evidence]) -> None:
        for chunk in chunks:
            self.chunks += 1
            self._see(chunk)
        for finding in evidence:
            if self.code is None and finding.cls in {"fatal", "refused"}:
                self.code, self.first = finding.code, finding

    def _see(self, data: bytes) -> None:
        chunk = _chunk(data)
        match chunk.type:
            case "text-delta":
                self._digest.update(_text(chunk.payload).text.encode())
            case "step-finish":
                self.usage = _step_finish(chunk.payload).output.usage
            case "finish":
                self.finish = _finish(chunk.payload).step_result.reason
            case _:
                pass

    def verdict(self, file: str, choice: int | None = None) -> Verdict:
        return Verdict(
            file=file,
            choice=msgspec.UNSET if choice is None else choice,
            ok=self.code is None,
            code=self.code,
            chunks=self.chunks,
            text_sha256=self._digest.hexdigest(),
            usage=self.usage,
            finish=self.finish,
        )


def condemned(entries: Iterator[tuple[bytes, list[bytes]]]) -> frozenset[str]:
    """The ids of records that a `quarantine` of the enforcer names: each is looked up before its record is fed."""
    named = set[str]()
    for entry_id, fields in entries:
        record = parse(entry_id, fields)
        if isinstance(record, Record) and record.src == ENFORCER_SRC:
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                named.add(_quarantine(record.body).record.removesuffix("-0"))
    return frozenset(named)


class Judge:
    """Judges one run, entry by entry; `show` gets every chunk.

    `crashes` are the ids of records that crash their reader: they are quarantined, not fed.
    """

    def __init__(
        self,
        machine: RunMachine,
        tally: Tally,
        show: Callable[[bytes], None] | None = None,
        crashes: frozenset[str] = frozenset(),
    ) -> None:
        self.tally = tally
        self._machine = machine
        self._show = show
        self._crashes = crashes
        self._count = 0
        self._last = b"0"

    def feed(self, entry_id: bytes, fields: list[bytes]) -> None:
        self._last = entry_id
        record = parse(entry_id, fields)
        if isinstance(record, Record) and record.id in self._crashes:
            self._machine.quarantine(record)
        else:
            self._machine.feed(record)
        self._count += 1
        if self._count % TAKE_EVERY == 0:
            _take(self._machine, self.tally, self._show)

    def close(self) -> None:
        """No more entries come."""
        _close_gap(self._machine, self._last)
        _take(self._machine, self.tally, self._show)


def judge(
    machine: RunMachine,
    entries: Iterator[tuple[bytes, list[bytes]]],
    tally: Tally,
    show: Callable[[bytes], None] | None = None,
    crashes: frozenset[str] = frozenset(),
) -> None:
    """Feed all entries of one run. What `entries` raises passes through, the tally stays."""
    court = Judge(machine, tally, show, crashes)
    for entry_id, fields in entries:
        court.feed(entry_id, fields)
    court.close()


def _take(machine: RunMachine, tally: Tally, show: Callable[[bytes], None] | None) -> None:
    produced = machine.take()
    tally.add(produced.chunks, produced.evidence)
    if show is not None:
        for chunk in produced.chunks:
            show(chunk)


def _close_gap(machine: RunMachine, last_id: bytes) -> None:
    """A gap that is open at the end of the file is a gap: nothing can fill it, so the wait for it ends here.

    A run that is merely unfinished is left so: how long a producer may stay silent is not the file's fault.
    """
    if machine.parked and (body := machine.due()) is not None:
        fields = [b"run", machine.run_id.encode(), b"src", b"~enforcer", b"kind", b"control", b"body", body]
        machine.feed(parse(b"%d" % (int(last_id.partition(b"-")[0]) + 1), fields))

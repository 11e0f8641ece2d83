"""The run that all steps of the machine work on: its state, and what the records fed so far have produced."""

from hashlib import sha256
from typing import Final, NamedTuple

from runwire.grammar import normalize
from runwire.grammar.input import Input, View
from runwire.grammar.limits import Limits
from runwire.grammar.repairs import RepairCode
from runwire.grammar.state import Mode, State, dump, load
from runwire_schemas.control import Parent
from runwire_schemas.events import AnyRunEvent, RunOpened
from runwire_schemas.evidence import Evidence, EvidenceClass
from runwire_schemas.record import ENFORCER_SRC, Malformed, Record

GRAMMAR_VERSION: Final = 2


# Longer words in evidence are cut: they may quote what somebody made large on purpose, and the body is kept anyway.
_SHOWN: Final = 500


def shown(words: str) -> str:
    """Words as they stand in evidence and in the run's `error` chunk."""
    return words if len(words) <= _SHOWN else words[:_SHOWN] + "…"


class Produced(NamedTuple):
    """What was produced since the last take: chunk k, counted from 1, has number `base_seq` + k."""

    base_seq: int
    chunks: list[bytes]
    evidence: list[Evidence]
    events: list[AnyRunEvent]


class Run:
    """State and output of one run. `exists` is False until a record has opened it."""

    def __init__(
        self, run_id: str, limits: Limits, blob: bytes | None = None, seq: int = 0, *, partition: int = 0
    ) -> None:
        self.run_id: Final = run_id
        self.limits: Final = limits
        self.partition: Final = partition
        self.exists = bool(blob)
        self.state = load(blob) if blob else State()
        self.chunks: list[bytes] = []
        self.evidence: list[Evidence] = []
        self.events: list[AnyRunEvent] = []
        self.violated = False
        self.duplicates: int = 0
        """Records since the process loaded the run that were already seen: acknowledged, no output."""
        self.bodies: dict[str, Record] = {}
        self.at: Input | None = None
        """The record that is being taken: what is repaired now is repaired in it."""
        self._base = seq
        self._agent = normalize.envelope("\0", run_id).split(b"\0")

    @property
    def seq(self) -> int:
        """Number of the run's last chunk."""
        return self._base + len(self.chunks)

    @property
    def attempt(self) -> int:
        return self.state.attempt

    @property
    def finished(self) -> bool:
        """`finish` is in the log: only background-task chunks of live tasks follow."""
        return self.state.end != ""

    @property
    def sealed(self) -> bool:
        """Nothing follows any more, and `blob` is the tombstone."""
        return self.finished and not self.state.tasks

    @property
    def ending(self) -> bool:
        """The run's stop is in the log, its `finish` is not: only what completes the ending is taken."""
        return self.state.ending is not None

    @property
    def first_record(self) -> str:
        return self.state.first

    def take(self) -> Produced:
        """Hand over what was produced since the last take."""
        produced = Produced(self._base, self.chunks, self.evidence, self.events)
        self._base = self.seq
        self.chunks, self.evidence, self.events = [], [], []
        self.violated = False
        return produced

    def blob(self) -> bytes:
        """The state to store: versioned msgpack; b"" for a run that does not exist."""
        if not self.exists:
            return b""
        self.state.seq = self.seq
        return dump(self.state)

    # --- output ------------------------------------------------------------------------------------------------------

    def emit(self, type_: str, payload: bytes) -> None:
        """Append an agent's chunk, after `start` if it is the first."""
        head, tail = self._agent
        self.append(b"".join((head, type_.encode(), tail, payload, b"}")))

    def emit_own(self, type_: str, payload: bytes) -> None:
        """Append a chunk that the enforcer says itself."""
        self.append(normalize.envelope(type_, self.run_id, "SYSTEM") + payload + b"}")

    def emit_data(self, type_: str, data: bytes) -> None:
        """Append a data chunk of the enforcer: it has `data` and no payload."""
        self.append(normalize.envelope(type_, self.run_id, "SYSTEM", "data") + data + b"}")

    def append(self, chunk: bytes) -> None:
        if not self.state.started:
            self.state.started = True
            self.emit("start", normalize.start(self.state))
        self.chunks.append(chunk)

    # --- opening -----------------------------------------------------------------------------------------------------

    def open(self, record: Record, mode: Mode, author: str) -> None:
        """Begin the run with its first record; ids and default are already in the state."""
        self.exists = True
        state = self.state
        state.first, state.mode, state.author = record.id, mode, author
        parent = state.parent
        self.events.append(
            RunOpened(
                run=self.run_id,
                attempt=state.attempt,
                partition=self.partition,
                record=record.id,
                agent_id=state.agent_id,
                thread_id=state.thread_id,
                resource_id=state.resource_id,
                mode=mode,
                parent=None if parent is None else Parent(run_id=parent.run_id, wrapper=parent.wrapper, key=parent.key),
                continues=state.continues,
            )
        )

    # --- evidence ----------------------------------------------------------------------------------------------------

    def view(self, record: Record | None) -> View:
        """What the rules see: the call that `record` belongs to, or would begin."""
        call = self.state.call
        if record is None or call is not None:
            optional = call.usage_optional if call is not None else self.state.usage_default == "optional"
            return View(self.run_id, self.limits, self.state, call, optional)
        return View(self.run_id, self.limits, self.state, None, self.usage_optional(record))

    def usage_optional(self, record: Record) -> bool:
        """The usage rule of a call that `record` begins."""
        return (record.usage or self.state.usage_default) == "optional"

    def note(
        self,
        code: str,
        cls: EvidenceClass,
        message: str,
        record: Record | Malformed,
        expected: tuple[str, ...] = (),
        x: Input | None = None,
    ) -> None:
        """Keep evidence with all that is known. The state is digested as it is now: before the record had effect."""
        known = record if isinstance(record, Record) else None
        index = x.index if x is not None else None
        unnumbered = record.src == ENFORCER_SRC
        self.evidence.append(
            Evidence(
                code=code,
                cls=cls,
                message=shown(message),
                record=record.id,
                run=self.run_id,
                attempt=self.state.attempt,
                src=record.src,
                epoch=None if unnumbered else record.epoch,
                seq=None if unnumbered else record.seq,
                call=None if known is None else known.call,
                chunk_type=None if x is None or x.type is None else shown(x.type),
                block_index=index if index is not None and abs(index) < 2**53 else None,
                expected=expected,
                state_digest=sha256(self.blob()).hexdigest() if self.exists else None,
                grammar=GRAMMAR_VERSION,
                body=self._kept(record.body),
            )
        )

    def refuse(
        self,
        code: str,
        message: str,
        record: Record | Malformed,
        expected: tuple[str, ...] = (),
        x: Input | None = None,
    ) -> None:
        """A refused record: the first ones with their bytes, the rest counted. It changes nothing else."""
        if not self.exists:
            self.note(code, "refused", message, record, expected, x)
            return
        over = self.state.refused - self.limits.evidence_entries
        if over < 0:
            self.note(code, "refused", message, record, expected, x)
        elif _completes_range(over):
            self._note_count(code, "refused", message, record.id, self.state.counted_first or record.id, over)
            self.state.counted_first = ""
        elif not self.state.counted_first:
            self.state.counted_first = record.id
        self.state.refused += 1

    def repair(self, code: RepairCode, message: str) -> None:
        """What was corrected in the record that is being taken: evidence once per code, then counted."""
        assert self.at is not None, "only records are repaired"
        state, record = self.state, self.at.record
        over = state.repairs.get(code, 0) - 1
        first = state.repairs_first.get(code, "")
        if over < 0:
            self.note(code, "repaired", message, record, (), self.at)
        elif _completes_range(over):
            self._note_count(code, "repaired", message, record.id, first or record.id, over)
            state.repairs_first.pop(code, None)
        elif not first:
            state.repairs_first[code] = record.id
        state.repairs[code] = over + 2

    def _note_count(self, code: str, cls: EvidenceClass, message: str, last: str, first: str, over: int) -> None:
        self.evidence.append(
            Evidence(
                code=code,
                cls=cls,
                message=shown(message),
                record=first,
                run=self.run_id,
                attempt=self.state.attempt,
                grammar=GRAMMAR_VERSION,
                count=(over + 2) // 2,
                last_record=last,
            )
        )

    def _kept(self, body: bytes) -> bytes | None:
        if not self.exists:
            return body
        if self.state.kept_bytes + len(body) > self.limits.evidence_bytes:
            return None
        self.state.kept_bytes += len(body)
        return body


def _completes_range(over: int) -> bool:
    # Ranges of 1, 2, 4, 8 … findings: the number of entries stays logarithmic however long somebody goes on.
    return (over + 2) & (over + 1) == 0

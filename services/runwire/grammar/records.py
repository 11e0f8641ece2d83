"""The checks of §1: who may write, in which order, and what waits. In the contract's order, with its classes."""

from typing import Final, Literal

from runwire.grammar import call, control, fields
from runwire.grammar.agent.types import NO_OPENERS, type_of
from runwire.grammar.checks import size_limit
from runwire.grammar.input import Input
from runwire.grammar.limits import Limits
from runwire.grammar.run import Run
from runwire.grammar.state import Parked, Source
from runwire_schemas.record import ADMIN_SRC, ENFORCER_SRC, UNWRAP_SRC, Malformed, Record

Class = Literal["refused", "fatal", "counted"]

CHECKS: Final[tuple[tuple[str, Class, str], ...]] = (
    ("record-invalid", "refused", "the fields of the record are well formed, and its source may write it"),
    (
        "run-unknown",
        "refused",
        "a run is opened by seq 1 of a provider record, a run-start or an agent chunk that answers and ends nothing",
    ),
    ("run-author", "refused", "a run is written by producers or by the unwrapper for one parent, never both"),
    ("too-many-sources", "refused", "at most 256 sources write one run"),
    ("producer-fenced", "refused", "the epoch is not older than the source's newest"),
    ("duplicate", "counted", "a seq already seen in its epoch is acknowledged and has no output"),
    ("sequence-gap", "fatal", "seq is the next one, or the gap is filled in time"),
)

_UNNUMBERED: Final = (ENFORCER_SRC, ADMIN_SRC)


def invalid(run: Run, x: Input) -> str | None:
    """Why the record is no record of this run's sources, or None. Too large a body is left to its own rule."""
    record = x.record
    if record.kind != "control":
        return None
    if len(record.body) > size_limit(run.limits, record):
        return f"{ADMIN_SRC} may only ask for redrive" if record.src == ADMIN_SRC else None
    return control.misplaced(x)


def acceptable(record: Record | Malformed) -> tuple[str, ...]:
    """What the source of an invalid record might have written instead."""
    if isinstance(record, Malformed):
        return ("a well-formed record",)
    return fields.ENFORCERS_OWN if record.src == ENFORCER_SRC else fields.PRODUCERS_OWN


def opens(x: Input, limits: Limits) -> bool:
    """Whether the record may open a run: what it says in detail is judged afterwards."""
    record = x.record
    if record.seq != 1:
        return False
    if record.kind == "provider":
        return True
    if len(record.body) > size_limit(limits, record):
        return record.kind == "agent"
    return x.type == "run-start" if record.kind == "control" else type_of(x.type).role not in NO_OPENERS


def author_of(src: str) -> str:
    """The unwrapper of one parent, or an empty name for producers."""
    return src if src.startswith(UNWRAP_SRC) else ""


def admit(run: Run, x: Input) -> bool:
    """Whether the record's turn has come. If not it was refused, recognized as a duplicate or parked."""
    record, state = x.record, run.state
    if author_of(record.src) != state.author:
        who = state.author or "producers"
        run.refuse("run-author", f"the run is written by {who}, not by {record.src}", record, (who,), x)
        return False
    source = state.sources.get(record.src)
    if source is None and len(state.sources) >= run.limits.sources:
        run.refuse("too-many-sources", f"the run has {len(state.sources)} sources", record, ("a known source",), x)
        return False
    if source is not None and record.epoch < source.epoch:
        message = f"epoch {record.epoch} is older than {source.epoch}"
        run.refuse("producer-fenced", message, record, (f"epoch {source.epoch} or newer",), x)
        return False
    source = _source(run, record.src, record.epoch, record.id)
    if record.seq <= source.last or record.seq in source.parked:
        run.duplicates += 1
        return False
    if record.seq > source.last + 1:
        _gap(run, source, x)
        return False
    return True


def use_up(run: Run, record: Record | Malformed) -> None:
    """A refused record uses up its seq, as far as it has one."""
    src, epoch, seq = record.src, record.epoch, record.seq
    if src is None or epoch is None or seq is None or src in _UNNUMBERED or author_of(src) != run.state.author:
        return
    known = run.state.sources.get(src)
    if (known is None and len(run.state.sources) >= run.limits.sources) or (known and epoch < known.epoch):
        return
    source = _source(run, src, epoch, record.id)
    if run.finished:
        source.last = max(source.last, seq)
    elif seq == source.last + 1:
        source.last = seq
    elif seq > source.last and seq not in source.parked:
        _park(run, source, seq, Parked(record.id, 0, refused=True))


def seen(run: Run, record: Record | Malformed) -> bool:
    """Whether the record was already seen, so that a replayed refusal is not refused twice."""
    source = run.state.sources.get(record.src or "")
    if source is None or record.seq is None or record.epoch != source.epoch:
        return False
    return record.seq <= source.last or record.seq in source.parked


def _source(run: Run, src: str, epoch: int, record_id: str) -> Source:
    """The source in this epoch. A new epoch ends the source's call, and nothing of the old one is waited for."""
    source = run.state.sources.get(src)
    if source is None:
        source = run.state.sources[src] = Source(epoch)
    elif epoch > source.epoch:
        waiting = [run.bodies.pop(parked.id, None) for parked in source.parked.values()]
        source.epoch, source.last, source.parked = epoch, 0, {}
        for record in waiting:
            if record is not None:
                run.refuse("producer-fenced", "a new epoch came while the record waited behind a gap", record)
        call.replace_producer(run, src, record_id)
        # In a single call the failed finish has ended the run, and with it the state.
        source = run.state.sources[src]
    return source


def _gap(run: Run, source: Source, x: Input) -> None:
    record = x.record
    expected = (f"seq {source.last + 1}",)
    if run.finished:
        run.refuse("sequence-gap", f"seq {record.seq} is not the next one", record, expected, x)
        source.last = record.seq
        return
    run.bodies[record.id] = record
    _park(run, source, record.seq, Parked(record.id, len(record.body)))


def _park(run: Run, source: Source, seq: int, parked: Parked) -> None:
    source.parked[seq] = parked
    limits = run.limits
    size = sum(waiting.size for waiting in source.parked.values())
    if len(source.parked) > limits.parked_records or size > limits.parked_bytes:
        first = next(iter(source.parked.values()))
        message = f"seq {source.last + 1} is missing, and {len(source.parked)} records of {size} bytes wait behind it"
        control.gap_is_final(run, source.last + 1, message, first.id)


def next_parked(run: Run, src: str) -> Record | None:
    """The source's parked record whose turn has come. One that cannot be read any more is a gap for good."""
    source = run.state.sources.get(src)
    while source is not None and source.parked:
        parked = source.parked.get(source.last + 1)
        if parked is None:
            return None
        if not parked.refused and parked.id not in run.bodies:
            message = f"the parked record {parked.id} can no longer be read"
            control.gap_is_final(run, source.last + 1, message, parked.id)
            return None
        del source.parked[source.last + 1]
        if not parked.refused:
            return run.bodies.pop(parked.id)
        source.last += 1
    return None


def finish_turn(run: Run, record: Record) -> None:
    """The record had its effect: its seq is used up."""
    run.state.sources[record.src].last = record.seq

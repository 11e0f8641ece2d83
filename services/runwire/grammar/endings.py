"""Every ending is explicit and is one sequence, whatever happened: §5 of the contract as one table."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from runwire.grammar import normalize, steps, usage
from runwire.grammar.input import Input
from runwire.grammar.run import Run, shown
from runwire.grammar.state import Held, Source, State, Word
from runwire_schemas.events import RunEnded, RunViolated
from runwire_schemas.evidence import EvidenceClass
from runwire_schemas.raw import Failure
from runwire_schemas.record import Malformed, Record

Cause = Literal["done", "failed", "aborted", "violation", "not-terminated", "run-idle-timeout", "suspension-expired"]
Middle = Literal["error", "abort"]


class Ending(NamedTuple):
    """`middle` is the chunk between the closings and step-finish, `reason` what both finishes say (None: as sent)."""

    what: str
    middle: Middle | None
    reason: Word | None


ENDINGS: Final[Mapping[Cause, Ending]] = {
    "done": Ending("run-end stop, a single call's finish, silence after a good call", None, None),
    "failed": Ending("failed finish, run-end error", "error", "error"),
    "aborted": Ending("aborted finish, run-end aborted", "abort", "abort"),
    "violation": Ending("a fatal rule was broken", "error", "error"),
    "not-terminated": Ending("run-end stop or suspended in an open call", "error", "error"),
    "run-idle-timeout": Ending("nothing came for too long", "error", "error"),
    "suspension-expired": Ending("nobody resumed the run", "error", "error"),
}

# Whatever of these ends a run whose last call failed, the call's own failure decides.
_DECIDED_BY_HELD: Final[frozenset[Cause]] = frozenset(("done", "failed", "run-idle-timeout", "suspension-expired"))

_MESSAGES: Final[Mapping[Cause, str]] = {
    "failed": "the run was ended with an error",
    "not-terminated": "the run was ended while a model call was open",
    "run-idle-timeout": "nothing came for too long",
    "suspension-expired": "the suspended run was not resumed in time",
}

_INTERRUPTED: Final = ("interrupted", "the run ended before the tool call was answered")


def end(
    run: Run, cause: Cause, record_id: str, *, failure: Failure | None = None, payload: bytes | None = None
) -> None:
    """End the run. `payload` is that of the middle chunk where `cause` does not make it; nothing follows."""
    held = run.state.held
    if held is not None and held.failure is not None and cause in _DECIDED_BY_HELD:
        cause, failure, payload = ("aborted" if held.reason == "abort" else "failed"), held.failure, None
    elif cause != "done":
        held = None
    ending = ENDINGS[cause]
    steps.close_blocks(run)
    steps.tell_bad_calls(run)
    if ending.middle is not None:
        _interrupt(run)
        say = run.emit_own if cause in _ENFORCED else run.emit
        say(ending.middle, payload or _middle(cause, failure))
    reason, raw = _reasons(run, ending, held)
    if run.state.step_open:
        steps.finish_step(run, reason, raw, continued=False)
    total = run.state.totals
    run.emit("finish", normalize.finish(reason, raw, total))
    _entomb(run, reason)
    run.events.append(
        RunEnded(
            run=run.run_id,
            attempt=run.state.attempt,
            partition=run.partition,
            record=record_id,
            seq=run.seq,
            reason=reason,
        )
    )


# What the enforcer says itself, not for an agent.
_ENFORCED: Final[frozenset[Cause]] = frozenset(
    ("violation", "not-terminated", "run-idle-timeout", "suspension-expired")
)


def violate(
    run: Run,
    code: str,
    message: str,
    record: Record | Malformed,
    expected: tuple[str, ...] = (),
    x: Input | None = None,
    cls: EvidenceClass = "fatal",
) -> None:
    """A fatal rule is broken: evidence, then the end of the run."""
    message = shown(message)
    run.note(code, cls, message, record, expected, x)
    run.violated = True
    run.events.append(
        RunViolated(
            run=run.run_id,
            attempt=run.state.attempt,
            partition=run.partition,
            record=record.id,
            code=code,
            message=message,
        )
    )
    payload = normalize.error(code="grammar-violation", rule=code, evidenceId=record.id, message=message)
    end(run, "violation", record.id, payload=payload)


def _middle(cause: Cause, failure: Failure | None) -> bytes:
    if cause == "aborted":
        return normalize.EMPTY
    if failure is not None:
        return normalize.obj(("error", normalize.failed(failure)))
    if cause == "failed":
        return normalize.error(message=_MESSAGES[cause])
    return normalize.error(code=cause, message=_MESSAGES[cause])


def _reasons(run: Run, ending: Ending, held: Held | None) -> tuple[Word, str | None]:
    """What both finishes say: the word of the call that decides, the ending's, or that of the last step."""
    if held is not None:
        return held.reason, held.raw
    if ending.reason is not None:
        return ending.reason, None
    return run.state.last_reason or "stop", run.state.last_raw


def _interrupt(run: Run) -> None:
    for out, tool in run.state.tools.items():
        if not tool.told:
            steps.tell(run, out, tool, *_INTERRUPTED)


def _entomb(run: Run, reason: Word) -> None:
    """Keep only what recognizes replayed records and refuses new ones. A finished run parks nothing."""
    old = run.state
    waiting = [parked.id for source in old.sources.values() for parked in source.parked.values()]
    run.state = State(
        end=reason,
        attempt=old.attempt,
        first=old.first,
        last=old.last,
        author=old.author,
        sources={src: Source(source.epoch, source.last) for src, source in old.sources.items()},
        finished_calls=old.finished_calls,
        refused=old.refused,
        counted_first=old.counted_first,
        repairs=old.repairs,
        repairs_first=old.repairs_first,
        kept_bytes=old.kept_bytes,
        started=True,
        totals=usage.dump({}),
    )
    for parked_id in waiting:
        record = run.bodies.pop(parked_id, None)
        if record is not None:
            run.refuse("chunk-after-terminal", "the run ended while the record waited behind a gap", record)
    run.bodies.clear()

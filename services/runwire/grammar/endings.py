"""Every ending is explicit and is one sequence, whatever happened: §5 of the contract as one table."""

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from runwire.grammar import normalize, steps, usage
from runwire.grammar.agent import stepresult
from runwire.grammar.agent.draft import Draft
from runwire.grammar.agent.stepresult import Result
from runwire.grammar.input import Input
from runwire.grammar.run import Run, shown
from runwire.grammar.state import Ending, Held, Source, State, Word
from runwire_schemas.events import RunEnded, RunViolated
from runwire_schemas.evidence import EvidenceClass
from runwire_schemas.raw import Failure
from runwire_schemas.record import Malformed, Record

Cause = Literal[
    "done", "failed", "aborted", "tripped", "violation", "not-terminated", "run-idle-timeout", "suspension-expired",
]  # fmt: skip


class Rule(NamedTuple):
    """`middle` is the chunk between the closings and step-finish, `reason` what both finishes say (None: as sent)."""

    what: str
    middle: Ending | None
    reason: Word | None


ENDINGS: Final[Mapping[Cause, Rule]] = {
    "done": Rule(
        "finish, run-end stop, a single call's finish, a workflow's or network's finish, silence after a good end",
        None,
        None,
    ),
    "failed": Rule("error, failed finish, run-end error, reason `error`, workflow failed", "error", "error"),
    "aborted": Rule("abort, aborted finish, run-end aborted, reason `abort`, workflow canceled", "abort", "abort"),
    "tripped": Rule("tripwire, to be retried or not, reason `tripwire`", "tripwire", "tripwire"),
    "violation": Rule("a fatal rule was broken", "error", "error"),
    "not-terminated": Rule(
        "a finish without a reason; run-end stop or suspended in an open call; run-end stop in an agent's open step",
        "error",
        "error",
    ),
    "run-idle-timeout": Rule("nothing came for too long", "error", "error"),
    "suspension-expired": Rule("nobody resumed the run", "error", "error"),
}
CAUSES: Final[Mapping[Word, Cause]] = {"error": "failed", "abort": "aborted", "tripwire": "tripped"}

# Whatever of these ends a run whose last call failed, the call's own failure decides.
_DECIDED_BY_HELD: Final[frozenset[Cause]] = frozenset(("done", "failed", "run-idle-timeout", "suspension-expired"))

_MESSAGES: Final[Mapping[Cause, str]] = {
    "failed": "the run was ended with an error",
    "not-terminated": "the run was ended while a model call or step was open, or without a reason",
    "run-idle-timeout": "nothing came for too long",
    "suspension-expired": "the suspended run was not resumed in time",
}

_INTERRUPTED: Final = ("interrupted", "the run ended before the tool call was answered")


class Sent(NamedTuple):
    """An agent's own `finish`; without a reason of its own it says what the run's ending says."""

    draft: Draft
    result: Result | None


def end(
    run: Run,
    cause: Cause,
    record_id: str,
    *,
    failure: Failure | None = None,
    payload: bytes | None = None,
    sent: Sent | None = None,
) -> None:
    """End the run. `payload` is that of the middle chunk where `cause` does not make it; nothing follows."""
    state = run.state
    held = state.held
    if state.ending is None:
        if state.canceled and cause != "violation":
            cause, failure, payload = "aborted", None, None
        if held is not None and held.failure is not None and cause in _DECIDED_BY_HELD:
            cause, failure, payload = ("aborted" if held.reason == "abort" else "failed"), held.failure, None
        elif cause != "done":
            held = None
        _close(run, cause, failure, payload)
        reason = ENDINGS[cause].reason
    else:
        held, reason = None, state.ending
    last = _last(run, held, reason, sent)
    if state.step_open:
        word, raw = (held.reason, held.raw) if held is not None else (last.reason, last.raw)
        steps.finish_step(run, word, raw, continued=False)
    _finish(run, last, sent)
    _entomb(run, last.reason)
    run.events.append(
        RunEnded(
            run=run.run_id,
            attempt=run.state.attempt,
            partition=run.partition,
            record=record_id,
            seq=run.seq,
            reason=last.reason,
        )
    )


def stop(run: Run, ending: Ending, say: Callable[[], None]) -> None:
    """The first half of an ending that failed, up to its middle chunk: only step-finish and finish may follow."""
    state = run.state
    steps.close_parts(run, "leg or run ends", mend=False)
    steps.tell_bad_calls(run)
    at_work = {task.call for task in state.tasks.values()}
    for out, tool in state.tools.items():
        if not tool.told and out not in at_work:
            steps.tell(run, out, tool, *_INTERRUPTED)
    say()
    if state.call is not None:
        # Its usage still counts, and nothing more comes of it.
        state.held, state.call = Held(ending, None, cut=False, usage=state.call.usage), None
    state.ending, state.suspended = ending, False


def _close(run: Run, cause: Cause, failure: Failure | None, payload: bytes | None) -> None:
    middle = ENDINGS[cause].middle
    if middle is None:
        steps.close_parts(run, "leg or run ends", mend=False)
        steps.tell_bad_calls(run)
        return
    emit = run.emit_own if cause in _ENFORCED else run.emit
    stop(run, middle, lambda: emit(middle, payload or middle_payload(cause, failure)))


# What the enforcer says itself, not for an agent.
_ENFORCED: Final[frozenset[Cause]] = frozenset(
    ("violation", "not-terminated", "run-idle-timeout", "suspension-expired")
)


def middle_payload(cause: Cause, failure: Failure | None = None) -> bytes:
    """The middle chunk's payload where nobody sent one."""
    if cause == "aborted":
        return normalize.EMPTY
    if cause == "tripped":
        return normalize.obj(("reason", normalize.text("")))
    if failure is not None:
        return normalize.obj(("error", normalize.failed(failure)))
    if cause == "failed":
        return normalize.error(message=_MESSAGES[cause])
    return normalize.error(code=cause, message=_MESSAGES[cause])


def _last(run: Run, held: Held | None, reason: Word | None, sent: Sent | None) -> Result:
    """What `finish` says: the ending's word, the agent's, that of the call that decides, or that of the last step."""
    state = run.state
    if sent is not None and sent.result is not None:
        return sent.result.forced(held.reason if held is not None and held.failure is not None else reason)
    if held is not None:
        return Result(held.reason, held.raw, continued=False)
    if reason is not None:
        return Result(reason, None, continued=False)
    return Result(state.last_reason or "stop", state.last_raw, continued=False)


def _finish(run: Run, last: Result, sent: Sent | None) -> None:
    total = run.state.totals
    if sent is None:
        run.emit("finish", normalize.finish(last.reason, last.raw, total))
        return
    if total == normalize.EMPTY:
        own = usage.flattened(stepresult.usage_of(sent.draft))
        total = usage.dump(own) if any(own.values()) else total
    stepresult.fill_finish(sent.draft, last, total)
    run.append(sent.draft.encode(run.run_id))


def violate(
    run: Run,
    code: str,
    message: str,
    record: Record | Malformed,
    expected: tuple[str, ...] = (),
    x: Input | None = None,
    cls: EvidenceClass = "fatal",
) -> None:
    """A fatal rule is broken: evidence, then the end of the run. One that has ended or is ending only refuses."""
    if run.finished or run.ending:
        run.refuse(code, message, record, expected, x)
        return
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


def _entomb(run: Run, reason: Word) -> None:
    """Keep only what recognizes replayed records and refuses new ones. A finished run parks nothing.

    While tasks are live, also what their chunks ask for.
    """
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
        now=old.now,
    )
    if old.tasks:
        run.state.tasks, run.state.task_size, run.state.ended_tasks = old.tasks, old.task_size, old.ended_tasks
        run.state.bare, run.state.wrapped = old.bare, old.wrapped
    for parked_id in waiting:
        record = run.bodies.pop(parked_id, None)
        if record is not None:
            run.refuse("chunk-after-terminal", "the run ended while the record waited behind a gap", record)
    run.bodies.clear()


def seal(run: Run) -> None:
    """The last task of a finished run is over: nothing follows, and nothing of tasks is asked any more."""
    state = run.state
    state.ended_tasks, state.bare, state.wrapped, state.now = [], [], [], ""

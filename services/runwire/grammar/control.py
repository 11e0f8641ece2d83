"""Control records: what producers say of a run as a whole, and what the enforcer says of time."""

from typing import Final, Literal, NamedTuple, assert_never

import msgspec

from runwire.grammar import endings, suspension
from runwire.grammar.agent import tasks
from runwire.grammar.fields import ENFORCERS_OWN
from runwire.grammar.input import Input
from runwire.grammar.run import Run
from runwire.grammar.state import Mode, Parent, Source, State, Task
from runwire_schemas.raw import Failure
from runwire_schemas.record import ADMIN_SRC, ENFORCER_SRC, Malformed

Phase = Literal["gap", "ending", "suspend-mark", "call", "tools", "idle", "suspended", "task", "task-suspended"]


class Due(NamedTuple):
    """When time alone must act, and on what: `after` is the record that nothing may have followed."""

    ms: int
    phase: Phase
    after: str


def misplaced(x: Input) -> str | None:
    """Why a control record may not come from its source, or None."""
    src = x.record.src
    if x.type == "redrive":
        return "redrive is not supported yet"
    if src == ADMIN_SRC:
        return f"{ADMIN_SRC} may only ask for redrive"
    if src == ENFORCER_SRC and x.type not in ENFORCERS_OWN:
        return f"{ENFORCER_SRC} may only write {' and '.join(ENFORCERS_OWN)}"
    if src != ENFORCER_SRC and x.type in ENFORCERS_OWN:
        return f"only {ENFORCER_SRC} may write {x.type}"
    return None


def apply(run: Run, x: Input) -> None:
    """A legal control record of a producer takes effect on an unfinished run."""
    match x.type:
        case "run-start" if not run.ending:
            _restart(run, x)
        case "run-end":
            _end(run, x)
        case _:
            pass  # A heartbeat only moves the run's last record; an ending run starts no more.


# --- run-start -------------------------------------------------------------------------------------------------------

_IDS: Final = (("agentId", "agent_id"), ("threadId", "thread_id"), ("resourceId", "resource_id"))


def declare(state: State, x: Input) -> Mode:
    """The fields of a run's first record, if it is a run-start; returns the mode."""
    _adopt(state, x)
    mode = x.tree.get("mode")
    if mode is None:
        return "agent-loop" if x.record.call is None else "single-call"
    return "single-call" if mode == "single-call" else "agent-loop"


def _restart(run: Run, x: Input) -> None:
    """Later in a run a run-start may only add ids that are absent; as the first of a leg its fields count."""
    state = run.state
    if state.suspended:
        _adopt(state, x)
        return
    added = [name for name, field in _IDS if x.tree.get(name) is not None and getattr(state, field) is None]
    if added:
        run.repair("run-start-late", f"a later run-start added {', '.join(added)}")
        for name, field in _IDS:
            if name in added:
                setattr(state, field, x.tree[name])


def _adopt(state: State, x: Input) -> None:
    for name, field in _IDS:
        value = x.tree.get(name)
        if isinstance(value, str):
            setattr(state, field, value)
    if isinstance(x.tree.get("continues"), str):
        state.continues = str(x.tree["continues"])
    parent = x.tree.get("parent")
    if isinstance(parent, dict) and state.parent is None:
        state.parent = Parent(str(parent["runId"]), str(parent["wrapper"]), str(parent["key"]))
    if x.tree.get("usage") is not None:
        state.usage_default = "optional" if x.tree["usage"] == "optional" else "required"


# --- run-end ---------------------------------------------------------------------------------------------------------


def _end(run: Run, x: Input) -> None:
    reason = x.tree["reason"]
    record_id = x.record.id
    if reason == "aborted":
        endings.end(run, "aborted", record_id)
    elif reason == "error":
        failure = x.tree.get("failure")
        endings.end(run, "failed", record_id, failure=None if failure is None else msgspec.convert(failure, Failure))
    elif reason == "suspended" and not run.ending and run.state.call is None:
        suspension.suspend(run)
    else:
        endings.end(run, "not-terminated" if _cuts(run, str(reason)) else "done", record_id)


def _cuts(run: Run, reason: str) -> bool:
    """Whether the end comes in the midst of a call, or of a step whose end only the agent can tell."""
    state = run.state
    return state.call is not None or (reason == "stop" and state.step_open and state.held is None)


# --- time ------------------------------------------------------------------------------------------------------------


def due(run: Run) -> Due | None:
    """The next moment at which time alone must act, counted from the run's last record; None once it is sealed."""
    if not run.exists:
        return None
    found = [_task(run)] if run.finished else [_silence(run), _gap(run), _task(run)]
    return min((moment for moment in found if moment is not None), key=lambda moment: moment.ms, default=None)


def _silence(run: Run) -> Due:
    state, limits = run.state, run.limits
    phase: Phase
    if run.ending or state.canceled:
        phase, ms = "ending", limits.ending_ms
    elif not state.suspended and suspension.settled(state):
        phase, ms = "suspend-mark", limits.suspend_mark_ms
    elif state.suspended:
        phase, ms = "suspended", limits.suspended_ms
    elif state.call is not None:
        phase, ms = "call", limits.idle_call_ms
    elif state.tools:
        phase, ms = "tools", limits.idle_tools_ms
    else:
        phase, ms = "idle", limits.idle_ms
    return Due(ms, phase, state.last)


def _gap(run: Run) -> Due | None:
    """A source's records wait behind a gap since its first parked one: more records do not prolong the wait."""
    firsts = [next(iter(source.parked.values())).id for source in run.state.sources.values() if source.parked]
    if not firsts:
        return None
    first = min(firsts, key=stamp)
    waited = stamp(run.state.last)[0] - stamp(first)[0]
    return Due(max(1, run.limits.gap_ms - waited), "gap", first)


def _task(run: Run) -> Due | None:
    """The live task that was silent longest, or that has been suspended longest, for its own limit."""
    found: list[Due] = []
    for task in run.state.tasks.values():
        phase: Phase = "task-suspended" if task.state == "suspended" else "task"
        found.append(Due(_left(run, task), phase, run.state.last))
    return min(found, key=lambda moment: moment.ms, default=None)


def _left(run: Run, task: Task) -> int:
    limit = run.limits.task_suspended_ms if task.state == "suspended" else run.limits.task_ms
    now = max(stamp(run.state.last), stamp(run.state.now))
    return max(1, limit - (now[0] - stamp(task.last)[0]))


def stamp(record_id: str) -> tuple[int, int]:
    """A stream id as its two numbers: milliseconds since 1970, and a count. A plain number has no count."""
    head, _, tail = record_id.partition("-")
    return (int(head) if head.isdecimal() else 0, int(tail) if tail.isdecimal() else 0)


def _same_place(record_id: str, named: str) -> bool:
    """Whether `named` means the record: as for the server, `3` is short for `3-0`."""
    return named in (record_id, f"{record_id}-0", record_id.removesuffix("-0"))


def timed_out(run: Run, x: Input) -> None:
    """The enforcer's timeout. Without effect if something came in between or the gap is filled."""
    after, phase = str(x.tree["after"]), x.tree["phase"]
    if phase == "gap":
        _gap_timed_out(run, after)
        return
    moment = _task(run) if phase in ("task", "task-suspended") else (None if run.finished else _silence(run))
    if moment is None or moment.phase != phase or not _same_place(moment.after, after):
        return
    match moment.phase:
        case "task" | "task-suspended":
            _expire(run, moment, x.record.id)
        case "suspend-mark":
            suspension.suspend(run)
        case "suspended":
            endings.end(run, "suspension-expired", x.record.id)
        case "ending":
            endings.end(run, "done", x.record.id)
        case "idle" if _ended_well(run.state):
            endings.end(run, "done", x.record.id)
        case "idle" | "call" | "tools":
            endings.end(run, "run-idle-timeout", x.record.id)
        case "gap":
            raise AssertionError("silence is no gap")
        case _:
            assert_never(moment.phase)


def _expire(run: Run, moment: Due, record_id: str) -> None:
    """All tasks end whose time is up with that of the one that is due."""
    up = [task for task in run.state.tasks.values() if _left(run, task) <= moment.ms]
    run.state.now = record_id
    tasks.expire(run, lambda task: task in up, record_id)


def _ended_well(state: State) -> bool:
    """Whether the last call, or the last step, has ended, and not to be tried again."""
    if state.step_open:
        return state.held is not None
    return state.last_reason is not None and state.last_reason != "retry"


def _gap_timed_out(run: Run, after: str) -> None:
    for source in run.state.sources.values():
        first = next(iter(source.parked.values()), None)
        if first is not None and _same_place(first.id, after):
            gap_is_final(run, source.last + 1, f"seq {source.last + 1} did not come in time", first.id)
            return


def gap_is_final(run: Run, missing: int, message: str, parked_id: str) -> None:
    """A gap that nobody filled ends the run; its evidence is the first record that waited behind it."""
    found = run.bodies.get(parked_id) or Malformed(parked_id, message, run.run_id, None, None, None, b"")
    endings.violate(run, "sequence-gap", message, found, (f"seq {missing}",))
    if run.ending:
        for source in run.state.sources.values():
            if any(parked.id == parked_id for parked in source.parked.values()):
                _give_up(run, source)


def _give_up(run: Run, source: Source) -> None:
    """Nothing is waited for in a run that is ending: what waited is refused, and what comes goes on from there."""
    for seq, parked in sorted(source.parked.items()):
        source.last = seq
        record = run.bodies.pop(parked.id, None)
        if record is not None:
            run.refuse("chunk-after-terminal", "the run was ending while the record waited behind a gap", record)
    source.parked = {}

"""Control records: what producers say of a run as a whole, and what the enforcer says of time."""

from typing import Final, Literal, NamedTuple

import msgspec

from runwire.grammar import endings, normalize
from runwire.grammar.fields import ENFORCERS_OWN
from runwire.grammar.input import Input
from runwire.grammar.run import Run
from runwire.grammar.state import Mode, State
from runwire_schemas.raw import Failure
from runwire_schemas.record import ADMIN_SRC, ENFORCER_SRC, Malformed

Phase = Literal["gap", "call", "tools", "idle", "suspended"]


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
    """A legal control record of a producer takes effect on an open run."""
    match x.type:
        case "run-start":
            _restart(run, x)
        case "run-end":
            _end(run, x)
        case _:
            pass  # A heartbeat only moves the run's last record.


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
        run.repair("run-start-late", f"a later run-start added {', '.join(added)}", x.record, x)
        for name, field in _IDS:
            if name in added:
                setattr(state, field, x.tree[name])


def _adopt(state: State, x: Input) -> None:
    for name, field in _IDS:
        value = x.tree.get(name)
        if isinstance(value, str):
            setattr(state, field, value)
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
    elif run.state.call is not None:
        endings.end(run, "not-terminated", record_id)
    elif reason == "suspended":
        _suspend(run)
    else:
        endings.end(run, "done", record_id)


def _suspend(run: Run) -> None:
    """The leg is over, its step stays open; any later chunk begins the next leg."""
    state = run.state
    if state.suspended:
        return
    state.suspended = True
    ids = b"[" + b",".join(normalize.text(out) for out, tool in state.tools.items() if not tool.told) + b"]"
    data = normalize.obj(("leg", str(state.leg).encode()), ("toolCallIds", ids))
    run.emit_data("data-run-suspended", data)


# --- time ------------------------------------------------------------------------------------------------------------


def due(run: Run) -> Due | None:
    """The next moment at which time alone must act, counted from the run's last record; None once it has finished."""
    if run.finished or not run.exists:
        return None
    silence = _silence(run)
    gap = _gap(run)
    return gap if gap is not None and gap.ms < silence.ms else silence


def _silence(run: Run) -> Due:
    state, limits = run.state, run.limits
    phase: Phase
    if state.suspended:
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


def stamp(record_id: str) -> tuple[int, int]:
    """A stream id as its two numbers: milliseconds since 1970, and a count. A plain number has no count."""
    head, _, tail = record_id.partition("-")
    return (int(head) if head.isdecimal() else 0, int(tail) if tail.isdecimal() else 0)


def _same_place(record_id: str, named: str) -> bool:
    """Whether `named` means the record: as for the server, `3` is short for `3-0`."""
    return named in (record_id, f"{record_id}-0", record_id.removesuffix("-0"))


def timed_out(run: Run, x: Input) -> None:
    """The enforcer's timeout. Without effect if something came in between or the gap is filled."""
    after, phase = x.tree["after"], x.tree["phase"]
    if phase == "gap":
        _gap_timed_out(run, str(after))
        return
    silence = _silence(run)
    if silence.phase != phase or not _same_place(silence.after, str(after)):
        return
    if phase == "suspended":
        endings.end(run, "suspension-expired", x.record.id)
    elif phase == "idle" and run.state.held is not None:
        endings.end(run, "done", x.record.id)
    else:
        endings.end(run, "run-idle-timeout", x.record.id)


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

"""What frames a run: its start, its steps, and everything that ends it."""

from functools import partial
from typing import Final

import msgspec

from runwire.grammar import endings, normalize, steps
from runwire.grammar.agent import stepresult
from runwire.grammar.agent.draft import Draft, inner, object_of
from runwire.grammar.agent.stepresult import Result
from runwire.grammar.agent.tables import STEPS
from runwire.grammar.endings import CAUSES, Cause, Sent
from runwire.grammar.input import Input
from runwire.grammar.normalize import text
from runwire.grammar.run import Run
from runwire.grammar.state import Ending, Held

_items = msgspec.json.Decoder(list[msgspec.Raw]).decode

_STOPS: Final[dict[str, Ending]] = {"error": "error", "abort": "abort", "tripwire": "tripwire"}


def start(run: Run, draft: Draft, *, resumed: bool) -> None:
    """The first one is taken, with what the run's run-start has told of it."""
    state = run.state
    if state.started:
        if not resumed:
            run.repair("start-repeated", "the run has started")
        return
    for name, value in (("agentId", state.agent_id), ("threadId", state.thread_id), ("resourceId", state.resource_id)):
        draft.fill(name, normalize.opt(value))
    state.started = True
    run.append(draft.encode(run.run_id))


def step_start(run: Run, draft: Draft) -> None:
    move = STEPS[steps.state_of(run.state)]["step-start"]
    if move.repair is not None:
        run.repair(move.repair, "a step is open")
    if "close" in move.do:
        steps.close_step(run, continued=True)
    if "emit" in move.do:
        steps.begin_step(run)
        draft.fill("messageId", text(steps.message_id(run)))
        run.append(draft.encode(run.run_id))


def step_finish(run: Run, x: Input, draft: Draft) -> None:
    """The agent closes its step. A reason that stops the run does so, if no chunk has."""
    state = run.state
    move = STEPS[steps.state_of(state)]["step-finish"]
    if move.repair is not None:
        run.repair(move.repair, f"the step is {steps.state_of(state)}")
    if "open" in move.do:
        steps.open_step(run)
    if state.ending is None:
        steps.close_parts(run, "step-finish", mend=True)
        steps.tell_bad_calls(run)
    if "cut" in move.do:
        _cut(run)
    result = _judged(run, draft, stepresult.result_of(x))
    failure = state.held.failure if state.held is not None and result.reason == "retry" else None
    steps.finish_step(run, result.reason, result.raw, continued=result.continued, failure=failure, sent=draft)


def _cut(run: Run) -> None:
    """The call that the agent takes for finished: its usage counts."""
    call = run.state.call
    assert call is not None, "only an open call is cut"
    steps.leave_call(run)
    run.state.held = Held("other", None, cut=False, usage=call.usage)


def _judged(run: Run, draft: Draft, said: Result | None) -> Result:
    """What the step's end says in the end. What stops the run is said before it."""
    state = run.state
    if state.ending is None:
        cause = _cause(run, said)
        if cause is not None:
            _stop_for(run, cause, draft)
    if state.ending is None:
        assert said is not None, "without a reason the run is stopped"
        return said
    if said is None:
        return Result(state.ending, None, continued=False)
    return said.forced(state.ending)


def _cause(run: Run, said: Result | None) -> Cause | None:
    """Why a reason stops the run, or None."""
    if said is not None:
        return CAUSES.get(said.reason)
    run.repair("reason-missing", "the chunk says no reason")
    held = run.state.held
    return "not-terminated" if held is None or held.failure is None else CAUSES[held.reason]


def _stop_for(run: Run, cause: Cause, draft: Draft) -> None:
    held = run.state.held
    failure = held.failure if held is not None and cause == "failed" else None
    middle = endings.ENDINGS[cause].middle
    assert middle is not None, "only failures stop a run"
    payload = _tripwire_of(draft) if cause == "tripped" else endings.middle_payload(cause, failure)
    emit = run.emit_own if cause == "not-terminated" else run.emit
    endings.stop(run, middle, partial(emit, middle, payload))


def _tripwire_of(draft: Draft) -> bytes:
    """What a step processor's tripwire says stands in the last of the `output.steps`, or in a workflow's `tripwire`."""
    pairs = draft.payload or {}
    found = inner(_last_of(inner(pairs, "output").get("steps", b"")), "tripwire") or inner(pairs, "tripwire")
    return object_of({**found, "reason": found.get("reason", b'""')})


def _last_of(listed: bytes) -> dict[str, bytes]:
    found = _items(listed) if listed.startswith(b"[") else []
    return inner({"last": bytes(found[-1])}, "last") if found else {}


def finish(run: Run, x: Input, draft: Draft) -> None:
    said = stepresult.result_of(x)
    record_id = x.record.id
    if run.state.ending is not None:
        endings.end(run, "done", record_id, sent=Sent(draft, said))
        return
    if run.state.call is not None:
        run.repair("call-cut", "the agent has finished, its model call has not")
    cause = _cause(run, said) or "done"
    payload = _tripwire_of(draft) if cause == "tripped" else None
    endings.end(run, cause, record_id, payload=payload, sent=Sent(draft, said))


def stop(run: Run, draft: Draft) -> None:
    """The agent's own error, abort or tripwire: what completes the ending is awaited."""
    endings.stop(run, _STOPS[draft.type], lambda: run.append(draft.encode(run.run_id)))


# --- workflows and networks ------------------------------------------------------------------------------------------

# What a workflow-finish says of its run. Any other word is an end as well, and stands behind `other`.
WORKFLOWS: Final[dict[str, Cause | None]] = {
    "success": "done",
    "bailed": "done",
    "failed": "failed",
    "canceled": "aborted",
    "tripwire": "tripped",
    "suspended": None,
    "paused": None,
    "waiting": None,
}


def workflow_finish(run: Run, x: Input, draft: Draft) -> None:
    run.append(draft.encode(run.run_id))
    status = x.text("workflowStatus")
    cause = WORKFLOWS.get(status, "done")
    if cause is None and not run.state.canceled:
        run.state.pausing = True
        return
    payload = None
    if cause == "tripped":
        payload = _tripwire_of(draft)
    elif cause == "failed":
        payload = _failure_of(draft)
    if status not in WORKFLOWS:
        run.state.last_reason, run.state.last_raw = "other", status
    endings.end(run, cause or "aborted", x.record.id, payload=payload)


def _failure_of(draft: Draft) -> bytes:
    """The workflow's own error, which stands in its metadata."""
    error = inner(draft.payload or {}, "metadata").get("error", b"null")
    if error == b"null":
        return normalize.error(code="workflow-failed", message="the workflow failed")
    return normalize.obj(("error", error))


def workflow_canceled(run: Run, draft: Draft) -> None:
    """The workflow says so before it finishes; if it does not, silence ends it as aborted."""
    run.append(draft.encode(run.run_id))
    run.state.canceled = True


def network_finish(run: Run, x: Input, draft: Draft) -> None:
    run.append(draft.encode(run.run_id))
    endings.end(run, "done", x.record.id)

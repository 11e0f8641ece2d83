"""The same output may arrive bare and in `background-task-output`: the second is marked as the first one's twin."""

import json
from hashlib import sha256
from typing import Final

from runwire.grammar import tools
from runwire.grammar.agent.draft import Draft
from runwire.grammar.input import Input
from runwire.grammar.jsontext import Json
from runwire.grammar.run import Run
from runwire.grammar.state import Shown, State
from runwire_schemas.chunks import DATA_PREFIX

_WRAPPER: Final = "tool-output"


def bare(run: Run, x: Input, draft: Draft) -> None:
    """A chunk that may be the twin of a task's output."""
    state = run.state
    if not state.tasks:
        return
    if draft.type == _WRAPPER:
        call = tools.current(state, x.text("toolCallId"))
        if _live(state, call):
            _meet(run, draft, _digest(draft.type, call, x.payload.get("output")), call, state.wrapped, state.bare)
    elif draft.type.startswith(DATA_PREFIX):
        _meet(run, draft, _digest(draft.type, "", x.tree.get("data")), "", state.wrapped, state.bare)


def wrapped(run: Run, x: Input, draft: Draft, call: str) -> None:
    """A task's output, whose inner chunk may have come bare."""
    state, inner = run.state, x.payload.get("payload")
    if not isinstance(inner, dict) or not _live(state, call):
        return
    type_, payload = inner.get("type"), inner.get("payload")
    if type_ == _WRAPPER and isinstance(payload, dict):
        digest, of = _digest(_WRAPPER, call, payload.get("output")), call
    elif isinstance(type_, str) and type_.startswith(DATA_PREFIX):
        digest, of = _digest(type_, "", inner.get("data")), ""
    else:
        return
    _meet(run, draft, digest, of, state.bare, state.wrapped)


def forget(state: State, call: str) -> None:
    """No task of the call is live any more: what it showed has no twin to come."""
    if _live(state, call):
        return
    for side in (state.bare, state.wrapped):
        side[:] = [shown for shown in side if shown.call != call and (shown.call or state.tasks)]


def _live(state: State, call: str) -> bool:
    return any(task.call == call for task in state.tasks.values())


def _meet(run: Run, draft: Draft, digest: str, call: str, theirs: list[Shown], ours: list[Shown]) -> None:
    for number, shown in enumerate(theirs):
        if shown.digest == digest:
            del theirs[number]
            draft.note("twinOf", b"%d" % shown.seq, within=False)
            return
    # The chunk gets the next number, after a `start` that is still to be made.
    seq = run.seq + (1 if run.state.started else 2)
    ours.append(Shown(digest, seq, call))
    del ours[: -run.limits.twins]


def _digest(type_: str, call: str, content: Json) -> str:
    canonical = json.dumps([type_, call, content], sort_keys=True, separators=(",", ":"))
    return sha256(canonical.encode()).hexdigest()[:32]

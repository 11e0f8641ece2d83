"""The rules of agent chunks. A check returns what is wrong in words, or None; it changes nothing."""

from collections.abc import Mapping

from runwire.grammar import fields, tools
from runwire.grammar.agent import blocks, closing, inputs
from runwire.grammar.agent.types import BACKGROUND, MODEL_OUTPUT, SENDERS, UNKNOWN, type_of
from runwire.grammar.input import Input, View
from runwire.grammar.jsontext import Json


def run_mismatch(view: View, x: Input) -> str | None:
    """A background chunk is of the run that dispatched its task, whatever stream it came in."""
    given = x.payload.get("runId") if (x.type or "").startswith(BACKGROUND) else None
    if given is None:
        given = x.tree.get("runId")
    return None if given is None or given == view.run_id else f"runId is {given}, the record's run is {view.run_id}"


def payload_invalid(_: View, x: Input) -> str | None:
    kind = type_of(x.type)
    if kind is UNKNOWN:
        return None
    sender = x.tree.get("from")
    if sender is not None and sender not in SENDERS:
        return f"from is none of {', '.join(SENDERS)}"
    if kind.place != "payload":
        return fields.problem(kind.required, x.tree)
    if not isinstance(x.tree.get("payload"), dict | None):
        return "payload is no object"
    return fields.problem(kind.required, x.payload, "payload.") or _odd_tasks(x.payload)


def _odd_tasks(payload: Mapping[str, Json]) -> str | None:
    listed = payload.get("taskIds")
    if isinstance(listed, list) and not all(isinstance(name, str) for name in listed):
        return "payload.taskIds is not a list of strings"
    return None


def output_mixed(view: View, x: Input) -> str | None:
    """One step's model output comes as raw or as agent chunks. What has a `call` is the raw output's own."""
    state = view.state
    if x.record.kind == "provider":
        begins = state.call is None and state.step_open and state.held is None and not state.suspended
        if begins and state.step_output == "agent":
            return "the open step has model output of an agent, the chunk is raw"
        return None
    role = type_of(x.type).role
    if x.record.call is not None or role not in MODEL_OUTPUT or not state.step_open or state.step_output != "raw":
        return None
    if role == "call" and inputs.situation(state, x.text("toolCallId")) in ("raw", "bad"):
        return None
    return f"the open step has raw model output, {x.type} is an agent's and has no call"


def unknown_call(view: View, x: Input) -> str | None:
    out = tools.current(view.state, x.text("toolCallId"))
    if x.payload.get("providerExecuted") is True or tools.named(view.state, out):
        return None
    return f"no tool chunk of the run has named the tool call {out}"


def too_many(view: View, x: Input) -> str | None:
    """The bounds of what a run remembers: open blocks, unanswered tool calls, live tasks, and their ids together."""
    role = type_of(x.type).role
    if role == "block":
        return _too_many_blocks(view, x)
    if role in ("input-start", "input-delta", "call"):
        return _too_many_calls(view, x)
    return _too_many_tasks(view, x) if role == "task" else None


def _too_many_blocks(view: View, x: Input) -> str | None:
    stem, given = blocks.place_of(x)
    if given == "end" or closing.block_key(stem, x.text("id")) in view.state.agent_blocks:
        return None
    opened = len(view.state.agent_blocks) + (0 if view.call is None else len(view.call.blocks))
    if opened >= view.limits.open_blocks:
        return f"{view.limits.open_blocks} blocks are open"
    return tools.no_room_for(view, x.text("id"))


def _too_many_calls(view: View, x: Input) -> str | None:
    if inputs.situation(view.state, x.text("toolCallId")) not in ("new", "old"):
        return None
    if len(view.state.tools) >= view.limits.unanswered_calls:
        return f"{view.limits.unanswered_calls} tool calls are unanswered"
    return tools.no_room_for(view, x.text("toolCallId") + x.text("toolName"))


def _too_many_tasks(view: View, x: Input) -> str | None:
    state = view.state
    if x.type == f"{BACKGROUND}progress" or x.text("taskId") in state.tasks:
        return None
    if len(state.tasks) >= view.limits.live_tasks:
        return f"{view.limits.live_tasks} background tasks are live"
    return tools.no_room_for(view, x.text("taskId") + x.text("toolCallId") + x.text("toolName"))

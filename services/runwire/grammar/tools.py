"""The tool calls of a run: which ids are used, which calls wait for an answer, how much argument text is remembered.

A raw id that was used before, by an answered call or in another model call, gets a number: `<id>~<k>` is its k-th use.
"""

import msgspec

from runwire.grammar.limits import Limits
from runwire.grammar.state import Answered, State, Tool
from runwire_schemas.raw import ToolCallDelta


def _numbered(raw_id: str, use: int) -> str:
    return raw_id if use <= 1 else f"{raw_id}~{use}"


def current(state: State, raw_id: str) -> str:
    """The id that readers know the latest call of this raw id by."""
    return _numbered(raw_id, state.uses.get(raw_id, 1))


def no_room(state: State, limits: Limits, raw_id: str, name: str) -> str | None:
    """Why one more tool call cannot be remembered, or None."""
    if len(state.tools) >= limits.unanswered_calls:
        return f"{limits.unanswered_calls} tool calls are unanswered"
    if state.tool_id_size + _size(raw_id, name) > limits.tool_id_bytes:
        return f"the ids and names of unanswered tool calls pass {limits.tool_id_bytes} bytes"
    return None


def waiting_size(chunk: ToolCallDelta) -> int:
    """What a delta that waits for its call's name weighs."""
    opaque = 0 if isinstance(chunk.gemini, msgspec.UnsetType) else len(bytes(chunk.gemini))
    return len(chunk.arguments_delta.encode()) + opaque + len(chunk.provider_wire_name or "")


def register(state: State, raw_id: str, name: str, executed: bool | None) -> str:  # noqa: FBT001 - the protocol's field
    """Remember a call that readers are about to hear of; returns the id they get."""
    use = state.uses.get(raw_id, 0) + 1
    while (out := _numbered(raw_id, use)) in state.tools or out in state.answered:
        use += 1
    state.uses[raw_id] = use
    state.tools[out] = Tool(raw_id, name, state.steps, "input", executed)
    state.tool_id_size += _size(raw_id, name)
    return out


def answer(state: State, limits: Limits, out: str, raw_id: str, name: str) -> None:
    """A call has its answer (one that nobody asked, too): it is remembered among the last answered ones."""
    tool = state.tools.pop(out, None)
    if tool is None:
        state.uses.setdefault(raw_id, 1)
        state.tool_id_size += _size(raw_id, name)
        tool = Tool(raw_id, name, state.steps, "complete")
    forget_args(state, tool)
    state.answered[out] = Answered(tool.id, tool.name)
    while len(state.answered) > limits.answered_calls or _over(state, limits):
        oldest = next(iter(state.answered))
        gone = state.answered.pop(oldest)
        state.tool_id_size -= _size(gone.id, gone.name)
        if current(state, gone.id) == oldest:
            state.uses.pop(gone.id, None)


def remember_args(state: State, limits: Limits, tool: Tool, text: str) -> None:
    size = len(text.encode())
    if state.args_size + size <= limits.argument_bytes:
        tool.args = text
        state.args_size += size


def forget_args(state: State, tool: Tool) -> None:
    if tool.args is not None:
        state.args_size -= len(tool.args.encode())
        tool.args = None


def _over(state: State, limits: Limits) -> bool:
    return len(state.answered) > 1 and state.tool_id_size > limits.tool_id_bytes


def _size(raw_id: str, name: str) -> int:
    return len(raw_id) + len(name)

"""The tool calls of a run: which ids are used, which calls wait for an answer, how much of them is remembered.

A raw id that was used before, by an answered call or in another model call, gets a number: `<id>~<k>` is its k-th use.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

import msgspec

from runwire.grammar.input import View
from runwire.grammar.limits import Limits
from runwire.grammar.state import Answered, Block, State, Tool, ToolState
from runwire_schemas.raw import ToolCallDelta, ToolUseBlock

_LONGEST_KEY: Final = 64


def key(raw_id: str) -> str:
    """What stands for an id where only equality counts: the id, or the digest of a long one."""
    return raw_id if len(raw_id) <= _LONGEST_KEY else sha256(raw_id.encode()).hexdigest()


def current(state: State, raw_id: str) -> str:
    """The id that readers know the latest call of this raw id by."""
    return _numbered(raw_id, state.uses.get(raw_id, 1))


def no_room(view: View, part: ToolCallDelta | ToolUseBlock, block: Block) -> str | None:
    """Why what a delta or end says of its tool call cannot be remembered, or None."""
    state, limits = view.state, view.limits
    if not block.started and len(state.tools) >= limits.unanswered_calls:
        return f"{limits.unanswered_calls} tool calls are unanswered"
    others = [other for other in view.call.blocks.values() if other is not block] if view.call is not None else []
    size = _weight(state) + sum(_block_size(state, other) for other in others) + _size_with(state, block, part)
    return _too_heavy(size, limits)


def no_room_for(view: View, what: str) -> str | None:
    """Why an id or a name that an agent chunk brings cannot be remembered, or None."""
    blocks = view.call.blocks.values() if view.call is not None else ()
    size = _weight(view.state) + sum(_block_size(view.state, block) for block in blocks) + len(what)
    return _too_heavy(size, view.limits)


def _weight(state: State) -> int:
    return state.tool_size + state.agent_block_size + state.task_size


def _too_heavy(size: int, limits: Limits) -> str | None:
    if size <= limits.tool_bytes:
        return None
    return f"{size} bytes of ids, names and metadata are open, the limit is {limits.tool_bytes}"


def waiting_size(chunk: ToolCallDelta) -> int:
    """What a delta that waits for its call's name weighs."""
    return len(chunk.arguments_delta.encode()) + _opaque_size(chunk.gemini) + len(chunk.provider_wire_name or "")


def register(state: State, block: Block) -> str:
    """Remember a raw call that readers are about to hear of; returns the id they get."""
    return remember(state, block.id, block.name, "input")


def remember(state: State, raw_id: str, name: str, as_: ToolState) -> str:
    """Remember a call; returns the id that readers get."""
    use = state.uses.get(raw_id, 0) + 1
    while (out := _numbered(raw_id, use)) in state.tools or out in state.answered:
        use += 1
    state.uses[raw_id] = use
    tool = state.tools[out] = Tool(raw_id, name, state.steps, as_)
    for task in state.tasks.values():
        if task.call == out:
            task.named = tool.task = True
    state.tool_size += _size(raw_id, name)
    return out


def named(state: State, out: str) -> bool:
    """Whether the run is known to have named this call: it awaits its answer, has it, or runs in the background."""
    known = out in state.tools or out in state.answered
    return known or any(task.named and task.call == out for task in state.tasks.values())


def repeated(state: State, out: str) -> str | None:
    """Why a call takes no further answer, or None. A task's placeholder is followed by the real one."""
    answered = state.answered.get(out)
    if answered is None or (answered.task and not answered.twice):
        return None
    return f"tool call {out} has been answered{' twice' if answered.twice else ''}"


def answer(state: State, limits: Limits, out: str, raw_id: str, name: str) -> None:
    """A call has its answer (one that nobody asked for, too): it joins the last answered ones."""
    known = state.answered.get(out)
    if known is not None:
        known.twice = True
        return
    tool = state.tools.pop(out, None)
    if tool is None:
        # Its call was forgotten, so this is what followed the placeholder; or nobody asked for it.
        late = named(state, out)
        answered = Answered(raw_id, name, state.steps, task=late, twice=late)
    else:
        _forget_input(state, tool)
        state.tool_size -= _size(tool.id, tool.name)
        answered = Answered(tool.id, tool.name, tool.step, tool.made, tool.task)
    state.answered[out] = answered
    state.answered_size += _size(answered.id, answered.name)
    while len(state.answered) > limits.answered_calls or state.answered_size > limits.tool_bytes:
        oldest = next(iter(state.answered))
        gone = state.answered.pop(oldest)
        state.answered_size -= _size(gone.id, gone.name)
        if current(state, gone.id) == oldest:
            state.uses.pop(gone.id, None)


def _forget_input(state: State, tool: Tool) -> None:
    forget_args(state, tool)
    state.args_size -= tool.parts_size
    tool.parts, tool.parts_size = [], 0


def remember_args(state: State, limits: Limits, tool: Tool, parts: Iterable[str] | None) -> None:
    """Keep a call's argument text for its `tool-error`, if it is known and there is room."""
    if parts is None:
        return
    text = "".join(parts)
    size = len(text.encode())
    if state.args_size + size <= limits.argument_bytes:
        tool.args = text
        state.args_size += size


def forget_args(state: State, tool: Tool) -> None:
    if tool.args is not None:
        state.args_size -= len(tool.args.encode())
        tool.args = None


def _numbered(raw_id: str, use: int) -> str:
    return raw_id if use <= 1 else f"{raw_id}~{use}"


def _size(raw_id: str, name: str) -> int:
    return len(raw_id) + len(name)


def _opaque_size(raw: msgspec.Raw | msgspec.UnsetType) -> int:
    return 0 if isinstance(raw, msgspec.UnsetType) else len(bytes(raw))


def _block_size(state: State, block: Block) -> int:
    """What an open block weighs. While its call is unanswered, id and name are counted there."""
    named = 0 if block.out in state.tools else _size(block.id, block.name)
    return named + len(block.wire or "") + len(block.google or b"") + block.waiting_size


def _size_with(state: State, block: Block, part: ToolCallDelta | ToolUseBlock) -> int:
    """What the block would weigh with what a delta or end says of its call. A plain delta adds nothing to it."""
    named = 0 if block.out in state.tools else _size(block.id or part.id, block.name or part.name or "")
    metadata = len(part.provider_wire_name or block.wire or "")
    waiting, google = block.waiting_size, len(block.google or b"")
    if isinstance(part, ToolCallDelta):
        google = _opaque_size(part.gemini) or google
        if not (block.name or part.name):
            waiting += waiting_size(part)
    return named + metadata + waiting + google

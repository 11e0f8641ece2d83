"""The tool calls of a run: which ids are used, which calls wait for an answer, how much of them is remembered.

A raw id that was used before, by an answered call or in another model call, gets a number: `<id>~<k>` is its k-th use.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

import msgspec

from runwire.grammar.input import View
from runwire.grammar.limits import Limits
from runwire.grammar.state import Answered, Block, State, Tool
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
    size = state.tool_size + sum(_block_size(state, other) for other in others) + _size_with(state, block, part)
    if size <= limits.tool_bytes:
        return None
    return f"{size} bytes of ids, names and metadata of tool calls, the limit is {limits.tool_bytes}"


def waiting_size(chunk: ToolCallDelta) -> int:
    """What a delta that waits for its call's name weighs."""
    return len(chunk.arguments_delta.encode()) + _opaque_size(chunk.gemini) + len(chunk.provider_wire_name or "")


def register(state: State, block: Block) -> str:
    """Remember a call that readers are about to hear of; returns the id they get."""
    use = state.uses.get(block.id, 0) + 1
    while (out := _numbered(block.id, use)) in state.tools or out in state.answered:
        use += 1
    state.uses[block.id] = use
    state.tools[out] = Tool(block.id, block.name, state.steps, "input")
    state.tool_size += _size(block.id, block.name)
    return out


def answer(state: State, limits: Limits, out: str, raw_id: str, name: str) -> None:
    """A call has its answer (one that nobody asked for, too): it joins the last answered ones."""
    tool = state.tools.pop(out, None)
    if tool is None:
        answered = Answered(raw_id, name)
    else:
        forget_args(state, tool)
        state.tool_size -= _size(tool.id, tool.name)
        answered = Answered(tool.id, tool.name)
    state.answered[out] = answered
    state.answered_size += _size(answered.id, answered.name)
    while len(state.answered) > limits.answered_calls or state.answered_size > limits.tool_bytes:
        oldest = next(iter(state.answered))
        gone = state.answered.pop(oldest)
        state.answered_size -= _size(gone.id, gone.name)
        if current(state, gone.id) == oldest:
            state.uses.pop(gone.id, None)


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

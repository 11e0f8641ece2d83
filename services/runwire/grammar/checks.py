"""What each rule looks at. A check returns what is wrong in words, or None; it changes nothing."""

from typing import Final, NamedTuple
from zlib import crc32

from runwire.grammar import fields, lifecycle, tables, tools
from runwire.grammar.fields import INTEGER_BOUND
from runwire.grammar.input import Input, View
from runwire.grammar.limits import Limits
from runwire.grammar.state import Block
from runwire_schemas.raw import (
    Aborted,
    BlockEnd,
    Failed,
    Finish,
    TextBlock,
    ThinkingBlock,
    ToolCallDelta,
    ToolResultBlock,
    ToolUseBlock,
)
from runwire_schemas.record import Record

# --- 1 to 4: before the body is read ---------------------------------------------------------------------------------


def too_large(view: View, x: Input) -> str | None:
    limit = size_limit(view.limits, x.record)
    size = len(x.record.body)
    return f"the body has {size} bytes, the limit is {limit}" if size > limit else None


def size_limit(limits: Limits, record: Record) -> int:
    return limits.agent_chunk_bytes if record.kind == "agent" else limits.chunk_bytes


def after_finish(view: View, x: Input) -> str | None:
    return f"call {x.record.call} has finished" if x.record.call in view.state.finished_calls else None


def after_end(view: View, x: Input) -> str | None:
    state = view.state
    if not state.end and state.ending is None:
        return None
    if lifecycle.takes(state, x):
        return None
    return f"the run has ended ({state.end})" if state.end else f"the run is ending ({state.ending})"


def interleaved(view: View, x: Input) -> str | None:
    call = view.state.call
    if call is None or x.record.call is None or (call.id == x.record.call and call.src == x.record.src):
        return None
    return f"call {call.id} of source {call.src} is still open"


# --- 5 to 8: the body alone ------------------------------------------------------------------------------------------


def undecodable(_: View, x: Input) -> str | None:
    return x.fault


def unknown_type(_: View, x: Input) -> str | None:
    known = fields.CONTROL if x.record.kind == "control" else fields.RAW
    return None if x.type in known else f"{x.type} is no type of a {x.record.kind} record"


def fields_invalid(_: View, x: Input) -> str | None:
    kind = x.type or ""
    return fields.control_problem(kind, x.tree) if x.record.kind == "control" else fields.raw_problem(kind, x.tree)


def unknown_kind(_: View, x: Input) -> str | None:
    if x.type == "finish":
        reason = x.tree["reason"]
        kind, known = (reason.get("kind") if isinstance(reason, dict) else None), tuple(fields.REASONS)
    else:
        kind, known = x.block_kind, tuple(fields.BLOCKS)
    return None if kind in known else f"{kind} is none of {', '.join(known)}"


# --- 10 to 13: blocks ------------------------------------------------------------------------------------------------


def index_invalid(_: View, x: Input) -> str | None:
    if x.index is not None and 0 <= x.index < INTEGER_BOUND:
        return None
    return "index is no integer from 0 below 2^53"


def _block_input(x: Input) -> str:
    return f"{x.type} {x.block_kind}" if x.type in ("block-start", "block-end") else x.type or ""


def table_says(code: str, view: View, x: Input) -> str | None:
    state = tables.block_state(view.call, x.index or 0)
    if tables.BLOCKS[state][_block_input(x)] != code:
        return None
    return f"block {x.index} is {'not open' if state == 'new' else state}, the chunk is {_block_input(x)}"


def too_many_blocks(view: View, _: Input) -> str | None:
    call, limit = view.call, view.limits.blocks
    full = call is not None and len(call.blocks) + len(call.closed) >= limit
    return f"the call has had {limit} blocks" if full else None


def too_many_open(view: View, _: Input) -> str | None:
    limit = view.limits.open_blocks
    opened = 0 if view.call is None else len(view.call.blocks)
    return f"{limit} blocks are open" if opened + len(view.state.agent_blocks) >= limit else None


# --- 14 to 16: tool calls and content --------------------------------------------------------------------------------


class _ToolPart(NamedTuple):
    """A delta or an end of a tool call, with what it says, and the block it says it to."""

    said: ToolCallDelta | ToolUseBlock
    id: str
    name: str
    block: Block


_NO_BLOCK: Final = Block(-1, "tool_use")


def _tool_part(view: View, x: Input) -> _ToolPart | None:
    chunk = x.chunk
    block = (view.call.blocks.get(x.index or 0) if view.call is not None else None) or _NO_BLOCK
    if isinstance(chunk, ToolCallDelta):
        return _ToolPart(chunk, chunk.id, chunk.name or "", block)
    if isinstance(chunk, BlockEnd) and isinstance(chunk.block, ToolUseBlock):
        return _ToolPart(chunk.block, chunk.block.id, chunk.block.name, block)
    return None


def id_empty(view: View, x: Input) -> str | None:
    part = _tool_part(view, x)
    return "the tool call's id is empty" if part is not None and not part.id else None


def id_changed(view: View, x: Input) -> str | None:
    part = _tool_part(view, x)
    if part is None or not part.block.id or part.id == part.block.id:
        return None
    return f"the block's tool call is {part.block.id}, not {part.id}"


def id_reused(view: View, x: Input) -> str | None:
    part = _tool_part(view, x)
    if part is None or part.block.id or view.call is None or tools.key(part.id) not in view.call.tool_ids:
        return None
    return f"another block of the call has the tool call {part.id}"


def too_many_calls(view: View, x: Input) -> str | None:
    part = _tool_part(view, x)
    if part is None:
        return None
    return tools.no_room(view, part.said, part.block)


def name_missing(view: View, x: Input) -> str | None:
    part = _tool_part(view, x)
    if part is None or part.name or part.block.name:
        return None
    if isinstance(part.said, ToolUseBlock):
        return "the tool call ends without a name"
    size = part.block.waiting_size + tools.waiting_size(part.said)
    limit = view.limits.waiting_bytes
    return f"{size} bytes wait for the tool call's name, the limit is {limit}" if size > limit else None


def name_changed(view: View, x: Input) -> str | None:
    part = _tool_part(view, x)
    if part is None or not part.name or not part.block.name or part.name == part.block.name:
        return None
    return f"the tool call's name is {part.block.name}, not {part.name}"


def content_mismatch(view: View, x: Input) -> str | None:
    chunk = x.chunk
    block = view.call.blocks.get(x.index or 0) if view.call is not None else None
    if block is None or not block.fed or not isinstance(chunk, BlockEnd):
        return None
    match chunk.block:
        case TextBlock(text=whole) | ThinkingBlock(text=whole) | ToolUseBlock(arguments=whole):
            data = whole.encode()
        case _:
            return None
    if len(data) == block.size and crc32(data) == block.crc:
        return None
    return f"the block's end has {len(data)} bytes, its deltas had {block.size}, or other ones"


def result_repeated(view: View, x: Input) -> str | None:
    if x.record.kind == "agent":
        return tools.repeated(view.state, tools.current(view.state, x.text("toolCallId")))
    chunk = x.chunk
    if not isinstance(chunk, BlockEnd) or not isinstance(chunk.block, ToolResultBlock):
        return None
    return tools.repeated(view.state, tools.current(view.state, chunk.block.tool_call_id))


# --- 17 to 19: usage and finish --------------------------------------------------------------------------------------


def call_says(code: str, view: View, x: Input) -> str | None:
    name = x.type or ""
    if name == "finish" and isinstance(x.chunk, Finish) and isinstance(x.chunk.reason, (Failed, Aborted)):
        name = "finish failed"
    state = tables.call_state(view.call, usage_optional=view.usage_optional)
    return f"the call's usage is {state}" if tables.CALLS[state][name] == code else None


def usage_invalid(_: View, x: Input) -> str | None:
    usage = x.tree["usage"]
    given = usage if isinstance(usage, dict) else {}
    for field in fields.USAGE:
        value = given.get(field.name)
        if value is not None and not (isinstance(value, int) and 0 <= value < INTEGER_BOUND):
            return f"usage.{field.name} is no integer from 0 below 2^53"
    return None


def open_at_finish(view: View, x: Input) -> str | None:
    if view.call is None or not view.call.blocks:
        return None
    if isinstance(x.chunk, Finish) and isinstance(x.chunk.reason, (Failed, Aborted)):
        return None
    return f"open blocks at a successful finish: {', '.join(map(str, list(view.call.blocks)[:8]))}"

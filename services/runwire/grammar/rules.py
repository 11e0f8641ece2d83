"""The rules of raw chunks, in the order in which they are judged: the first that is broken gives the code.

One row, one code (`too-many-open` has two bounds). `judge` is the only judge. A rule reads the run and the record and
returns what is wrong in words, or None; it changes nothing.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Literal, NamedTuple
from zlib import crc32

import msgspec

from runwire.grammar import agent, fields, tables, tools
from runwire.grammar.fields import INTEGER_BOUND
from runwire.grammar.input import RAW_TYPES, Input, View
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
from runwire_schemas.record import Kind, Record

Class = Literal["fatal", "refused", "repaired", "counted"]


class Rule(NamedTuple):
    """`kinds` and `types` say which records it judges; `number` is its row in the contract, "" for one of §4."""

    number: str
    code: str
    cls: Class
    what: str
    kinds: frozenset[Kind]
    types: frozenset[str] | None
    check: Callable[[View, Input], str | None]


class Broken(NamedTuple):
    rule: Rule
    message: str


# --- 1 to 4: before the body is read ---------------------------------------------------------------------------------


def _too_large(view: View, x: Input) -> str | None:
    limit = size_limit(view.limits, x.record)
    size = len(x.record.body)
    return f"the body has {size} bytes, the limit is {limit}" if size > limit else None


def size_limit(limits: Limits, record: Record) -> int:
    return limits.agent_chunk_bytes if record.kind == "agent" else limits.chunk_bytes


def _after_finish(view: View, x: Input) -> str | None:
    return f"call {x.record.call} has finished" if x.record.call in view.state.finished_calls else None


def _after_end(view: View, _: Input) -> str | None:
    return f"the run has ended ({view.state.end})" if view.state.end else None


def _interleaved(view: View, x: Input) -> str | None:
    call = view.state.call
    if call is None or (call.id == x.record.call and call.src == x.record.src):
        return None
    return f"call {call.id} of source {call.src} is still open"


# --- 5 to 8: the body alone ------------------------------------------------------------------------------------------


def _undecodable(_: View, x: Input) -> str | None:
    return x.fault


def _unknown_type(_: View, x: Input) -> str | None:
    known = fields.CONTROL if x.record.kind == "control" else fields.RAW
    return None if x.type in known else f"{x.type} is no type of a {x.record.kind} record"


def _fields_invalid(_: View, x: Input) -> str | None:
    kind = x.type or ""
    return fields.control_problem(kind, x.tree) if x.record.kind == "control" else fields.raw_problem(kind, x.tree)


def _unknown_kind(_: View, x: Input) -> str | None:
    if x.type == "finish":
        reason = x.tree["reason"]
        kind, known = (reason.get("kind") if isinstance(reason, dict) else None), tuple(fields.REASONS)
    else:
        kind, known = x.block_kind, tuple(fields.BLOCKS)
    return None if kind in known else f"{kind} is none of {', '.join(known)}"


# --- 10 to 13: blocks ------------------------------------------------------------------------------------------------


def _index_invalid(_: View, x: Input) -> str | None:
    if x.index is not None and 0 <= x.index < INTEGER_BOUND:
        return None
    return "index is no integer from 0 below 2^53"


def _block_input(x: Input) -> str:
    return f"{x.type} {x.block_kind}" if x.type in ("block-start", "block-end") else x.type or ""


def _table_says(code: str, view: View, x: Input) -> str | None:
    state = tables.block_state(view.call, x.index or 0)
    if tables.BLOCKS[state][_block_input(x)] != code:
        return None
    return f"block {x.index} is {'not open' if state == 'new' else state}, the chunk is {_block_input(x)}"


def _too_many_blocks(view: View, _: Input) -> str | None:
    call, limit = view.call, view.limits.blocks
    full = call is not None and len(call.blocks) + len(call.closed) >= limit
    return f"the call has had {limit} blocks" if full else None


def _too_many_open(view: View, _: Input) -> str | None:
    limit = view.limits.open_blocks
    return f"{limit} blocks are open" if view.call is not None and len(view.call.blocks) >= limit else None


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


def _id_empty(view: View, x: Input) -> str | None:
    part = _tool_part(view, x)
    return "the tool call's id is empty" if part is not None and not part.id else None


def _id_changed(view: View, x: Input) -> str | None:
    part = _tool_part(view, x)
    if part is None or not part.block.id or part.id == part.block.id:
        return None
    return f"the block's tool call is {part.block.id}, not {part.id}"


def _id_reused(view: View, x: Input) -> str | None:
    part = _tool_part(view, x)
    if part is None or part.block.id or view.call is None or tools.key(part.id) not in view.call.tool_ids:
        return None
    return f"another block of the call has the tool call {part.id}"


def _too_many_calls(view: View, x: Input) -> str | None:
    part = _tool_part(view, x)
    if part is None:
        return None
    return tools.no_room(view, part.said, part.block)


def _name_missing(view: View, x: Input) -> str | None:
    part = _tool_part(view, x)
    if part is None or part.name or part.block.name:
        return None
    if isinstance(part.said, ToolUseBlock):
        return "the tool call ends without a name"
    size = part.block.waiting_size + tools.waiting_size(part.said)
    limit = view.limits.waiting_bytes
    return f"{size} bytes wait for the tool call's name, the limit is {limit}" if size > limit else None


def _name_changed(view: View, x: Input) -> str | None:
    part = _tool_part(view, x)
    if part is None or not part.name or not part.block.name or part.name == part.block.name:
        return None
    return f"the tool call's name is {part.block.name}, not {part.name}"


def _content_mismatch(view: View, x: Input) -> str | None:
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


def _result_repeated(view: View, x: Input) -> str | None:
    chunk = x.chunk
    if not isinstance(chunk, BlockEnd) or not isinstance(chunk.block, ToolResultBlock):
        return None
    out = tools.current(view.state, chunk.block.tool_call_id)
    return f"tool call {out} has been answered" if out in view.state.answered else None


# --- 17 to 19: usage and finish --------------------------------------------------------------------------------------


def _call_says(code: str, view: View, x: Input) -> str | None:
    name = x.type or ""
    if name == "finish" and isinstance(x.chunk, Finish) and isinstance(x.chunk.reason, (Failed, Aborted)):
        name = "finish failed"
    state = tables.call_state(view.call, usage_optional=view.usage_optional)
    return f"the call's usage is {state}" if tables.CALLS[state][name] == code else None


def _usage_invalid(_: View, x: Input) -> str | None:
    usage = x.tree["usage"]
    given = usage if isinstance(usage, dict) else {}
    for field in fields.USAGE:
        value = given.get(field.name)
        if value is not None and not (isinstance(value, int) and 0 <= value < INTEGER_BOUND):
            return f"usage.{field.name} is no integer from 0 below 2^53"
    return None


def _open_at_finish(view: View, x: Input) -> str | None:
    if view.call is None or not view.call.blocks:
        return None
    if isinstance(x.chunk, Finish) and isinstance(x.chunk.reason, (Failed, Aborted)):
        return None
    return f"open blocks at a successful finish: {', '.join(map(str, list(view.call.blocks)[:8]))}"


_ALL: Final = frozenset[Kind](("provider", "agent", "control"))
_IN_CALL: Final = frozenset[Kind](("provider", "agent"))
_RAW: Final = frozenset[Kind](("provider",))
_OWN: Final = frozenset[Kind](("provider", "control"))
_AGENT: Final = frozenset[Kind](("agent",))
_START: Final = frozenset(("block-start",))
_END: Final = frozenset(("block-end",))
_TOOL: Final = frozenset(("tool-call-delta", "block-end"))
_USAGE: Final = frozenset(("usage",))
_FINISH: Final = frozenset(("finish",))
_KINDED: Final = frozenset(("block-start", "block-end", "finish"))
_INDEXED: Final = RAW_TYPES - _USAGE - _FINISH


def _block_rule(number: str, code: str, what: str, types: frozenset[str]) -> Rule:
    return Rule(number, code, "fatal", what, _RAW, types, partial(_table_says, code))


RULES: tuple[Rule, ...] = (
    Rule("1", "chunk-too-large", "fatal", "the body is within its limit", _ALL, None, _too_large),
    Rule("2", "chunk-after-finish", "fatal", "nothing follows `finish` in a call", _IN_CALL, None, _after_finish),
    Rule("3", "chunk-after-terminal", "refused", "nothing follows the end of a run", _IN_CALL, None, _after_end),
    Rule("4", "call-interleaved", "fatal", "one source a call, one call at a time", _IN_CALL, None, _interleaved),
    Rule("5", "undecodable", "fatal", "a JSON object with a string `type`", _ALL, None, _undecodable),
    Rule("6", "unknown-type", "fatal", "a `type` of the closed union", _OWN, None, _unknown_type),
    Rule("7", "fields-invalid", "fatal", "required fields with the right JSON type", _OWN, None, _fields_invalid),
    Rule("8", "unknown-kind", "fatal", "kinds are in their sets", _RAW, _KINDED, _unknown_kind),
    Rule("§4", "run-mismatch", "fatal", "runId, if there, is the record's", _AGENT, None, agent.run_mismatch),
    Rule("§4", "payload-invalid", "fatal", "the payload has its required fields", _AGENT, None, agent.payload_invalid),
    Rule("10", "block-index-invalid", "fatal", "an index from 0 below 2^53", _RAW, _INDEXED, _index_invalid),
    _block_rule("11", "block-reopened", "an index is opened once a call", _START),
    Rule("11", "too-many-blocks", "fatal", "at most 1,024 blocks a call", _RAW, _START, _too_many_blocks),
    Rule("11", "too-many-open", "fatal", "at most 256 open blocks", _RAW, _START, _too_many_open),
    _block_rule("12", "delta-without-block", "a delta goes to an open block", tables.DELTAS),
    _block_rule("12", "delta-kind-mismatch", "a delta goes to a block of its kind", tables.DELTAS),
    _block_rule("13", "block-end-unopened", "an end closes an open block", _END),
    _block_rule("13", "block-end-kind-mismatch", "an end has its block's kind", _END),
    Rule("14", "tool-call-id-empty", "fatal", "a tool call has an id", _RAW, _TOOL, _id_empty),
    Rule("14", "tool-call-id-changed", "fatal", "one block, one tool call", _RAW, _TOOL, _id_changed),
    Rule("14", "tool-call-id-reused", "fatal", "one tool call, one block", _RAW, _TOOL, _id_reused),
    Rule("§5", "too-many-open", "fatal", "at most 4,096 unanswered tool calls", _RAW, _TOOL, _too_many_calls),
    Rule("15", "tool-name-missing", "fatal", "a tool call has a name by its end", _RAW, _TOOL, _name_missing),
    Rule("15", "tool-name-changed", "fatal", "a tool call has one name", _RAW, _TOOL, _name_changed),
    Rule("16", "block-content-mismatch", "fatal", "the end equals the deltas", _RAW, _END, _content_mismatch),
    Rule("§4", "tool-result-repeated", "fatal", "one answer per tool call", _RAW, _END, _result_repeated),
    Rule("17", "usage-repeated", "fatal", "usage once per call", _RAW, _USAGE, partial(_call_says, "usage-repeated")),
    Rule("17", "usage-invalid", "fatal", "integers from 0 below 2^53", _RAW, _USAGE, _usage_invalid),
    Rule("18", "usage-missing", "fatal", "usage before finish", _RAW, _FINISH, partial(_call_says, "usage-missing")),
    Rule("19", "open-block-at-finish", "fatal", "a finish leaves no block open", _RAW, _FINISH, _open_at_finish),
)

# A chunk that passed the tables of fields and still does not decode (a field given twice, with two types).
_DOES_NOT_DECODE: Final = next(rule for rule in RULES if rule.code == "fields-invalid")


def judge(view: View, x: Input) -> Broken | None:
    """The first rule that the record breaks, or None."""
    try:
        for rule in RULES:
            if x.record.kind in rule.kinds and (rule.types is None or x.type in rule.types):
                message = rule.check(view, x)
                if message is not None:
                    return Broken(rule, message)
        if x.record.kind == "provider":
            _ = x.chunk
    except msgspec.ValidationError as fault:
        return Broken(_DOES_NOT_DECODE, str(fault))
    return None


def expected(view: View, x: Input, broken: Broken) -> tuple[str, ...]:
    """What would have been legal instead."""
    by_code: Mapping[str, tuple[str, ...]] = {
        "chunk-too-large": (f"at most {size_limit(view.limits, x.record)} bytes",),
        "chunk-after-finish": ("a new call id",),
        "chunk-after-terminal": ("nothing",),
        "call-interleaved": () if view.state.call is None else (f"call {view.state.call.id}",),
        "undecodable": ("a UTF-8 JSON object with a string `type`",),
        "unknown-type": tuple(fields.CONTROL if x.record.kind == "control" else fields.RAW),
        "unknown-kind": tuple(fields.REASONS if x.type == "finish" else fields.BLOCKS),
    }
    found = by_code.get(broken.rule.code)
    if found is not None:
        return found
    if x.record.kind != "provider":
        return tuple(fields.CONTROL) if x.record.kind == "control" else agent.TYPES
    return tables.legal(view.call, usage_optional=view.usage_optional)

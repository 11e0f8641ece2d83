"""Legal transitions: what may happen to a block and to a call. Code asks these tables, it decides nothing itself."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

from runwire.grammar.state import Call
from runwire_schemas.raw import BlockKind

BlockState = Literal["new", "text", "thinking", "tool_use", "tool_result", "image", "closed"]
BLOCK_STATES: Final[tuple[BlockState, ...]] = get_args(BlockState)
KINDS: Final[tuple[BlockKind, ...]] = get_args(BlockKind)

DELTA_OF: Final[Mapping[BlockKind, str]] = {
    "text": "text-delta",
    "thinking": "thinking-delta",
    "tool_use": "tool-call-delta",
}
DELTAS: Final = frozenset(DELTA_OF.values())

_ENDS: Final = tuple(f"block-end {kind}" for kind in KINDS)
BLOCK_INPUTS: Final = (*(f"block-start {kind}" for kind in KINDS), *DELTA_OF.values(), *_ENDS)


def _unopened(start: Mapping[str, str]) -> dict[str, str]:
    deltas = dict.fromkeys(DELTA_OF.values(), "delta-without-block")
    return {**start, **deltas, **dict.fromkeys(_ENDS, "block-end-unopened")}


_REOPENED: Final = {f"block-start {kind}": "block-reopened" for kind in KINDS}


def _open(kind: BlockKind) -> dict[str, str]:
    deltas = dict.fromkeys(DELTA_OF.values(), "delta-kind-mismatch")
    if kind in DELTA_OF:
        deltas[DELTA_OF[kind]] = kind
    ends = dict.fromkeys(_ENDS, "block-end-kind-mismatch") | {f"block-end {kind}": "closed"}
    return {**_REOPENED, **deltas, **ends}


# State of a block -> input -> its next state, or the code of the rule that is broken.
BLOCKS: Final[Mapping[BlockState, Mapping[str, str]]] = {
    "new": _unopened({f"block-start {kind}": kind for kind in KINDS}),
    **{kind: _open(kind) for kind in KINDS},
    "closed": _unopened(_REOPENED),
}

CallState = Literal["silent", "silent-optional", "reported"]
CALL_STATES: Final[tuple[CallState, ...]] = get_args(CallState)
CALL_INPUTS: Final = ("usage", "finish", "finish failed")

# State of an open call -> input -> its next state, or the code of the rule that is broken.
CALLS: Final[Mapping[CallState, Mapping[str, str]]] = {
    "silent": {"usage": "reported", "finish": "usage-missing", "finish failed": "finished"},
    "silent-optional": {"usage": "reported", "finish": "finished", "finish failed": "finished"},
    "reported": {"usage": "usage-repeated", "finish": "finished", "finish failed": "finished"},
}


def block_state(call: Call | None, index: int) -> BlockState:
    if call is None:
        return "new"
    block = call.blocks.get(index)
    if block is not None:
        return block.kind
    return "closed" if index in call.closed else "new"


def call_state(call: Call | None, *, usage_optional: bool) -> CallState:
    if call is not None and call.usage is not None:
        return "reported"
    return "silent-optional" if usage_optional else "silent"


# How many open blocks are listed one by one among what would have been legal.
_SHOWN: Final = 8


def legal(call: Call | None, *, usage_optional: bool) -> tuple[str, ...]:
    """What an open or new call would have taken, read off the tables."""
    found = ["block-start <new index>"]
    blocks = [] if call is None else list(call.blocks.values())
    for block in blocks[:_SHOWN]:
        found += [
            f"{name.split()[0]} {block.index}"
            for name, next_state in BLOCKS[block.kind].items()
            if next_state in BLOCKS
        ]
    if len(blocks) > _SHOWN:
        found.append(f"and of {len(blocks) - _SHOWN} more open blocks")
    moves = CALLS[call_state(call, usage_optional=usage_optional)]
    for name in CALL_INPUTS:
        if moves[name] in ("reported", "finished") and not (name == "finish" and blocks):
            found.append(name)
    return tuple(found)

"""Every state of a block and of a call times every input: the table is the only judge, and the machine asks it."""

from itertools import product
from typing import Any, get_args

import pytest

from runwire.grammar.input import RAW_TYPES
from runwire.grammar.tables import (
    BLOCK_INPUTS,
    BLOCK_STATES,
    BLOCKS,
    CALL_INPUTS,
    CALL_STATES,
    CALLS,
    KINDS,
    BlockState,
    CallState,
    block_state,
)
from runwire_schemas.raw import RawChunk
from unit.grammar.story import USAGE, Body, Story, end, finish, loop, start, text, thinking, tool, tool_end

DELTAS = {"text-delta": text("x"), "thinking-delta": thinking("x"), "tool-call-delta": tool("{}", name="f")}
ENDS: dict[str, Body] = {
    "text": end(text=""),
    "thinking": end(0, "thinking", text=""),
    "tool_use": tool_end(""),
    "tool_result": end(0, "tool_result", toolCallId="t9", content=1),
    "image": end(0, "image", mediaType="image/png", sha256="00"),
}


def body_of(name: str) -> Body:
    verb, _, kind = name.partition(" ")
    return {"block-start": start(0, kind), "block-end": ENDS.get(kind, {})}.get(verb) or DELTAS[name]


def in_state(state: BlockState) -> Story:
    story = loop()
    story.write(start(1))
    if state == "closed":
        story.all([start(), ENDS["text"]])
    elif state != "new":
        story.write(start(0, state))
    return story


def test_the_tables_are_complete() -> None:
    assert set(BLOCKS) == set(BLOCK_STATES)
    assert all(set(moves) == set(BLOCK_INPUTS) for moves in BLOCKS.values())
    assert set(CALLS) == set(CALL_STATES)
    assert all(set(moves) == set(CALL_INPUTS) for moves in CALLS.values())
    assert set(BLOCK_STATES) == {"new", *KINDS, "closed"}


def test_every_variant_of_the_union_has_a_decoder() -> None:
    tags = {variant.__struct_config__.tag for variant in get_args(RawChunk)}
    assert tags == RAW_TYPES


@pytest.mark.parametrize(("state", "name"), list(product(BLOCK_STATES, BLOCK_INPUTS)))
def test_blocks(state: BlockState, name: str) -> None:
    story = in_state(state)
    before = story.machine.blob()
    story.write(body_of(name))
    move = BLOCKS[state][name]
    if move in BLOCK_STATES:
        assert story.codes == []
        assert block_state(story.machine.state.call, 0) == move
        assert story.machine.blob() != before
    else:
        assert story.codes == [move]
        assert story.reason == "error"


@pytest.mark.parametrize(("state", "name"), list(product(CALL_STATES, CALL_INPUTS)))
def test_calls(state: CallState, name: str) -> None:
    story = loop()
    bodies: dict[str, Body] = {"usage": USAGE, "finish": finish(), "finish failed": finish("error")}
    story.write(start(), usage="optional" if state == "silent-optional" else None)
    story.write(end(text=""))
    if state == "reported":
        story.write(USAGE)
    story.write(bodies[name])
    move = CALLS[state][name]
    opened: Any = story.machine.state.call
    if move == "reported":
        assert opened.usage is not None
    elif move == "finished":
        assert opened is None
        assert story.machine.state.held is not None
    else:
        assert story.codes == [move]

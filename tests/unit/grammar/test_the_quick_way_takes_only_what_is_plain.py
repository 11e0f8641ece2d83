"""Deltas take a short way through the machine. What only looks like one must not."""

import json
from typing import Any

import pytest

from runwire.grammar import Limits
from unit.grammar.story import Story, loop, start, text, tool


def flowing(epoch: int = 0, **fields: Any) -> Story:
    """A call with text under way, in the epoch."""
    story = loop(Story(Limits(chunk_bytes=200)))
    story.all([start(), text("a"), text("b")], epoch=epoch, **fields)
    assert story.types[-2:] == ["text-delta"] * 2
    return story


@pytest.mark.parametrize(
    ("body", "fields", "code"),
    [
        (text("x" * 300), {}, "chunk-too-large"),
        (text("x"), {"src": "q"}, "call-interleaved"),
        (text("x"), {"call": "c2"}, "call-interleaved"),
        (text("x", 1), {}, "delta-without-block"),
        (tool("x"), {}, "delta-kind-mismatch"),
        (text("x", -1), {}, "block-index-invalid"),
        ({"type": "text-delta", "index": 0, "text": None}, {}, "fields-invalid"),
        (b'{"type":"text-delta","index":0,"text":"\xff"}', {}, "undecodable"),
        (b'{"type":"text-delta","index":0,"text":"x","more":"\xff"}', {}, "undecodable"),
        (b'{"type":"text-delta","index":0,"text":"x","more":"\\ud800"}', {}, "undecodable"),
    ],
)
def test_a_broken_delta_in_a_flowing_call(body: Any, fields: dict[str, Any], code: str) -> None:
    story = flowing()
    story.control({"type": "heartbeat"}, src="q")
    story.write(body, **fields)
    assert story.codes == [code]
    assert story.reason == "error"


def test_another_source_with_the_same_seq_is_another_source() -> None:
    story = flowing()
    for _ in range(4):
        story.control({"type": "heartbeat"}, src="q")
    assert len([record for record in story.records if record.src == "p"]) == 4
    story.write(text("x"), src="q")
    assert story.codes == ["call-interleaved"]


def test_an_older_epoch_with_the_next_seq_is_fenced() -> None:
    story = flowing(epoch=1)
    told = len(story.chunks)
    story.write(text("x"), epoch=0, seq=4)
    assert (story.codes, len(story.chunks)) == (["producer-fenced"], told)
    story.write(text("x"), epoch=1)
    assert len(story.chunks) == told + 1


def test_a_delta_of_another_tool_call_does_not_slip_through() -> None:
    story = Story()
    story.all([start(0, "tool_use"), tool("{", name="f"), tool("}", id="t2")])
    assert story.codes == ["tool-call-id-changed"]


def test_a_delta_that_fills_a_gap_lets_the_parked_ones_follow() -> None:
    story = flowing()
    story.write(text("d"), seq=6)
    story.write(text("c"), seq=5)
    assert [delta["text"] for delta in story.of("text-delta")] == ["a", "b", "c", "d"]


def test_a_record_of_another_kind_is_no_delta() -> None:
    story = flowing()
    story.agent(text("x"))
    assert story.codes == ["payload-invalid"]


def test_a_delta_is_the_last_sign_of_life() -> None:
    story = flowing()
    late = json.loads(story.machine.due() or b"")
    assert late["after"] == story.records[-1].id
    story.write(text("c"))
    story.enforcer(late)
    assert not story.machine.finished
    story.wait()
    assert story.machine.finished

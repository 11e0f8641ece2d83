"""What a block's end says is compared with its deltas by byte length and checksum: each finds what the other misses."""

import zlib

import pytest

from runwire.grammar import Limits
from unit.grammar.story import Story, end, start, text, thinking, tool, tool_end


@pytest.fixture(params=[True, False], ids=["quick", "general"])
def story(request: pytest.FixtureRequest) -> Story:
    told = Story(Limits(waiting_bytes=10))
    told.machine.hurry = request.param
    return told


def test_equal_checksums_of_other_lengths_are_told_apart(story: Story) -> None:
    said, meant = "harqnuf", "cikcaohds"
    assert zlib.crc32(said.encode()) == zlib.crc32(meant.encode())
    story.all([start(), text(said), end(text=meant)])
    assert story.codes == ["block-content-mismatch"]


@pytest.mark.parametrize("pieces", [["é", "\U0001f600"], ["", "a\u0000", ""], ["x"] * 5])
def test_bytes_are_compared_not_characters(story: Story, pieces: list[str]) -> None:
    whole = "".join(pieces)
    story.all([start(), *(text(piece) for piece in pieces), end(text=whole)])
    story.all([start(1, "thinking"), *(thinking(piece, 1) for piece in pieces), end(1, "thinking", text=whole)])
    assert story.codes == []


def test_only_empty_deltas_leave_the_end_free(story: Story) -> None:
    story.all([start(), text(""), text("", gemini={}), end(text="all")])
    assert story.codes == []
    assert [delta["text"] for delta in story.of("text-delta")] == ["", "all"]


def test_what_waits_for_a_name_may_fill_its_limit_exactly(story: Story) -> None:
    story.all([start(0, "tool_use"), tool("é" * 4), tool("xx"), tool_end("éééé" + "xx")])
    assert story.codes == []
    story.all([start(1, "tool_use"), tool("é" * 5, 1, "t2"), tool("x", 1, "t2")])
    assert story.codes == ["tool-name-missing"]

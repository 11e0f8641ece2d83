"""A refused record uses up its seq and nothing else: no other source, no older epoch, no other author is touched."""

import pytest

from runwire.grammar import Limits
from runwire_schemas.record import Malformed
from unit.grammar.story import HEARTBEAT, RUN_END, Story, encoded, loop, start, text


def malformed(number: int, seq: int, epoch: int = 0, src: str = "p") -> Malformed:
    return Malformed(f"{number}-0", "kind is missing", "r", src, epoch, seq, b"m")


def test_one_of_another_author_makes_no_source() -> None:
    story = loop()
    story.machine.feed(malformed(2000, 1, src="~unwrap:parent"))
    story.take()
    assert story.codes == ["record-invalid"]
    assert list(story.machine.state.sources) == ["p"]


def test_one_of_an_older_epoch_takes_nothing_back() -> None:
    story = loop()
    story.control(HEARTBEAT, epoch=2)
    story.machine.feed(malformed(2000, 2, epoch=1))
    story.control(HEARTBEAT, epoch=2)
    story.take()
    assert (story.codes, story.machine.duplicates) == (["record-invalid"], 0)
    assert (story.machine.state.sources["p"].epoch, story.machine.state.sources["p"].last) == (2, 2)
    assert story.machine.parked == []


def test_one_of_a_newer_epoch_begins_that_epoch() -> None:
    story = loop()
    story.write(start())
    story.machine.feed(malformed(2000, 1, epoch=1))
    story.write(start(), call="c2", epoch=1, seq=2)
    assert story.codes == ["record-invalid"]
    assert story.of("step-finish")[0]["metadata"]["failure"]["code"] == "producer-replaced"


@pytest.mark.parametrize("seq", [2, 5])
def test_the_seq_of_another_epoch_proves_no_replay(seq: int) -> None:
    story = loop()
    story.control(HEARTBEAT, seq=2)
    story.control(HEARTBEAT, seq=5)
    story.machine.feed(malformed(2000, seq, epoch=1))
    story.take()
    assert (story.codes[0], story.machine.duplicates) == ("record-invalid", 0)


def test_one_that_waits_behind_a_gap_is_recognized_when_it_comes_again() -> None:
    story = loop()
    story.machine.feed(malformed(2000, 3))
    story.machine.feed(malformed(2001, 3))
    story.take()
    assert (story.codes, story.machine.duplicates) == (["record-invalid"], 1)


def test_one_that_fills_a_gap_lets_the_others_go_on() -> None:
    story = loop()
    story.write(start(), seq=3)
    story.write(text("x"), seq=4)
    assert story.types == []
    story.machine.feed(malformed(2000, 2))
    assert [chunk["type"] for chunk in story.take()][-2:] == ["text-start", "text-delta"]


def test_after_the_end_a_replayed_refusal_stays_a_duplicate() -> None:
    story = loop()
    story.control(RUN_END)
    for number, seq in enumerate((7, 7, 3)):
        story.machine.feed(malformed(2000 + number, seq))
    story.take()
    assert (story.codes, story.machine.duplicates) == (["record-invalid"], 2)
    assert story.machine.state.sources["p"].last == 7


def test_bytes_behind_a_gap_may_fill_the_limit_exactly() -> None:
    size = len(encoded(text("x" * 30)))
    story = Story(Limits(parked_bytes=2 * size))
    story.write(start())
    story.write(text("x" * 30), seq=3)
    story.write(text("x" * 30))
    assert story.codes == []
    story.write(text(""))
    assert story.codes[0] == "sequence-gap"

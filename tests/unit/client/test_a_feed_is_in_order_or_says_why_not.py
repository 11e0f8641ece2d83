"""What a reader hands out is 1, 2, 3, … with nothing twice; whatever cannot be is an error after what was."""

from typing import Any

import pytest

from runwire.errors import CursorAhead, LogDamaged, LogExpired, Superseded
from runwire.readers.cursors import parse_cursor
from runwire.readers.feed import Feed, Look
from runwire.readers.options import ReaderOptions

DELTA = b'{"type":"text-delta"}'
FINISH = b'{"type":"finish","payload":{}}'


def entry(seq: int, data: bytes = DELTA) -> Any:
    return [b"%d-0" % seq, [b"d", data]]


def feed(after: str | None = None, options: ReaderOptions | None = None) -> Feed:
    return Feed("r", parse_cursor(after), options or ReaderOptions())


def look(seq: int | None, page: list[Any] | None = None, **other: Any) -> Look:
    known: dict[str, Any] = {"attempt": 1, "open": True, "own": [], "last": None, **other}
    return Look(seq=seq, page=page or [], **known)


def drain(one: Feed) -> list[int]:
    return [chunk.seq for chunk in iter(one.pop, None)]


def test_it_ends_after_finish_and_takes_nothing_behind_it() -> None:
    one = feed()
    one.take([entry(1), entry(2, FINISH), entry(3)])
    assert (one.ended, drain(one)) == (True, [1, 2])


def test_a_type_that_only_begins_like_finish_does_not_end_it() -> None:
    one = feed()
    one.take([entry(1, b'{"type":"finish-step"}')])
    assert not one.ended


@pytest.mark.parametrize("after", [None, "4"])
def test_a_hole_is_an_error_after_what_was(after: str | None) -> None:
    one = feed(after)
    first = one.seq + 1
    one.take([entry(first), entry(first + 2)])
    assert drain(one) == [first]
    assert isinstance(one.error, LogExpired)


@pytest.mark.parametrize(
    "bad",
    [[b"2-1", [b"d", DELTA]], [b"2-0", [b"x", DELTA]], [b"2-0", [b"d", DELTA, b"e", b""]], [b"1-0", [b"d", DELTA]]],
)
def test_a_foreign_entry_is_named(bad: Any) -> None:
    one = feed()
    one.take([entry(1), bad])
    assert drain(one) == [1]
    assert isinstance(one.error, LogDamaged)


@pytest.mark.parametrize(
    ("after", "seen", "outcome"),
    [
        # A run that is not there is waited for, with and without a cursor.
        (None, look(None), None),
        ("5", look(None), None),
        # There, with nothing to say yet; there, and everything seen.
        (None, look(0), None),
        ("5", look(5, last=DELTA), None),
        ("5", look(5, last=FINISH, open=False), "ended"),
        ("5", look(5, last=None, open=False), "ended"),
        # The log, or the part that is wanted, is gone.
        (None, look(5, open=False), LogExpired),
        ("3", look(5, open=False), LogExpired),
        ("3", look(5, [entry(5, FINISH)], last=FINISH), LogExpired),
        ("5", look(5, last=None, open=True), LogExpired),
        # Redis has kept less than was seen.
        ("5", look(4, last=DELTA), CursorAhead),
        ("5", look(0), CursorAhead),
        ("2.5", look(4, last=DELTA), CursorAhead),
        ("1.5", look(3, attempt=2), Superseded),
    ],
)
def test_what_redis_knows_is_compared_with_what_was_seen(after: str | None, seen: Look, outcome: Any) -> None:
    one = feed(after)
    one.judge(seen, 64)
    got = "ended" if one.ended else type(one.error) if one.error else None
    assert got == outcome
    assert one.known == (seen.seq is not None and seen.attempt == one.attempt)


def test_after_a_loss_another_chunk_under_the_same_number_is_noticed() -> None:
    one = feed()
    one.judge(look(2, [entry(1), entry(2, b'{"type":"a"}')]), 64)
    assert drain(one) == [1, 2]
    one.rewind()
    one.judge(look(3, [entry(3)], own=[DELTA, b'{"type":"b"}']), 64)
    assert isinstance(one.error, CursorAhead)


def test_after_a_loss_another_order_before_the_last_chunk_is_noticed() -> None:
    """Two sources that take turns may come back in another order, and the last chunk be the same."""
    one = feed()
    first, second = b'{"type":"a"}', b'{"type":"b"}'
    one.judge(look(3, [entry(1, first), entry(2, second), entry(3)]), 64)
    assert drain(one) == [1, 2, 3]
    one.rewind()
    assert one.own_from == 1
    one.judge(look(4, [entry(4)], own=[second, first, DELTA]), 64)
    assert isinstance(one.error, CursorAhead)


def test_after_a_loss_of_nothing_reading_goes_on() -> None:
    one = feed(options=ReaderOptions(recheck_chunks=2))
    one.judge(look(3, [entry(1), entry(2), entry(3)]), 64)
    assert drain(one) == [1, 2, 3]
    one.rewind()
    assert one.own_from == 2
    one.judge(look(4, [entry(4)], own=[DELTA, DELTA]), 64)
    assert (one.error, one.own_from, drain(one)) == (None, 4, [4])


def test_a_silent_look_while_chunks_are_queued_is_no_loss() -> None:
    one = feed()
    one.judge(look(2, [entry(1), entry(2, b'{"type":"a"}')]), 64)
    one.judge(look(2, [], own=[b'{"type":"a"}'], last=b'{"type":"a"}'), 64)
    assert one.error is None
    assert drain(one) == [1, 2]


def test_what_was_not_handed_out_is_read_again_after_a_loss() -> None:
    """Only what the caller has really seen can be ahead of the server."""
    one = feed()
    one.judge(look(3, [entry(1), entry(2), entry(3)]), 64)
    assert one.pop() is not None
    one.rewind()
    one.judge(look(2, [entry(2)], own=[DELTA]), 64)
    assert one.error is None
    assert drain(one) == [2]


def test_the_newest_attempt_is_read_unless_one_was_asked_for() -> None:
    one = feed()
    one.judge(look(9, attempt=3), 64)
    assert (one.attempt, one.known) == (3, False)
    one.judge(look(9, [entry(1)], attempt=3), 64)
    chunk = one.pop()
    assert chunk is not None
    assert chunk.cursor == "3.1"


def test_pages_grow_for_small_chunks_and_shrink_for_large_ones() -> None:
    options = ReaderOptions(page_chunks=200, page_bytes=10_000)
    one = feed(options=options)
    one.take_page([entry(n) for n in range(1, 65)], 64)
    assert (one.behind, one.page_size) == (True, 128)
    one.take_page([entry(n) for n in range(65, 193)], 128)
    assert one.page_size == 200
    one.take_page([entry(193, b"x" * 4000)], 200)
    assert (one.behind, one.page_size) == (False, 2)
    one.rewind()
    assert one.page_size == 1, "a page that was too large for the line must not be asked for again"


def test_read_ahead_is_bounded_in_chunks_and_bytes_and_resumes_at_half() -> None:
    one = feed(options=ReaderOptions(queue_chunks=4, queue_bytes=1000))
    one.take([entry(n) for n in range(1, 5)])
    assert not one.has_room
    one.pop()
    assert one.has_room
    assert not one.drained
    one.pop()
    assert one.drained
    one.take([entry(5, b"x" * 2000)])
    assert not one.has_room

"""A cursor is read strictly: a mistyped one must not start somewhere else."""

import pytest

from runwire.errors import CursorInvalid
from runwire.readers.chunks import Chunk
from runwire.readers.cursors import Cursor, cursor_text, parse_cursor


@pytest.mark.parametrize(
    ("given", "cursor"),
    [
        (None, Cursor(None, 0)),
        (0, Cursor(1, 0)),
        (17, Cursor(1, 17)),
        ("17", Cursor(1, 17)),
        ("1.17", Cursor(1, 17)),
        ("3.0", Cursor(3, 0)),
        ("9999999999999999999", Cursor(1, 9999999999999999999)),
    ],
)
def test_cursors(given: str | int | None, cursor: Cursor) -> None:
    assert parse_cursor(given) == cursor


@pytest.mark.parametrize(
    "given", ["", " 1", "1 ", "-1", -1, "+1", "1.", ".1", "0.1", "1.2.3", "01", "٣", "x", "1-0", "$"]
)
def test_what_is_no_cursor(given: str | int) -> None:
    with pytest.raises(CursorInvalid):
        parse_cursor(given)


def test_the_text_of_a_cursor_leaves_attempt_1_out() -> None:
    assert (cursor_text(1, 5), cursor_text(2, 5)) == ("5", "2.5")
    assert parse_cursor(cursor_text(2, 5)) == Cursor(2, 5)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b'{"type":"text-delta","runId":"r"}', "text-delta"),
        (b'{"type":"a\\u0062c"}', "abc"),
        (b'{"runId":"r","type":"x"}', "x"),
    ],
)
def test_the_type_of_a_chunk(data: bytes, kind: str) -> None:
    chunk = Chunk("1", 1, 1, data)
    assert chunk.type == kind
    assert chunk.json()["type"] == kind

"""A cursor is read strictly: a mistyped one must not start somewhere else."""

import pytest

from runwire.errors import CursorInvalid, SettingInvalid
from runwire.producer.options import ProducerOptions
from runwire.readers.chunks import Chunk
from runwire.readers.cursors import Cursor, cursor_text, parse_cursor
from runwire.readers.options import ReaderOptions
from runwire.settings import Settings


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


def test_options_that_contradict_each_other_are_refused() -> None:
    for wrong in ({"block": 3.0}, {"queue_chunks": 0}):
        with pytest.raises(SettingInvalid):
            ReaderOptions(**wrong)
    for wrong in ({"backoff_min": 2.0}, {"linger": -1.0}, {"batch_records": 0}):
        with pytest.raises(SettingInvalid):
            ProducerOptions(**wrong)


def test_a_producers_options_follow_the_settings_of_the_process() -> None:
    options = ProducerOptions.from_settings(Settings(linger_ms=7, max_lag_records=5, replay_window_s=2.5))
    assert (options.linger, options.max_lag_records, options.replay_window) == (0.007, 5, 2.5)


def test_a_number_with_a_fraction_is_no_cursor() -> None:
    with pytest.raises(CursorInvalid, match=r"1\.5"):
        parse_cursor(1.5)  # type: ignore[arg-type]  # what a caller without a type checker may give

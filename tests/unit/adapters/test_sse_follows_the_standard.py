"""Server-sent events to the WHATWG rules, and the two places where bodies in the wild need more."""

import pytest

from runwire.adapters.framing.sse import SseFramer, WireEvent
from runwire.adapters.framing.values import TooLarge
from unit.adapters.saying import accepted, chunk, openai, sse


def _events(body: bytes, limit: int = 1000) -> list[WireEvent]:
    whole: list[WireEvent] = []
    framer = SseFramer(limit)
    framer.feed(body, whole)
    framer.close(whole)
    for size in (1, 2, 3):
        pieces: list[WireEvent] = []
        framer = SseFramer(limit)
        for at in range(0, len(body), size):
            framer.feed(body[at : at + size], pieces)
        framer.close(pieces)
        assert pieces == whole
    return whole


def _feed(framer: SseFramer, pieces: list[bytes]) -> None:
    for piece in pieces:
        framer.feed(piece, [])


def _data(body: bytes) -> list[bytes]:
    return [event.data for event in _events(body)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_is_one(end: bytes) -> None:
    assert _data(b"data: a" + end + end + b"data: b" + end + end) == [b"a", b"b"]


def test_a_crlf_between_two_pieces_is_one_line_end() -> None:
    events: list[WireEvent] = []
    framer = SseFramer(100)
    for piece in (b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n"):
        framer.feed(piece, events)
    assert events == [WireEvent("", b"a\nb")]


def test_several_data_lines_are_one_event() -> None:
    assert _data(b'data: {"a":\ndata: 1}\n\n') == [b'{"a":\n1}']


def test_the_space_after_the_colon_is_optional_and_only_one() -> None:
    assert _data(b"data:a\n\ndata:  b\n\n") == [b"a", b" b"]


def test_comments_and_other_fields_mean_nothing() -> None:
    assert _data(b": PROCESSING\n\nid: 7\nretry: 10\nunknown: x\nword\ndata: a\n\n:\n") == [b"a"]


def test_a_name_belongs_to_one_event() -> None:
    assert _events(b"event: error\ndata: a\n\ndata: b\n\n") == [WireEvent("error", b"a"), WireEvent("", b"b")]


def test_a_name_may_follow_the_data() -> None:
    assert _events(b"data: a\nevent: late\n\n") == [WireEvent("late", b"a")]


def test_an_event_without_data_is_none() -> None:
    assert _events(b"event: nothing\n\ndata: a\n\n") == [WireEvent("", b"a")]


def test_the_last_event_needs_no_blank_line() -> None:
    assert _data(b"data: a\n\ndata: b") == [b"a", b"b"]
    assert _data(b"data: a\n\ndata: b\n") == [b"a", b"b"]


def test_json_without_a_field_is_an_event_of_its_own() -> None:
    assert _data(b'data: a\n\n{\n  "error": {"x": "}"}\n}\n\ndata: b\n\n') == [
        b"a",
        b'{\n  "error": {"x": "}"}\n}',
        b"b",
    ]
    assert _data(b'data: a\n\n[{"error": 1}]') == [b"a", b'{"error": 1}']


def test_done_without_its_field_is_still_done() -> None:
    assert _data(b"data: a\n\n[DONE]\n") == [b"a", b"[DONE]"]


def test_an_event_has_a_limit_whatever_its_pieces() -> None:
    for body in (b"data: " + b"x" * 30 + b"\n\n", b"data: xxxxxxxxx\n" * 3 + b"\n", b": " + b"x" * 30 + b"\n"):
        for size in (1, 7, len(body)):
            pieces = [body[at : at + size] for at in range(0, len(body), size)]
            with pytest.raises(TooLarge):
                _feed(SseFramer(30), pieces)


def test_what_came_before_a_huge_event_is_kept() -> None:
    events: list[WireEvent] = []
    with pytest.raises(TooLarge):
        SseFramer(30).feed(b"data: a\n\ndata: " + b"x" * 50 + b"\n\n", events)
    assert events == [WireEvent("", b"a")]


def test_a_byte_order_mark_is_dropped() -> None:
    assert accepted("openai-chat", b"\xef\xbb\xbf" + sse(chunk({"content": "Hi"}, "stop"))).text == "Hi"


@pytest.mark.parametrize("done", ["data:[DONE]\n\n", "data: [DONE] \n\n", "event: done\ndata: [DONE]\n\n", "[DONE]\n"])
def test_done_is_known_in_every_spelling(done: str) -> None:
    assert openai(chunk({"content": "Hi"}), done, done=False).finish == "stop"


def test_a_character_may_be_cut_between_two_pieces() -> None:
    body = sse(chunk(None, "stop")).replace(b'"delta": {}', '"delta": {"content": "Grüße 🌍"}'.encode())
    assert accepted("openai-chat", body).text == "Grüße 🌍"


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    body = sse(chunk({"content": "a?b"}, "stop")).replace(b"a?b", b"a\xff\xfeb")
    assert accepted("openai-chat", body).text == "a\ufffd\ufffdb"

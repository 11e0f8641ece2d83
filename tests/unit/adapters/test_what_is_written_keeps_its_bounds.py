"""What every adapter writes through: order, what waits for the first raw chunk, and what ends a call that grows."""

import json

import pytest

from runwire.adapters import Emitted
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.writer import MAX_AGENT, MAX_BLOCKS, MAX_WAITING
from unit.adapters.saying import Json


def _said(call: Call) -> list[tuple[str, Json]]:
    return [(one.kind, json.loads(one.body)) for one in call.take()]


def _failure(emitted: list[Emitted]) -> str:
    last = json.loads(emitted[-1].body)
    assert last["type"] == "finish"
    assert [b'"finish"' in one.body for one in emitted].count(True) == 1
    code: str = last["reason"]["failure"]["code"]
    return code


def test_what_lies_beside_comes_after_the_first_raw_chunk_and_in_its_order() -> None:
    call = Call("x")
    call.beside("raw", {"n": b"1"})
    call.beside("raw", {"n": b"2"})
    assert call.take() == []

    call.text("a")
    call.beside("raw", {"n": b"3"})
    call.text("b")

    said = _said(call)
    assert [kind for kind, _ in said] == ["provider", "agent", "agent", "provider", "agent", "provider"]
    assert [body["payload"] for kind, body in said if kind == "agent"] == [{"provider": "x", "n": n} for n in (1, 2, 3)]


def test_not_much_waits_for_the_first_raw_chunk() -> None:
    call = Call("x")
    for n in range(MAX_WAITING):
        call.beside("raw", {"n": b"%d" % n})
    assert call.take() == []

    call.beside("raw", {"n": b"-1"})

    said = _said(call)
    assert [kind for kind, _ in said] == ["provider", *["agent"] * (MAX_WAITING + 1), "provider"]
    assert [body["payload"]["n"] for kind, body in said if kind == "agent"] == [*range(MAX_WAITING), -1]
    call.beside("raw", {"n": b"7"})
    assert [kind for kind, _ in _said(call)] == ["agent"]


@pytest.mark.parametrize("begun", [True, False])
def test_what_is_too_large_beside_ends_the_call(begun: bool) -> None:
    call = Call("x")
    if begun:
        call.text("a")
    call.beside("raw", {"data": b'"%s"' % (b"a" * MAX_AGENT)})

    emitted = call.take()

    assert _failure(emitted) == "event-too-large"
    assert all(len(one.body) < MAX_AGENT for one in emitted)


def test_what_is_as_large_as_may_be_does_not() -> None:
    call = Call("x")
    call.text("a")
    around = len(b'{"type":"raw","payload":{"provider":"x","data":""}}')
    call.beside("raw", {"data": b'"%s"' % (b"a" * (MAX_AGENT - around))})

    assert (call.finished, len(call.take()[-1].body)) == (False, MAX_AGENT)


def test_one_block_more_than_there_may_be_ends_the_call() -> None:
    call = Call("x")
    for _ in range(MAX_BLOCKS):
        call.image("image/png", "data", "AAAA")
    assert not call.finished

    call.image("image/png", "data", "AAAA")

    emitted = call.take()
    assert _failure(emitted) == "too-many-blocks"
    assert sum(b'"block-start"' in one.body for one in emitted) == MAX_BLOCKS


def test_nothing_follows_the_end() -> None:
    call = Call("x")
    call.text("a")
    call.finish("stop", "")
    call.take()

    call.text("b")
    call.thinking("c")
    call.beside("raw", {"n": b"1"})
    call.image("image/png", "data", "AAAA")
    call.end_tool(call.open_tool("i", "f"))
    call.finish("stop", "")
    call.begin()

    assert call.take() == []


def test_halves_that_nothing_joins_are_replaced_where_they_stand() -> None:
    call = Call("x")
    for text in ("a\ud83c", "\udf0d", "\ud83c", "b", "\ud83c", ""):
        call.text(text)
    call.finish("stop", "")

    said = _said(call)
    deltas = "".join(body["text"] for _, body in said if body["type"] == "text-delta")
    assert deltas == "a🌍\ufffdb\ufffd"
    assert next(body["block"]["text"] for _, body in said if body["type"] == "block-end") == deltas

"""People hold a provider's response in many shapes; all of them give the same bytes."""

import io
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from runwire.errors import ChunkTooLarge, RecordInvalid
from runwire.producer.bodies import body_of, check_size, run_end
from runwire.producer.options import ProducerOptions
from runwire.producer.sources import pieces
from runwire_schemas.raw import TextDelta

PARTS = [b"data: {}", b"\n\n", b"data: [DONE]\n\n"]


def plain() -> Iterator[bytes]:
    yield from PARTS


async def asynchronous() -> AsyncIterator[bytes]:
    for part in PARTS:
        yield part


class AsyncResponse:
    """Like httpx.Response of an AsyncClient: iterating it is not reading it."""

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        return asynchronous()


class Response:
    def iter_bytes(self) -> Iterator[bytes]:
        return plain()


class AsyncFile:
    def __init__(self) -> None:
        self.parts = [*PARTS, b""]

    async def read(self, _size: int) -> bytes:
        return self.parts.pop(0)


class Opaque(msgspec.Struct):
    value: object


@pytest.mark.parametrize(
    "source",
    [
        b"".join(PARTS),
        bytearray(b"".join(PARTS)),
        PARTS,
        tuple(PARTS),
        [p.decode() for p in PARTS],
        plain(),
        asynchronous(),
        AsyncResponse(),
        Response(),
        AsyncFile(),
        io.BytesIO(b"".join(PARTS)),
        io.StringIO(b"".join(PARTS).decode()),
        (memoryview(p) for p in PARTS),
    ],
    ids=lambda source: type(source).__name__,
)
async def test_all_give_the_same_bytes(source: object) -> None:
    assert b"".join([piece async for piece in pieces(source)]) == b"".join(PARTS)


@pytest.mark.parametrize("source", [[1, 2], 7, [{"type": "event"}]], ids=["numbers", "number", "events"])
async def test_what_is_no_source_of_bytes_is_refused(source: object) -> None:
    with pytest.raises(RecordInvalid):
        [piece async for piece in pieces(source)]


@pytest.mark.parametrize(
    "chunk",
    [
        b'{"type":"text-delta","index":0,"text":"hi"}',
        '{"type":"text-delta","index":0,"text":"hi"}',
        {"type": "text-delta", "index": 0, "text": "hi"},
        TextDelta(index=0, text="hi"),
        memoryview(b'{"type":"text-delta","index":0,"text":"hi"}'),
    ],
    ids=lambda chunk: type(chunk).__name__,
)
def test_a_chunk_may_be_given_as_bytes_text_mapping_or_struct(chunk: Any) -> None:
    assert body_of(chunk) == b'{"type":"text-delta","index":0,"text":"hi"}'


@pytest.mark.parametrize(
    "chunk",
    [
        {"x": object()},
        "\ud800",
        None,
        5,
        [{"type": "finish"}],
        {"x": [{"y": float("nan")}]},
        Opaque(value={"x": float("inf")}),
    ],
    ids=["object", "surrogate", "none", "number", "list", "nan", "infinite"],
)
def test_what_is_no_json_is_refused(chunk: Any) -> None:
    with pytest.raises(RecordInvalid):
        body_of(chunk)


def test_a_null_that_was_meant_is_sent() -> None:
    assert body_of({"name": None, "text": "null", "n": 1.5}) == b'{"name":null,"text":"null","n":1.5}'


def test_sizes_are_checked_by_kind() -> None:
    options = ProducerOptions()
    check_size(b"x" * 2**20, "provider", options)
    check_size(b"x" * 2**23, "agent", options)
    with pytest.raises(ChunkTooLarge):
        check_size(b"x" * (2**20 + 1), "provider", options)
    with pytest.raises(ChunkTooLarge):
        check_size(b"x" * (2**23 + 1), "agent", options)


def test_the_error_of_a_run_is_bounded_unicode() -> None:
    body = run_end("error", ValueError("\ud800" + "x" * 5000))
    assert b'"reason":"error"' in body
    assert len(body) < 1200

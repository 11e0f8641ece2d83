"""The provider of every recorded stream is told from its beginning, however that is split."""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from conformance.recorded import Seen, convert, files
from runwire.adapters import adapter
from runwire.adapters.auto import Guess, Head
from runwire.adapters.base import MAX_EVENT
from runwire.adapters.framing.framed import Framed
from runwire.adapters.framing.sse import WireEvent

RECORDED = files()
every_file = pytest.mark.parametrize(("provider", "path"), RECORDED, ids=[path.name for _, path in RECORDED])

# Of a longer beginning that many places to cut at are tried, besides every byte for itself.
PLACES = 300


def told(pieces: Iterable[bytes]) -> tuple[Guess | None, int]:
    """The guess, and after how many bytes it was known."""
    head, read = Head(), 0
    for piece in pieces:
        head.feed(piece)
        read += len(piece)
        if head.over:
            return head.guess, read
    head.close()
    return head.guess, read


def events_in(body: bytes) -> int:
    found: list[WireEvent] = []
    Framed(None, MAX_EVENT).feed(body, found)
    return len(found)


@every_file
def test_a_recording_is_told_from_its_beginning(provider: str, path: Path) -> None:
    body = path.read_bytes()
    guess, length = told(body[at : at + 1] for at in range(len(body)))

    assert guess is not None
    assert guess.provider == provider
    assert guess == told([body])[0]
    # The first events are enough, so nobody waits for an answer that is being read live.
    assert events_in(body[:length]) <= 3
    places = range(length + 2) if length <= PLACES else random.Random(path.name).sample(range(length), PLACES)
    assert {told([body[:at], body[at:]])[0] for at in places} == {guess}


@every_file
def test_auto_reads_a_recording_as_its_adapter_does(provider: str, path: Path) -> None:
    body = path.read_bytes()
    wire = adapter("auto")
    emitted = [one for at in range(0, len(body), 7) for one in wire.feed(body[at : at + 7])] + wire.close()

    assert emitted == convert(provider, [body])
    assert wire.usage == adapter(provider).usage
    assert Seen(emitted).finish

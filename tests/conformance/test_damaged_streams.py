"""Recordings with events dropped, doubled, swapped or cut: never a crash, never text that nobody sent."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from conformance.recorded import convert, decode_raw, files, judge
from conformance.spoken import spoken
from runwire.adapters import Emitted, adapter
from runwire_schemas.raw import TextDelta, ThinkingDelta

RECORDED = [(provider, path) for provider, path in files() if path.stat().st_size < 30_000]
Damage = Callable[[list[bytes], random.Random], list[bytes]]


def _drop(events: list[bytes], chance: random.Random) -> list[bytes]:
    return [event for event in events if chance.random() > 0.2]


def _double(events: list[bytes], chance: random.Random) -> list[bytes]:
    return [copy for event in events for copy in [event] * chance.choice((1, 1, 1, 2))]


def _swap(events: list[bytes], chance: random.Random) -> list[bytes]:
    swapped = list(events)
    for _ in range(3):
        one, other = chance.randrange(len(swapped)), chance.randrange(len(swapped))
        swapped[one], swapped[other] = swapped[other], swapped[one]
    return swapped


def _cut(events: list[bytes], chance: random.Random) -> list[bytes]:
    at = chance.randrange(len(events))
    event = events[at]
    return [*events[:at], event[: chance.randrange(len(event) + 1)], *events[at + 1 :]]


def _spoil(events: list[bytes], chance: random.Random) -> list[bytes]:
    at = chance.randrange(len(events))
    event = bytearray(events[at])
    for _ in range(4):
        event[chance.randrange(len(event))] = chance.randrange(256)
    return [*events[:at], bytes(event), *events[at + 1 :]]


@pytest.mark.parametrize("damage", [_drop, _double, _swap, _cut, _spoil])
@pytest.mark.parametrize(("provider", "path"), RECORDED, ids=[path.name for _, path in RECORDED])
def test_a_damaged_stream_is_survived(provider: str, path: Path, damage: Damage) -> None:
    events = [event for event in spoken(provider).events(path) if event.startswith(b"{")]
    for seed in range(4):
        broken = damage(events, random.Random(f"{path.name}{seed}"))
        body = b"".join(b"data: %s\n\n" % event for event in broken)

        emitted = convert(provider, [body])

        assert decode_raw(emitted[-1].body).__class__.__name__ == "Finish"
        # Without its usage events a message that needs usage cannot end well; the grammar says so.
        codes = {finding.code for finding in judge(emitted, adapter(provider).usage)[1]}
        assert codes <= {"usage-missing"}, codes
        said = {text for event in broken for text in _strings_in(event)}
        if damage is not _spoil:
            assert [text for kind, text in _texts(emitted) if not _was_said(text, said)] == []


def _texts(emitted: list[Emitted]) -> Iterator[tuple[str, str]]:
    for kind, body in emitted:
        if kind == "provider":
            chunk = decode_raw(body)
            if isinstance(chunk, TextDelta | ThinkingDelta):
                yield kind, chunk.text


def _was_said(text: str, said: set[str]) -> bool:
    # White space that might stand before a tag comes together with what follows.
    return text in said or any(text.lstrip() in other for other in said)


def _strings_in(event: bytes) -> Iterator[str]:
    try:
        values = [msgspec.json.decode(event)]
    except msgspec.DecodeError:
        return
    while values:
        value = values.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            values.extend(value)
        elif isinstance(value, dict):
            values.extend(value.values())

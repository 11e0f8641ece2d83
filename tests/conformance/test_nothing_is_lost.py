"""Accounting: every string that a provider sent comes out again, unless it is listed here as saying nothing."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from conformance.recorded import Seen, convert, files
from conformance.spoken import spoken
from runwire.adapters import choices

RECORDED = files()

# A text between such tags becomes reasoning, so that one string may come out as several; the tags are kept as facts.
TAGS = re.compile("(</?think>)")
AUTHOR = ("name", "assistant")  # one server names who speaks in every delta
# Facts about the response that every event repeats; the adapter keeps the first or the last.
REPEATED = {"id", "model", "system_fingerprint", "provider", "service_tier"}


@pytest.mark.parametrize(("provider", "path"), RECORDED, ids=[path.name for _, path in RECORDED])
def test_every_string_comes_out_again(provider: str, path: Path) -> None:
    every = choices(provider)
    emitted = [one.emitted for one in [*every.feed(path.read_bytes()), *every.close()]]
    said = [text for _, body in emitted for _, text in _strings(msgspec.json.decode(body), "")]
    # Text that came as it is may have become a part of a call's arguments, which are JSON text.
    kept = "\0".join([*said, *(text for tool in Seen(emitted).tools for text in _arguments(tool.arguments))])

    known = spoken(provider)
    silent = known.silent | known.words | REPEATED
    lost = [
        (name, text)
        for event in _events(provider, path)
        for name, text in _strings(known.told(event), "", silent)
        if (name, text) != AUTHOR and not all(piece in kept for piece in TAGS.split(text))
    ]

    assert lost == []


@pytest.mark.parametrize(("provider", "path"), RECORDED, ids=[path.name for _, path in RECORDED])
def test_the_facts_of_a_response_are_kept_once(provider: str, path: Path) -> None:
    emitted = convert(provider, [path.read_bytes()])
    first = next(iter(_events(provider, path)))
    message = first.get("message", first)

    said = [body for kind, body in emitted if kind == "agent" and b'"response-metadata"' in body]

    if isinstance(message, dict) and message.get("id"):
        assert any(message["id"] in body.decode() for body in said)


def _events(provider: str, path: Path) -> Iterator[dict[str, object]]:
    for event in spoken(provider).events(path):
        if event.startswith(b"{"):
            yield msgspec.json.decode(event)


def _arguments(text: str) -> list[str]:
    try:
        return [string for _, string in _strings(msgspec.json.decode(text or "{}"), "")]
    except msgspec.DecodeError:
        return []  # cut in the middle


def _strings(value: object, name: str, silent: frozenset[str] | set[str] | None = None) -> Iterator[tuple[str, str]]:
    """Every string with the name of the member it lies in; members in `silent` are left out with all they hold."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, name, silent)
    elif isinstance(value, dict):
        for key, item in value.items():
            if silent is None or key not in silent:
                yield from _strings(item, key, silent)

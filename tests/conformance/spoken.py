"""What the tests must know of a protocol. Each has a module of its name in `protocols` that holds its `SPOKEN`."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Spoken(NamedTuple):
    """One protocol as the tests see it.

    `events`: the JSON events of a recorded body, without framing, in their order.
    `sure`: a body cut before this offset is one that was cut off, whatever else it holds; 0 if nobody can say.
    `silent`: names of members that say nothing, or repeat what another one says, with all that they hold.
    `words`: names of members whose strings are words of the protocol, which become words of raw chunks.
    `fast`: (module, name) of the typed decoders; without them everything is read member by member.
    `exact`: whether arguments must equal the oracle's as text; else as JSON.
    `told`: an event without what only repeats the request, or is said better by a later one, for the accounting.
    """

    events: Callable[[Path], list[bytes]]
    sure: Callable[[bytes], int]
    silent: frozenset[str]
    words: frozenset[str]
    fast: tuple[tuple[str, str], ...]
    exact: bool = True
    told: Callable[[dict[str, Any]], dict[str, Any]] = lambda event: event


def spoken(provider: str) -> Spoken:
    """Fails where a protocol has no module: no adapter goes untested."""
    found: Spoken = importlib.import_module(f"conformance.protocols.{provider.replace('-', '_')}").SPOKEN
    return found


def lines(path: Path) -> list[bytes]:
    """The events of server-sent events and of NDJSON."""
    data = (line.removeprefix(b"data:").strip() for line in path.read_bytes().splitlines())
    return [line for line in data if line.startswith((b"{", b"[DONE]"))]

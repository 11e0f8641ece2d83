"""The bodies that adapters are timed on: made up, or recorded ones from a folder; each framed as its provider does."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from .eventstream import conversed, invoked
from .made_up import made_up, sse

SUFFIXES: Final = frozenset({".sse", ".jsonl", ".json"})
# How the server-sent events of a protocol are named, by a member of theirs.
NAMED_BY: Final[Mapping[str, str]] = {
    "openai-chat": "",
    "openai-responses": "type",
    "anthropic": "type",
    "gemini": "",
    "gemini-interactions": "event_type",
    "cohere-v2": "type",
}
# How the events of a protocol become binary frames.
FRAMED_BY: Final[Mapping[str, Callable[[Sequence[bytes]], bytes]]] = {
    "bedrock-converse": conversed,
    "bedrock-invoke": invoked,
}


def bodies(providers: Iterable[str], corpus: Path | None) -> dict[str, list[bytes]]:
    """Bodies of each provider: the recorded ones below `corpus`, and a made-up one where there are none."""
    invented = made_up()
    return {name: (_recorded(name, corpus) if corpus else []) or [invented[name]] for name in providers}


def _recorded(provider: str, corpus: Path) -> list[bytes]:
    base = corpus / "providers" if (corpus / "providers").is_dir() else corpus
    return [_framed(provider, path) for path in sorted((base / provider).glob("*")) if path.suffix in SUFFIXES]


def _framed(provider: str, path: Path) -> bytes:
    """Decoded events, one a line, get their framing back: that is what an SDK reads."""
    body = path.read_bytes()
    if path.suffix != ".jsonl" or provider not in NAMED_BY:
        return body
    return sse([json.loads(line) for line in _lines(body)], NAMED_BY[provider])


def in_frames(provider: str, bodies: Sequence[bytes]) -> list[bytes]:
    """The same bodies in binary frames; none for a protocol that knows no such framing."""
    frame = FRAMED_BY.get(provider)
    return [] if frame is None else [frame(_lines(body)) for body in bodies]


def _lines(body: bytes) -> list[bytes]:
    return [line for line in body.splitlines() if line.strip()]

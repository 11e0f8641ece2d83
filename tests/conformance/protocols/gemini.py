"""Gemini's generateContent, as the tests see it."""

from pathlib import Path

import msgspec

from conformance.spoken import Spoken


def _events(path: Path) -> list[bytes]:
    """The elements of an array, or lines; an error that was written after them begins with a line of its own."""
    body = path.read_bytes()
    if body.startswith(b"["):
        return [bytes(element) for element in msgspec.json.decode(body, type=list[msgspec.Raw])]
    head, found, error = body.replace(b"\r\n", b"\n").partition(b"\n{\n")
    events = [line.removeprefix(b"data:").strip() for line in head.split(b"\n")]
    return [event for event in events if event] + ([b"{" + error.strip()] if found else [])


def _sure(body: bytes) -> int:
    """The first word that ends a response; some say it again."""
    places = [body.find(word) for word in (b'"finishReason"', b'"blockReason"')]
    return min((place for place in places if place > 0), default=0)


SPOKEN = Spoken(
    events=_events,
    sure=_sure,
    # A path becomes the names in the arguments that lead to its value.
    silent=frozenset({"role", "jsonPath"}),
    words=frozenset({"finishReason", "blockReason"}),
    fast=(("runwire.adapters.gemini.stream", "decode_event"), ("runwire.adapters.gemini.usage", "decode_counts")),
    exact=False,  # the SDK keeps the parsed object, not the text
)

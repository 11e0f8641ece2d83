"""Bytes to events, whatever the body is framed as: server-sent events, NDJSON, JSON values, or AWS's binary frames."""

from typing import Final, assert_never

from runwire.adapters.base import Framing
from runwire.adapters.framing.eventstream import FIRST, EventstreamFramer
from runwire.adapters.framing.sse import SseFramer, WireEvent
from runwire.adapters.framing.values import TooLarge, ValueFramer

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r\n"
_FIRST_LOOKS: Final = 64


class NdjsonFramer:
    """One JSON value a line; blank lines mean nothing."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._tail = bytearray()

    def feed(self, data: bytes, events: list[WireEvent]) -> None:
        head, found, rest = data.rpartition(b"\n")
        if found:
            for line in (bytes(self._tail) + head).split(b"\n"):
                if len(line) > self._limit:
                    raise TooLarge
                if stripped := line.strip():
                    events.append(WireEvent("", stripped))
            self._tail.clear()
        self._tail += rest
        if len(self._tail) > self._limit:
            raise TooLarge

    def close(self, events: list[WireEvent]) -> None:
        if stripped := bytes(self._tail).strip():
            events.append(WireEvent("", stripped))
        self._tail.clear()


class JsonFramer:
    """Concatenated or pretty-printed objects, or one array of them."""

    def __init__(self, limit: int) -> None:
        self._values = ValueFramer(limit)

    def feed(self, data: bytes, events: list[WireEvent]) -> None:
        values: list[bytes] = []
        try:
            self._values.feed(data, values)
        finally:
            events.extend(WireEvent("", value) for value in values)

    def close(self, events: list[WireEvent]) -> None:
        values: list[bytes] = []
        self._values.close(values)
        events.extend(WireEvent("", value) for value in values)


Framer = SseFramer | NdjsonFramer | JsonFramer | EventstreamFramer


def framer(framing: Framing, limit: int) -> Framer:
    """The framer of that name."""
    match framing:
        case "sse":
            return SseFramer(limit)
        case "ndjson":
            return NdjsonFramer(limit)
        case "json":
            return JsonFramer(limit)
        case "eventstream":
            return EventstreamFramer(limit)
        case _:
            assert_never(framing)


def guess(head: bytes, *, over: bool) -> Framing | None:
    """The framing by the first byte that is not blank; None while it cannot be told yet. Binary frames begin with NUL.

    `{` is NDJSON if its first line is whole, else JSON over several lines, as error bodies are. `over`: no more comes.
    """
    if head.startswith(FIRST):
        return "eventstream"
    text = head.removeprefix(_BOM).lstrip(_BLANK)
    if not text:
        return "sse" if over else None
    if text[:1] == b"[":
        return "json"
    if text[:1] != b"{":
        return "sse"
    line, found, _ = text.partition(b"\n")
    if not found and not over:
        return None
    return "ndjson" if line.rstrip().endswith(b"}") else "json"


class Framed:
    """One body: chooses the framer, if it was not named, and cuts events with it. A byte order mark is dropped."""

    def __init__(self, framing: Framing | None, limit: int) -> None:
        self.framing: Framing | None = framing  # None until it is known
        self._limit = limit
        self._head = bytearray()
        self._framer: Framer | None = None

    def feed(self, data: bytes, events: list[WireEvent]) -> None:
        """Appends the events that are complete. Raises TooLarge, after what was complete before."""
        if self._framer is not None:
            self._framer.feed(data, events)
            return
        # A long first line is looked at again only when it may have ended.
        looked = len(self._head) < _FIRST_LOOKS or b"\n" in data
        self._head += data
        if not (looked and self._chosen(events, over=False)) and len(self._head) > self._limit:
            raise TooLarge

    def close(self, events: list[WireEvent]) -> None:
        """The body is over: appends what was left."""
        if self._framer is None:
            self._chosen(events, over=True)
        if self._framer is not None:
            self._framer.close(events)

    def _chosen(self, events: list[WireEvent], *, over: bool) -> bool:
        """Whether the framing is known now; then the framer has got what came so far."""
        head = bytes(self._head)
        if not over and _BOM.startswith(head[:3]) and len(head) < len(_BOM):
            return False
        self.framing = self.framing or guess(head, over=over)
        if self.framing is None:
            return False
        self._framer = framer(self.framing, self._limit)
        self._head.clear()
        self._framer.feed(head.removeprefix(_BOM), events)
        return True

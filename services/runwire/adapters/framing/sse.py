"""Server-sent events to the WHATWG rules, incremental on any split, also inside CRLF and inside UTF-8 sequences.

Three rules are wider than the standard, since recorded and real bodies need them. An event that no blank line closes
is dispatched at the end of the body (the standard discards it). A line that begins with `{` or `[` is no field of
the standard; it is the start of a JSON error body that some servers write into a stream that has begun, and is read
as an event of its own. So is `error:` with an object, as llama.cpp wrote its errors: an event of that name.
"""

from typing import Final, NamedTuple

from runwire.adapters.framing.values import TooLarge, ValueFramer

DONE: Final = b"[DONE]"


class WireEvent(NamedTuple):
    """One event: its name (`""` if it has none) and its data."""

    name: str
    data: bytes


class SseFramer:
    """Cuts a body into events. `limit` bounds one event in bytes, its field names included."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._tail = bytearray()  # a line whose end has not come
        self._skip_lf = False  # the last byte was CR: an LF right after it belongs to the same line end
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0
        self._bare: ValueFramer | None = None

    def feed(self, data: bytes, events: list[WireEvent]) -> None:
        """Appends the events that are complete. Raises TooLarge, after what was complete before."""
        if b"\r" in data or self._skip_lf:
            data = self._unix(data)
        if b"\n" not in data:
            self._grow(data)
            return
        lines = data.split(b"\n")
        if self._tail:
            self._tail += lines[0]
            lines[0] = bytes(self._tail)
            self._tail.clear()
        rest = lines.pop()
        self._lines(lines, events)
        self._grow(rest)

    def close(self, events: list[WireEvent]) -> None:
        """The body is over: appends the event that no blank line closed."""
        rest = bytes(self._tail)
        self._tail.clear()
        self._lines([rest, b""] if rest else [b""], events)
        if self._bare is not None:
            values: list[bytes] = []
            self._bare.close(values)
            events.extend(WireEvent("", value) for value in values)

    def _unix(self, data: bytes) -> bytes:
        if self._skip_lf and data.startswith(b"\n"):
            data = data[1:]
        self._skip_lf = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _grow(self, rest: bytes) -> None:
        self._tail += rest
        self._check(len(self._tail))

    def _check(self, length: int) -> None:
        if length + self._size > self._limit:
            raise TooLarge

    def _lines(self, lines: list[bytes], events: list[WireEvent]) -> None:
        for line in lines:
            if self._bare is not None:
                self._feed_bare(self._bare, line, events)
            elif not line:
                if self._data or self._name:
                    self._dispatch(events)
            elif line.startswith(b"data:"):
                self._add(line, line[6:] if line[5:6] == b" " else line[5:])
            else:
                self._other(line, events)

    def _add(self, line: bytes, value: bytes) -> None:
        self._check(len(line))
        self._data.append(value)
        self._size += len(line) + 1

    def _other(self, line: bytes, events: list[WireEvent]) -> None:
        self._check(len(line))
        if line.startswith(b"event:"):
            self._name = line[6:].removeprefix(b" ").decode(errors="replace")
        elif line == b"data":
            self._add(line, b"")
        elif line.startswith(b"error:") and line[6:].lstrip()[:1] == b"{":
            events.append(WireEvent("error", line[6:].strip()))
        elif line.strip() == DONE:
            events.append(WireEvent("", DONE))
        elif line[:1] in (b"{", b"[") and not self._data:
            self._bare = ValueFramer(self._limit)
            self._feed_bare(self._bare, line, events)
        # Comments, `id`, `retry` and unknown fields mean nothing to a reader that does not reconnect.

    def _feed_bare(self, bare: ValueFramer, line: bytes, events: list[WireEvent]) -> None:
        values: list[bytes] = []
        try:
            bare.feed(line + b"\n", values)
        finally:
            events.extend(WireEvent("", value) for value in values)
        if bare.idle:
            self._bare = None

    def _dispatch(self, events: list[WireEvent]) -> None:
        if self._data:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            events.append(WireEvent(self._name, data))
            self._data.clear()
            self._size = 0
        self._name = ""

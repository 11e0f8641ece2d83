"""JSON values one after another, or the elements of one top-level array, cut without decoding them."""

import re
from typing import Final

# Outside a string only these bytes change the depth or begin a string; inside one only these two end or escape.
_OUTSIDE: Final = re.compile(rb'["{}\[\]]')
_INSIDE: Final = re.compile(rb'["\\]')
_WORD_END: Final = re.compile(rb"[\s,\]\[{]")
_BETWEEN: Final = b" \t\r\n,"
_VALUE: Final = re.compile(rb"[^ \t\r\n,]")


class TooLarge(Exception):
    """One event is larger than the limit. What was cut before it has been handed out."""


class ValueFramer:
    """Cuts concatenated objects, pretty-printed or not, or the objects of one array. `limit` bounds one value.

    Anything else between values (a stray word, a number) is one value up to the next white space or comma, so that
    its reader can say what was wrong.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._at: int = 0  # how far the buffer has been scanned
        self._depth = 0
        self._in_string = False
        self._in_array = False

    @property
    def idle(self) -> bool:
        """Nothing has begun that is not over."""
        return not self._depth and not self._in_array and _VALUE.search(self._buffer) is None

    def feed(self, data: bytes, values: list[bytes]) -> None:
        """Appends the values that are complete. Raises TooLarge."""
        self._buffer += data
        while (value := self._next()) is not None:
            if value:
                values.append(value)
        if len(self._buffer) > self._limit:
            raise TooLarge

    def close(self, values: list[bytes]) -> None:
        """What is left is incomplete; it is handed out as it is, for its reader to judge."""
        rest = bytes(self._buffer).strip(_BETWEEN)
        self._buffer.clear()
        if rest:
            values.append(rest)

    def _next(self) -> bytes | None:
        """The next value, `b""` for a step without one, None when more bytes are needed."""
        return self._scan() if self._depth else self._begin()

    def _begin(self) -> bytes | None:
        if self._at == 0:
            start = _VALUE.search(self._buffer)
            del self._buffer[: len(self._buffer) if start is None else start.start()]
        if not self._buffer:
            return None
        first = self._buffer[0]
        if first == ord("[") and not self._in_array:
            self._in_array = True
        elif first == ord("]"):
            self._in_array = False
        elif first in b"{[":
            self._depth = 1
            self._at = 1
            return b""
        else:
            return self._word()
        del self._buffer[:1]
        return b""

    def _word(self) -> bytes | None:
        found = _WORD_END.search(self._buffer, max(self._at, 1))
        if found is None:
            self._at = len(self._buffer)
            return None
        word = bytes(self._buffer[: found.start()])
        del self._buffer[: found.start()]
        self._at = 0
        return word

    def _scan(self) -> bytes | None:
        buffer = self._buffer
        while found := (_INSIDE if self._in_string else _OUTSIDE).search(buffer, self._at):
            byte: bytes = found.group()
            if byte == b"\\":
                if found.end() == len(buffer):
                    self._at = found.start()
                    return None
                self._at = found.end() + 1
                continue
            self._at = found.end()
            if byte == b'"':
                self._in_string = not self._in_string
                continue
            self._depth += 1 if byte in b"{[" else -1
            if self._depth == 0:
                return self._cut()
        self._at = len(buffer)
        return None

    def _cut(self) -> bytes:
        if self._at > self._limit:
            raise TooLarge
        value = bytes(self._buffer[: self._at])
        del self._buffer[: self._at]
        self._at = 0
        return value

"""What was said of a text, so that its repetition is known as one without keeping it."""

from typing import Final
from zlib import crc32

# Characters that are kept before they are folded into a length and a CRC-32.
_KEPT: Final = 64 * 1024


def units(text: str) -> bytes:
    """A text as UTF-16 code units: halves of a surrogate pair that came in two deltas are one character here too."""
    return text.encode("utf-16-le", "surrogatepass")


def words(data: bytes) -> str:
    """The text of such code units."""
    return data.decode("utf-16-le", "surrogatepass")


class Said:
    """One text, as its deltas said it."""

    __slots__ = ("_crc", "_length", "_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0
        self._length = 0  # of what was folded, in bytes of its code units
        self._crc = 0

    @property
    def empty(self) -> bool:
        return not self._size and not self._length

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self._size += len(text)
        if self._size > _KEPT:
            self._fold()

    def after(self, data: bytes) -> bytes | None:
        """What these code units add to what was said; None if they say something else."""
        self._fold()
        if len(data) < self._length or crc32(memoryview(data)[: self._length]) != self._crc:
            return None
        return data[self._length :]

    def rest(self, text: str) -> str | None:
        """The same for a text."""
        added = self.after(units(text))
        return None if added is None else words(added)

    def _fold(self) -> None:
        if self._pieces:
            data = units("".join(self._pieces))
            self._pieces.clear()
            self._size = 0
            self._length += len(data)
            self._crc = crc32(data, self._crc)

"""Arguments that Vertex streams: values with the JSON path at which each stands, put together as JSON text."""

import re
from typing import Final

import msgspec

from runwire.adapters.opaque import MAX_DEPTH, compact, quote, text_of

Path = tuple[str | int, ...]

# One segment of a normal path: `.name`, `[0]`, `['name']` or `["name"]`.
_SEGMENT: Final = re.compile(
    r"""\.([^.\[\]'"]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""", re.DOTALL
)
_ESCAPED: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROLS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def path_of(text: str) -> Path | None:
    """The names and indices of a path such as `$.orders[0]['item id']`; None if it is none that names one value."""
    if not text.startswith("$"):
        return None
    path: list[str | int] = []
    at = 1
    while at < len(text):
        found = _SEGMENT.match(text, at)
        if found is None:
            return None
        dotted, index, *quoted = found.groups()
        name = dotted if dotted is not None else next((part for part in quoted if part is not None), "")
        path.append(int(index) if index is not None else name if dotted is not None else _ESCAPED.sub(_plain, name))
        at = found.end()
        if len(path) > MAX_DEPTH:
            return None
    return tuple(path) or None


def _plain(found: re.Match[str]) -> str:
    escape = found.group(1)
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _CONTROLS.get(escape, escape)


class _Level:
    """An object or array that is open. `at`: the name or index of its last value."""

    __slots__ = ("at", "close", "names")

    def __init__(self, first: str | int) -> None:
        self.at: str | int = -1
        self.names: set[str] | None = set() if isinstance(first, str) else None
        self.close = "]" if self.names is None else "}"

    @property
    def empty(self) -> bool:
        return self.at == -1

    def add(self, segment: str | int) -> bool:
        """Whether a value may come under this name or index: one that is new, and for an array the next one."""
        if isinstance(segment, str):
            if self.names is None or segment in self.names:
                return False
            self.names.add(segment)
        elif not isinstance(self.at, int) or segment != self.at + 1:
            return False
        self.at = segment
        return True


class PartialArguments:
    """The arguments of one call, written as they come.

    A model writes JSON from left to right, so each path lies in what is open or comes right after it. Where one does
    not, what was written cannot be made right any more: `broken`. The text then stays open, so that nobody takes it
    for arguments.
    """

    def __init__(self) -> None:
        self.broken = False
        self._begun = False  # some text was written
        self._levels: list[_Level] = []
        self._string: Path | None = None  # where a string is open

    def value(self, path: Path, raw: msgspec.Raw, *, more: bool) -> str:
        """The text that a value adds. `more`: it is a string, and the rest of it follows."""
        if self.broken:
            return ""
        string = text_of(raw)
        if self._string == path and string is not None:
            return self._inside(string, more=more)
        written = self._close_string()
        placed = self._place(path)
        if placed is None:
            self.broken = True
            # Nothing at all would be taken for an empty object.
            return "" if self._begun else "{"
        self._begun = True
        written += placed
        if string is None:
            return written + compact(raw).decode()
        self._string = path
        return written + '"' + self._inside(string, more=more)

    def members(self, fields: dict[str, msgspec.Raw]) -> str:
        """The text that whole arguments add: those of their members that did not come in pieces."""
        known = self._levels[0].names if self._levels else None
        new = [(name, raw) for name, raw in fields.items() if known is None or name not in known]
        return "".join(self.value((name,), raw, more=False) for name, raw in new)

    def close(self) -> str:
        """The text that ends what is open. Empty if nothing came."""
        if self.broken:
            return ""
        written = self._close_string()
        return written + self._pop(0)

    def _inside(self, string: str, *, more: bool) -> str:
        if not more:
            self._string = None
        return quote(string)[1:-1].decode() + ("" if more else '"')

    def _close_string(self) -> str:
        closed = "" if self._string is None else '"'
        self._string = None
        return closed

    def _place(self, path: Path) -> str | None:
        """The text up to the value; None if it cannot stand there."""
        shared = 0
        while shared + 1 < min(len(self._levels), len(path)) and self._levels[shared].at == path[shared]:
            shared += 1
        if not isinstance(path[0], str):
            return None  # arguments are an object
        written = self._pop(shared + 1)
        for segment in path[shared:]:
            if len(self._levels) <= shared:
                level = _Level(segment)
                self._levels.append(level)
                written += "[" if level.names is None else "{"
            level = self._levels[-1]
            comma = "" if level.empty else ","
            if not level.add(segment):
                return None
            written += comma + (quote(segment).decode() + ":" if isinstance(segment, str) else "")
            shared += 1
        return written

    def _pop(self, keep: int) -> str:
        """Closes all levels but the first ones."""
        closed = "".join(level.close for level in reversed(self._levels[keep:]))
        del self._levels[keep:]
        return closed

"""Reasoning that a model writes into its answer between `<think>` and `</think>`, also cut anywhere between deltas."""

from typing import Final, Literal

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"
# White space before the tag is waited out up to here.
_BLANK_BEFORE: Final = 256

Kind = Literal["text", "thinking"]


class ThinkSplitter:
    """Splits one answer. Only a tag at the very beginning opens reasoning: later ones are talk about tags."""

    def __init__(self) -> None:
        self._state: Literal["begin", "inside", "after"] = "begin"
        self._held = ""

    def feed(self, text: str) -> list[tuple[Kind, str]]:
        """The pieces that are sure, in order. The tags themselves are dropped."""
        if self._state == "after":
            return [("text", text)]
        self._held += text
        if self._state == "begin" and not self._begin():
            return []
        if self._state == "inside":
            return self._inside()
        return self._rest("text")

    def close(self) -> list[tuple[Kind, str]]:
        """What was held back since a tag might have followed."""
        return self._rest("thinking" if self._state == "inside" else "text")

    def _begin(self) -> bool:
        start = self._held.lstrip()
        if start.startswith(_OPEN):
            self._state = "inside"
            self._held = start[len(_OPEN) :]
            return True
        if _OPEN.startswith(start) and len(self._held) < _BLANK_BEFORE:
            return False
        self._state = "after"
        return True

    def _inside(self) -> list[tuple[Kind, str]]:
        thought, found, rest = self._held.partition(_CLOSE)
        if found:
            self._state = "after"
            self._held = rest
            return [*_piece("thinking", thought), *self._rest("text")]
        keep = next((n for n in range(len(_CLOSE) - 1, 0, -1) if thought.endswith(_CLOSE[:n])), 0)
        self._held = thought[len(thought) - keep :]
        return _piece("thinking", thought[: len(thought) - keep])

    def _rest(self, kind: Kind) -> list[tuple[Kind, str]]:
        held, self._held = self._held, ""
        return _piece(kind, held)


def _piece(kind: Kind, text: str) -> list[tuple[Kind, str]]:
    return [(kind, text)] if text else []

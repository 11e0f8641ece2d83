"""A run for human eyes: text as it streams, reasoning dimmed, tool calls, the ending. Pure but for the console."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from rich.console import Console

# What a model writes must not move the cursor or rename the terminal: C0 and C1 controls, except line feed and tab.
_CONTROLS: Final = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160)) if code not in (9, 10)}
MAX_VALUE_SHOWN: Final = 300


class Piece(msgspec.Struct, frozen=True):
    """Something to show: `text` in `style`; `own_line` puts it on a line of its own."""

    text: str
    style: str = ""
    own_line: bool = True


class _Chunk(msgspec.Struct):
    type: str
    payload: Any = None


_decode = msgspec.json.Decoder(_Chunk).decode


def is_violation(data: bytes) -> bool:
    """Whether this chunk says that the run broke the grammar."""
    if not data.startswith(b'{"type":"error"'):
        return False
    payload = _payload(_decode(data))
    error = payload.get("error")
    return "grammar-violation" in (payload.get("code"), error.get("code") if isinstance(error, dict) else None)


def piece_of(data: bytes) -> Piece | None:
    """What to show of one chunk, None for what only machines need."""
    chunk = _decode(data)
    make = _PIECES.get(chunk.type)
    return make(chunk.type, _payload(chunk)) if make is not None else None


def _payload(chunk: _Chunk) -> dict[str, Any]:
    return chunk.payload if isinstance(chunk.payload, dict) else {}


def _name(payload: dict[str, Any]) -> str:
    return clean(str(payload.get("toolName", "unknown")))


def _ending(payload: dict[str, Any]) -> str:
    result = payload.get("stepResult") or {}
    usage = (payload.get("output") or {}).get("usage") or {}
    tokens = f", {usage.get('inputTokens', '?')} tokens in, {usage.get('outputTokens', '?')} out" if usage else ""
    return f"— finished: {result.get('reason', 'unknown')}{tokens}"


def _short(value: Any) -> str:
    text = clean(msgspec.json.encode(value).decode())
    return text if len(text) <= MAX_VALUE_SHOWN else text[: MAX_VALUE_SHOWN - 1] + "…"


def clean(text: str) -> str:
    """The text without anything that a terminal would obey."""
    return text.translate(_CONTROLS)


# Types that are not here carry nothing that a reader of the text would miss.
_PIECES: Final[dict[str, Callable[[str, dict[str, Any]], Piece]]] = {
    "text-delta": lambda _, payload: Piece(clean(str(payload.get("text", ""))), own_line=False),
    "reasoning-delta": lambda _, payload: Piece(clean(str(payload.get("text", ""))), "dim italic", own_line=False),
    "tool-call": lambda _, payload: Piece(f"→ {_name(payload)}({_short(payload.get('args'))})", "cyan"),
    "tool-result": lambda _, payload: Piece(f"← {_name(payload)}: {_short(payload.get('result'))}", "green"),
    "tool-error": lambda _, payload: Piece(f"✗ {_name(payload)}: {_short(payload.get('error'))}", "yellow"),
    "source": lambda kind, payload: Piece(f"[{kind}] {_short(payload)}", "dim"),
    "file": lambda kind, payload: Piece(f"[{kind}] {_short(payload)}", "dim"),
    "error": lambda kind, payload: Piece(f"{kind}: {_short(payload.get('error', payload))}", "bold red"),
    "abort": lambda kind, payload: Piece(f"{kind}: {_short(payload)}", "bold red"),
    "tripwire": lambda kind, payload: Piece(f"{kind}: {_short(payload)}", "bold red"),
    "finish": lambda _, payload: Piece(_ending(payload), "dim"),
}


class Screen:
    """Writes pieces to a console: deltas flow on one line, the rest starts a new one."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._open_line = False

    def show(self, data: bytes) -> None:
        """Show one chunk."""
        piece = piece_of(data)
        if piece is None or not piece.text:
            return
        if piece.own_line:
            self.end_line()
        self._console.print(
            piece.text,
            style=piece.style,
            end="\n" if piece.own_line else "",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        self._open_line = not piece.own_line and not piece.text.endswith("\n")

    def end_line(self) -> None:
        """Begin a new line if one is open."""
        if self._open_line:
            self._console.print()
            self._open_line = False

"""A run for human eyes: text as it streams, reasoning dimmed, tool calls, the ending. Pure but for the console."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from rich.console import Console

# What a model writes must not move the cursor or rename the terminal: C0 and C1 controls, except line feed and tab.
_CONTROLS: Final = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160)) if code not in (9, 10)}
MAX_VALUE_SHOWN: Final = 300
VIOLATION: Final = b'"grammar-violation"'


class Piece(msgspec.Struct, frozen=True):
    """Something to show: `text` in `style`; `own_line` puts it on a line of its own."""

    text: str
    style: str = ""
    own_line: bool = True


class _Chunk(msgspec.Struct):
    type: str
    payload: msgspec.Raw = msgspec.Raw(b"{}")


class _Usage(msgspec.Struct, rename="camel"):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Output(msgspec.Struct):
    usage: _Usage = msgspec.field(default_factory=_Usage)


class _Result(msgspec.Struct):
    reason: str = "unknown"


class _Payload(msgspec.Struct, rename="camel"):
    """What is shown of a payload. Opaque JSON stays as it is spelled: it may hold numbers that no float can."""

    text: str = ""
    tool_name: str = "unknown"
    args: msgspec.Raw = msgspec.Raw(b"null")
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw = msgspec.Raw(b"null")
    step_result: _Result = msgspec.field(default_factory=_Result)
    output: _Output = msgspec.field(default_factory=_Output)


class _Code(msgspec.Struct):
    code: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw = msgspec.Raw(b"null")


_chunk = msgspec.json.Decoder(_Chunk).decode
_payload = msgspec.json.Decoder(_Payload).decode


def is_violation(data: bytes) -> bool:
    """Whether this chunk says that the run broke the grammar."""
    if not data.startswith(b'{"type":"error"'):
        return False
    payload = msgspec.json.decode(_chunk(data).payload, type=_Code)
    codes = [payload.code]
    if bytes(payload.error).startswith(b"{"):
        codes.append(msgspec.json.decode(payload.error, type=_Code).code)
    return VIOLATION in map(bytes, codes)


def piece_of(data: bytes) -> Piece | None:
    """What to show of one chunk, None for what only machines need."""
    chunk = _chunk(data)
    if chunk.type in _WHOLE:
        return Piece(f"{chunk.type}: {_short(chunk.payload)}", _WHOLE[chunk.type])
    make = _PIECES.get(chunk.type)
    return make(_payload(chunk.payload)) if make is not None else None


def _ending(payload: _Payload) -> str:
    usage = payload.output.usage
    counts = ((usage.input_tokens, "in"), (usage.output_tokens, "out"))
    tokens = "".join(f", {count} tokens {way}" for count, way in counts if count is not None)
    return f"— finished: {clean(payload.step_result.reason)}{tokens}"


def _short(value: msgspec.Raw) -> str:
    text = clean(bytes(value).decode())
    return text if len(text) <= MAX_VALUE_SHOWN else text[: MAX_VALUE_SHOWN - 1] + "…"


def clean(text: str) -> str:
    """The text without anything that a terminal would obey."""
    return text.translate(_CONTROLS)


# Types that are in neither table carry nothing that a reader of the text would miss.
_WHOLE: Final = {
    "source": "dim",
    "file": "dim",
    "error": "bold red",
    "abort": "bold red",
    "tripwire": "bold red",
}
_PIECES: Final[dict[str, Callable[[_Payload], Piece]]] = {
    "text-delta": lambda payload: Piece(clean(payload.text), own_line=False),
    "reasoning-delta": lambda payload: Piece(clean(payload.text), "dim italic", own_line=False),
    "tool-call": lambda payload: Piece(f"→ {clean(payload.tool_name)}({_short(payload.args)})", "cyan"),
    "tool-result": lambda payload: Piece(f"← {clean(payload.tool_name)}: {_short(payload.result)}", "green"),
    "tool-error": lambda payload: Piece(f"✗ {clean(payload.tool_name)}: {_short(payload.error)}", "yellow"),
    "finish": lambda payload: Piece(_ending(payload), "dim"),
}


class Screen:
    """Writes pieces to a console: deltas of one kind flow on one line, the rest starts a new one."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._open_line = False
        self._style = ""

    def show(self, data: bytes) -> None:
        """Show one chunk."""
        piece = piece_of(data)
        if piece is None or not piece.text:
            return
        if piece.own_line or piece.style != self._style:
            self.end_line()
        self._console.print(
            piece.text,
            style=piece.style,
            end="\n" if piece.own_line else "",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        self._style = piece.style
        self._open_line = not piece.own_line and not piece.text.endswith("\n")

    def end_line(self) -> None:
        """Begin a new line if one is open."""
        if self._open_line:
            self._console.print()
            self._open_line = False

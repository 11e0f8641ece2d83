"""Cursors: how a reader says what it has seen. `<seq>` in attempt 1, `<attempt>.<seq>` in later ones."""

import re
from typing import Final, NamedTuple, cast

from runwire.errors import CursorInvalid

_SHAPE: Final = re.compile(r"(?:([1-9][0-9]{0,8})\.)?(0|[1-9][0-9]{0,18})", re.ASCII)
_SHOWN: Final = 64


class Cursor(NamedTuple):
    """A place in a run's log, after chunk `seq`. `attempt` None means the newest one."""

    attempt: int | None
    seq: int


START: Final = Cursor(None, 0)


def parse_cursor(given: str | int | None) -> Cursor:
    """A cursor as users hold it; None is the start of the newest attempt. Raises CursorInvalid."""
    if given is None:
        return START
    # A float looks like <attempt>.<seq>, and 1.50 would be 1.5: another chunk.
    found = None if isinstance(cast("object", given), float) else _SHAPE.fullmatch(str(given))
    if found is None:
        raise CursorInvalid(
            f"The cursor {str(given)[:_SHOWN]!r} is neither <seq> nor <attempt>.<seq>. "
            "Use the cursor of a chunk as you got it, or leave it out to read from the start."
        )
    attempt, seq = found.groups()
    return Cursor(int(attempt) if attempt else 1, int(seq))


def cursor_text(attempt: int, seq: int) -> str:
    """The cursor of a chunk."""
    return str(seq) if attempt == 1 else f"{attempt}.{seq}"

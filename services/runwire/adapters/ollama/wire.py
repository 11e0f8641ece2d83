"""The usual lines of Ollama in one step; all others are read member by member."""

from typing import Final

import msgspec

from runwire.adapters.opaque import integer_of
from runwire_schemas.raw import Usage

Members = dict[str, msgspec.Raw]

NULL: Final = msgspec.Raw(b"null")
# Counts of tokens, and times in nanoseconds.
COUNTS: Final = frozenset(
    {
        "total_duration",
        "load_duration",
        "prompt_eval_count",
        "prompt_eval_duration",
        "eval_count",
        "eval_duration",
    }
)
_SURE: Final = 2**53


class MessageIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The text of /api/chat."""

    role: str | None = None
    content: str | None = None
    thinking: str | None = None


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A line of either endpoint before the last one."""

    model: str | None = None
    created_at: str | None = None
    message: MessageIn | None = None
    response: str | None = None
    thinking: str | None = None
    done: bool = False


def usage_of(top: Members) -> Usage | None:
    """The counts of the last line. A prompt that was cached whole has no `prompt_eval_count`: then nothing is known."""
    prompt, output = (integer_of(top.get(name)) for name in ("prompt_eval_count", "eval_count"))
    if prompt is None or output is None or not (0 <= prompt < _SURE and 0 <= output < _SURE):
        return None
    return Usage(input_tokens=prompt, output_tokens=output)


decode_line = msgspec.json.Decoder(Line).decode

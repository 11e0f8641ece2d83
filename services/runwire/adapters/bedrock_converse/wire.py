"""The usual events of ConverseStream in one step; all others are read member by member."""

import binascii
from typing import Annotated, Final

import msgspec

from runwire.adapters.opaque import integer_of
from runwire_schemas.raw import Usage

Members = dict[str, msgspec.Raw]

NULL: Final = msgspec.Raw(b"null")
_SURE: Final = 2**53


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A member that is not known makes the event an unusual one."""


class _ToolUse(_Strict, frozen=True):
    input: str


class _Reasoning(_Strict, frozen=True):
    text: str


class Delta(_Strict, frozen=True, rename="camel"):
    """One of these."""

    text: str | None = None
    tool_use: _ToolUse | None = None
    reasoning_content: _Reasoning | None = None


class _BlockDelta(_Strict, frozen=True, rename="camel"):
    """`p` is padding."""

    content_block_index: Annotated[int, msgspec.Meta(ge=0)]
    delta: Delta
    p: msgspec.Raw = NULL


class _BlockStop(_Strict, frozen=True, rename="camel"):
    content_block_index: Annotated[int, msgspec.Meta(ge=0)]
    p: msgspec.Raw = NULL


class BlockEvent(_Strict, frozen=True, rename="camel"):
    """One of these."""

    content_block_delta: _BlockDelta | None = None
    content_block_stop: _BlockStop | None = None


def usage_of(said: Members) -> Usage | None:
    """The counts of `usage`; None if one of the two main ones is missing.

    What was read from and written to the cache lies beside `inputTokens`, as `totalTokens` shows. Each cache count has
    two names, of which Nova's own protocol knows only the longer one.
    """
    prompt, output = _count(said, "inputTokens"), _count(said, "outputTokens")
    if prompt is None or output is None:
        return None
    return Usage(
        input_tokens=prompt,
        output_tokens=output,
        cache_read_tokens=_count(said, "cacheReadInputTokens", "cacheReadInputTokenCount"),
        cache_write_tokens=_count(said, "cacheWriteInputTokens", "cacheWriteInputTokenCount"),
    )


def _count(members: Members, *names: str) -> int | None:
    numbers = (integer_of(members.get(name)) for name in names)
    return next((number for number in numbers if number is not None and 0 <= number < _SURE), None)


def joined(pieces: list[str]) -> str:
    """Bytes that came in several pieces, each in base64 of its own, as one base64."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        whole = b"".join(binascii.a2b_base64(piece, strict_mode=True) for piece in pieces)
    except ValueError:
        return "".join(pieces)
    return binascii.b2a_base64(whole, newline=False).decode()


decode_event = msgspec.json.Decoder(BlockEvent).decode

"""The usual events of Cohere's chat stream in one step; all others are read member by member."""

from typing import Annotated, Final

import msgspec

from runwire.adapters.opaque import fields_of, integer_of
from runwire_schemas.raw import Usage

Members = dict[str, msgspec.Raw]

NULL: Final = msgspec.Raw(b"null")
_SURE: Final = 2**53
_Index = Annotated[int, msgspec.Meta(ge=0)]


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A member that is not known makes the event an unusual one."""


class _Piece(_Strict, frozen=True):
    text: str | None = None
    thinking: str | None = None


class _Content(_Strict, frozen=True):
    content: _Piece


class _ContentIn(_Strict, frozen=True):
    message: _Content


class ContentDelta(_Strict, frozen=True, tag_field="type", tag="content-delta"):
    index: _Index
    delta: _ContentIn


class _Plan(_Strict, frozen=True):
    tool_plan: str


class _PlanIn(_Strict, frozen=True):
    message: _Plan


class PlanDelta(_Strict, frozen=True, tag_field="type", tag="tool-plan-delta"):
    delta: _PlanIn


class _Function(_Strict, frozen=True):
    arguments: str


class _Call(_Strict, frozen=True):
    function: _Function


class _Calls(_Strict, frozen=True):
    tool_calls: _Call


class _CallIn(_Strict, frozen=True):
    message: _Calls


class CallDelta(_Strict, frozen=True, tag_field="type", tag="tool-call-delta"):
    index: _Index
    delta: _CallIn


def usage_of(said: Members) -> Usage | None:
    """The counts of `tokens`, disjoint; None if one of the two main ones is missing.

    `cached_tokens` are "prompt tokens that hit the inference cache", a part of `input_tokens`; `reasoning_tokens` are
    a part of `output_tokens`. `billed_units` measure something else (they leave out what Cohere adds to a prompt), so
    they stand in for no count.
    """
    tokens = fields_of(said.get("tokens", NULL)) or {}
    prompt, output = _count(tokens, "input_tokens"), _count(tokens, "output_tokens")
    if prompt is None or output is None:
        return None
    read = _count(said, "cached_tokens")
    return Usage(
        input_tokens=max(0, prompt - (read or 0)),
        output_tokens=output,
        cache_read_tokens=read,
        reasoning_tokens=_count(tokens, "reasoning_tokens"),
    )


def _count(members: Members, name: str) -> int | None:
    number = integer_of(members.get(name))
    return number if number is not None and 0 <= number < _SURE else None


decode_delta = msgspec.json.Decoder(ContentDelta | PlanDelta | CallDelta).decode

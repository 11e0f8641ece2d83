"""The usual events of an interaction in one step; all others are read member by member."""

from typing import Annotated, Final

import msgspec

from runwire.adapters.gemini.usage import Counts, count_of
from runwire.adapters.opaque import fields_of

Members = dict[str, msgspec.Raw]

NULL: Final = msgspec.Raw(b"null")
_Index = Annotated[int, msgspec.Meta(ge=0)]


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A member that is not known makes the event an unusual one."""


class TextDelta(_Strict, frozen=True, tag_field="type", tag="text"):
    """More of the answer."""

    text: str


class ArgumentsDelta(_Strict, frozen=True, tag_field="type", tag="arguments_delta"):
    """More of a call's arguments."""

    arguments: str


Delta = TextDelta | ArgumentsDelta


class StepDelta(_Strict, frozen=True, tag_field="event_type", tag="step.delta"):
    """A piece of a step. `metadata`: what was counted so far."""

    index: _Index
    delta: Delta
    metadata: msgspec.Raw = NULL


class ContentDelta(_Strict, frozen=True, tag_field="event_type", tag="content.delta"):
    """The same as the first version of the API called it."""

    index: _Index
    delta: Delta
    metadata: msgspec.Raw = NULL


def counts_in(raw: msgspec.Raw) -> Counts:
    """The counts of one report. They lie beside each other as generateContent's do."""
    members = fields_of(raw) or {}
    return Counts(
        prompt_token_count=count_of(members, "total_input_tokens"),
        candidates_token_count=count_of(members, "total_output_tokens"),
        thoughts_token_count=count_of(members, "total_thought_tokens"),
        tool_use_prompt_token_count=count_of(members, "total_tool_use_tokens"),
        cached_content_token_count=count_of(members, "total_cached_tokens"),
        total_token_count=count_of(members, "total_tokens"),
    )


decode_delta = msgspec.json.Decoder(StepDelta | ContentDelta).decode

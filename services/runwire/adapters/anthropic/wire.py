"""Events of Anthropic Messages as they come. What does not fit the usual shapes is read member by member instead."""

from typing import Final

import msgspec

from runwire.adapters.opaque import fields_of, integer_of

UNREAD: Final = msgspec.Raw(b"null")


class TextDelta(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="text_delta", gc=False):
    text: str


class InputDelta(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="input_json_delta", gc=False):
    partial_json: str


class ThinkingDelta(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="thinking_delta", gc=False):
    """`estimated_tokens` comes where the reasoning itself is not shown."""

    thinking: str
    estimated_tokens: msgspec.Raw = UNREAD


class SignatureDelta(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="signature_delta", gc=False):
    signature: str


class BlockDelta(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="content_block_delta"):
    """`p` is padding that Bedrock adds."""

    index: int
    delta: TextDelta | InputDelta | ThinkingDelta | SignatureDelta
    p: msgspec.Raw = UNREAD


class OutputDetails(msgspec.Struct, frozen=True, gc=False):
    thinking_tokens: int | None = None


class UsageIn(msgspec.Struct, frozen=True, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: OutputDetails | None = None


decode_delta = msgspec.json.Decoder(BlockDelta).decode


def usage_in(members: dict[str, msgspec.Raw]) -> UsageIn:
    """`usage`, leaving out what is no integer."""
    numbers = {name: integer_of(value) for name, value in members.items()}
    details = fields_of(members.get("output_tokens_details", UNREAD)) or {}
    return msgspec.convert(
        {**numbers, "output_tokens_details": {name: integer_of(value) for name, value in details.items()}}, UsageIn
    )

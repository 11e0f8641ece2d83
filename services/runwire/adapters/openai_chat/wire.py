"""Chat completion chunks as they come, decoded into structs in one step.

Whatever does not fit them (a field that is not known, an index as text, an object where a string belongs) is read
again member by member, in `loose`.
"""

from typing import Final, Literal

import msgspec

UNREAD: Final = msgspec.Raw(b"null")


class PromptDetails(msgspec.Struct, frozen=True, gc=False):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class CompletionDetails(msgspec.Struct, frozen=True, gc=False):
    reasoning_tokens: int | None = None


class UsageIn(msgspec.Struct, frozen=True, gc=False):
    """`usage`. Other servers' own counts are not read: whether the others include them is not known."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None
    prompt_cache_hit_tokens: int | None = None


class Function(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    name: str | None = None
    arguments: str | None = None


class ToolPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One entry of `tool_calls`. `extra_content` is where Gemini's endpoint puts a part's signature."""

    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: Function | None = None
    extra_content: msgspec.Raw = UNREAD


class Detail(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One of OpenRouter's `reasoning_details`."""

    type: str | None = None
    text: str | None = None
    summary: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    format: str | None = None
    index: int | None = None


class PartIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Text or reasoning in a content array. Parts of other kinds have other members and are read member by member."""

    type: Literal["text", "thinking"]
    text: str | None = None
    thinking: str | list["PartIn"] | None = None
    closed: msgspec.Raw = UNREAD


class Delta(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    content: str | list[PartIn] | None = None
    tool_calls: list[ToolPart] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    reasoning_details: list[Detail] | None = None
    refusal: str | None = None
    function_call: Function | None = None
    extra_content: msgspec.Raw = UNREAD
    # Read past: they say nothing about content, or repeat it.
    role: msgspec.Raw = UNREAD
    name: msgspec.Raw = UNREAD
    channel: msgspec.Raw = UNREAD
    token_id: msgspec.Raw = UNREAD
    # Only null is the usual case.
    audio: None = None
    annotations: None = None
    images: None = None


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    index: int | None = 0
    delta: Delta | None = None
    text: str | None = None
    finish_reason: str | None = None
    usage: UsageIn | None = None  # Moonshot's place for it
    logprobs: dict[str, msgspec.Raw] | None = None
    content_filter_results: msgspec.Raw = UNREAD
    native_finish_reason: msgspec.Raw = UNREAD
    seed: msgspec.Raw = UNREAD
    matched_stop: msgspec.Raw = UNREAD
    stop_reason: msgspec.Raw = UNREAD
    token_ids: None = None


class Chunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    choices: list[Choice] | None = None
    usage: UsageIn | None = None
    id: str | None = None
    model: str | None = None
    created: msgspec.Raw = UNREAD
    object: msgspec.Raw = UNREAD
    system_fingerprint: msgspec.Raw = UNREAD
    service_tier: msgspec.Raw = UNREAD
    provider: msgspec.Raw = UNREAD
    stream_options: msgspec.Raw = UNREAD
    obfuscation: msgspec.Raw = UNREAD
    p: msgspec.Raw = UNREAD
    error: None = None


decode_chunk = msgspec.json.Decoder(Chunk).decode

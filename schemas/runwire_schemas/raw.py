"""The raw protocol: the closed union of 7 chunks that provider adapters emit (`provider` records).

Field names are camelCase in JSON. `gemini`, `content` and everything else opaque is `msgspec.Raw`: passed on byte
for byte, never interpreted. Adding a variant breaks the type check of every consumer that must handle it.
"""

from typing import Literal

import msgspec

BlockKind = Literal["text", "thinking", "tool_use", "tool_result", "image"]


class Chunk(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="type", gc=False):
    """Base of the union; never sent itself."""


class TextBlock(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind", tag="text"
):
    text: str


class ThinkingBlock(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind", tag="thinking"
):
    text: str
    signature: str | None = None
    redacted: str | None = None


class ToolUseBlock(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind", tag="tool_use"
):
    """`arguments` is the raw JSON string as the model wrote it."""

    id: str
    name: str
    arguments: str
    provider_wire_name: str | None = None
    provider_executed: bool | None = None


class ToolResultBlock(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind", tag="tool_result"
):
    tool_call_id: str
    content: msgspec.Raw
    is_error: bool | None = None
    tool_name: str | None = None


class ImageBlock(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind", tag="image"
):
    """`media_type` and exactly one of `data` (base64), `url`, `sha256`."""

    media_type: str
    data: str | None = None
    url: str | None = None
    sha256: str | None = None


ContentBlock = TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | ImageBlock


class Usage(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Disjoint counts: `input_tokens` is uncached input only; `reasoning_tokens` is inside `output_tokens`.

    Absent (None) means the provider did not report it; it is never zero for want of a report.
    """

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class Failure(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    message: str
    code: str | None = None
    status: int | None = None
    retryable: bool | None = None


class Stop(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="stop"):
    raw: str | None = None


class ToolCalls(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="tool_calls"):
    raw: str | None = None


class MaxTokens(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="max_tokens"):
    raw: str | None = None


class ContentFilter(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="content_filter"
):
    raw: str | None = None


class Failed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="error"):
    failure: Failure
    raw: str | None = None


class Aborted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="aborted"):
    failure: Failure
    raw: str | None = None


FinishReason = Stop | ToolCalls | MaxTokens | ContentFilter | Failed | Aborted


class BlockStart(Chunk, frozen=True, kw_only=True, tag="block-start"):
    index: int
    block_kind: BlockKind


class TextDelta(Chunk, frozen=True, kw_only=True, tag="text-delta"):
    index: int
    text: str
    gemini: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class ThinkingDelta(Chunk, frozen=True, kw_only=True, tag="thinking-delta"):
    index: int
    text: str
    gemini: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class ToolCallDelta(Chunk, frozen=True, kw_only=True, tag="tool-call-delta"):
    index: int
    id: str
    arguments_delta: str
    name: str | None = None
    provider_wire_name: str | None = None
    provider_executed: bool | None = None
    gemini: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class BlockEnd(Chunk, frozen=True, kw_only=True, tag="block-end"):
    index: int
    block: ContentBlock


class UsageReport(Chunk, frozen=True, kw_only=True, tag="usage"):
    usage: Usage


class Finish(Chunk, frozen=True, kw_only=True, tag="finish"):
    reason: FinishReason


RawChunk = BlockStart | TextDelta | ThinkingDelta | ToolCallDelta | BlockEnd | UsageReport | Finish

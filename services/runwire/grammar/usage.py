"""Token usage: from disjoint raw counts to what readers see, and its sums. What was not reported is absent."""

from collections.abc import Mapping
from typing import Final

import msgspec

from runwire_schemas.raw import Usage

FIELDS: Final = (
    "inputTokens",
    "cachedInputTokens",
    "cacheCreationInputTokens",
    "outputTokens",
    "reasoningTokens",
    "totalTokens",
)


def reported(usage: Usage | None) -> dict[str, int]:
    """The usage of one step. Input is all input, cached or not; reasoning is already inside output."""
    if usage is None:
        return {}
    total_input = usage.input_tokens + (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    values = (
        total_input,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
        total_input + usage.output_tokens,
    )
    return {name: value for name, value in zip(FIELDS, values, strict=True) if value is not None}


def added(sums: Mapping[str, int], step: Mapping[str, int]) -> dict[str, int]:
    """Field by field; a field that neither side reported stays absent."""
    return {name: sums.get(name, 0) + step.get(name, 0) for name in FIELDS if name in sums or name in step}


def dump(sums: Mapping[str, int]) -> bytes:
    return msgspec.json.encode(sums)


def load(data: bytes) -> dict[str, int]:
    return msgspec.json.decode(data, type=dict[str, int])

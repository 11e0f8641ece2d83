"""The counts of the AI SDK as the contract wants them: disjoint, as reported, never made up.

V3 and V4 say which input was read from a cache and which written to one. V2 has the provider's own numbers, and
providers differ in what they count: the metadata beside them says whose numbers they are.
"""

from typing import Final

from runwire.adapters.ai_sdk.wire import Members, count_of, inner_of
from runwire_schemas.raw import Usage

# Their input leaves out what came from or went to a cache, under these names of V2's provider metadata.
_APART: Final = ("anthropic", "bedrock")
# Their output leaves out reasoning. Elsewhere a total must prove it.
_BESIDE: Final = ("google", "vertex")


def usage_of(usage: Members, metadata: Members) -> Usage | None:
    """`usage` and `providerMetadata` of the finish part; None without both main counts."""
    if "total" in inner_of(usage, "outputTokens") or "total" in inner_of(usage, "inputTokens"):
        return _split(inner_of(usage, "inputTokens"), inner_of(usage, "outputTokens"), inner_of(usage, "raw"))
    return _plain(usage, metadata)


def _split(inputs: Members, outputs: Members, raw: Members) -> Usage | None:
    read, written = count_of(inputs, "cacheRead"), count_of(inputs, "cacheWrite")
    fresh, total, output = count_of(inputs, "noCache"), count_of(inputs, "total"), count_of(outputs, "total")
    if fresh is None and total is not None:
        fresh = _without(total, (read or 0) + (written or 0))
    if fresh is None or output is None:
        return None
    reasoning = count_of(outputs, "reasoning")
    beside = _adds_up(count_of(raw, "total_tokens"), count_of(raw, "prompt_tokens"), output, reasoning)
    return Usage(
        input_tokens=fresh,
        output_tokens=output + (reasoning or 0) if beside else output,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
    )


def _plain(usage: Members, metadata: Members) -> Usage | None:
    given, output = count_of(usage, "inputTokens"), count_of(usage, "outputTokens")
    if given is None or output is None:
        return None
    read, reasoning = count_of(usage, "cachedInputTokens"), count_of(usage, "reasoningTokens")
    apart = any(name in metadata for name in _APART)
    beside = any(name in metadata for name in _BESIDE)
    beside = beside or _adds_up(count_of(usage, "totalTokens"), given, output, reasoning)
    return Usage(
        input_tokens=given if apart else _without(given, read or 0),
        output_tokens=output + (reasoning or 0) if beside else output,
        cache_read_tokens=read,
        cache_write_tokens=_written(metadata),
        reasoning_tokens=reasoning,
    )


def _adds_up(total: int | None, given: int | None, output: int, reasoning: int | None) -> bool:
    """The provider's own total proves that the output leaves out reasoning, as xAI's does."""
    return reasoning is not None and given is not None and total == given + output + reasoning


def _without(total: int, cached: int) -> int:
    """What of the input is neither from nor for a cache; a cache that is larger than the whole lies beside it."""
    return total - cached if cached <= total else total


def _written(metadata: Members) -> int | None:
    """V2 has no count for what was written to a cache; two providers report it in their metadata."""
    written = count_of(inner_of(metadata, "anthropic"), "cacheCreationInputTokens")
    if written is None:
        written = count_of(inner_of(inner_of(metadata, "bedrock"), "usage"), "cacheWriteInputTokens")
    return written

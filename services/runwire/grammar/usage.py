"""Token usage: from disjoint raw counts to what readers see, and its sums. What was not reported is absent."""

from collections.abc import Mapping
from typing import Final

import msgspec

from runwire.grammar.fields import INTEGER_BOUND
from runwire.grammar.jsontext import Json
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


# Fields of an agent's usage that are read; any other is passed on. In the nested form a count is an object of parts.
_NESTED: Final[Mapping[str, Mapping[str, str]]] = {
    "inputTokens": {"cacheRead": "cachedInputTokens", "cacheWrite": "cacheCreationInputTokens"},
    "outputTokens": {"reasoning": "reasoningTokens"},
}
_OLDER: Final[Mapping[str, str]] = {"promptTokens": "inputTokens", "completionTokens": "outputTokens"}
READ: Final = frozenset((*FIELDS, *_OLDER))


def flattened(given: Mapping[str, Json]) -> dict[str, int]:
    """An agent's usage in our fields, whichever of the known forms it has."""
    found: dict[str, int] = {}
    for name in FIELDS:
        _take(found, name, given.get(name))
    for older, name in _OLDER.items():
        if name not in found:
            _take(found, name, given.get(older))
    if "inputTokens" in found and "outputTokens" in found:
        found["totalTokens"] = found["inputTokens"] + found["outputTokens"]
    return {name: found[name] for name in FIELDS if name in found}


def _take(found: dict[str, int], name: str, value: Json) -> None:
    """A count: a plain one, or the total of an object of parts, which some runtimes wrap twice."""
    if isinstance(value, dict):
        for part, other in _NESTED.get(name, {}).items():
            _take(found, other, value.get(part))
        _take(found, name, value.get("total"))
    elif isinstance(value, int | float) and not isinstance(value, bool) and _counts(value):
        found.setdefault(name, int(value))


def _counts(value: float) -> bool:
    return 0 <= value < INTEGER_BOUND and value == int(value)

"""What a run used by itself: its steps, else its finish. What its children used is theirs."""

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from runwire.unwrapper.core.wrappers import read

FIELDS: Final = (
    "inputTokens",
    "cachedInputTokens",
    "cacheCreationInputTokens",
    "outputTokens",
    "reasoningTokens",
    "totalTokens",
)


class _Output(msgspec.Struct):
    usage: Any = None


class _StepResult(msgspec.Struct):
    reason: Any = None


class _Payload(msgspec.Struct, rename="camel"):
    output: _Output | None = None
    step_result: _StepResult | None = None


class _Chunk(msgspec.Struct):
    payload: _Payload | None = None


class Closing(msgspec.Struct, frozen=True):
    """What a step-finish, finish or workflow-finish says."""

    usage: dict[str, int]
    reason: str


_chunk: Final = msgspec.json.Decoder(_Chunk)


def closing(chunk: str) -> Closing:
    """Its usage, empty where it reports none, and its reason."""
    found = read(_chunk, chunk)
    payload = (found.payload if found is not None else None) or _Payload()
    given = payload.output.usage if payload.output is not None else None
    reason = payload.step_result.reason if payload.step_result is not None else None
    return Closing(_counted(given), reason if isinstance(reason, str) else "")


def added(sums: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    """Field by field; what neither side reported stays absent."""
    return {name: sums.get(name, 0) + more.get(name, 0) for name in FIELDS if name in sums or name in more}


def _counted(given: object) -> dict[str, int]:
    if not isinstance(given, dict):
        return {}
    counts: dict[str, int] = {}
    reported = cast("dict[str, object]", given)
    for name in FIELDS:
        value = reported.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            counts[name] = value
    return counts

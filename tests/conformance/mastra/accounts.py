"""What a stream says, as an account that must come out even: its own chunks on one side, its log on the other.

Written against the contract, not the machine: which fields may be rewritten is said here once more.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

Chunk = dict[str, Any]

# Swallowed without a loss: what they say is said elsewhere in the log.
_NO_CONTENT = ("text-end", "reasoning-end", "start")
# The enforcer's own sums and ids stand in these places.
_REWRITTEN = {
    "text-start": ("id",),
    "text-delta": ("id",),
    "text-end": ("id",),
    "reasoning-start": ("id",),
    "reasoning-delta": ("id",),
    "reasoning-end": ("id",),
    "step-finish": ("totalUsage",),
}


def text_of(chunks: Iterable[Chunk]) -> dict[str, str]:
    """All text, and all reasoning, in order."""
    said = {"text-delta": "", "reasoning-delta": ""}
    for chunk in chunks:
        if chunk["type"] in said:
            said[chunk["type"]] += chunk["payload"]["text"]
    return said


def contents_of(chunks: Iterable[Chunk]) -> Counter[str]:
    """Every chunk as its type and what it says, but for what only frames it."""
    return Counter(json.dumps(_content(chunk), sort_keys=True) for chunk in chunks if chunk["type"] not in _NO_CONTENT)


def _content(chunk: Chunk) -> Chunk:
    kind = chunk["type"]
    payload = chunk.get("payload")
    if isinstance(payload, dict):
        payload = {name: value for name, value in payload.items() if name not in _REWRITTEN.get(kind, ())}
        if kind in ("step-finish", "finish"):
            payload = _frame(payload)
        if "suspendPayload" in payload:
            payload.setdefault("suspendData", payload["suspendPayload"])
        if kind == "tool-result":
            payload.pop("metadata", None)
    beside = {
        name: value for name, value in chunk.items() if name not in ("type", "runId", "from", "payload", "metadata")
    }
    return {"type": kind, "payload": payload, **beside}


def _frame(payload: Chunk) -> Chunk:
    """A step's or run's end without reason, continuation and figures, which have tests of their own."""
    result = {k: v for k, v in payload["stepResult"].items() if k not in ("reason", "rawReason", "isContinued")}
    output = {k: v for k, v in payload["output"].items() if k != "usage"}
    own = {k: v for k, v in (payload["output"].get("usage") or {}).items() if k not in FIGURES}
    return {**payload, "stepResult": result, "output": output, "usage": own}


FIGURES = (
    "inputTokens",
    "outputTokens",
    "totalTokens",
    "reasoningTokens",
    "cachedInputTokens",
    "cacheCreationInputTokens",
)


def figures_of(payload: Chunk) -> dict[str, int]:
    """The figures that were reported; what is null was not."""
    usage = payload["output"].get("usage") or {}
    return {name: usage[name] for name in FIGURES if usage.get(name) is not None}


def sum_of(chunks: Iterable[Chunk]) -> dict[str, int]:
    """What the step-finishes of a run report together."""
    total: dict[str, int] = {}
    for chunk in chunks:
        if chunk["type"] == "step-finish":
            for name, count in figures_of(chunk["payload"]).items():
                total[name] = total.get(name, 0) + count
    return total

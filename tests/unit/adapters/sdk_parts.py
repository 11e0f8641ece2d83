"""Hand-written stream parts of the AI SDK, and what the adapter makes of them."""

import json
from typing import Any

from conformance.recorded import Seen
from unit.adapters.saying import Json, accepted

V2_USAGE: Json = {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12}
V3_USAGE: Json = {
    "inputTokens": {"total": 9, "noCache": 5, "cacheRead": 3, "cacheWrite": 1},
    "outputTokens": {"total": 7, "text": 4, "reasoning": 3},
}


def part(type_: str, identity: str | None = None, /, **more: Any) -> Json:
    """One part; `meta` is its provider metadata."""
    named = {} if identity is None else {"id": identity}
    meta = {"providerMetadata": more.pop("meta")} if "meta" in more else {}
    return {"type": type_, **named, **more, **meta}


def text(identity: str, *deltas: str) -> list[Json]:
    """A whole text block."""
    return [
        part("text-start", identity),
        *(part("text-delta", identity, delta=delta) for delta in deltas),
        part("text-end", identity),
    ]


def call(identity: str, name: str, given: Any, **more: Any) -> Json:
    """A `tool-call` part."""
    return part("tool-call", toolCallId=identity, toolName=name, input=given, **more)


def v2(word: str | None = "stop", usage: Json | None = None, **more: Any) -> Json:
    """A finish part of V2."""
    return part("finish", finishReason=word, usage=V2_USAGE if usage is None else usage, **more)


def v3(word: str = "stop", raw: str | None = "end", usage: Json | None = None, **more: Any) -> Json:
    """A finish part of V3 and V4."""
    reason = {"unified": word} if raw is None else {"unified": word, "raw": raw}
    return part("finish", finishReason=reason, usage=V3_USAGE if usage is None else usage, **more)


def body(*parts: Json) -> bytes:
    return "".join(f"{json.dumps(one)}\n" for one in parts).encode()


def said(*parts: Json) -> Seen:
    """What the adapter makes of it: whole and byte by byte the same, and accepted by the grammar."""
    return accepted("ai-sdk", body(*parts))


def beside(seen: Seen, name: str) -> list[Any]:
    """What `raw` chunks hold under that name."""
    return [payload[name] for payload in seen.beside("raw") if name in payload]

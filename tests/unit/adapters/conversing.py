"""Events of ConverseStream, written by hand, and what its adapter makes of them."""

import json
from typing import Any

from conformance.recorded import Seen
from runwire_schemas.raw import Failed
from unit.adapters.saying import Json, accepted

USAGE: Json = {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8}
METADATA: Json = {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 7}}}


def begins(index: int, **start: Any) -> Json:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": start, "p": "abc"}}


def says(index: int, **delta: Any) -> Json:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta, "p": "abcd"}}


def stops(index: int) -> Json:
    return {"contentBlockStop": {"contentBlockIndex": index, "p": "a"}}


def ends(reason: str | None = "end_turn", **more: Any) -> list[Json]:
    return [{"messageStop": {"stopReason": reason, **more}}, METADATA]


def lines_of(*events: Json) -> bytes:
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def converse(*events: Json, end: list[Json] | None = None) -> Seen:
    start = {"messageStart": {"role": "assistant", "p": "abc"}}
    return accepted("bedrock-converse", lines_of(start, *events, *(ends() if end is None else end)))


def tool(index: int, *pieces: str, name: str = "search", **more: Any) -> list[Json]:
    start = begins(index, toolUse={"toolUseId": f"tooluse_{index}", "name": name, **more})
    return [start, *(says(index, toolUse={"input": piece}) for piece in pieces), stops(index)]


def failure_of(seen: Seen) -> tuple[str | None, str, int | None, bool | None]:
    assert isinstance(seen.reason, Failed)
    failure = seen.reason.failure
    return failure.code, failure.message, failure.status, failure.retryable

"""InvokeModelWithResponseStream through botocore, which gives bytes: what is in them is joined here by hand."""

import json
from typing import Any

from conformance.expected import Expected
from conformance.oracles.bedrock_client import client
from runwire_schemas.raw import Usage

_FINISH = {
    "stop_sequence": "stop",
    "FINISH": "stop",
    "tool_use": "tool_calls",
    "MAX_TOKENS": "max_tokens",
    "LENGTH": "max_tokens",
    "stop": "stop",
    "length": "max_tokens",
}


def events(body: bytes) -> list[Any]:
    """What `invoke_model_with_response_stream` hands out: each event a dict with the bytes of the model's own."""
    with client(body) as bedrock:
        return list(bedrock.invoke_model_with_response_stream(modelId="m", body=b"{}")["body"])


def reads(body: bytes, choice: int = 0) -> Expected:
    """The fields that hold text and arguments joined in their order, and Bedrock's own counts."""
    text, finish, usage = "", None, None
    tools: dict[int, list[str]] = {}
    for event in events(body):
        inner = json.loads(event["chunk"]["bytes"])
        if inner.get("index", choice) != choice and "outputText" not in inner:
            continue
        block = inner.get("contentBlockDelta", {})
        start = inner.get("contentBlockStart", {})
        if start:
            call = start["start"]["toolUse"]
            tools[start["contentBlockIndex"]] = [call["toolUseId"], call["name"], ""]
        if "toolUse" in block.get("delta", {}):
            tools[block["contentBlockIndex"]][2] += block["delta"]["toolUse"]["input"]
        said = [inner.get(name) for name in ("completion", "outputText", "text", "generation")]
        delta = [one["delta"].get("content") for one in inner.get("choices", [])]
        text += "".join(piece or "" for piece in (*said, *delta, block.get("delta", {}).get("text")))
        words = [inner.get(name) for name in ("stop_reason", "finish_reason", "completionReason")]
        words += [
            inner.get("messageStop", {}).get("stopReason"),
            *(one["finish_reason"] for one in inner.get("choices", [])),
        ]
        finish = next((_FINISH.get(word, "stop") for word in words if word), finish)
        usage = _usage(inner.get("amazon-bedrock-invocationMetrics")) or usage
    return Expected(text, "", [(one[0], one[1], one[2]) for one in tools.values()], usage, finish, "")


def _usage(metrics: dict[str, int] | None) -> Usage | None:
    if metrics is None:
        return None
    return Usage(
        input_tokens=metrics["inputTokenCount"],
        output_tokens=metrics["outputTokenCount"],
        cache_read_tokens=metrics.get("cacheReadInputTokenCount"),
        cache_write_tokens=metrics.get("cacheWriteInputTokenCount"),
    )

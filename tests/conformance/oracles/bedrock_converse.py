"""ConverseStream through botocore: its own frames' parser, and its own events after the service's model of them."""

from typing import Any

from botocore.parsers import ResponseParserError

from conformance.expected import Expected
from conformance.oracles.bedrock_client import client
from runwire_schemas.raw import Usage

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
}


def events(body: bytes) -> list[Any]:
    """What `converse_stream` hands out. Raises botocore's EventStreamError where the body has an exception."""
    with client(body) as bedrock:
        return list(bedrock.converse_stream(modelId="m", messages=[])["stream"])


def reads(body: bytes) -> Expected:
    """The typed fields joined in their order, and no more than that."""
    text, reasoning, finish, usage = "", "", None, None
    tools: dict[int, list[str]] = {}
    try:
        found = events(body)
    except ResponseParserError as error:
        return Expected("", "", [], None, None, f"sdk: {type(error).__name__}")
    for event in found:
        (kind, said), *_ = event.items()
        if kind == "contentBlockStart" and "toolUse" in said["start"]:
            call = said["start"]["toolUse"]
            tools[said["contentBlockIndex"]] = [call["toolUseId"], call["name"], ""]
        elif kind == "contentBlockDelta":
            delta = said["delta"]
            text += delta.get("text", "")
            reasoning += delta.get("reasoningContent", {}).get("text", "")
            if "toolUse" in delta:
                tools[said["contentBlockIndex"]][2] += delta["toolUse"]["input"]
        elif kind == "messageStop":
            finish = _FINISH.get(said["stopReason"], "stop")
        elif kind == "metadata":
            usage = _usage(said["usage"])
    return Expected(text, reasoning, [(one[0], one[1], one[2]) for one in tools.values()], usage, finish, "")


def _usage(said: dict[str, int]) -> Usage:
    """Disjoint as they are: the service says so by its total."""
    read, written = said.get("cacheReadInputTokens"), said.get("cacheWriteInputTokens")
    assert said["totalTokens"] == said["inputTokens"] + said["outputTokens"] + (read or 0) + (written or 0)
    return Usage(
        input_tokens=said["inputTokens"],
        output_tokens=said["outputTokens"],
        cache_read_tokens=read,
        cache_write_tokens=written,
    )

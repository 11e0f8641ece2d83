"""Anthropic Messages through the anthropic package: its decoder and its own accumulator."""

from typing import Any

import anthropic
import msgspec

from conformance.expected import Expected, answering, quiet
from runwire_schemas.raw import Usage

_ANTHROPIC_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "max_tokens",
    "refusal": "content_filter",
}
_TOOLS = ("tool_use", "server_tool_use", "mcp_tool_use")


def reads(body: bytes) -> Expected:
    """`messages.stream` and its final message; the beta accumulator, since it knows MCP tools and compaction too."""
    with answering(body) as http, quiet():
        client = anthropic.Anthropic(
            api_key="none", base_url="http://provider.invalid", http_client=http, max_retries=0
        )
        raised = ""
        with client.beta.messages.stream(model="m", max_tokens=1, messages=[]) as stream:
            try:
                stream.until_done()
            except anthropic.APIError as error:
                raised = f"error: {error.message}"
            except Exception as error:  # noqa: BLE001 - as above
                raised = f"sdk: {type(error).__name__}"
            try:
                message = stream.current_message_snapshot
            except AssertionError:
                return Expected("", "", [], None, None, raised or "sdk: no message")
    return _anthropic_expected(message, raised)


def _anthropic_expected(message: Any, raised: str) -> Expected:
    blocks = message.content
    tools = [(block.id, block.name, _json(block.input)) for block in blocks if block.type in _TOOLS]
    said = message.usage
    details = getattr(said, "output_tokens_details", None)
    usage = Usage(
        input_tokens=said.input_tokens,
        output_tokens=said.output_tokens,
        cache_read_tokens=said.cache_read_input_tokens,
        cache_write_tokens=said.cache_creation_input_tokens,
        reasoning_tokens=details and details.thinking_tokens,
    )
    return Expected(
        "".join(block.text for block in blocks if block.type == "text"),
        "".join(block.thinking for block in blocks if block.type == "thinking"),
        tools,
        usage,
        "error" if raised.startswith("error") else _ANTHROPIC_FINISH.get(message.stop_reason),
        raised,
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def events(body: bytes) -> list[object]:
    """What `messages.stream` hands out: the wire's events and those that the helper derives from them."""
    with answering(body) as http, quiet():
        client = anthropic.Anthropic(
            api_key="none", base_url="http://provider.invalid", http_client=http, max_retries=0
        )
        with client.messages.stream(model="m", max_tokens=1, messages=[]) as stream:
            return list(stream)

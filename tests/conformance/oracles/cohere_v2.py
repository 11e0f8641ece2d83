"""Cohere through the cohere package: its decoder and its typed events, which it does not put together itself."""

from typing import Any

import cohere
import httpx

from conformance.expected import Expected, quiet
from runwire_schemas.raw import Usage

_COHERE_FINISH = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "max_tokens",
    "TOOL_CALL": "tool_calls",
    "ERROR": "error",
}


def events(body: bytes) -> list[Any]:
    """What `ClientV2.chat_stream` hands out."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body, request=request)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http, quiet():
        client = cohere.ClientV2(api_key="none", base_url="http://provider.invalid", httpx_client=http)
        return list(client.chat_stream(model="m", messages=[]))


def reads(body: bytes) -> Expected:
    """The typed fields joined in their order, and no more than that."""
    text, reasoning, finish, usage, raised = "", "", None, None, ""
    tools: list[list[str]] = []
    for event in events(body):
        match event.type:
            case "content-delta":
                text += event.delta.message.content.text or ""
                reasoning += event.delta.message.content.thinking or ""
            case "tool-plan-delta":
                reasoning += event.delta.message.tool_plan
            case "tool-call-start":
                call = event.delta.message.tool_calls
                tools.append([call.id, call.function.name, call.function.arguments])
            case "tool-call-delta":
                tools[-1][2] += event.delta.message.tool_calls.function.arguments
            case "message-end":
                finish = _COHERE_FINISH[event.delta.finish_reason]
                usage = _usage(event.delta.usage)
                raised = f"error: {event.delta.error}" if event.delta.error else ""
            case _:
                pass  # starts and ends of parts, and citations
    return Expected(text, reasoning, [(one[0], one[1], one[2]) for one in tools], usage, finish, raised)


def _usage(said: Any) -> Usage | None:
    """The disjoint mapping of docs/adapters.md, written a second time from the SDK's own fields."""
    if said is None or said.tokens is None:
        return None
    cached = None if said.cached_tokens is None else int(said.cached_tokens)
    return Usage(
        input_tokens=int(said.tokens.input_tokens) - (cached or 0),
        output_tokens=int(said.tokens.output_tokens),
        cache_read_tokens=cached,
        reasoning_tokens=(said.tokens.model_extra or {}).get("reasoning_tokens"),
    )

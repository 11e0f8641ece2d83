"""OpenAI Chat through the openai package: its decoder and its own accumulator."""

from typing import Any

import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

from conformance.expected import Expected, answering, quiet
from runwire_schemas.raw import Usage

_OPENAI_FINISH = {
    "stop": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "max_tokens",
    "content_filter": "content_filter",
}


def reads(body: bytes, choice: int = 0) -> Expected:
    """`chat.completions.create(stream=True)` through the SDK's decoder into its own accumulator."""
    with answering(body) as http, quiet():
        client = openai.OpenAI(api_key="none", base_url="http://provider.invalid/v1", http_client=http, max_retries=0)
        state, raised, chunks = ChatCompletionStreamState(), "", 0
        try:
            for chunk in client.chat.completions.create(model="m", messages=[], stream=True):
                state.handle_chunk(chunk)
                chunks += 1
        except openai.APIError as error:
            raised = f"error: {error.message}"
        except Exception as error:  # noqa: BLE001 - the SDK fails in many ways on what is not OpenAI's own
            raised = f"sdk: {type(error).__name__}"
    if not chunks:
        return Expected("", "", [], None, None, raised or "sdk: no chunks")
    return _openai_expected(state.current_completion_snapshot, choice, raised)


def _openai_expected(snapshot: Any, choice: int, raised: str) -> Expected:
    usage = _openai_usage(snapshot.usage)
    if not snapshot.choices:
        return Expected("", "", [], usage, None, raised)
    chosen = snapshot.choices[choice]
    message = chosen.message
    more = message.model_extra or {}
    content = message.content if isinstance(message.content, str) else ""
    tools = [
        (tool.id or "", tool.function.name or "", tool.function.arguments or "") for tool in message.tool_calls or []
    ]
    finish = "error" if raised.startswith("error") else _OPENAI_FINISH.get(chosen.finish_reason)
    reasoning = more.get("reasoning_content") or more.get("reasoning") or ""
    return Expected(content + (message.refusal or ""), reasoning, tools, usage, finish, raised)


def _openai_usage(said: Any) -> Usage | None:
    """The disjoint mapping of docs/adapters.md, written a second time from the SDK's own fields."""
    if said is None or said.completion_tokens is None:
        return None
    cached = said.prompt_tokens_details and said.prompt_tokens_details.cached_tokens
    written = said.prompt_tokens_details and getattr(said.prompt_tokens_details, "cache_write_tokens", None)
    reasoning = said.completion_tokens_details and said.completion_tokens_details.reasoning_tokens
    output = said.completion_tokens
    if reasoning and said.total_tokens == said.prompt_tokens + output + reasoning:
        output += reasoning
    return Usage(
        input_tokens=said.prompt_tokens - (cached or 0) - (written or 0),
        output_tokens=output,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
    )


def events(body: bytes) -> list[object]:
    """What `chat.completions.create(stream=True)` hands out."""
    with answering(body) as http, quiet():
        client = openai.OpenAI(api_key="none", base_url="http://provider.invalid/v1", http_client=http, max_retries=0)
        return list(client.chat.completions.create(model="m", messages=[], stream=True))

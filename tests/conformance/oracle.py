"""What the official SDKs make of the same bytes, offline, and where Runwire differs on purpose."""

import tomllib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anthropic
import httpx2
import msgspec
import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

from runwire_schemas.raw import Usage

TABLE = Path(__file__).with_name("differences.toml")


class Difference(NamedTuple):
    """One reviewed difference. `field` `sdk` means that the SDK raises: then there is nothing to compare."""

    provider: str
    file: str
    field: str
    reason: str
    notes: str


class Expected(NamedTuple):
    text: str
    reasoning: str
    tools: list[tuple[str, str, str]]
    usage: Usage | None
    finish: str | None
    raised: str


def differences() -> list[Difference]:
    rows = tomllib.loads(TABLE.read_text())["difference"]
    return [Difference(**row) for row in rows]


def _client(body: bytes) -> httpx2.Client:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body, request=request)

    return httpx2.Client(transport=httpx2.MockTransport(answer))


@contextmanager
def _quiet() -> Iterator[None]:
    """The SDKs' models warn about what other servers send; a warning must not become an exception inside them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# OpenAI --------------------------------------------------------------------------------------------------------------

_OPENAI_FINISH = {
    "stop": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "max_tokens",
    "content_filter": "content_filter",
}


def openai_reads(body: bytes, choice: int = 0) -> Expected:
    """`chat.completions.create(stream=True)` through the SDK's decoder into its own accumulator."""
    with _client(body) as http, _quiet():
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


# Anthropic -----------------------------------------------------------------------------------------------------------

_ANTHROPIC_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "max_tokens",
    "refusal": "content_filter",
}
_TOOLS = ("tool_use", "server_tool_use", "mcp_tool_use")


def anthropic_reads(body: bytes) -> Expected:
    """`messages.stream` and its final message; the beta accumulator, since it knows MCP tools and compaction too."""
    with _client(body) as http, _quiet():
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


def same_arguments(ours: str, theirs: str) -> bool:
    """Equal as JSON. The Anthropic SDK keeps the parsed object, not the text."""
    try:
        return bool(msgspec.json.decode(ours or "{}") == msgspec.json.decode(theirs or "{}"))
    except msgspec.DecodeError:
        return ours == theirs


# SDK streams ---------------------------------------------------------------------------------------------------------


def openai_events(body: bytes) -> list[object]:
    """What `chat.completions.create(stream=True)` hands out."""
    with _client(body) as http, _quiet():
        client = openai.OpenAI(api_key="none", base_url="http://provider.invalid/v1", http_client=http, max_retries=0)
        return list(client.chat.completions.create(model="m", messages=[], stream=True))


def anthropic_events(body: bytes) -> list[object]:
    """What `messages.stream` hands out: the wire's events and those that the helper derives from them."""
    with _client(body) as http, _quiet():
        client = anthropic.Anthropic(
            api_key="none", base_url="http://provider.invalid", http_client=http, max_retries=0
        )
        with client.messages.stream(model="m", max_tokens=1, messages=[]) as stream:
            return list(stream)

"""The events that a provider's SDK hands out give the same call as the bytes it read."""

from collections.abc import Callable
from pathlib import Path

import anthropic
import msgspec
import openai
import pytest
from botocore.parsers import ResponseParserError
from google.genai import errors as google_errors

from conformance.compared import reviewed
from conformance.oracles import ai_sdk as ai_sdk_oracle
from conformance.oracles import anthropic as anthropic_oracle
from conformance.oracles import bedrock_converse as converse_oracle
from conformance.oracles import bedrock_invoke as invoke_oracle
from conformance.oracles import cohere_v2 as cohere_oracle
from conformance.oracles import gemini as gemini_oracle
from conformance.oracles import gemini_interactions as interactions_oracle
from conformance.oracles import ollama as ollama_oracle
from conformance.oracles import openai_chat as openai_oracle
from conformance.oracles import openai_responses as responses_oracle
from conformance.recorded import Seen, Tool, as_sse, convert, files
from runwire.adapters import adapter, feed_event

RECORDED = files()
READERS: dict[str, Callable[[bytes], list[object]]] = {
    "openai-chat": openai_oracle.events,
    "openai-responses": responses_oracle.events,
    "anthropic": anthropic_oracle.events,
    "gemini": gemini_oracle.events,
    "gemini-interactions": interactions_oracle.events,
    "cohere-v2": cohere_oracle.events,
    "bedrock-converse": converse_oracle.events,
    "bedrock-invoke": invoke_oracle.events,
    "ollama": ollama_oracle.events,
    "ai-sdk": ai_sdk_oracle.events,
}
# The SDK leaves out the ids of tool calls.
NAMELESS = frozenset({"ollama"})
# The SDK gives the members of arguments in an order of its own.
REORDERED = frozenset({"gemini", "openai-responses"})


@pytest.mark.parametrize(("provider", "path"), RECORDED, ids=[path.name for _, path in RECORDED])
def test_sdk_events_give_the_same_call(provider: str, path: Path) -> None:
    try:
        # The SDKs discard an event that no blank line closes, and some recorders leave out the last one.
        events = READERS[provider](as_sse(provider, path) + b"\n\n")
    except (openai.APIError, anthropic.APIError, google_errors.APIError, ResponseParserError):
        # An error in the stream, or none that its service sends: the SDK raises, and its caller tells the producer.
        return
    except AttributeError:
        # Enumerations as numbers, which Google's SDK does not read.
        assert reviewed(provider, path) == {"sdk"}
        return
    wire = adapter(provider)
    emitted = [chunk for event in events for chunk in feed_event(wire, event)]
    # The SDK hides `[DONE]`, which only a stream without finish_reason needs.
    emitted += [*wire.feed_json(b"[DONE]"), *wire.close()]

    seen, whole = Seen(emitted), Seen(convert(provider, [path.read_bytes()]))

    for field in ("text", "reasoning", "executed", "usage", "finish", "kinds"):
        assert getattr(seen, field) == getattr(whole, field), field
    hidden = 1 if provider in NAMELESS else 0
    tools, expected = (_tools(one.tools, ordered=provider not in REORDERED) for one in (seen, whole))
    assert [tool[hidden:] for tool in tools] == [tool[hidden:] for tool in expected]
    assert [chunk["payload"].keys() for chunk in seen.agent if chunk["type"] == "source"] == [
        chunk["payload"].keys() for chunk in whole.agent if chunk["type"] == "source"
    ]


def _tools(tools: list[Tool], *, ordered: bool) -> list[tuple[object, ...]]:
    return [
        (one.id, one.name, one.arguments if ordered else msgspec.json.decode(one.arguments or "{}")) for one in tools
    ]

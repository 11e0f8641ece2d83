"""Events made of the protocols' own words in any order and type: never an exception, and always a legal call."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.recorded import judge
from runwire.adapters import PROVIDERS, adapter
from unit.adapters.saying import Json, run

OPENAI = [
    "id", "choices", "index", "delta", "content", "tool_calls", "function", "name", "arguments", "reasoning",
    "reasoning_content", "reasoning_details", "type", "text", "signature", "data", "usage", "prompt_tokens",
    "completion_tokens", "prompt_tokens_details", "cached_tokens", "error", "message", "code", "finish_reason",
    "logprobs", "annotations", "images", "image_url", "url", "citations", "search_results", "x_groq",
    "extra_content", "google", "thinking", "function_call", "refusal", "content_filter_results", "created", "model",
    "object",
]  # fmt: skip
ANTHROPIC = [
    "type", "index", "delta", "content_block", "message", "usage", "content", "id", "name", "input", "partial_json",
    "text", "thinking", "signature", "data", "tool_use_id", "citations", "citation", "url", "source", "media_type",
    "stop_reason", "input_tokens", "output_tokens", "error", "is_error", "caller", "model",
]  # fmt: skip
WORDS = [
    "text", "thinking", "tool_use", "server_tool_use", "mcp_tool_result", "redacted_thinking", "image", "text_delta",
    "input_json_delta", "thinking_delta", "signature_delta", "citations_delta", "message_start",
    "content_block_start", "content_block_delta", "stop", "content_block_stop", "message_delta", "message_stop",
    "error", "reasoning.encrypted", "url_citation", "tool_calls", "{}", "\ud83c", "\udf0d",
]  # fmt: skip

leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.just(2**70), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(WORDS), st.text(max_size=3),
)  # fmt: skip


def _events(keys: list[str]) -> st.SearchStrategy[Any]:
    def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(keys), inner, max_size=5)

    return st.recursive(leaves, nested, max_leaves=12)


def _openai_chunk(delta: Any, finish: Any, usage: Any) -> Json:
    return {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": usage}


anything = _events(OPENAI)
chunks = st.builds(_openai_chunk, _events(OPENAI), st.sampled_from([None, "stop", "length", 1]), anything) | anything
blocks = st.fixed_dictionaries(
    {
        "type": st.sampled_from([word for word in WORDS if "_" in word]),
        "index": st.integers(0, 2) | st.none(),
        "delta": _events(ANTHROPIC),
        "content_block": _events(ANTHROPIC),
        "message": _events(ANTHROPIC),
        "usage": _events(ANTHROPIC),
    }
)
STREAMS = {"openai-chat": st.lists(chunks, max_size=6), "anthropic": st.lists(blocks | _events(ANTHROPIC), max_size=8)}


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(data=st.data())
def test_any_events_make_a_legal_call(provider: str, data: st.DataObject) -> None:
    events = data.draw(STREAMS[provider])
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    wire = adapter(provider)

    emitted = run(wire, body)

    assert b'"finish"' in emitted[-1].body
    # A message that never reports usage cannot end well, and the adapter invents none.
    assert {finding.code for finding in judge(emitted, wire.usage)[1]} <= {"usage-missing"}


@pytest.mark.parametrize("provider", [*PROVIDERS, "raw"])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(body=st.binary(max_size=200), head=st.sampled_from([b"", b"data: ", b"{", b"[{", b"event: error\ndata: "]))
def test_any_bytes_make_a_call_that_ends(provider: str, body: bytes, head: bytes) -> None:
    emitted = run(adapter(provider), head + body)

    assert b'"finish"' in emitted[-1].body

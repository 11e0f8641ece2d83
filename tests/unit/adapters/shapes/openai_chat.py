"""Chunks of the OpenAI family, right and wrong."""

from typing import Any

from hypothesis import strategies as st

from unit.adapters.saying import Json
from unit.adapters.shapes.made import values

KEYS = [
    "id", "choices", "index", "delta", "content", "tool_calls", "function", "name", "arguments", "reasoning",
    "reasoning_content", "reasoning_details", "type", "text", "signature", "data", "usage", "prompt_tokens",
    "completion_tokens", "prompt_tokens_details", "cached_tokens", "error", "message", "code", "finish_reason",
    "logprobs", "annotations", "images", "image_url", "url", "citations", "search_results", "x_groq",
    "extra_content", "google", "thinking", "function_call", "refusal", "content_filter_results", "created", "model",
    "object", "audio", "transcript", "executed_tools", "output", "reference_ids", "thinking_blocks",
]  # fmt: skip
WORDS = [
    "text", "thinking", "error", "reasoning.encrypted", "url_citation", "tool_calls", "stop", "<think>", "</think>",
    "qwq", "search",
]  # fmt: skip


def _chunk(delta: Any, finish: Any, usage: Any) -> Json:
    return {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": usage}


_anything = values(KEYS, WORDS)
_finish = st.sampled_from([None, "stop", "length", 1])

STREAM = st.lists(st.builds(_chunk, values(KEYS, WORDS), _finish, _anything) | _anything, max_size=6)

"""Events of Cohere's chat, right and wrong."""

from hypothesis import strategies as st

from unit.adapters.shapes.made import values

KEYS = [
    "type", "index", "delta", "message", "content", "text", "thinking", "tool_plan", "tool_calls", "function", "name",
    "arguments", "id", "citations", "sources", "document", "title", "url", "start", "end", "finish_reason", "usage",
    "tokens", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "billed_units", "error",
    "error_type", "logprobs", "prompt", "role",
]  # fmt: skip
TYPES = [
    "message-start", "content-start", "content-delta", "content-end", "tool-plan-delta", "tool-call-start",
    "tool-call-delta", "tool-call-end", "citation-start", "citation-end", "message-end", "debug", "error",
]  # fmt: skip
WORDS = ["text", "thinking", "COMPLETE", "TOOL_CALL", "MAX_TOKENS", "ERROR", "TIMEOUT", "tool", "document", *TYPES]

_anything = values(KEYS, WORDS)
_parts = st.fixed_dictionaries(
    {}, optional={"content": _anything, "tool_plan": _anything, "tool_calls": _anything, "citations": _anything}
)
_event = st.fixed_dictionaries(
    {
        "type": st.sampled_from(TYPES),
        "index": st.integers(-1, 2) | st.none(),
        "delta": st.fixed_dictionaries({"message": _parts}) | _anything,
    }
)

STREAM = st.lists(_event | _anything, max_size=8)

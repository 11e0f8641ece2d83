"""Events of Anthropic's messages, right and wrong."""

from hypothesis import strategies as st

from unit.adapters.shapes.made import values

KEYS = [
    "type", "index", "delta", "content_block", "message", "usage", "content", "id", "name", "input", "partial_json",
    "text", "thinking", "signature", "data", "tool_use_id", "citations", "citation", "url", "source", "media_type",
    "stop_reason", "input_tokens", "output_tokens", "error", "is_error", "caller", "model",
]  # fmt: skip
WORDS = [
    "text", "thinking", "tool_use", "server_tool_use", "mcp_tool_result", "redacted_thinking", "image", "text_delta",
    "input_json_delta", "thinking_delta", "signature_delta", "citations_delta", "message_start",
    "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop",
    "error", "url_citation",
]  # fmt: skip

_anything = values(KEYS, WORDS)
_event = st.fixed_dictionaries(
    {
        "type": st.sampled_from([word for word in WORDS if "_" in word]),
        "index": st.integers(0, 2) | st.none(),
        "delta": _anything,
        "content_block": _anything,
        "message": _anything,
        "usage": _anything,
    }
)

STREAM = st.lists(_event | _anything, max_size=8)

"""Events of Gemini's interactions, right and wrong."""

from hypothesis import strategies as st

from unit.adapters.shapes.made import values

KEYS = [
    "event_type", "index", "delta", "step", "content", "interaction", "interaction_id", "status", "metadata", "usage",
    "total_usage", "type", "text", "annotations", "summary", "signature", "arguments", "id", "name", "call_id",
    "result", "is_error", "data", "uri", "mime_type", "url", "title", "steps", "outputs", "model", "object", "created",
    "error", "code", "message", "event_id", "total_input_tokens", "total_output_tokens", "total_thought_tokens",
    "total_tokens", "total_cached_tokens", "total_tool_use_tokens",
]  # fmt: skip
EVENTS = [
    "interaction.created", "interaction.status_update", "interaction.completed", "interaction.cancelled", "step.start",
    "step.delta", "step.stop", "content.start", "content.delta", "content.stop", "error",
]  # fmt: skip
TYPES = [
    "text", "thought", "model_output", "function_call", "function_result", "google_search_call",
    "google_search_result", "mcp_server_tool_call", "thought_summary", "thought_signature", "arguments_delta",
    "text_annotation_delta", "image", "audio", "user_input", "url_citation", "word_info",
]  # fmt: skip
WORDS = ["completed", "requires_action", "failed", "image/png", "https://a", "interaction", *TYPES]

_anything = values(KEYS, WORDS)
_said = {
    "text": st.just("Hi") | _anything,
    "id": st.sampled_from(["x", "1", ""]),
    "name": st.just("f") | _anything,
    "arguments": st.sampled_from(['{"a":1}', {}, {"a": 1}, "", None]) | _anything,
    "call_id": st.just("x"),
    "result": _anything,
    "signature": st.sampled_from(["", "s"]),
    "content": _anything,
    "summary": _anything,
    "annotations": _anything,
    "data": _anything,
}
_part = st.fixed_dictionaries({"type": st.sampled_from(TYPES)}, optional=_said) | _anything
_event = st.fixed_dictionaries(
    {"event_type": st.sampled_from(EVENTS), "index": st.integers(-1, 2) | st.none()},
    optional={
        "delta": _part,
        "step": _part,
        "content": _part,
        "interaction": _anything,
        "metadata": _anything,
        "status": _anything,
    },
)

STREAM = st.lists(_event | _anything, max_size=8)

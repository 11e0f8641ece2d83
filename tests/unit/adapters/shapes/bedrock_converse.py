"""Events of Bedrock's ConverseStream, right and wrong."""

from hypothesis import strategies as st

from unit.adapters.shapes.made import values

KEYS = [
    "contentBlockIndex", "start", "delta", "text", "toolUse", "toolUseId", "name", "type", "input", "toolResult",
    "status", "json", "image", "format", "source", "bytes", "s3Location", "uri", "reasoningContent", "reasoningText",
    "signature", "redactedContent", "data", "citation", "location", "web", "url", "title", "citationsContent",
    "citations", "content", "stopReason", "additionalModelResponseFields", "usage", "inputTokens", "outputTokens",
    "cacheReadInputTokens", "cacheWriteInputTokens", "metrics", "trace", "message", "role", "p", "Error", "Code",
    "__type", "originalStatusCode", "error",
]  # fmt: skip
EVENTS = [
    "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata", "output",
    "throttlingException", "modelStreamErrorException", "chunk", "Error", "unknown",
]  # fmt: skip
WORDS = ["end_turn", "tool_use", "server_tool_use", "max_tokens", "malformed_tool_use", "error", "png", "QUJD", "Q=="]

_anything = values(KEYS, WORDS)
_index = st.integers(-1, 2) | st.none()
_block = st.fixed_dictionaries(
    {"contentBlockIndex": _index},
    optional={
        "start": st.dictionaries(st.sampled_from(["toolUse", "toolResult", "image", "text"]), _anything, max_size=2),
        "delta": st.dictionaries(st.sampled_from(KEYS[3:26]), _anything, max_size=2),
    },
)
_event = st.dictionaries(st.sampled_from(EVENTS), _block | _anything, min_size=1, max_size=2)

STREAM = st.lists(_event | _anything, max_size=8)

"""Stream parts of the AI SDK, right and wrong."""

from hypothesis import strategies as st

from unit.adapters.shapes.made import values

KEYS = [
    "type", "id", "delta", "providerMetadata", "google", "anthropic", "openai", "thoughtSignature", "signature",
    "redactedData", "itemId", "toolName", "toolCallId", "input", "inputEncoding", "providerExecuted", "dynamic",
    "title", "result", "isError", "preliminary", "mediaType", "data", "url", "text", "sourceType", "citations",
    "source", "modelId", "timestamp", "usage", "inputTokens", "outputTokens", "totalTokens", "cachedInputTokens",
    "reasoningTokens", "total", "noCache", "cacheRead", "reasoning", "finishReason", "unified", "raw", "rawValue",
    "error", "name", "value", "message", "statusCode", "cause", "responseBody", "warnings",
]  # fmt: skip
TYPES = [
    "stream-start", "text-start", "text-delta", "text-end", "reasoning-start", "reasoning-delta", "reasoning-end",
    "tool-input-start", "tool-input-delta", "tool-input-end", "tool-call", "tool-result", "tool-approval-request",
    "file", "reasoning-file", "source", "custom", "response-metadata", "raw", "ping", "error", "finish",
]  # fmt: skip
WORDS = ["0", "stop", "unknown", "other", "tool-calls", "text", "document", "image/png", "Buffer", "AI_JSONParseError"]

_anything = values(KEYS, [*WORDS, "<think>", "qwq"])
_names = dict.fromkeys(["delta", "input", "result", "data", "error", "usage", "source", "citations"], _anything)
_words = dict.fromkeys(["id", "toolCallId", "toolName", "modelId"], st.sampled_from(["0", "1", ""]) | _anything)
_more = dict.fromkeys(["providerMetadata", "finishReason", "inputEncoding", "mediaType", "preliminary"], _anything)
_part = st.fixed_dictionaries({"type": st.sampled_from(TYPES)}, optional={**_names, **_words, **_more})

STREAM = st.lists(_part | _anything, max_size=6)

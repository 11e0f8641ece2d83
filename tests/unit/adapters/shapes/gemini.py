"""Responses of Gemini, right and wrong."""

from typing import Any

from hypothesis import strategies as st

from unit.adapters.shapes.made import values

KEYS = [
    "candidates", "content", "parts", "text", "thought", "thoughtSignature", "role", "index", "finishReason",
    "finishMessage", "functionCall", "name", "args", "id", "partialArgs", "jsonPath", "stringValue", "numberValue",
    "boolValue", "nullValue", "willContinue", "executableCode", "code", "language", "codeExecutionResult", "outcome",
    "output", "toolCall", "toolResponse", "toolType", "response", "inlineData", "mimeType", "data", "fileData",
    "fileUri", "groundingMetadata", "groundingChunks", "web", "uri", "title", "citationMetadata", "citations",
    "urlContextMetadata", "urlMetadata", "retrievedUrl", "safetyRatings", "logprobsResult", "avgLogprobs",
    "usageMetadata", "promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount",
    "toolUsePromptTokenCount", "cachedContentTokenCount", "modelVersion", "responseId", "createTime",
    "promptFeedback", "blockReason", "error", "message", "status", "sdkHttpResponse", "usage_metadata",
]  # fmt: skip
PATHS = ["$", "$.a", "$.a[0]", "$.a[1].b", "$['a b']", "$.c", "a", "$[0]", "$.a..b"]
WORDS = [
    "STOP", "MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "OUTCOME_OK", "FILE_SEARCH", "image/png", "audio/wav",
    *PATHS,
]  # fmt: skip

_anything = values(KEYS, WORDS)
_piece = st.fixed_dictionaries(
    {"jsonPath": st.sampled_from(PATHS)},
    optional={
        "stringValue": st.sampled_from(["x", "", "\ud83c"]),
        "numberValue": _anything,
        "willContinue": st.booleans(),
        "nullValue": st.none(),
    },
)
_call = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["f", "g", ""]),
        "id": st.sampled_from(["1", "x"]),
        "args": _anything,
        "partialArgs": st.lists(_piece, max_size=3) | _anything,
        "willContinue": st.booleans(),
    },
)
_part = st.fixed_dictionaries(
    {},
    optional={
        "text": st.sampled_from(["Hi", ""]) | _anything,
        "thought": st.booleans(),
        "thoughtSignature": st.just("s") | _anything,
        "functionCall": _call | _anything,
        "executableCode": _anything,
        "codeExecutionResult": _anything,
        "toolCall": _anything,
        "toolResponse": _anything,
        "inlineData": _anything,
    },
)
_more = dict.fromkeys(("groundingMetadata", "citationMetadata", "safetyRatings", "logprobsResult", "odd"), _anything)
_candidate: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"content": st.fixed_dictionaries({"parts": st.lists(_part | _anything, max_size=3)}) | _anything},
    optional={
        "finishReason": st.sampled_from(["STOP", "MAX_TOKENS", "OTHER", 1, 10, None]),
        "index": st.integers(-1, 1),
        **_more,
    },
)
_event = st.fixed_dictionaries(
    {"candidates": st.lists(_candidate, max_size=2) | _anything},
    optional=dict.fromkeys(("usageMetadata", "promptFeedback", "modelVersion", "responseId", "new"), _anything),
)

STREAM = st.lists(_event | _anything, max_size=6)

"""Events of the models on Bedrock, right and wrong."""

from hypothesis import strategies as st

from unit.adapters.shapes import anthropic, bedrock_converse, openai_chat
from unit.adapters.shapes.made import values

KEYS = [
    "completion", "outputText", "generation", "text", "index", "is_finished", "stop_reason", "stop", "finish_reason",
    "completionReason", "inputTextTokenCount", "totalOutputTextTokenCount", "prompt_token_count",
    "generation_token_count", "outputs", "results", "generations", "event_type", "generation_id", "citations",
    "tool_calls", "tool_call_delta", "name", "parameters", "response", "meta", "tokens", "id", "choices", "message",
    "delta", "content", "usage", "error", "chunk", "bytes", "amazon-bedrock-invocationMetrics", "inputTokenCount",
    "outputTokenCount", "amazon-bedrock-guardrailAction", "amazon-bedrock-trace", "throttlingException",
]  # fmt: skip
WORDS = [
    "stop", "length", "FINISH", "ERROR", "COMPLETE", "INTERVENED", "NONE", "stream-start", "text-generation",
    "tool-calls-chunk", "tool-calls-generation", "citation-generation", "stream-end", "eyJ0ZXh0IjoiYSJ9", "Q===",
]  # fmt: skip

_anything = values(KEYS, WORDS)
_event = st.dictionaries(st.sampled_from(KEYS), _anything, min_size=1, max_size=4)
_metrics = st.just({"amazon-bedrock-invocationMetrics": {"inputTokenCount": 1, "outputTokenCount": 2}})

STREAM = (
    st.lists(_event | _anything | _metrics, max_size=8)
    | bedrock_converse.STREAM
    | anthropic.STREAM
    | openai_chat.STREAM
)

"""Lines of Ollama, right and wrong."""

from hypothesis import strategies as st

from unit.adapters.shapes.made import values

KEYS = [
    "model", "created_at", "message", "role", "content", "thinking", "tool_calls", "function", "name", "arguments",
    "index", "id", "images", "image", "response", "context", "done", "done_reason", "prompt_eval_count", "eval_count",
    "total_duration", "logprobs", "error", "status", "completed", "total", "remote_model",
]  # fmt: skip
WORDS = ["stop", "length", "load", "unload", "assistant", "qwq", "<think>", "</think>", "iVBORw0"]

_anything = values(KEYS, WORDS)
_line = st.fixed_dictionaries(
    {"model": st.sampled_from(["qwq", "m"]), "message": _anything, "done": st.sampled_from([False, False, True])},
    optional={"response": _anything, "done_reason": _anything, "error": _anything, "eval_count": _anything},
)

STREAM = st.lists(_line | _anything, max_size=8)

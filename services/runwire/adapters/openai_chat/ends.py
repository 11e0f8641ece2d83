"""What the words mean with which the servers of the OpenAI family end a response."""

from typing import Final

from runwire.adapters.writing.call import FailedKind, StopKind
from runwire_schemas.raw import Failure

# The words in lower case. One that is not here ends the call as `stop` and is kept as `raw`.
FINISH: Final[dict[str, StopKind]] = {
    "stop": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "sensitive": "content_filter",
}
FAILED: Final[dict[str, tuple[FailedKind, Failure]]] = {
    "error": ("error", Failure(message="the provider ended the response with an error", code="provider-error")),
    "insufficient_system_resource": (
        "error",
        Failure(message="the provider ran out of resources", code="insufficient_system_resource", retryable=True),
    ),
    "network_error": (
        "error",
        Failure(message="the provider's model could not be reached", code="network_error", retryable=True),
    ),
    "function_call_filter": (
        "error",
        Failure(message="the model wrote a tool call that the provider could not read", code="function_call_filter"),
    ),
    "abort": ("aborted", Failure(message="the provider aborted the response", code="provider-abort")),
}


def failed(word: str) -> tuple[FailedKind, Failure] | None:
    """The failure that a finish reason is, if it is one."""
    return FAILED.get(_first(word))


def stopped(word: str) -> StopKind:
    """The kind of a finish reason that is no failure."""
    return FINISH.get(_first(word), "stop")


def _first(word: str) -> str:
    """Gemini's endpoint adds its own word after a colon: `content_filter: PROHIBITED_CONTENT`."""
    return word.lower().partition(":")[0].strip()

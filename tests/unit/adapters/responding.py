"""Hand-written events of OpenAI's Responses, and what the adapter makes of them."""

from typing import Any

from conformance.recorded import Seen
from runwire.adapters import adapter
from unit.adapters.saying import Json, accepted, sse

USAGE = {
    "input_tokens": 5,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 12,
}
HOSTED: Json = {"type": "container_reference", "container_id": "c"}


def event(kind: str, **members: Any) -> Json:
    return {"type": f"response.{kind}", **members}


def created(**more: Any) -> Json:
    response = {"id": "resp-1", "object": "response", "created_at": 1700000000, "model": "m", "status": "in_progress"}
    return event("created", response={**response, "output": [], **more})


def ended(*output: Json, state: str = "completed", **more: Any) -> Json:
    """The closing event."""
    response = {"id": "resp-1", "object": "response", "status": state, "model": "m", "usage": USAGE}
    return event(state, response={**response, "output": list(output), **more})


def added(item: Json, index: int | None = 0) -> Json:
    return event("output_item.added", item=item, output_index=index)


def done(item: Json, index: int | None = 0) -> Json:
    return event("output_item.done", item=item, output_index=index)


def message(*parts: Json | str, id: str = "msg-1", **more: Any) -> Json:  # noqa: A002 - the member's own name
    """A message of these texts or parts."""
    content = [{"type": "output_text", "text": part} if isinstance(part, str) else part for part in parts]
    return {"type": "message", "id": id, "role": "assistant", "content": content, **more}


def reasoning(*, summary: tuple[str, ...] = (), content: tuple[str, ...] = (), **more: Any) -> Json:
    return {
        "type": "reasoning",
        "id": "rs-1",
        "summary": [{"type": "summary_text", "text": text} for text in summary],
        "content": [{"type": "reasoning_text", "text": text} for text in content],
        **more,
    }


def function(arguments: str = "", **more: Any) -> Json:
    item = {"type": "function_call", "id": "fc-1", "call_id": "call-a", "name": "f", "arguments": arguments}
    return {**item, **more}


def call(kind: str, **members: Any) -> Json:
    """An item that calls a tool."""
    return {"type": kind, "id": "it-1", "status": "completed", **members}


def shell(*commands: str, environment: Json | None = None, **more: Any) -> Json:
    """A call of a shell with these commands."""
    action = {"commands": list(commands), "timeout_ms": None}
    return call("shell_call", call_id="sh", action=action, environment=environment, **more)


def text(delta: str, **where: Any) -> Json:
    return event(
        "output_text.delta", delta=delta, **{"item_id": "msg-1", "output_index": 0, "content_index": 0, **where}
    )


def text_done(whole: str, **where: Any) -> Json:
    return event("output_text.done", text=whole, **{"item_id": "msg-1", "output_index": 0, "content_index": 0, **where})


def arguments(delta: str, **where: Any) -> Json:
    return event("function_call_arguments.delta", delta=delta, **{"item_id": "fc-1", "output_index": 0, **where})


def responses(*events: Json | str) -> Seen:
    """What the adapter makes of a body; the grammar must accept it."""
    return accepted("openai-responses", sse(*events, done=False))


def answered(*events: Json | str) -> Seen:
    """The same for events between a beginning and a good end without any list of items."""
    return responses(created(), *events, ended())


def so_far(*events: Json | str) -> Seen:
    """What is known before the body is over."""
    return Seen(adapter("openai-responses").feed(sse(*events, done=False)))

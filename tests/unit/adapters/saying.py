"""Hand-written provider bytes for the unit tests, and what an adapter makes of them, judged by the grammar."""

import json
from typing import Any

from conformance.recorded import Seen, judge
from runwire.adapters import Emitted, adapter
from runwire.adapters.base import Adapter

Json = dict[str, Any]


def sse(*events: Json | str, done: bool = True) -> bytes:
    """A body: each event is JSON, or text as it is on the wire."""
    lines = [event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def chunk(delta: Json | None = None, finish: str | None = None, **more: Any) -> Json:
    """A chat completion chunk with one choice. `choice` adds to the choice, the rest to the chunk."""
    inner = {"index": 0, "delta": delta or {}, "finish_reason": finish, **more.pop("choice", {})}
    return {
        "id": "resp-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "m",
        "choices": [inner],
        **more,
    }


def tool(arguments: Any = None, **more: Any) -> Json:
    """A delta with one tool call piece."""
    function = {"name": more.pop("name")} if "name" in more else {}
    if arguments is not None:
        function["arguments"] = arguments
    return {"tool_calls": [{**more, "function": function}]}


def usage(prompt: int = 5, completion: int = 7, **more: Any) -> Json:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **more}


def named(*events: Json) -> bytes:
    """Anthropic's framing: every event under its own name."""
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def message(*events: Json, stop: str | None = "end_turn", output: int = 9, **start: Any) -> bytes:
    """A whole message around the events of its blocks."""
    begin = {
        "id": "msg-1",
        "model": "claude",
        "role": "assistant",
        "content": [],
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    end = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": output}}
    return named({"type": "message_start", "message": {**begin, **start}}, *events, end, {"type": "message_stop"})


def block(index: int, start: Json, *deltas: Json) -> list[Json]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def run(wire: Adapter, body: bytes) -> list[Emitted]:
    """Byte by byte and whole must be the same; returns the chunks."""
    return wire.feed(body) + wire.close()


def openai(*events: Json | str, done: bool = True, choice: int = 0) -> Seen:
    """What the OpenAI adapter makes of it; the grammar must accept it."""
    return accepted("openai-chat", sse(*events, done=done), choice=choice)


def anthropic(body: bytes) -> Seen:
    return accepted("anthropic", body)


def accepted(provider: str, body: bytes, *, choice: int = 0) -> Seen:
    wire, slow = adapter(provider, choice=choice), adapter(provider, choice=choice)
    emitted = run(wire, body)
    assert [one for at in range(len(body)) for one in slow.feed(body[at : at + 1])] + slow.close() == emitted
    assert judge(emitted, wire.usage)[1] == []
    return Seen(emitted)

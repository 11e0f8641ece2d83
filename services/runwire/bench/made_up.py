"""A made-up response in every protocol, for adapters to be timed on.

It says the same in each: a text in many small pieces, a tool call where the protocol has any, usage, and its end.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from .eventstream import PADDING

Json = dict[str, Any]

# About what one answer of a page has; much less would time the beginning and the end.
PIECES: Final = 400
WORDS: Final = ("The", " harbour", " lies", " still", ",", " and", " no", " boat", " leaves", " before", " dawn", ".")
ARGUMENTS: Final = '{"city":"Oslo","days":3}'
MODEL: Final = "bench-1"


def pieces() -> list[str]:
    """The text, as a model would send it."""
    return [WORDS[at % len(WORDS)] for at in range(PIECES)]


def sse(events: Sequence[Json], name: str = "", done: str = "") -> bytes:
    """Server-sent events; `name` is the member that names one."""
    heads = (f"event: {event[name]}\n" if name else "" for event in events)
    lines = [f"{head}data: {_json(event)}\n\n" for head, event in zip(heads, events, strict=True)]
    return "".join([*lines, f"data: {done}\n\n" if done else ""]).encode()


def lines(events: Sequence[Json]) -> bytes:
    """NDJSON."""
    return "".join(f"{_json(event)}\n" for event in events).encode()


def made_up() -> dict[str, bytes]:
    """One body a protocol, framed as its provider does; Bedrock's as decoded events, one a line."""
    return {provider: make() for provider, make in _MADE_UP.items()}


def _json(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))


def _openai_chat() -> bytes:
    def chunk(delta: Json, finish: str | None = None) -> Json:
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": MODEL}
        return {**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}

    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ""}}
    usage = {"prompt_tokens": 20, "completion_tokens": PIECES, "total_tokens": PIECES + 20}
    events = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": piece}) for piece in pieces())]
    events += [chunk({"tool_calls": [call]})]
    events += [chunk({"tool_calls": [{"index": 0, "function": {"arguments": part}}]}) for part in _parts(ARGUMENTS)]
    return sse([*events, chunk({}, "tool_calls"), {**chunk({}), "choices": [], "usage": usage}], done="[DONE]")


def _openai_responses() -> bytes:
    response: Json = {"id": "resp_1", "object": "response", "created_at": 1700000000, "model": MODEL, "output": []}
    message: Json = {"type": "message", "id": "msg_1", "role": "assistant", "content": [], "status": "in_progress"}
    part: Json = {"type": "output_text", "text": "", "annotations": []}
    call: Json = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": ""}
    usage = {"input_tokens": 20, "output_tokens": PIECES, "total_tokens": PIECES + 20}
    at, text = {"item_id": "msg_1", "output_index": 0, "content_index": 0}, "".join(pieces())
    whole, called = {**message, "content": [{**part, "text": text}]}, {**call, "arguments": ARGUMENTS}
    deltas: list[Json] = [
        {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []} for piece in pieces()
    ]
    there = {"item_id": "fc_1", "output_index": 1}
    events: list[Json] = [
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": message},
        {"type": "response.content_part.added", **at, "part": part},
        *deltas,
        {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": {**part, "text": text}},
        {"type": "response.output_item.done", "output_index": 0, "item": {**whole, "status": "completed"}},
        {"type": "response.output_item.added", "output_index": 1, "item": {**call, "status": "in_progress"}},
        *({"type": "response.function_call_arguments.delta", **there, "delta": part} for part in _parts(ARGUMENTS)),
        {"type": "response.function_call_arguments.done", **there, "name": "weather", "arguments": ARGUMENTS},
        {"type": "response.output_item.done", "output_index": 1, "item": {**called, "status": "completed"}},
        {
            "type": "response.completed",
            "response": {**response, "status": "completed", "output": [whole, called], "usage": usage},
        },
    ]
    return sse([{**event, "sequence_number": number} for number, event in enumerate(events)], name="type")


def _anthropic() -> bytes:
    usage = {"input_tokens": 20, "output_tokens": 1}
    message: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "usage": usage,
    }
    call: Json = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}

    def delta(index: int, kind: str, member: str, text: str) -> Json:
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, member: text}}

    events: list[Json] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(delta(0, "text_delta", "text", piece) for piece in pieces()),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": call},
        *(delta(1, "input_json_delta", "partial_json", part) for part in _parts(ARGUMENTS)),
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": PIECES},
        },
        {"type": "message_stop"},
    ]
    return sse(events, name="type")


def _gemini() -> bytes:
    def chunk(parts: list[Json], count: int, finish: str | None = None) -> Json:
        usage = {"promptTokenCount": 20, "candidatesTokenCount": count, "totalTokenCount": count + 20}
        candidate: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL, "responseId": "r1"}

    call = {"functionCall": {"name": "weather", "args": json.loads(ARGUMENTS)}}
    events = [chunk([{"text": piece}], count) for count, piece in enumerate(pieces(), 1)]
    return sse([*events, chunk([call], PIECES), chunk([{"text": ""}], PIECES, "STOP")])


def _gemini_interactions() -> bytes:
    interaction = {"id": "v1_1", "object": "interaction", "model": MODEL, "status": "in_progress"}
    usage = {"total_input_tokens": 20, "total_output_tokens": PIECES, "total_tokens": PIECES + 20}
    call: Json = {"type": "function_call", "id": "call_1", "name": "weather", "arguments": {}}

    def event(kind: str, **more: Any) -> Json:
        return {"event_type": kind, **more}

    def text(piece: str) -> Json:
        return event("step.delta", index=0, delta={"type": "text", "text": piece})

    arguments = [
        event("step.delta", index=1, delta={"type": "arguments_delta", "arguments": part}) for part in _parts(ARGUMENTS)
    ]
    return sse(
        [
            event("interaction.created", interaction=interaction),
            event("step.start", index=0, step={"type": "model_output"}),
            *map(text, pieces()),
            event("step.stop", index=0),
            event("step.start", index=1, step=call),
            *arguments,
            event("step.stop", index=1),
            event("interaction.completed", interaction={**interaction, "status": "completed", "usage": usage}),
        ],
        name="event_type",
        done="[DONE]",
    )


def _bedrock_converse() -> bytes:
    def event(name: str, **payload: Any) -> Json:
        return {name: {**payload, "p": PADDING}}

    def delta(index: int, inner: Json) -> Json:
        return event("contentBlockDelta", contentBlockIndex=index, delta=inner)

    start = {"toolUse": {"name": "weather", "toolUseId": "tooluse_1"}}
    usage = {"inputTokens": 20, "outputTokens": PIECES, "totalTokens": PIECES + 20}
    return lines(
        [
            event("messageStart", role="assistant"),
            *(delta(0, {"text": piece}) for piece in pieces()),
            event("contentBlockStop", contentBlockIndex=0),
            event("contentBlockStart", contentBlockIndex=1, start=start),
            *(delta(1, {"toolUse": {"input": part}}) for part in _parts(ARGUMENTS)),
            event("contentBlockStop", contentBlockIndex=1),
            event("messageStop", stopReason="tool_use"),
            event("metadata", metrics={"latencyMs": 900}, usage=usage),
        ]
    )


def _bedrock_invoke() -> bytes:
    """Titan's events: one family of many, and none of another protocol here."""
    said = {"index": 0, "totalOutputTextTokenCount": None, "completionReason": None, "inputTextTokenCount": None}
    metrics = {"inputTokenCount": 20, "outputTokenCount": PIECES, "invocationLatency": 900, "firstByteLatency": 200}
    last: Json = {"completionReason": "FINISH", "totalOutputTextTokenCount": PIECES, "inputTextTokenCount": 20}
    events: list[Json] = [{"outputText": piece, **said} for piece in pieces()]
    return lines([*events, {"outputText": "", **said, **last, "amazon-bedrock-invocationMetrics": metrics}])


def _cohere_v2() -> bytes:
    def event(kind: str, index: int | None = None, **message: Any) -> Json:
        where = {} if index is None else {"index": index}
        return {"type": kind, **where, **({"delta": {"message": message}} if message else {})}

    function = {"name": "weather", "arguments": ""}
    call = {"id": "weather_1", "type": "function", "function": function}
    tokens = {"input_tokens": 20, "output_tokens": PIECES}
    return sse(
        [
            {**event("message-start", role="assistant", content=[], tool_plan="", tool_calls=[]), "id": "m1"},
            event("content-start", 0, content={"type": "text", "text": ""}),
            *(event("content-delta", 0, content={"text": piece}) for piece in pieces()),
            event("content-end", 0),
            event("tool-call-start", 0, tool_calls=call),
            *(event("tool-call-delta", 0, tool_calls={"function": {"arguments": part}}) for part in _parts(ARGUMENTS)),
            event("tool-call-end", 0),
            {
                "type": "message-end",
                "delta": {"finish_reason": "TOOL_CALL", "usage": {"billed_units": tokens, "tokens": tokens}},
            },
        ],
        name="type",
        done="[DONE]",
    )


def _ollama() -> bytes:
    def line(message: Json, **more: Any) -> Json:
        said = {"role": "assistant", "content": "", **message}
        return {"model": MODEL, "created_at": "2025-01-01T00:00:00Z", "message": said, "done": False, **more}

    call = {"function": {"name": "weather", "arguments": json.loads(ARGUMENTS)}}
    counts = {"prompt_eval_count": 20, "eval_count": PIECES, "total_duration": 900, "eval_duration": 800}
    events = [*(line({"content": piece}) for piece in pieces()), line({"tool_calls": [call]})]
    return lines([*events, line({}, done=True, done_reason="stop", **counts)])


def _ai_sdk() -> bytes:
    def part(kind: str, **more: Any) -> Json:
        return {"type": kind, **more}

    tool = {"toolCallId": "call_1", "toolName": "weather", "input": ARGUMENTS}
    usage = {"inputTokens": 20, "outputTokens": PIECES, "totalTokens": PIECES + 20}
    return lines(
        [
            part("stream-start", warnings=[]),
            part("response-metadata", id="r1", modelId=MODEL, timestamp="2025-01-01T00:00:00.000Z"),
            part("text-start", id="0"),
            *(part("text-delta", id="0", delta=piece) for piece in pieces()),
            part("text-end", id="0"),
            part("tool-input-start", id="call_1", toolName="weather"),
            *(part("tool-input-delta", id="call_1", delta=piece) for piece in _parts(ARGUMENTS)),
            part("tool-input-end", id="call_1"),
            part("tool-call", **tool),
            part("finish", finishReason="tool-calls", usage=usage),
        ]
    )


def _parts(text: str) -> list[str]:
    """Arguments as they are streamed."""
    return [text[at : at + 4] for at in range(0, len(text), 4)]


_MADE_UP: Final[Mapping[str, Callable[[], bytes]]] = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "gemini-interactions": _gemini_interactions,
    "bedrock-converse": _bedrock_converse,
    "bedrock-invoke": _bedrock_invoke,
    "cohere-v2": _cohere_v2,
    "ollama": _ollama,
    "ai-sdk": _ai_sdk,
}

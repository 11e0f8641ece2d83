"""Hand-written responses of Gemini for the unit tests, and what its adapters make of them."""

import json
from typing import Any

import msgspec

from conformance.recorded import Seen, decode_raw
from runwire.adapters import adapter
from runwire_schemas.raw import TextDelta, ThinkingDelta, ToolCallDelta
from unit.adapters.saying import Json, accepted, run, sse

COUNTS: Json = {"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12}
TOTALS: Json = {"total_input_tokens": 5, "total_output_tokens": 7, "total_tokens": 12}


def event(*parts: Json, finish: Any = None, candidate: Json | None = None, **more: Any) -> Json:
    """One response with one candidate. `candidate` adds to it, `more` to the response."""
    inner: Json = {"content": {"parts": list(parts), "role": "model"}, "index": 0, **(candidate or {})}
    if finish is not None:
        inner["finishReason"] = finish
    return {"candidates": [inner], "responseId": "r1", "modelVersion": "m", **more}


def end(finish: Any = "STOP", usage: Any = COUNTS, **more: Any) -> Json:
    """The last response: a reason and usage."""
    return event(finish=finish, usageMetadata=usage, **more)


def text(text: str, **more: Any) -> Json:
    return {"text": text, **more}


def thought(text: str, **more: Any) -> Json:
    return {"text": text, "thought": True, **more}


def call(name: str | None = None, args: Any = None, /, **more: Any) -> Json:
    """A `functionCall` part; what is None is left out."""
    function = {key: value for key, value in {"name": name, "args": args}.items() if value is not None}
    return {"functionCall": {**function, **more}}


def piece(path: str, *, more: bool | None = None, **value: Any) -> Json:
    """A piece of streamed arguments."""
    return {"jsonPath": path, **value, **({} if more is None else {"willContinue": more})}


def body(*events: Json | str) -> bytes:
    return sse(*events, done=False)


def gemini(*events: Json | str, choice: int = 0, last: Json | None = None) -> Seen:
    """What the adapter makes of these events and a good end; the grammar must accept it."""
    return accepted("gemini", body(*events, end() if last is None else last), choice=choice)


def parts(*given: Json, finish: Any = "STOP") -> Seen:
    """The same for the parts of one candidate, each in an event of its own."""
    return gemini(*(event(part) for part in given), last=end(finish))


def happened(kind: str, **more: Any) -> Json:
    """An event of an interaction."""
    return {"event_type": kind, **more}


def created(**more: Any) -> Json:
    about = {"id": "v1", "object": "interaction", "model": "m", "status": "in_progress", **more}
    return happened("interaction.created", interaction=about)


def completed(status: str | None = "completed", usage: Any = TOTALS, **more: Any) -> Json:
    about: Json = {"id": "v1", "object": "interaction", "model": "m", "usage": usage, **more}
    return happened("interaction.completed", interaction=about if status is None else {**about, "status": status})


def step(index: int, start: Json, *deltas: Json) -> list[Json]:
    """A step with its deltas."""
    return [
        happened("step.start", index=index, step=start),
        *(happened("step.delta", index=index, delta=delta) for delta in deltas),
        happened("step.stop", index=index),
    ]


OUTPUT: Json = {"type": "model_output"}
THOUGHT: Json = {"type": "thought"}
FUNCTION: Json = {"type": "function_call", "id": "x", "name": "f", "arguments": {}}


def said(text: str, **more: Any) -> Json:
    """A delta of text, or text in content."""
    return {"type": "text", "text": text, **more}


def summary(text: str) -> Json:
    """A delta of a thought."""
    return {"type": "thought_summary", "content": said(text)}


def signature(data: str) -> Json:
    return {"type": "thought_signature", "signature": data}


def arguments(text: str) -> Json:
    return {"type": "arguments_delta", "arguments": text}


def say(*texts: str) -> list[Json]:
    """A step of output."""
    return step(0, OUTPUT, *map(said, texts))


def interaction(*events: Json | str, last: Json | None = None) -> Seen:
    """What the adapter makes of these events between the usual first and last one."""
    whole = [created(), *events, completed() if last is None else last]
    return accepted("gemini-interactions", sse(*whole, done=True))


def metadata(seen: Seen) -> Json:
    """The facts about the response that its end tells."""
    said: Json = seen.beside("response-metadata")[-1]["providerMetadata"]
    return dict(next(iter(said.values())))


def raws(seen: Seen) -> list[Json]:
    """What was kept beside, without whose it is."""
    return [{key: value for key, value in kept.items() if key != "provider"} for kept in seen.beside("raw")]


def noted(provider: str, whole: bytes) -> list[tuple[str, Json]]:
    """The deltas that carry Gemini's metadata: their text, and the metadata."""
    chunks = [decode_raw(data) for kind, data in run(adapter(provider), whole) if kind == "provider"]
    deltas = [one for one in chunks if isinstance(one, TextDelta | ThinkingDelta | ToolCallDelta)]
    return [
        (one.arguments_delta if isinstance(one, ToolCallDelta) else one.text, json.loads(bytes(one.gemini)))
        for one in deltas
        if isinstance(one.gemini, msgspec.Raw)
    ]

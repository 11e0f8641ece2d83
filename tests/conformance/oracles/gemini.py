"""Gemini through google-genai: its decoder and its typed responses, which it does not put together itself."""

from typing import Any

import httpx
import msgspec
from google import genai
from google.genai import errors, types

from conformance.expected import Expected, quiet
from runwire_schemas.raw import Usage

_GEMINI_FINISH = {
    "STOP": "stop",
    "MAX_TOKENS": "max_tokens",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
}


# What only Vertex sends: its client takes it, and AI Studio's leaves it out.
_VERTEX = (b'"trafficType"', b'"citations"')


def client(body: bytes) -> Any:
    """A `genai.Client` whose every request is answered with this body."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body, request=request)

    transport = httpx.MockTransport(answer)
    options = types.HttpOptions(base_url="http://provider.invalid", client_args={"transport": transport})
    vertex = any(mark in body for mark in _VERTEX)
    return genai.Client(api_key="none", vertexai=vertex, http_options=options)


def events(body: bytes) -> list[Any]:
    """What `generate_content_stream` hands out."""
    with quiet(), client(body) as google:
        return list(google.models.generate_content_stream(model="m", contents="Hi"))


def reads(body: bytes) -> Expected:
    """The typed fields joined in their order, and no more than that. Arguments that are streamed it leaves apart."""
    text, reasoning, finish, said, raised = "", "", None, None, ""
    tools: list[tuple[str, str, str]] = []
    try:
        with quiet(), client(body) as google:
            for response in google.models.generate_content_stream(model="m", contents="Hi"):
                said = response.usage_metadata or said
                for candidate in response.candidates or ():
                    finish = None if candidate.finish_reason is None else candidate.finish_reason.value
                    for part in (candidate.content and candidate.content.parts) or ():
                        text += part.text or "" if not part.thought else ""
                        reasoning += part.text or "" if part.thought else ""
                        tools += _tools(part)
    except errors.APIError as error:
        raised = f"error: {error.message}"
    except Exception as error:  # noqa: BLE001 - whatever it raises on a body that a server sent is a difference
        return Expected("", "", [], None, None, f"sdk: {error!r}")
    kind = None if finish is None else _GEMINI_FINISH[finish]
    return Expected(text, reasoning, tools, _usage(said), "error" if raised else kind, raised)


def _tools(part: Any) -> list[tuple[str, str, str]]:
    if part.function_call is not None:
        call = part.function_call
        return [(call.id or "", call.name or "", _json(call.args or {}))]
    if part.tool_call is not None:
        return [(part.tool_call.id or "", part.tool_call.tool_type.value, _json(part.tool_call.args or {}))]
    if part.executable_code is not None:
        code = part.executable_code
        return [(code.id or "", "code_execution", _json({"language": code.language, "code": code.code}))]
    return []


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _usage(said: Any) -> Usage | None:
    """The disjoint mapping of docs/adapters.md, written a second time from the SDK's own fields."""
    if said is None or said.prompt_token_count is None:
        return None
    candidates, thoughts, cached = (
        said.candidates_token_count,
        said.thoughts_token_count,
        said.cached_content_token_count,
    )
    if candidates is None and thoughts is None:
        return None
    return Usage(
        input_tokens=said.prompt_token_count + (said.tool_use_prompt_token_count or 0) - (cached or 0),
        output_tokens=(candidates or 0) + (thoughts or 0),
        cache_read_tokens=cached,
        reasoning_tokens=thoughts,
    )

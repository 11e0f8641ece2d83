"""Ollama through the ollama package: its decoder and its typed lines, which it does not put together itself."""

from typing import Any

import httpx
import msgspec
import ollama

from conformance.expected import Expected, quiet
from runwire_schemas.raw import Usage

_OLLAMA_FINISH = {"stop": "stop", "length": "max_tokens"}


def events(body: bytes) -> list[Any]:
    """What `Client.chat` or `Client.generate` hands out, by which of the two answered."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=body.strip(), request=request)

    with quiet():
        client = ollama.Client(host="http://provider.invalid", transport=httpx.MockTransport(answer))
        if b'"message"' in body:
            return list(client.chat(model="m", messages=[], stream=True))
        return list(client.generate(model="m", stream=True))


def reads(body: bytes) -> Expected:
    """The typed fields joined in their order, and no more than that. The package leaves the calls' ids out."""
    text, reasoning, finish, usage = "", "", None, None
    tools: list[tuple[str, str, str]] = []
    for line in events(body):
        said = getattr(line, "message", line)
        text += (said.content if said is not line else line.response) or ""
        reasoning += said.thinking or ""
        functions = [call.function for call in getattr(said, "tool_calls", None) or ()]
        tools += [("", function.name, msgspec.json.encode(function.arguments).decode()) for function in functions]
        if line.done:
            finish = _OLLAMA_FINISH[line.done_reason]
            if line.prompt_eval_count is not None and line.eval_count is not None:
                usage = Usage(input_tokens=line.prompt_eval_count, output_tokens=line.eval_count)
    return Expected(text, reasoning, tools, usage, finish, "")

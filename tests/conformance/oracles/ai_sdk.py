"""The AI SDK's stream parts through its own `streamText`, which puts a response together."""

from pathlib import Path
from typing import Any

import msgspec

from conformance.expected import Expected
from helpers.parts import ANSWERS
from runwire_schemas.raw import Usage

_FINISH = {"stop": "stop", "tool-calls": "tool_calls", "length": "max_tokens", "content-filter": "content_filter"}
# Packages whose V2 input leaves out what the cache gave, and those whose V2 output leaves out reasoning.
_APART = ("anthropic", "bedrock")
_BESIDE = ("google",)


class Answer(msgspec.Struct, frozen=True):
    """One recording read by one version. `reader`: the package. `raised`: its error, if it raised one.

    `tools` are [id, name, parsed input].
    """

    file: str
    version: str
    protocol: str
    name: str
    reader: str
    raised: str
    text: str = ""
    reasoning: str = ""
    tools: tuple[tuple[str, str, Any], ...] = ()
    usage: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    finish: str = ""
    errors: int = 0


def answers(folder: Path) -> list[Answer]:
    """What the AI SDK made of all recordings."""
    lines = (folder / ANSWERS).read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Answer) for line in lines]


def reads(answer: Answer) -> Expected:
    """One of them, in the form that all oracles have."""
    tools = [(identity, name, msgspec.json.encode(value).decode()) for identity, name, value in answer.tools]
    finish = _FINISH.get(answer.finish, "error" if answer.errors else None)
    raised = f"sdk: {answer.raised}" if answer.raised else ""
    return Expected(answer.text, answer.reasoning, tools, _usage(answer), finish, raised)


def events(body: bytes) -> list[object]:
    """The parts as objects, as they come out of `doStream`."""
    lines = (line.removeprefix(b"data: ") for line in body.splitlines())
    return [msgspec.json.decode(line) for line in lines if line.startswith(b"{")]


def _usage(answer: Answer) -> Usage | None:
    """The disjoint counts, written a second time: here it is known which package counted."""
    said = answer.usage
    given, output = said.get("inputTokens"), said.get("outputTokens")
    if answer.version == "v2":
        read, reasoning = said.get("cachedInputTokens"), said.get("reasoningTokens")
        if given is not None and answer.reader not in _APART:
            given -= read or 0
        if output is not None and answer.reader in _BESIDE:
            output += reasoning or 0
        written = answer.metadata.get("anthropic", {}).get("cacheCreationInputTokens")
        if written is None:
            written = answer.metadata.get("bedrock", {}).get("usage", {}).get("cacheWriteInputTokens")
    else:
        inputs, outputs = said.get("inputTokenDetails", {}), said.get("outputTokenDetails", {})
        given, read, written = (inputs.get(f"{name}Tokens") for name in ("noCache", "cacheRead", "cacheWrite"))
        reasoning = outputs.get("reasoningTokens")
    if given is None or output is None:
        return None
    return Usage(
        input_tokens=given,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
    )

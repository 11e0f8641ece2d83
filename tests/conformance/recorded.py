"""Recorded streams through an adapter, and what came out of it in a form that can be compared."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from conformance.eventstream import conversed, invoked
from conformance.spoken import spoken
from helpers import corpus
from runwire.adapters import PROVIDERS, Emitted, adapter
from runwire.grammar.limits import Limits
from runwire.grammar.machine import RunMachine
from runwire_schemas.evidence import Evidence
from runwire_schemas.raw import (
    Aborted,
    BlockEnd,
    BlockStart,
    Failed,
    Finish,
    FinishReason,
    RawChunk,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolCallDelta,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UsageReport,
)
from runwire_schemas.record import Record, UsageRule

decode_raw = msgspec.json.Decoder(RawChunk).decode


class Tool(NamedTuple):
    id: str
    name: str
    arguments: str


class Seen:
    """What one call's chunks say, put together."""

    def __init__(self, emitted: Iterable[Emitted]) -> None:
        self.text = ""
        self.reasoning = ""
        self.thinking: list[ThinkingBlock] = []
        self.tools: list[Tool] = []
        self.results: list[ToolResultBlock] = []
        self.usage: Usage | None = None
        self.reason: FinishReason | None = None
        self.agent: list[dict[str, Any]] = []
        self.kinds: list[str] = []
        self.executed: set[str] = set()
        self.gemini: list[bytes] = []
        for kind, body in emitted:
            if kind == "agent":
                self.agent.append(msgspec.json.decode(body))
            else:
                self._see(decode_raw(body))

    def _see(self, chunk: RawChunk) -> None:
        match chunk:
            case BlockStart():
                self.kinds.append(chunk.block_kind)
            case TextDelta():
                self.text += chunk.text
            case ThinkingDelta():
                self.reasoning += chunk.text
            case ToolCallDelta():
                self._tool_delta(chunk)
            case BlockEnd():
                self._end(chunk)
            case UsageReport():
                self.usage = chunk.usage
            case Finish():
                self.reason = chunk.reason

    def _tool_delta(self, chunk: ToolCallDelta) -> None:
        if chunk.provider_executed:
            self.executed.add(chunk.id)
        if chunk.gemini is not msgspec.UNSET:
            self.gemini.append(bytes(chunk.gemini))

    def beside(self, kind: str) -> list[Any]:
        """Payloads of the agent chunks of that type."""
        return [chunk["payload"] for chunk in self.agent if chunk["type"] == kind]

    def _end(self, chunk: BlockEnd) -> None:
        block = chunk.block
        if isinstance(block, ThinkingBlock):
            self.thinking.append(block)
        elif isinstance(block, ToolUseBlock):
            self.tools.append(Tool(block.id, block.name, block.arguments))
        elif isinstance(block, ToolResultBlock):
            self.results.append(block)

    @property
    def finish(self) -> str:
        return "" if self.reason is None else msgspec.json.decode(msgspec.json.encode(self.reason))["kind"]

    @property
    def failure(self) -> str:
        return self.reason.failure.message if isinstance(self.reason, Failed | Aborted) else ""


def files() -> list[tuple[str, Path]]:
    """Every recorded stream that has an adapter. Leaves the caller out where there are none."""
    return [(provider, path) for provider in PROVIDERS for path in corpus(provider)]


def convert(provider: str, pieces: Iterable[bytes], *, choice: int = 0) -> list[Emitted]:
    wire = adapter(provider, choice=choice)
    emitted = [chunk for piece in pieces for chunk in wire.feed(piece)]
    return emitted + wire.close()


def judge(emitted: Iterable[Emitted], usage: UsageRule) -> tuple[list[bytes], list[Evidence]]:
    """What the enforcer makes of a call that is a run of its own."""
    machine = RunMachine("recorded", Limits())
    for number, (kind, body) in enumerate(emitted, 1):
        declared = usage if number == 1 else None
        machine.feed(
            Record(
                id=f"{number}-0",
                run="recorded",
                kind=kind,
                src="test",
                epoch=0,
                seq=number,
                body=body,
                call="1",
                usage=declared,
            )
        )
    produced = machine.take()
    return list(produced.chunks), [finding for finding in produced.evidence if finding.cls in {"fatal", "refused"}]


def as_sse(provider: str, path: Path) -> bytes:
    """The body as its SDK reads it. Files of decoded events get their framing back; the rest is as recorded."""
    body = path.read_bytes()
    if path.suffix == ".sse" or provider == "ollama":
        return body
    if provider == "gemini":
        # Its SDK takes no `[DONE]`, and an array's elements are written over many lines.
        elements = (msgspec.json.format(event, indent=-1) for event in spoken(provider).events(path))
        return b"".join(b"data: %s\n\n" % element for element in elements)
    events = [line for line in body.splitlines() if line.strip()]
    if provider.startswith("bedrock"):
        return conversed(events) if provider == "bedrock-converse" else invoked(events)
    if provider == "anthropic":
        named = [(msgspec.json.decode(event)["type"].encode(), event) for event in events]
        return b"".join(b"event: %s\ndata: %s\n\n" % pair for pair in named)
    return b"".join(b"data: %s\n\n" % event for event in events) + b"data: [DONE]\n\n"

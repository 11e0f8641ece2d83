"""Tool calls: their input streamed, then repeated whole by `tool-call`, and the results of the provider's own."""

import json
from typing import Final

import msgspec

from runwire.adapters.ai_sdk.metadata import MANY, MUCH, Metadata
from runwire.adapters.ai_sdk.wire import NULL, Members, flag_of, object_of, rest_of, word_of
from runwire.adapters.opaque import compact, quote, text_of
from runwire.adapters.writing.call import MAX_OPEN_TOOLS, Call
from runwire.adapters.writing.writer import Block
from runwire_schemas.raw import Failure

_START_READ: Final = frozenset({"type", "id", "toolName", "providerExecuted", "providerMetadata", "inputEncoding"})
_CALL_READ: Final = frozenset({"type", "toolCallId", "toolName", "input", "providerExecuted", "providerMetadata"})
_RESULT_READ: Final = frozenset(
    {"toolName", "result", "isError", "providerExecuted", "preliminary", "type", "toolCallId"}
)
_EXECUTED: Final = b',"providerExecuted":true'
# Arguments are an object. Input that is text (OpenAI's custom tools) is its one member.
_TEXT_BEGINS: Final = '{"input":"'
_TEXT_ENDS: Final = '"}'


class _Tool:
    __slots__ = ("block", "encoded", "metadata", "name", "noted", "rest", "whole")

    def __init__(self, block: Block, name: str) -> None:
        self.block = block
        self.name = name
        self.encoded = False  # input is text, and is being written as JSON
        self.whole = False  # the input that was written needs nothing more
        self.metadata = Metadata()
        self.noted = b""  # Gemini's metadata that was passed on
        self.rest: Members = {}


class Tools:
    """The tool calls of one response. An id is one call from its start, or its `tool-call`, to its `tool-call`."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._open: dict[str, _Tool] = {}
        # Ids that were changed: left out, used twice, or only numbers. At most one for each block that a call may have.
        self._written: dict[str, str] = {}

    def start(self, part: Members) -> None:
        """`tool-input-start`. A second one for a call that has no input yet repeats the first."""
        identity, name = word_of(part, "id"), word_of(part, "toolName")
        tool = self._open.get(identity)
        if tool is None or tool.block.size or tool.name != name:
            if tool is not None:
                self._end(identity, tool)
            tool = self._begin(identity, name, part)
        if text_of(part.get("inputEncoding")) == "text" and not tool.encoded:
            tool.encoded = True
            self._call.tool_arguments(tool.block, _TEXT_BEGINS)
        self._about(tool, part, _START_READ)

    def delta(self, identity: str, text: str, metadata: msgspec.Raw) -> None:
        """`tool-input-delta`."""
        tool = self._open.get(identity)
        if tool is None:
            if text:
                message = f"input of tool call {identity!r} came without the call"
                self._call.fail(Failure(message=message, code="tool-name-missing"))
            return
        self._call.tool_arguments(tool.block, _escaped(text) if tool.encoded else text)
        if metadata is not NULL:
            self._note(tool, metadata)

    def stop(self, part: Members) -> None:
        """`tool-input-end`: the call itself follows, and says what was not streamed."""
        tool = self._open.get(word_of(part, "id"))
        if tool is not None:
            self._about(tool, part, _START_READ)

    def call(self, part: Members) -> None:
        """`tool-call`: the whole of it, with or without streamed input before it."""
        identity, name = word_of(part, "toolCallId"), word_of(part, "toolName")
        tool = self._open.get(identity) or self._begin(identity, name, part)
        if not tool.name:
            tool.name = name
            self._call.name_tool(tool.block, name)
        elif name and name != tool.name:
            tool.rest["toolName"] = msgspec.Raw(quote(name))
        self._about(tool, part, _CALL_READ)
        self._input(tool, part.get("input", NULL))
        self._end(identity, tool)

    def result(self, part: Members) -> None:
        """`tool-result`. A preliminary one is replaced by the next, which a raw block cannot be."""
        identity = word_of(part, "toolCallId")
        tool = self._open.get(identity)
        if tool is not None:
            self._end(identity, tool)
        written = self._written.get(identity) or self._call.qualified(identity)
        content = compact(part.get("result", NULL))
        if flag_of(part, "preliminary"):
            self._call.beside("raw", {"toolCallId": quote(written), "preliminaryResult": content})
        else:
            is_error = flag_of(part, "isError") if "isError" in part else None
            self._call.tool_result(written, content, is_error=is_error, name=word_of(part, "toolName"))
        rest = rest_of(part, _RESULT_READ)
        if rest:
            self._call.beside("raw", {"toolCallId": quote(written), "toolResult": object_of(rest)})

    def close(self) -> None:
        """The response is over: calls that no `tool-call` completed have what was streamed of them."""
        for identity, tool in list(self._open.items()):
            self._end(identity, tool)

    def abandon(self) -> None:
        """The response failed: calls that are open stay open, so that nobody takes them for whole."""
        for tool in self._open.values():
            self._beside(tool)

    def _begin(self, identity: str, name: str, part: Members) -> _Tool:
        if len(self._open) >= MAX_OPEN_TOOLS:
            self._call.fail(Failure(message="the response has too many open tool calls", code="too-many-blocks"))
        executed = flag_of(part, "providerExecuted")
        tool = _Tool(self._call.open_tool(self._call.qualified(identity), name, executed=executed), name)
        self._open[identity] = tool
        if tool.block.id != identity:
            self._written[identity] = tool.block.id
        return tool

    def _about(self, tool: _Tool, part: Members, read: frozenset[str]) -> None:
        """Who executes the call, Gemini's metadata, and what has no place of its own."""
        if flag_of(part, "providerExecuted"):
            tool.block.executed = _EXECUTED
        self._note(tool, part.get("providerMetadata", NULL))
        tool.rest.update(rest_of(part, read))
        if len(tool.rest) > MANY or sum(len(bytes(raw)) for raw in tool.rest.values()) > MUCH:
            self._beside(tool)

    def _note(self, tool: _Tool, metadata: msgspec.Raw) -> None:
        tool.metadata.take(metadata)
        if tool.metadata.full:
            self._beside(tool)
        gemini = tool.metadata.gemini
        if gemini != tool.noted:
            tool.noted = gemini
            self._call.name_tool(tool.block, "", gemini)

    def _input(self, tool: _Tool, raw: msgspec.Raw) -> None:
        """The whole input. What was not streamed is sent; what contradicts the streamed text is kept beside."""
        given = text_of(raw)
        if given is None:
            given = "" if bytes(raw) == b"null" else compact(raw).decode()
        if given.startswith('"'):
            given = f'{{"input":{given}}}'
        streamed = self._streamed(tool.block)
        if given.startswith(streamed):
            self._call.tool_arguments(tool.block, given[len(streamed) :])
            tool.whole = True
            return
        if tool.encoded:
            streamed += _TEXT_ENDS
        if not _same(streamed, given):
            tool.rest["input"] = msgspec.Raw(quote(given))

    def _streamed(self, block: Block) -> str:
        text: str = msgspec.json.decode(b'"%s"' % self._call.content(block), type=str)
        return text

    def _end(self, identity: str, tool: _Tool) -> None:
        del self._open[identity]
        if tool.encoded and not tool.whole:
            self._call.tool_arguments(tool.block, _TEXT_ENDS)
        self._beside(tool)
        self._call.end_tool(tool.block)

    def _beside(self, tool: _Tool) -> None:
        metadata = tool.metadata.rest()
        if metadata is not None:
            tool.rest["providerMetadata"] = msgspec.Raw(metadata)
        if tool.rest:
            self._call.beside("raw", {"toolCallId": quote(tool.block.id), "toolCall": object_of(tool.rest)})
            tool.rest.clear()


def _escaped(text: str) -> str:
    """As it stands inside a JSON string. Halves of surrogate pairs stay, for `Call` to join."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _same(streamed: str, given: str) -> bool:
    """The same JSON, spelled otherwise."""
    try:
        read = [msgspec.json.decode(text.encode(errors="replace")) for text in (streamed, given)]
    except (msgspec.DecodeError, RecursionError):
        return False
    return bool(read[0] == read[1])

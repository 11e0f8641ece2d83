"""Calls and results in an interaction: the client's functions, and the tools that Google runs itself."""

from typing import Final

import msgspec

from runwire.adapters.gemini.wire import given, object_of, rest_of
from runwire.adapters.gemini_interactions.wire import NULL, Members
from runwire.adapters.opaque import compact, items_of, present, quote, text_of
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.writer import Block

FUNCTION: Final = "function_call"
CALL: Final = "_call"
RESULT: Final = "_result"
_CALL_READ: Final = frozenset({"type", "id", "name", "arguments"})
_RESULT_READ: Final = frozenset({"type", "call_id", "name", "result", "is_error"})


class ToolCall:
    """A step that is a call. It begins as soon as its id and name are known."""

    def __init__(self, call: Call, kind: str) -> None:
        self._call = call
        self.function = kind == FUNCTION
        self._name = "" if self.function else kind.removesuffix(CALL)
        self.id = ""
        self._given = b""  # arguments that came as an object
        self._block: Block | None = None

    def say(self, members: Members) -> None:
        """What a start or a delta says of it."""
        self._name = text_of(members.get("name")) or self._name
        self.id = self.id or self._call.qualified(text_of(members.get("id")) or "")
        arguments = members.get("arguments", NULL)
        text = text_of(arguments)
        if text is None and present(arguments):
            self._give(compact(arguments))
        rest = rest_of(members, _CALL_READ)
        if self._block is None and (self.id and self._name):
            self._begin(rest)
        elif rest:
            self._call.name_tool(self._begun(), "", object_of(rest))
        self.arguments(text or "")

    def arguments(self, text: str) -> None:
        """More of their JSON text."""
        if text:
            self._call.tool_arguments(self._begun(), text)

    def end(self) -> str:
        """The step is over. Returns the id that the call has here."""
        block = self._begun()
        self._call.end_tool(block, self._given or b"{}")
        return block.id

    def _give(self, arguments: bytes) -> None:
        """Each report is whole; one that another replaces is kept beside."""
        if self._given and self._given != arguments:
            self._call.beside("raw", {"toolCallId": quote(self.id), "arguments": self._given})
        self._given = arguments

    def _begun(self) -> Block:
        return self._block or self._begin({})

    def _begin(self, rest: Members) -> Block:
        gemini = object_of(rest) if rest else b""
        self._block = self._call.open_tool(self.id, self._name, executed=not self.function, gemini=gemini)
        return self._block


class ToolResult:
    """A step that is the result of a call."""

    def __init__(self, call: Call, kind: str) -> None:
        self._call = call
        self._name = "" if kind == f"function{RESULT}" else kind.removesuffix(RESULT)
        self.id = ""
        self._content = b""
        self._failed: bool | None = None
        self._rest: Members = {}

    def say(self, members: Members) -> None:
        """What a start or a delta says of it."""
        self._name = text_of(members.get("name")) or self._name
        self.id = self.id or self._call.qualified(text_of(members.get("call_id")) or "")
        if given(members, "is_error"):
            self._failed = bytes(members["is_error"]) == b"true"
        if given(members, "result"):
            self._add(compact(members["result"]))
        self._rest |= rest_of(members, _RESULT_READ)

    def end(self, identity: str) -> None:
        """The step is over. `identity`: of its call, as it has it here."""
        identity = identity or self._call.made_id()
        self._call.tool_result(identity, self._content or b"null", is_error=self._failed, name=self._name)
        if self._rest:
            self._call.beside("raw", {"toolCallId": quote(identity), "step": object_of(self._rest)})

    def _add(self, result: bytes) -> None:
        """Lists and texts come in pieces; anything else replaces what came, which is kept beside."""
        before, after = text_of(self._content), text_of(result)
        if before is not None and after is not None:
            self._content = quote(before + after)
        elif self._content.startswith(b"[") and result.startswith(b"["):
            self._content = msgspec.json.encode([*items_of(self._content), *items_of(result)])
        else:
            if self._content not in (b"", b"[]", b"{}", b'""', result):
                self._call.beside("raw", {"toolCallId": quote(self.id), "result": self._content})
            self._content = result

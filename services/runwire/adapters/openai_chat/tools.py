"""Which tool call a piece belongs to. Servers number calls, name them, do both or neither; none is merged or split."""

import re
from typing import Final

import msgspec

from runwire.adapters.opaque import quote
from runwire.adapters.openai_chat.wire import ToolPart
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.writer import MAX_BLOCKS, Block
from runwire_schemas.raw import Failure

# What changes the depth of JSON or begins and ends its strings; a backslash that is the last character may escape the
# first one of the next piece.
_MARK: Final = re.compile(r'\\.|[\\"{}\[\]]', re.DOTALL)


class _Seen:
    """Whether the arguments so far are one JSON object. Each piece is read once, however often that is asked."""

    __slots__ = ("_closed", "_depth", "_held", "_quoted", "_read")

    def __init__(self) -> None:
        self._read = 0  # pieces
        self._depth = 0
        self._quoted = False
        self._held = ""  # a backslash at the end of the last piece
        self._closed: bool | None = None  # whether what closed its last bracket was an object

    def whole(self, pieces: list[bytes]) -> bool:
        """The pieces are JSON string content. Text after the last bracket makes no object of what was none."""
        if self._closed is not None:
            return self._closed
        new = pieces[self._read :]
        self._read = len(pieces)
        text: str = self._held + msgspec.json.decode(b'"%s"' % b"".join(new), type=str)
        self._held = ""
        begun = False
        for found in _MARK.finditer(text):
            mark = found.group()
            if mark == "\\":
                self._held = mark
            elif mark == '"':
                self._quoted = not self._quoted
            elif not self._quoted:
                self._depth += 1 if mark in "{[" else -1
                begun = True
        if begun and self._depth <= 0 and not self._quoted:
            self._closed = _object(pieces)
        return self._closed or False


def _object(pieces: list[bytes]) -> bool:
    try:
        text: str = msgspec.json.decode(b'"%s"' % b"".join(pieces), type=str)
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


class _Tool:
    __slots__ = ("block", "custom", "gemini", "id", "name", "seen")

    def __init__(self, identity: str, name: str) -> None:
        self.id = identity
        self.name = name
        self.block: Block | None = None  # opened with the first arguments, or with id and name
        self.gemini = b""
        self.seen = _Seen()
        self.custom = False  # its input is any text: it becomes the one member of an object


class Tools:
    """The tool calls of one choice, in the order in which they began.

    A piece continues a call if its index, or without one its id, is known; a piece with neither continues the last
    call. It begins a call if nothing is known yet, or if it carries a name and differs: another id than the call at
    its index, or no id while that call's arguments are already a whole JSON object. An id without a name never begins
    one: some servers make up a new id for every piece.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self._all: list[_Tool] = []
        self._by_index: dict[int, _Tool] = {}
        self._by_id: dict[str, _Tool] = {}

    def feed(self, part: ToolPart, gemini: bytes = b"") -> None:
        """One entry of `tool_calls`; `gemini` is its metadata as compact JSON."""
        function = part.function
        name = (function.name if function is not None else None) or ""
        arguments = (function.arguments if function is not None else None) or ""
        tool = self._find(part, name, arguments) or self._begin(part)
        if name and not tool.name:
            tool.name = name
        elif name and name != tool.name:
            self._call.beside("raw", {"toolCallId": quote(tool.id), "toolCall": b'{"name":%s}' % quote(name)})
        if part.id and not tool.id:
            tool.id = part.id
            self._by_id.setdefault(part.id, tool)
        tool.custom = tool.custom or part.type == "custom"
        self._write(tool, quote(arguments)[1:-1].decode() if tool.custom else arguments, gemini)

    def finish(self) -> None:
        """The response is over: calls that were only announced are opened too."""
        for tool in self._all:
            if tool.block is None:
                self._open(tool)
            if tool.custom and tool.block is not None:
                self._call.tool_arguments(tool.block, '"}')

    def _find(self, part: ToolPart, name: str, arguments: str) -> _Tool | None:
        known = self._by_id.get(part.id) if part.id else None
        if part.index is not None:
            tool = self._by_index.get(part.index) or (known if not name else None)
        else:
            tool = known or (self._all[-1] if self._all else None)
        if tool is None or not name or tool is known:
            return tool
        if part.id:
            # The first id of a call that was only announced is not another call.
            return tool if not tool.id and tool.block is None else None
        if part.index is None and tool.name and name != tool.name:
            return None
        pieces = tool.block.pieces if tool.block is not None else []
        return None if arguments.strip() and tool.seen.whole(pieces) else tool

    def _begin(self, part: ToolPart) -> _Tool:
        if len(self._all) >= MAX_BLOCKS:
            message = f"the response announces more than {MAX_BLOCKS} tool calls"
            self._call.fail(Failure(message=message, code="too-many-blocks"))
        tool = _Tool(part.id or "", "")
        self._all.append(tool)
        if part.index is not None:
            self._by_index[part.index] = tool
        if part.id:
            self._by_id[part.id] = tool
        return tool

    def _write(self, tool: _Tool, arguments: str, gemini: bytes) -> None:
        if tool.block is None:
            tool.gemini = gemini or tool.gemini
            if not arguments and not (tool.id and tool.name):
                return
            self._open(tool)
        elif gemini or not tool.block.name:
            self._call.name_tool(tool.block, tool.name, gemini)
        if arguments and tool.block is not None:
            self._call.tool_arguments(tool.block, arguments)

    def _open(self, tool: _Tool) -> None:
        tool.block = self._call.open_tool(tool.id, tool.name, gemini=tool.gemini)
        if tool.custom:
            self._call.tool_arguments(tool.block, '{"input":"')
        tool.id = tool.id or tool.block.id

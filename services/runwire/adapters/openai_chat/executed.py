"""Tools that Groq's compound systems run themselves: `executed_tools` in a delta."""

from hashlib import blake2b
from typing import Final

import msgspec

from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, text_of
from runwire.adapters.openai_chat.wire import UNREAD
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.writer import MAX_BLOCKS

_CALL: Final = frozenset({"index", "type", "arguments"})


class Executed:
    """The calls and results of one choice, by their index. Each entry has the call, a later one its result as well."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._ids: dict[int, str] = {}  # as many as a call may have blocks
        self._results: dict[int, bytes] = {}  # the digest of what an index had for a result

    def feed(self, raw: bytes) -> None:
        """`executed_tools`, compact JSON: an array."""
        for item in items_of(raw) or [msgspec.Raw(raw)]:
            members = fields_of(item)
            if members is None:
                self._call.beside("raw", {"delta": b'{"executed_tools":[%s]}' % compact(item)})
            else:
                self._tool(members)

    def _tool(self, members: dict[str, msgspec.Raw]) -> None:
        number = integer_of(members.get("index"))
        index = len(self._ids) if number is None else number
        identity = self._ids.get(index) or self._open(index, members)
        rest = {name: raw for name, raw in members.items() if name not in _CALL and _says(raw)}
        if not rest or not identity:
            return
        content = compact(msgspec.json.encode(rest))
        digest = blake2b(content).digest()
        if self._results.get(index) != digest:
            self._results[index] = digest
            self._call.tool_result(identity, content, is_error=None)

    def _open(self, index: int, members: dict[str, msgspec.Raw]) -> str:
        if len(self._ids) >= MAX_BLOCKS:
            return ""
        raw = members.get("arguments", UNREAD)
        text = text_of(raw)
        arguments = (compact(raw).decode() if present(raw) else "") if text is None else text
        block = self._call.open_tool("", text_of(members.get("type")) or "tool", executed=True)
        self._ids[index] = block.id
        if arguments:
            self._call.tool_arguments(block, arguments)
        self._call.end_tool(block)
        return block.id


def _says(raw: msgspec.Raw) -> bool:
    members = fields_of(raw)
    return present(raw) if members is None else any(present(value) for value in members.values())

"""Tools that Google runs itself: code execution, and what comes as `toolCall` and `toolResponse`."""

from typing import Final

import msgspec

from runwire.adapters.gemini.wire import NULL, Members, given, members_of, object_of, rest_of
from runwire.adapters.opaque import compact, quote, text_of
from runwire.adapters.writing.call import Call

CODE: Final = "code_execution"
_ID: Final = frozenset({"id"})
_CALL_READ: Final = frozenset({"id", "toolType", "args"})
_RESULT_READ: Final = frozenset({"id", "toolType", "response"})
_WENT_WELL: Final = ("OUTCOME_OK", "OUTCOME_UNSPECIFIED")
# `outcome` as a number.
_NUMBERS: Final = {b"0": "OUTCOME_UNSPECIFIED", b"1": "OUTCOME_OK"}


class Executed:
    """The tools of one answer. A result without an id belongs to the first code that has none yet."""

    def __init__(self, call: Call) -> None:
        self._call = call
        # Both hold at most as many ids as a call may have blocks.
        self._waiting: list[str] = []  # ids of code without a result
        self._ids: dict[str, str] = {}  # the provider's id: what it is here

    def code(self, raw: msgspec.Raw, rest: Members) -> None:
        """`executableCode`."""
        members = members_of(raw) or {}
        self._waiting.append(self._open(self._id(members), CODE, object_of(rest_of(members, _ID)), rest))

    def code_result(self, raw: msgspec.Raw, rest: Members) -> None:
        """`codeExecutionResult`."""
        members = members_of(raw) or {}
        given_id = self._id(members)
        identity = self._ids.get(given_id, given_id) if given_id else self._waiting[0] if self._waiting else ""
        if identity in self._waiting:
            self._waiting.remove(identity)
        outcome = members.get("outcome", NULL)
        word = text_of(outcome) or _NUMBERS.get(bytes(outcome), "OUTCOME_FAILED" if given(members, "outcome") else "")
        failed = None if not word else word not in _WENT_WELL
        self._result(identity, object_of(rest_of(members, _ID)), CODE, rest, is_error=failed)

    def tool(self, raw: msgspec.Raw, rest: Members) -> None:
        """`toolCall`. Its type is the tool's name."""
        members = members_of(raw) or {}
        arguments = compact(members["args"]) if given(members, "args") else b"{}"
        rest = {**rest, **rest_of(members, _CALL_READ)}
        self._open(self._id(members), _name(members), arguments, rest)

    def tool_result(self, raw: msgspec.Raw, rest: Members) -> None:
        """`toolResponse`. One without an id belongs to the last call that had none."""
        members = members_of(raw) or {}
        given_id = self._id(members)
        rest = {**rest, **rest_of(members, _RESULT_READ)}
        content = compact(members.get("response", NULL))
        self._result(self._ids.get(given_id, given_id), content, _name(members), rest, is_error=None)

    def prose(self) -> None:
        """Text follows: what code has no result by now gets none. Some tools show their code and not its result."""
        self._waiting.clear()

    def _id(self, members: Members) -> str:
        return self._call.qualified(text_of(members.get("id")) or "")

    def _open(self, identity: str, name: str, arguments: bytes, rest: Members) -> str:
        gemini = object_of(rest) if rest else b""
        block = self._call.open_tool(identity, name, executed=True, gemini=gemini)
        self._call.tool_arguments(block, arguments.decode())
        self._call.end_tool(block)
        self._ids[identity] = block.id
        return block.id

    def _result(self, identity: str, content: bytes, name: str, rest: Members, *, is_error: bool | None) -> None:
        if not identity:
            # A result must say whose it is, and nobody knows.
            identity = self._call.made_id()
        self._call.tool_result(identity, content, is_error=is_error, name=name)
        if rest:
            self._call.beside("raw", {"toolCallId": quote(identity), "part": object_of(rest)})


def _name(members: Members) -> str:
    kind = members.get("toolType", NULL)
    return text_of(kind) or (compact(kind).decode() if given(members, "toolType") else "tool")

"""Function calls: whole ones, and those whose arguments Vertex streams."""

from typing import Final

import msgspec

from runwire.adapters.gemini.partial import PartialArguments, path_of
from runwire.adapters.gemini.wire import NULL, Members, given, members_of, object_of, rest_of
from runwire.adapters.opaque import compact, fields_of, items_of, present, quote, text_of
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.writer import Block

# Calls whose arguments are still to come, at the same time; real streams have one.
_MAX_OPEN: Final = 64
_READ: Final = frozenset({"id", "name", "args", "partialArgs", "willContinue"})
_VALUES: Final = ("stringValue", "numberValue", "boolValue", "nullValue")
_PIECE_READ: Final = frozenset({"jsonPath", "willContinue", *_VALUES})


class _Streamed:
    """A call whose arguments come in pieces."""

    __slots__ = ("arguments", "block", "id", "name")

    def __init__(self, identity: str, name: str, block: Block) -> None:
        self.id = identity
        self.name = name
        self.block = block
        self.arguments = PartialArguments()


class Calls:
    """The function calls of one answer. `made`: there was one."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._open: list[_Streamed] = []
        self.made = False

    def part(self, raw: msgspec.Raw, rest: Members) -> None:
        """A `functionCall`, and what else its part has."""
        function = members_of(raw) or {}
        name = text_of(function.get("name")) or ""
        identity = self._call.qualified(text_of(function.get("id")) or "")
        more = bytes(function.get("willContinue", NULL)) == b"true"
        pieces = items_of(function.get("partialArgs", NULL))
        gemini = object_of(rest) if rest else b""
        streamed = self._known(identity, name, pieces=bool(pieces))
        if streamed is not None:
            self._call.name_tool(streamed.block, "", gemini)
        elif name or identity or pieces or given(function, "args") or more:
            streamed = self._begin(identity, name, gemini)
        elif gemini:
            self._call.beside("raw", {"part": gemini})
        if streamed is None:
            return
        self._arguments(streamed, function.get("args", NULL), pieces)
        unknown = rest_of(function, _READ)
        if unknown:
            self._call.beside("raw", {"toolCallId": quote(streamed.block.id), "functionCall": object_of(unknown)})
        if not more:
            self._end(streamed)

    def close(self, *, complete: bool) -> None:
        """The answer is over. `complete`: of its own accord, so that arguments without their end are whole."""
        for streamed in list(self._open) if complete else ():
            self._end(streamed)

    def _known(self, identity: str, name: str, *, pieces: bool) -> _Streamed | None:
        """The call that this goes on with: the one of its id, else the last one, unless it names another.

        A name alone begins a call: two calls of one tool may follow each other.
        """
        if identity:
            return next((streamed for streamed in self._open if streamed.id == identity), None)
        last = self._open[-1] if self._open else None
        if last is None or not name or (pieces and name == last.name):
            return last
        return None

    def _begin(self, identity: str, name: str, gemini: bytes) -> _Streamed:
        self.made = True
        if len(self._open) >= _MAX_OPEN:
            self._end(self._open[0])
        block = self._call.open_tool(identity, name, gemini=gemini)
        streamed = _Streamed(identity, name, block)
        self._open.append(streamed)
        return streamed

    def _arguments(self, streamed: _Streamed, args: msgspec.Raw, pieces: list[msgspec.Raw]) -> None:
        fields = fields_of(args)
        whole = text_of(args)
        if fields is not None:
            self._call.tool_arguments(streamed.block, streamed.arguments.members(fields))
        elif whole is not None:
            self._call.tool_arguments(streamed.block, whole)
        elif present(args):
            self._call.tool_arguments(streamed.block, compact(args).decode())
        for piece in pieces:
            self._piece(streamed, members_of(piece) or {}, piece)

    def _piece(self, streamed: _Streamed, piece: Members, raw: msgspec.Raw) -> None:
        path = path_of(text_of(piece.get("jsonPath")) or "")
        name = _value_in(piece)
        if path is not None and name:
            value = NULL if name == "nullValue" else piece[name]
            more = bytes(piece.get("willContinue", NULL)) == b"true"
            self._call.tool_arguments(streamed.block, streamed.arguments.value(path, value, more=more))
        if path is None or not name or streamed.arguments.broken or rest_of(piece, _PIECE_READ):
            # It has no place in the arguments.
            self._call.beside("raw", {"toolCallId": quote(streamed.block.id), "partialArg": compact(raw)})

    def _end(self, streamed: _Streamed) -> None:
        self._open.remove(streamed)
        self._call.tool_arguments(streamed.block, streamed.arguments.close())
        self._call.end_tool(streamed.block, b"{}")


def _value_in(piece: Members) -> str:
    """The member that holds the value. A null is null only where no other value could be: the SDK lists them all."""
    said = next((name for name in _VALUES if given(piece, name)), "")
    return said or ("nullValue" if [name for name in _VALUES if name in piece] == ["nullValue"] else "")

"""What all items of one response write to: its call, and what lies beside the blocks."""

import re
from collections import deque
from typing import Final, Protocol
from zlib import crc32

import msgspec

from runwire.adapters.opaque import compact, fields_of, present, quote
from runwire.adapters.openai_responses.said import Said
from runwire.adapters.openai_responses.wire import Members
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.sources import Sources
from runwire.adapters.writing.writer import MANY_BLOCKS, MAX_BLOCK

# What was passed on is remembered by so many CRC-32s, so that events which repeat it do not repeat it here.
_REMEMBERED: Final = 4096
# A call may be open while so many others begin: their arguments may interleave. The call itself allows 200.
_OPEN: Final = 128
# Ids of all items of a response, for its metadata. A thousand items with ids of usual length need less.
_LISTED: Final = 256 * 1024
# Ids that some endpoints number in every response anew, by the position of the call.
_NUMBERED: Final = re.compile(r"(?:call|tool|function|fc)?[_-]?[0-9]{1,4}")


class Part:
    """One text of one item: of a message, of its reasoning, of a summary."""

    __slots__ = ("done", "kind", "promise", "said")

    def __init__(self, kind: str) -> None:
        self.kind = kind  # `text` or `thinking`: of the block
        self.said = Said()
        self.promise = ""  # what came before any delta; the deltas may repeat it or go on from it
        self.done = False


class Stage:
    """Writes prose, so that two texts never share a block, and what belongs beside it, once."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self._sources = Sources(call)
        self._writing: Part | None = None
        self._seen: set[int] = set()
        self._listed: list[bytes] = []
        self._size = 0
        self._unanswered: dict[str, list[str]] = {}  # of calls that no result can name, by their type
        self._open: deque[Closes] = deque()

    # Prose ----------------------------------------------------------------------------------------------------------

    def write(self, part: Part, text: str) -> None:
        """More of this text. The hot path."""
        part.said.add(text)
        if part is not self._writing:
            self.leave()
            self._writing = part
        if part.kind == "text":
            self.call.text(text)
        else:
            self.call.thinking(text)

    def leave(self) -> None:
        """What follows is another text: it gets a block of its own, as long as there is room for more."""
        if self.call.opened < MANY_BLOCKS:
            self.call.end_text()
            self.call.end_thinking()

    def ended(self, part: Part) -> None:
        """This text is whole."""
        if part is self._writing:
            self.leave()

    def hide(self, parts: list[Part], data: str) -> None:
        """Reasoning that only the provider can read, of the item with these parts."""
        if len(data) > MAX_BLOCK:
            self.call.beside("raw", {"encrypted_content": quote(data)})
        elif any(part is self._writing for part in parts):
            self.call.hide(data)
        else:
            self._writing = None
            self.call.redacted(data)

    # Beside ---------------------------------------------------------------------------------------------------------

    def once(self, name: str, value: bytes, key: bytes = b"", **about: bytes) -> None:
        """A `raw` chunk, unless the same was passed on before. `key`: what makes it the same, if not the value."""
        mark = crc32(key) if key else crc32(value, crc32(name.encode()))
        if mark in self._seen:
            return
        if len(self._seen) < _REMEMBERED:
            self._seen.add(mark)
        self.call.beside("raw", {**about, name: value})

    def cite(self, annotation: msgspec.Raw) -> None:
        """A citation. Its place in the text makes it one of its own, but done events list it again."""
        said = compact(annotation)
        mark = crc32(canonical(said), 1)
        if mark in self._seen:
            return
        if len(self._seen) < _REMEMBERED:
            self._seen.add(mark)
        members = fields_of(said) or {}
        if any(name.endswith("_citation") for name in members):
            self._sources.found(annotation)  # as OpenAI Chat nests it
        else:
            self._sources.cited(annotation)

    def list(self, about: Members) -> None:
        """An item of the output: type, ids and phase, which who continues the conversation has to send back."""
        said = object_of(about)
        self._size += len(said)
        if self._size > _LISTED:
            self.once("item", said)
        else:
            self._listed.append(said)
            self.call.remember("output", b"[%s]" % b",".join(self._listed))

    # Calls ----------------------------------------------------------------------------------------------------------

    def opened(self, item: "Closes", kind: str, identity: str, *, named: bool) -> None:
        """A call has begun. `named`: results can name it. Both are bounded as items are."""
        if not named:
            self._unanswered.setdefault(kind, []).append(identity)
        self._open.append(item)
        if len(self._open) > _OPEN:
            self._open.popleft().close(ended=True)

    def qualified(self, identity: str) -> str:
        """An id that is unique in a run: one that is only a number gets the response's id before it."""
        if not self.call.response_id or _NUMBERED.fullmatch(identity) is None:
            return identity
        return f"{self.call.response_id}:{identity}"

    def unanswered(self, kind: str) -> str:
        """The first call of this type that has no result and that none can name; now it has one. "": there is none."""
        waiting = self._unanswered.get(kind)
        return waiting.pop(0) if waiting else ""


class Closes(Protocol):
    """A call that can be closed, since too many are open."""

    def close(self, *, ended: bool) -> None: ...


def canonical(said: bytes) -> bytes:
    """The same for two spellings of one JSON value; what is no JSON stays as it is."""
    try:
        return msgspec.json.encode(msgspec.json.decode(said), order="sorted")
    except (msgspec.DecodeError, RecursionError):
        return said


def object_of(members: Members) -> bytes:
    """Members as a compact JSON object."""
    return compact(msgspec.json.encode(members))


def rest_of(members: Members, read: frozenset[str]) -> Members:
    """The members that hold something and were not read."""
    return {name: raw for name, raw in members.items() if name not in read and present(raw)}

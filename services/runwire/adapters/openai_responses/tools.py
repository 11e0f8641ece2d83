"""Calls of tools: the provider's own, and those that the client has to answer."""

from typing import Final
from zlib import crc32

import msgspec

from runwire.adapters.opaque import quote, text_of
from runwire.adapters.openai_responses.arguments import (
    arguments_of,
    beside,
    decided,
    executed,
    kind_of,
    name_of,
    result_of,
)
from runwire.adapters.openai_responses.images import image
from runwire.adapters.openai_responses.item import Item
from runwire.adapters.openai_responses.stage import Part, Stage, canonical, object_of
from runwire.adapters.openai_responses.wire import Members, Stream
from runwire.adapters.openai_responses.written import Written

# Deltas of a call that cannot be opened yet wait up to this length.
_WAITING: Final = 64 * 1024
_IMAGE: Final = ("result", "output_format")


class Tool(Item):
    """One call. It is opened once its name is known, who runs it, and the id by which the client answers it."""

    def __init__(self, stage: Stage, kind: str, identity: str, index: int | None) -> None:
        super().__init__(stage, kind, identity, index)
        self.executed = False
        self._call_id = ""
        self._name = ""
        self._known: Members = {}
        self._written: Written | None = None  # once it is open
        self._waiting: list[tuple[int, str]] = []
        self._size = 0
        self._closed = False
        self._meaning = 0  # of the arguments that it was closed with
        self._answered = False
        self._told: set[str] = set()  # names of what was passed on beside it

    @property
    def opened(self) -> str:
        """The call's id here, once it has begun."""
        return self._written.block.id if self._written is not None else ""

    def begin(self, members: Members) -> None:
        self._learn(members)
        self._known = members
        if self._name and (self.executed or self._call_id) and decided(self.kind, members):
            self._written = self._open()

    def delta(self, stream: Stream, index: int, text: str) -> Part | None:
        if not self._takes(stream):
            return super().delta(stream, index, text)
        if self._written is None:
            self._wait(index, text)
        elif self._closed or not self._written.more(index, text):
            self._tell({"delta": msgspec.Raw(quote(text)), "index": msgspec.Raw(b"%d" % index)})
        return None

    def text_done(self, stream: Stream, index: int, text: str) -> bool:
        if not self._takes(stream):
            return False
        # Before and after, the whole item says it again.
        return self._written is None or self._closed or self._written.done(index, text)

    def agrees(self, members: Members) -> bool:
        call_id = text_of(members.get("call_id")) or ""
        if call_id and self._call_id:
            return call_id == self._call_id
        return name_of(self.kind, members) == self._name and (
            not self._closed or self._meaning == _meaning(arguments_of(self.kind, members))
        )

    def whole(self, members: Members) -> None:
        self._learn(members)
        if not self._closed:
            self._finish(members)
        elif self._meaning != _meaning(arguments_of(self.kind, members)):
            self.stage.once("item", object_of(members))
        self._answer(members)
        self._about(members)

    def close(self, *, ended: bool) -> None:
        """A call whose end never came: whole as far as it is known if the response ended well, else left open."""
        if ended and self._name:
            self.whole(self._known)
        elif self._written is not None:
            self._written.keep()
            self._about(self._known)
        else:
            self._spill()
            if self._known:
                self.stage.once("item", object_of(self._known))

    def _takes(self, stream: Stream) -> bool:
        """The text is one that a call of this type has."""
        return stream.kind == (kind_of(self.kind).text or "arguments")

    def _learn(self, members: Members) -> None:
        self.id = self.id or text_of(members.get("id")) or ""
        self._call_id = self._call_id or text_of(members.get("call_id")) or ""
        self._name = self._name or name_of(self.kind, members)
        if self._written is None:
            self.executed = executed(self.kind, members)

    def _open(self) -> Written:
        stage = self.stage
        # Who runs a call of its own can name it as it likes.
        name = self._name or (self.kind if self.executed else "")
        identity = stage.qualified(self._call_id or self.id)
        block = stage.call.open_tool(identity, name, executed=self.executed)
        stage.opened(self, self.kind, block.id, named=bool(self._call_id))
        written = Written(stage.call, block, kind_of(self.kind), arguments_of(self.kind, self._known))
        waiting, self._waiting = self._waiting, []
        for index, text in waiting:
            written.more(index, text)
        return written

    def _finish(self, members: Members) -> None:
        arguments = arguments_of(self.kind, members)
        if arguments:
            self._waiting.clear()  # parts of what the item has whole
        written = self._written = self._written or self._open()
        if not written.whole(arguments):
            self.stage.once("item", object_of(members))
        self._closed = True
        self._meaning = _meaning(arguments)
        self.stage.call.end_tool(written.block)

    def _answer(self, members: Members) -> None:
        result = None if self._answered or not self.executed else result_of(self.kind, members)
        if result is None:
            return
        self._answered = True
        content, is_error = result
        self.stage.call.tool_result(self.opened, content, is_error=is_error)
        if self.kind == "image_generation_call":
            image(self.stage, {name: members[name] for name in _IMAGE if name in members})

    def _about(self, members: Members) -> None:
        # Fingerprints are made anew for each event: the first of a whole item counts.
        rest = beside(self.kind, members, executed=self.executed)
        new = {name: raw for name, raw in rest.items() if name not in self._told}
        if new:
            self._told |= new.keys()
            self._tell({"item": msgspec.Raw(object_of(new))})

    def _wait(self, index: int, text: str) -> None:
        self._waiting.append((index, text))
        self._size += len(text)
        if self._size > _WAITING:
            self._spill()

    def _spill(self) -> None:
        text = "".join(text for _, text in self._waiting)
        self._waiting.clear()
        self._size = 0
        if text:
            self._tell({"delta": msgspec.Raw(quote(text)), "type": msgspec.Raw(quote(self.kind))})

    def _tell(self, said: Members) -> None:
        identity = self.opened or self.id
        about = {"toolCallId": quote(identity)} if identity else {}
        self.stage.call.beside("raw", about | {name: bytes(raw) for name, raw in said.items()})


def _meaning(arguments: Members | str) -> int:
    """Two spellings of the same arguments have one meaning."""
    return crc32(canonical(arguments.encode(errors="replace") if isinstance(arguments, str) else object_of(arguments)))

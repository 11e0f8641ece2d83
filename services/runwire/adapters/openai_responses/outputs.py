"""Items that answer a call, and items that are nothing of what is known here."""

from typing import Final

import msgspec

from runwire.adapters.opaque import compact, quote, text_of
from runwire.adapters.openai_responses.arguments import answer_beside, answer_of, kind_of
from runwire.adapters.openai_responses.item import Item
from runwire.adapters.openai_responses.stage import Stage, object_of
from runwire.adapters.openai_responses.wire import NULL, Members

# Pieces of an answer that is still to come whole wait up to this length.
_WAITING: Final = 64 * 1024


class Output(Item):
    """An item that answers a call, of this response or of an earlier one."""

    def __init__(self, stage: Stage, kind: str, identity: str, index: int | None) -> None:
        super().__init__(stage, kind, identity, index)
        self._call_id = ""
        self._said = b""
        self._known: Members = {}
        self._waiting = bytearray()

    def begin(self, members: Members) -> None:
        self._call_id = text_of(members.get("call_id")) or ""
        self._known = members

    def more(self, delta: msgspec.Raw) -> None:
        """A piece of what the whole item will say. It is kept for the case that this never comes."""
        self._waiting += (b"," if self._waiting else b"") + compact(delta)
        if len(self._waiting) > _WAITING:
            self._spill()

    def agrees(self, members: Members) -> bool:
        call_id = text_of(members.get("call_id")) or ""
        return call_id == self._call_id and text_of(members.get("type")) == self.kind

    def whole(self, members: Members) -> None:
        self._call_id = text_of(members.get("call_id")) or self._call_id
        said = answer_of(members)
        if said == self._said:
            return
        call = _call_of(self.kind)
        identity = self.stage.qualified(self._call_id) if self._call_id else self.stage.unanswered(call)
        if self._said or not identity:
            self.stage.once("item", object_of(members))
            return
        self._said = said
        is_error = True if bytes(members.get("status", NULL)) == b'"failed"' else None
        # A call of an earlier response is not here to say its name.
        self.stage.call.tool_result(identity, said, is_error=is_error, name=kind_of(call).name)
        if rest := answer_beside(members):
            self.stage.call.beside("raw", {"toolCallId": quote(identity), "item": object_of(rest)})

    def close(self, *, ended: bool) -> None:
        if self._waiting:
            self._spill()
        if self._known and ended:
            self.whole(self._known)
        elif self._known:
            self.stage.once("item", object_of(self._known))

    def _spill(self) -> None:
        identity = self.stage.qualified(self._call_id)
        about = {"toolCallId": quote(identity)} if identity else {}
        self.stage.call.beside("raw", {**about, "outputDeltas": b"[%s]" % bytes(self._waiting)})
        self._waiting.clear()


class Other(Item):
    """An item of a type that is not known here, and compaction, which only the provider can read: kept as it is."""

    def __init__(self, stage: Stage, kind: str, identity: str, index: int | None) -> None:
        super().__init__(stage, kind, identity, index)
        self._known: Members = {}

    def begin(self, members: Members) -> None:
        self._known = members

    def agrees(self, members: Members) -> bool:
        return text_of(members.get("type")) == self.kind

    def whole(self, members: Members) -> None:
        # What is encrypted is so anew in every event: the first whole item counts.
        if not self.done:
            self.stage.once("item", object_of(members))

    def close(self, *, ended: bool) -> None:
        del ended
        self.whole(self._known)


def _call_of(kind: str) -> str:
    """The type of the call that an output of this type answers."""
    return kind.removesuffix("_output").removesuffix("_call") + "_call"

"""The items of one response, and which of them an event is about."""

from typing import Final

import msgspec

from runwire.adapters.opaque import compact, fields_of, present, text_of
from runwire.adapters.openai_responses.arguments import is_call, is_output
from runwire.adapters.openai_responses.item import Item
from runwire.adapters.openai_responses.outputs import Other, Output
from runwire.adapters.openai_responses.prose import Message, Reasoning
from runwire.adapters.openai_responses.stage import Stage
from runwire.adapters.openai_responses.tools import Tool
from runwire.adapters.openai_responses.wire import Family, Members
from runwire.adapters.writing.writer import MAX_BLOCKS
from runwire_schemas.raw import Failure

# As many as a call may have blocks. Real responses have fewer than a hundred.
MAX_ITEMS: Final = MAX_BLOCKS
# So many items are compared with one of the final list whose id nobody knows.
_COMPARED: Final = 8
_MAKE: Final[dict[Family, type[Item]]] = {
    "message": Message,
    "reasoning": Reasoning,
    "tool": Tool,
    "output": Output,
    "other": Other,
}
_PROSE: Final[dict[str, Family]] = {"message": "message", "reasoning": "reasoning"}
_LISTED: Final = ("type", "id", "call_id", "phase")


class Items:
    """All items, by the index and the id that events give.

    Some servers change the ids of an item with every event (Copilot), so the index counts if the id is not known; some
    give several items one index (LiteLLM), so a known id counts more. An item that nobody announced begins with the
    first event about it.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._all: list[Item] = []
        self._at: dict[tuple[Family, int | None], Item] = {}
        self._named: dict[tuple[Family, str], Item] = {}

    @property
    def for_client(self) -> bool:
        """A tool was called that the client has to run."""
        return any(isinstance(item, Tool) and item.opened and not item.executed for item in self._all)

    def added(self, index: int | None, members: Members) -> None:
        """`output_item.added`."""
        family, kind, identity = _who(members)
        item = self._find(family, index, identity)
        if item is not None and (item.begun or item.kind != kind):
            again = (item.kind, item.id, item.index) == (kind, identity, index)
            if again and (identity or not item.done):
                return  # the same event once more
            item = None
        item = item or self._make(family, kind, identity, index)
        item.begun = True
        item.begin(members)

    def done(self, index: int | None, members: Members) -> None:
        """`output_item.done`."""
        family, kind, identity = _who(members)
        item = self._find(family, index, identity)
        if item is not None and (item.kind != kind or (item.done and item.id != identity)):
            item = item if item.agrees(members) else None
        self._whole(item or self._make(family, kind, identity, index), members)

    def reach(self, family: Family, kind: str, index: int | None, identity: str) -> Item:
        """The item that an event is about."""
        item = self._find(family, index, identity)
        if item is not None and item.done and identity and item.id != identity:
            item = None
        return item or self._make(family, kind, identity, index)

    def known(self, family: Family, index: int | None, identity: str) -> Item | None:
        """The same, if there is one that is not over."""
        item = self._find(family, index, identity)
        return None if item is None or item.done else item

    def finished(self, output: list[msgspec.Raw]) -> None:
        """The response's own list of all items: those that are missing are written, the others are compared."""
        for place, raw in enumerate(output):
            members = fields_of(raw)
            if members is None:
                self._stage.once("item", compact(raw))
                continue
            family, kind, identity = _who(members)
            item = self._match(family, identity, place, members) or self._make(family, kind, identity, None)
            item.matched = True
            self._whole(item, members)

    def close(self, *, ended: bool) -> None:
        """Nothing more comes."""
        for item in self._all:
            if not item.done:
                item.close(ended=ended)

    def _whole(self, item: Item, members: Members) -> None:
        item.whole(members)
        if not item.done:
            item.done = True
            self._stage.list({name: members[name] for name in _LISTED if present(members.get(name))})

    def _find(self, family: Family, index: int | None, identity: str) -> Item | None:
        here = self._at.get((family, index))
        if here is not None and here.id in ("", identity):
            return here
        if index is not None or identity:
            return self._named.get((family, identity), here)
        open_ones = (item for item in reversed(self._all) if isinstance(item, _MAKE[family]) and not item.done)
        return next(open_ones, None)

    def _make(self, family: Family, kind: str, identity: str, index: int | None) -> Item:
        item = _MAKE[family](self._stage, kind, identity, index)
        if len(self._all) >= MAX_ITEMS:
            message = f"the response has more than {MAX_ITEMS} items"
            self._stage.call.fail(Failure(message=message, code="too-many-blocks"))
        self._all.append(item)
        if index is not None:
            self._at[family, index] = item
        if identity:
            self._named[family, identity] = item
        return item

    def _match(self, family: Family, identity: str, place: int, members: Members) -> Item | None:
        """Which item that of the final list is: by its id, by its content, by its place."""
        named = self._named.get((family, identity))
        if named is not None and not named.matched:
            return named
        free = [item for item in self._all if isinstance(item, _MAKE[family]) and not item.matched]
        found = next((item for item in free[:_COMPARED] if item.agrees(members)), None)
        # Another call, or the answer to another one, does not contradict the one at its place.
        here = self._at.get((family, place)) if family in _PROSE else None
        return here if found is None and here in free else found


def _who(members: Members) -> tuple[Family, str, str]:
    """The family, type and id of an item."""
    kind = text_of(members.get("type")) or ("message" if "content" in members else "")
    identity = text_of(members.get("id")) or ""
    if kind in _PROSE:
        return _PROSE[kind], kind, identity
    family: Family = "tool" if is_call(kind) else "output" if is_output(kind, members) else "other"
    return family, kind, identity

"""The arguments of one call, as they come: JSON text, a text inside an object, or all at once."""

from typing import Final

from runwire.adapters.opaque import fields_of, items_of, quote, text_of
from runwire.adapters.openai_responses.arguments import Kind
from runwire.adapters.openai_responses.said import Said
from runwire.adapters.openai_responses.stage import object_of
from runwire.adapters.openai_responses.wire import NULL, Members
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.writer import Block

# Between the commands of a list: no command can hold it.
_NEXT: Final = "\0"
# What JSON wants escaped inside a string. Halves of surrogate pairs stay: the call joins them.
_SHORT: Final = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_ESCAPES: Final = str.maketrans({chr(number): f"\\u{number:04x}" for number in range(0x20)} | _SHORT)


class Written:
    """Writes the arguments of a call. What the item had of them when it was announced is only a promise: deltas may
    repeat it or go on from it.
    """

    def __init__(self, call: Call, block: Block, kind: Kind, known: Members | str) -> None:
        self._call = call
        self.block = block
        self._text = kind.text  # the member that holds plain text, if the kind has one
        self._list = kind.text == "commands"
        # The argument that holds the text, if it lies in one.
        self._inside = kind.members[0] if kind.inside else ""
        self._known: Members = {} if isinstance(known, str) else known
        self._promise = known if isinstance(known, str) else ""
        self._said = Said()
        self._begun: set[str] | None = None  # the members of the object that were written, once it was begun
        self._at = 0

    def more(self, index: int, text: str) -> bool:
        """A delta. False if it belongs to no place that can still be written."""
        if not self._text:
            if not self._promise.startswith(text):
                self._json(self._promise)
            self._json(text)
            return True
        if index not in (self._at, self._at + 1):
            return False
        self._begin()
        if index > self._at:
            self._at = index
            text = _NEXT + text
        self._plain(text)
        return True

    def done(self, index: int, text: str) -> bool:
        """A text is whole: writes what the deltas left out. False if they said something else."""
        if self._list:
            return True  # the whole item tells
        del index
        added = self._said.rest(text)
        if added is None:
            return False
        if added and self._text:
            self._begin()
            self._plain(added)
        else:
            self._json(added)
        return True

    def whole(self, arguments: Members | str) -> bool:
        """The item is whole: writes the rest. False if the deltas said something else."""
        if self._begun is not None:
            return self._end(arguments)
        if not arguments:
            self.keep()
            return True
        text = arguments if isinstance(arguments, str) else object_of(arguments).decode()
        added = self._said.rest(text)
        self._json(added or "")
        return added is not None

    def keep(self) -> None:
        """Nothing more comes: what was known at first is all there is."""
        if self._begun is None and self._said.empty:
            self._json(self._promise or (object_of(self._known).decode() if self._known else ""))

    def _json(self, text: str) -> None:
        self._promise = ""
        if text:
            self._said.add(text)
            self._call.tool_arguments(self.block, text)

    def _plain(self, text: str) -> None:
        self._said.add(text)
        between = '","' if self._list else _NEXT.translate(_ESCAPES)
        pieces = (piece.translate(_ESCAPES) for piece in text.split(_NEXT))
        self._call.tool_arguments(self.block, between.join(pieces))

    def _begin(self) -> None:
        """The object up to the text that comes in deltas."""
        if self._begun is not None:
            return
        head = {name: raw for name, raw in self._within(self._known).items() if name != self._text}
        self._begun = set(head)
        self._known = head
        around = b"{" + quote(self._inside) + b":" if self._inside else b""
        before = around + object_of(head)[:-1] + (b"," if head else b"")
        bracket = b"[" if self._list else b""
        opening = before + quote(self._text) + b":" + bracket + b'"'
        self._call.tool_arguments(self.block, opening.decode())

    def _within(self, members: Members) -> Members:
        """The members of the object that the text lies in."""
        return fields_of(members.get(self._inside, NULL)) or {} if self._inside else members

    def _end(self, arguments: Members | str) -> bool:
        """The rest of the text, and of the object around it."""
        members = {} if isinstance(arguments, str) else self._within(arguments)
        agreed = not isinstance(arguments, str)
        if self._text in members:
            raw = members[self._text]
            text = _NEXT.join(text_of(item) or "" for item in items_of(raw)) if self._list else text_of(raw)
            added = self._said.rest(text or "")
            agreed = added is not None
            if added:
                self._plain(added)
        agreed = agreed and all(members.get(name, NULL) == raw for name, raw in self._known.items() if name in members)
        tail = {name: raw for name, raw in members.items() if name != self._text and name not in (self._begun or ())}
        closing = b'"]' if self._list else b'"'
        after = (b"," + object_of(tail)[1:] if tail else b"}") + (b"}" if self._inside else b"")
        self._call.tool_arguments(self.block, (closing + after).decode())
        return agreed

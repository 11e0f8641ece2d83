"""Messages and reasoning."""

from collections.abc import Iterator
from typing import Final

import msgspec

from runwire.adapters.opaque import compact, fields_of, items_of, present, quote, text_of
from runwire.adapters.openai_responses.images import image
from runwire.adapters.openai_responses.item import USUAL, Item
from runwire.adapters.openai_responses.stage import Part, Stage, object_of, rest_of
from runwire.adapters.openai_responses.texts import Texts
from runwire.adapters.openai_responses.wire import NULL, Members, Stream

_MESSAGE_READ: Final = frozenset({"type", "id", "role", "content", "status"})
_REASONING_READ: Final = frozenset({"type", "id", "summary", "content", "encrypted_content", "status"})
_PART_READ: Final = frozenset({"type", "text", "refusal", "annotations", "logprobs"})
# A part's type, and the member that holds its text. Servers put reasoning into parts of either type.
_TEXT_IN: Final = {"output_text": "text", "text": "text", "reasoning_text": "text", "summary_text": "text"}


class Message(Item):
    """An answer: parts of text or refusal, their citations and log probabilities."""

    def __init__(self, stage: Stage, kind: str, identity: str, index: int | None) -> None:
        super().__init__(stage, kind, identity, index)
        self._texts = {"text": Texts(stage, "text"), "refusal": Texts(stage, "text")}
        self._logged = False
        self._phase = b""

    def begin(self, members: Members) -> None:
        self._about(members)
        for index, raw in enumerate(items_of(members.get("content", NULL))):
            self.announce(index, fields_of(raw) or {})

    def announce(self, index: int, part: Members) -> None:
        """`content_part.added`."""
        kind = _kind(part)
        if kind in self._texts:
            self._texts[kind].announce(index, _said(part))

    def delta(self, stream: Stream, index: int, text: str) -> Part | None:
        self._refuses(stream.kind)
        return self._texts[stream.kind].delta(index, text)

    def text_done(self, stream: Stream, index: int, text: str) -> bool:
        self._refuses(stream.kind)
        return self._texts[stream.kind].done(index, text)

    def logprobs(self, raw: list[msgspec.Raw], *, repeated: bool) -> None:
        """Log probabilities of a delta; `repeated`: of a text that may have had them in its deltas."""
        if raw and not (repeated and self._logged):
            self._logged = True
            self.stage.call.beside("raw", {"logprobs": compact(msgspec.json.encode(raw))})

    def part_done(self, index: int, part: Members) -> bool:
        """`content_part.done`. False if the deltas said something else."""
        self._beside(part)
        kind = _kind(part)
        self._refuses(kind)
        return kind not in self._texts or self._texts[kind].done(index, _said(part))

    def agrees(self, members: Members) -> bool:
        parts = list(_parts(members))
        return all(texts.agrees(_of(parts, kind)) for kind, texts in self._texts.items())

    def whole(self, members: Members) -> None:
        self._about(members)
        parts = list(_parts(members))
        for _, part in parts:
            self._beside(part)
        for kind, texts in self._texts.items():
            said = _of(parts, kind)
            if not texts.agrees(said):
                self.stage.once("item", object_of(members), _key(said))
            elif said:
                self._refuses(kind)
                texts.whole(said)
            texts.close()

    def close(self, *, ended: bool) -> None:
        del ended
        for texts in self._texts.values():
            texts.close()

    def _refuses(self, kind: str) -> None:
        """A refusal is text; that it is one is said beside it, once."""
        if kind == "refusal":
            self.stage.once("part", b'{"type":"refusal"}', self.id.encode(errors="replace"))

    def _beside(self, part: Members) -> None:
        for annotation in items_of(part.get("annotations", NULL)):
            self.stage.cite(annotation)
        self.logprobs(items_of(part.get("logprobs", NULL)), repeated=True)
        if _kind(part) not in self._texts:
            if not image(self.stage, part):
                self.stage.once("part", object_of(part))
        elif rest := rest_of(part, _PART_READ):
            self.stage.once("part", object_of(rest))

    def _about(self, members: Members) -> None:
        """The phase, before the text that it is about, and whatever else a message says of itself."""
        rest = rest_of(members, _MESSAGE_READ)
        if bytes(members.get("status", NULL)) not in (*USUAL, b"null"):
            rest["status"] = members["status"]
        said = object_of(rest)
        if rest and said != self._phase:
            self._phase = said
            self.stage.call.beside("raw", {"item": object_of(_named("message", members, rest))})


class Reasoning(Item):
    """Reasoning: its summary, its own text, and what only the provider can read of it."""

    def __init__(self, stage: Stage, kind: str, identity: str, index: int | None) -> None:
        super().__init__(stage, kind, identity, index)
        self._texts = {"summary": Texts(stage, "thinking"), "content": Texts(stage, "thinking")}
        self._encrypted = ""
        self._hidden = False

    @property
    def _all(self) -> list[Part]:
        return [part for texts in self._texts.values() for part in texts.all]

    def begin(self, members: Members) -> None:
        # What is encrypted at first says less than what the finished item has; it counts if that never comes.
        self._encrypted = text_of(members.get("encrypted_content")) or ""
        for kind in self._texts:
            for index, text in _thoughts(members, kind):
                self.announce(kind, index, text)

    def announce(self, kind: str, index: int, text: str) -> None:
        """`reasoning_summary_part.added` and its like."""
        self._texts[kind].announce(index, text)

    def delta(self, stream: Stream, index: int, text: str) -> Part | None:
        return self._texts[stream.kind].delta(index, text)

    def text_done(self, stream: Stream, index: int, text: str) -> bool:
        return self._done(stream.kind, index, text)

    def part_done(self, kind: str, index: int, part: Members) -> bool:
        """`reasoning_summary_part.done` and its like. False if the deltas said something else."""
        if rest := rest_of(part, _PART_READ):
            self.stage.once("part", object_of(rest))
        return self._done(kind, index, _said(part))

    def agrees(self, members: Members) -> bool:
        return all(texts.agrees(_thoughts(members, kind)) for kind, texts in self._texts.items())

    def whole(self, members: Members) -> None:
        for kind, texts in self._texts.items():
            said = _thoughts(members, kind)
            if not texts.agrees(said):
                self.stage.once("item", object_of(members), _key(said))
            elif not self._twice(kind, said):
                texts.whole(said)
            texts.close()
        self._encrypted = text_of(members.get("encrypted_content")) or self._encrypted
        self._hide()
        if rest := rest_of(members, _REASONING_READ):
            self.stage.once("item", object_of(_named("reasoning", members, rest)))

    def close(self, *, ended: bool) -> None:
        del ended
        for texts in self._texts.values():
            texts.close()
        self._hide()

    def _done(self, kind: str, index: int, text: str) -> bool:
        return self._twice(kind, [(index, text)]) or self._texts[kind].done(index, text)

    def _twice(self, kind: str, texts: list[tuple[int, str]]) -> bool:
        """The text was said as that of the other kind already: some servers fill both."""
        other = self._texts["content" if kind == "summary" else "summary"]
        text = "".join(text for _, text in texts)
        return self._texts[kind].empty and other.said(text)

    def _hide(self) -> None:
        if self._encrypted and not self._hidden:
            self._hidden = True
            self.stage.hide(self._all, self._encrypted)
        for part in self._all:
            self.stage.ended(part)


def reasoning_kind(part: Members) -> str:
    """Which text of a reasoning item this part is."""
    return "summary" if text_of(part.get("type")) == "summary_text" else "content"


def _kind(part: Members) -> str:
    kind = text_of(part.get("type")) or "output_text"
    return "refusal" if kind == "refusal" else "text" if kind in _TEXT_IN else ""


def _said(part: Members) -> str:
    return text_of(part.get("text")) or text_of(part.get("refusal")) or ""


def _parts(members: Members) -> Iterator[tuple[int, Members]]:
    """The parts of a message with their positions. Some servers write the text itself."""
    content = members.get("content", NULL)
    text = text_of(content)
    if text is not None:
        yield 0, {"text": content}
    for index, raw in enumerate(items_of(content)):
        yield index, {"text": raw} if text_of(raw) is not None else fields_of(raw) or {"value": raw, "type": NULL}


def _of(parts: list[tuple[int, Members]], kind: str) -> list[tuple[int, str]]:
    return [(index, _said(part)) for index, part in parts if _kind(part) == kind]


def _key(texts: list[tuple[int, str]]) -> bytes:
    """What makes a contradiction the same one, whichever event has it."""
    return "\0".join(text for _, text in texts).encode(errors="replace")


def _thoughts(members: Members, name: str) -> list[tuple[int, str]]:
    """The texts of a reasoning item's summary or content."""
    raw = members.get(name, NULL)
    text = text_of(raw)
    if text is not None:
        return [(0, text)]
    parts = [text_of(item) or _said(fields_of(item) or {}) for item in items_of(raw)]
    return list(enumerate(parts))


def _named(kind: str, members: Members, rest: Members) -> Members:
    """What is left of an item, and which item it is."""
    identity = {"id": members["id"]} if present(members.get("id")) else {}
    return {"type": msgspec.Raw(quote(kind)), **identity, **rest}

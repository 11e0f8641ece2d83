"""OpenAI's Responses API: OpenAI, Azure, xAI, DeepSeek, Bedrock, OpenRouter, Copilot, the ChatGPT backend, and others.

The end is the event that closes the response: `response.completed`, `.incomplete`, `.failed` or `.cancelled`. A body
without one was cut off. Nearly everything is said several times: by deltas, by the event that ends a text, by the one
that ends an item and by the closing one. What was said before is not said again; what is missing is.
"""

from collections.abc import Callable
from typing import ClassVar, Final

import msgspec

from runwire.adapters.base import MAX_EVENT, Framing
from runwire.adapters.failures import cut_off, failure_in
from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, quote, text_of
from runwire.adapters.openai_responses.ends import CLOSING, Ends
from runwire.adapters.openai_responses.item import Item
from runwire.adapters.openai_responses.items import Items
from runwire.adapters.openai_responses.outputs import Output
from runwire.adapters.openai_responses.prose import Message, Reasoning, reasoning_kind
from runwire.adapters.openai_responses.stage import Part, Stage, object_of, rest_of
from runwire.adapters.openai_responses.tools import Tool
from runwire.adapters.openai_responses.wire import DELTAS, DONES, NULL, Members, Stream, decode_delta
from runwire.adapters.wire import WireAdapter
from runwire_schemas.record import UsageRule

_DELTA_READ: Final = frozenset(
    {"type", "delta", "output_index", "item_id", "content_index", "summary_index", "command_index", "logprobs"}
    | {"sequence_number", "obfuscation", "stream_id"}
)
# How the types of events end that only tell how far an item is. They say nothing if they hold nothing more.
_STATES: Final = (
    ".in_progress", ".searching", ".generating", ".interpreting", ".compacting", ".completed", ".failed",
    ".shell_call_command.added",
)  # fmt: skip
_NOTHING: Final = _DELTA_READ - {"delta"} | {"command"}
# Signs of life.
_PASSED_OVER: Final = frozenset({"keepalive", "ping", "response.keepalive", "response.heartbeat"})


class OpenAIResponses(WireAdapter):
    """One response. Protocols without choices ignore `choice`."""

    provider: ClassVar[str] = "openai-responses"
    usage: UsageRule = "required"

    def __init__(self, choice: int = 0, framing: Framing | None = None, *, limit: int = MAX_EVENT) -> None:
        super().__init__(framing, limit)
        del choice
        self._stage = Stage(self._call)
        self._items = Items(self._stage)
        self._ends = Ends(self._call, self._items)
        self._key: tuple[str, int | None, str | None, int, int] | None = None  # of the last delta
        self._part: Part | None = None  # the text that it belongs to
        self._handlers: dict[str, Callable[[Members, bytes], None]] = {
            "response.created": self._lifecycle,
            "response.queued": self._lifecycle,
            "response.in_progress": self._lifecycle,
            "response.output_item.added": self._added,
            "response.output_item.done": self._done_item,
            "response.content_part.added": self._part_added,
            "response.content_part.done": self._part_done,
            "response.reasoning_part.added": self._part_added,
            "response.reasoning_part.done": self._part_done,
            "response.reasoning_summary_part.added": self._part_added,
            "response.reasoning_summary_part.done": self._part_done,
            "response.output_text.annotation.added": self._annotation,
            "response.output_text_annotation.added": self._annotation,
            "response.shell_call_output_content.delta": self._output_delta,
            "response.shell_call_output_content.done": self._output_done,
            "response.image_generation_call.partial_image": self._partial_image,
            "error": self._error,
        }

    # Events ---------------------------------------------------------------------------------------------------------

    def _read(self, name: str, data: bytes) -> None:
        try:
            event = decode_delta(data)
        except msgspec.ValidationError:
            self._loose(name, data)
            return
        key = (event.type, event.output_index, event.item_id, event.content_index, event.summary_index)
        part = self._part
        if part is not None and key == self._key and event.delta:
            self._stage.write(part, event.delta)
            if event.logprobs:
                self._logprobs(event.output_index, event.item_id or "", event.logprobs)
            return
        stream = DELTAS.get(event.type)
        if stream is None:
            self._loose(name, data)
            return
        index = {"content_index": event.content_index, "summary_index": event.summary_index}
        at = index.get(stream.place, event.command_index)
        self._key = key
        self._part = self._delta(stream, event.output_index, event.item_id or "", at, event.delta)
        if event.logprobs:
            self._logprobs(event.output_index, event.item_id or "", event.logprobs)

    def _loose(self, name: str, data: bytes) -> None:
        self._part = None
        top = fields_of(data)
        if top is None:
            if present(msgspec.Raw(data)):
                self._call.beside("raw", {"value": compact(data)})
            return
        kind = text_of(top.get("type")) or name
        handle = self._handlers.get(kind)
        if kind in DELTAS:
            self._loose_delta(DELTAS[kind], top, data)
        elif kind in DONES:
            self._text_done(DONES[kind], top, data)
        elif kind in CLOSING:
            response = fields_of(top.get("response", NULL)) or {}
            self._ends.about(top, response)
            self._ends.closed(CLOSING[kind], response)
        elif handle is not None:
            handle(top, data)
        elif text_of(top.get("object")) == "response":
            self._whole(top)
        elif not kind.startswith("response.") and failure_in(top) is not None:
            self._error(top, data)
        elif kind not in _PASSED_OVER and not (kind.endswith(_STATES) and top.keys() <= _NOTHING):
            self._call.beside("raw", {"event": compact(data)})

    def _delta(self, stream: Stream, index: int | None, identity: str, at: int, text: str) -> Part | None:
        return self._items.reach(stream.family, stream.item, index, identity).delta(stream, at, text)

    def _loose_delta(self, stream: Stream, top: Members, data: bytes) -> None:
        text = text_of(top.get("delta"))
        if text is None:
            if present(top.get("delta")):
                self._call.beside("raw", {"event": compact(data)})
            return
        index, identity = _where(top)
        self._delta(stream, index, identity, integer_of(top.get(stream.place)) or 0, text)
        self._logprobs(index, identity, items_of(top.get("logprobs", NULL)))
        if rest := rest_of(top, _DELTA_READ):
            self._stage.once("delta", object_of(rest))

    def _logprobs(self, index: int | None, identity: str, raw: list[msgspec.Raw], *, repeated: bool = False) -> None:
        if raw:
            item = self._items.reach("message", "message", index, identity)
            if isinstance(item, Message):
                item.logprobs(raw, repeated=repeated)

    def _text_done(self, stream: Stream, top: Members, data: bytes) -> None:
        text = text_of(top.get(stream.text))
        index, identity = _where(top)
        item = self._items.reach(stream.family, stream.item, index, identity)
        if text is not None and not item.text_done(stream, integer_of(top.get(stream.place)) or 0, text):
            self._stage.once("event", compact(data), text.encode(errors="replace"))
        self._logprobs(index, identity, items_of(top.get("logprobs", NULL)), repeated=True)

    def _added(self, top: Members, data: bytes) -> None:
        members = fields_of(top.get("item", NULL))
        if members is not None:
            self._items.added(_where(top)[0], members)
        elif present(top.get("item")):
            self._call.beside("raw", {"event": compact(data)})

    def _done_item(self, top: Members, data: bytes) -> None:
        members = fields_of(top.get("item", NULL))
        if members is not None:
            self._items.done(_where(top)[0], members)
        elif present(top.get("item")):
            self._call.beside("raw", {"event": compact(data)})

    def _part_added(self, top: Members, data: bytes) -> None:
        del data
        part = fields_of(top.get("part", NULL)) or {}
        item = self._holder(top, part)
        if isinstance(item, Reasoning):
            kind = _summarizes(top, part)
            item.announce(kind, _place(top), text_of(part.get("text")) or "")
        elif isinstance(item, Message):
            item.announce(_place(top), part)

    def _part_done(self, top: Members, data: bytes) -> None:
        part = fields_of(top.get("part", NULL)) or {}
        item = self._holder(top, part)
        agreed = (
            item.part_done(_summarizes(top, part), _place(top), part)
            if isinstance(item, Reasoning)
            else item is None or item.part_done(_place(top), part)
        )
        if not agreed:
            text = text_of(part.get("text")) or text_of(part.get("refusal")) or ""
            self._stage.once("event", compact(data), text.encode(errors="replace"))

    def _holder(self, top: Members, part: Members) -> Message | Reasoning | None:
        """The item that a part belongs to. Some servers name parts of reasoning like those of an answer."""
        index, identity = _where(top)
        kind = text_of(top.get("type")) or ""
        if kind.startswith("response.reasoning") or text_of(part.get("type")) in ("reasoning_text", "summary_text"):
            item: Item | None = self._items.reach("reasoning", "reasoning", index, identity)
        else:
            thinking = self._items.known("reasoning", index, identity)
            item = self._items.known("message", index, identity)
            if item is None and thinking is not None and thinking.id == identity:
                item = thinking
            elif item is None:
                item = self._items.reach("message", "message", index, identity)
        return item if isinstance(item, Message | Reasoning) else None

    def _annotation(self, top: Members, data: bytes) -> None:
        if fields_of(top.get("annotation", NULL)) is not None:
            self._stage.cite(top["annotation"])
        else:
            self._call.beside("raw", {"event": compact(data)})

    def _output_delta(self, top: Members, data: bytes) -> None:
        index, identity = _where(top)
        item = self._items.reach("output", "shell_call_output", index, identity)
        if isinstance(item, Output):
            item.more(msgspec.Raw(compact(data)))

    def _output_done(self, top: Members, data: bytes) -> None:
        # The whole item says it again; until then this is the best that is known.
        self._output_delta(top, data)

    def _partial_image(self, top: Members, data: bytes) -> None:
        index, identity = _where(top)
        item = self._items.reach("tool", "image_generation_call", index, identity)
        opened = item.opened if isinstance(item, Tool) else ""
        self._call.beside("raw", {**({"toolCallId": quote(opened)} if opened else {}), "event": compact(data)})

    # Beginnings and ends --------------------------------------------------------------------------------------------

    def _lifecycle(self, top: Members, data: bytes) -> None:
        del data
        self._ends.about(top, fields_of(top.get("response", NULL)) or {})

    def _whole(self, response: Members) -> None:
        """A response that was not streamed, or one that is still being made."""
        self._ends.about(response, response)
        if text_of(response.get("status")) in ("queued", "in_progress"):
            self._items.finished(items_of(response.get("output", NULL)))
        else:
            self._ends.closed("completed", response)

    def _error(self, top: Members, data: bytes) -> None:
        self._ends.error(top, data)

    def _done(self) -> None:
        if self._ends.failing:
            self._ends.fail()

    def _end_of_body(self) -> None:
        self._ends.cut(cut_off("it ended without response.completed"))


def _where(top: Members) -> tuple[int | None, str]:
    """The index and id of the item that an event is about."""
    return integer_of(top.get("output_index")), text_of(top.get("item_id")) or ""


def _place(top: Members) -> int:
    """The index of the part that an event is about."""
    index = top.get("summary_index", top.get("content_index"))
    return integer_of(index) or 0


def _summarizes(top: Members, part: Members) -> str:
    return "summary" if "summary_index" in top else reasoning_kind(part)

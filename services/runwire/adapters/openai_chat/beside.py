"""What the OpenAI family sends beside text, reasoning and tool calls: kept as agent chunks or as metadata."""

from collections.abc import Callable
from hashlib import blake2b
from typing import Final

import msgspec

from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, quote, text_of
from runwire.adapters.openai_chat.executed import Executed
from runwire.adapters.openai_chat.loose import CHOICE_META, META, Extra
from runwire.adapters.openai_chat.parts import url_of
from runwire.adapters.openai_chat.wire import UNREAD
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.sources import Sources

# How many kinds of metadata are remembered, so that what repeats on every chunk is passed on once.
_REMEMBERED: Final = 64
# A longer value is remembered by its digest: one event may hold megabytes.
_LONG: Final = 4096
_CITED: Final = frozenset({"citations", "search_results", "annotations", "web_search"})
# Members of a delta that become blocks.
_BLOCKS: Final = frozenset({"images", "executed_tools", "reasoning_encrypted", "reasoning_opaque"})
# Facts that grow while the response does: the last value counts, whichever chunk has it.
_LAST: Final = frozenset({"prompt_progress", "perf_metrics", "usage_breakdown", "stats", "model_info", "runtime"})


class Beside:
    """The agent chunks and metadata of one choice."""

    def __init__(self, call: Call, choice: int) -> None:
        self._call = call
        self._choice = choice
        self._sources = Sources(call)
        self._executed = Executed(call)
        self._remembered: dict[str, bytes] = {}

    def extras(self, extras: list[Extra], flush: Callable[[], None]) -> None:
        """What the structs have no place for. `flush` is called before what becomes a block."""
        # Search results before citations: both list the same URLs, and only the former have titles.
        for choice, level, name, raw in sorted(extras, key=_citations_last):
            if choice is not None and choice != self._choice:
                continue
            if level == "delta" and name in _BLOCKS:
                flush()
                self._block(name, raw)
            elif name in _CITED and raw[:1] == b"[":
                for item in items_of(raw):
                    self._sources.found(item)
            elif level == "delta" and name == "citation":
                self._sources.cited(msgspec.Raw(raw))
            elif (level, name) == ("choice", "message") or (level == "chunk" and name in _LAST):
                self._call.remember(name, raw)
            elif level == "chunk":
                self.repeated(level, name, raw)
            else:
                self._call.beside("raw", {level: b"{%s:%s}" % (quote(name), raw)})

    def _block(self, name: str, raw: bytes) -> None:
        data = text_of(raw)
        if name == "executed_tools":
            self._executed.feed(raw)
        elif name == "images":
            self._images(raw)
        elif data:
            self._call.redacted(data)
        else:
            self._call.beside("raw", {"delta": b"{%s:%s}" % (quote(name), raw)})

    def repeated(self, level: str, name: str, raw: bytes) -> None:
        """Passed on only when it changes: many servers repeat such members on every chunk."""
        mark = raw if len(raw) <= _LONG else blake2b(raw).digest()
        if self._remembered.get(name) == mark:
            return
        if name in self._remembered or len(self._remembered) < _REMEMBERED:
            self._remembered[name] = mark
        if present(msgspec.Raw(raw)):
            self._call.beside("raw", {level: b"{%s:%s}" % (quote(name), compact(raw))})

    def metadata(self, data: bytes) -> None:
        """Facts about the response, from a chunk that carries them: the first, the finish and the usage chunk."""
        top = fields_of(data) or {}
        self._remember(top, (*META, "usage"))
        names = CHOICE_META if present(top.get("usage")) else (*CHOICE_META, "usage")
        for raw in items_of(top.get("choices", UNREAD)):
            members = fields_of(raw) or {}
            if (integer_of(members.get("index")) or 0) == self._choice:
                self._remember(members, names)

    def _remember(self, members: dict[str, msgspec.Raw], names: tuple[str, ...]) -> None:
        for name in names:
            raw = members.get(name)
            if raw is not None and present(raw):
                self._call.remember(name, compact(raw))

    def image(self, url: str) -> None:
        """An image by its URL, which may hold it."""
        head, found, data = url.partition(";base64,")
        if found and head.startswith("data:"):
            self._call.image(head.removeprefix("data:"), "data", data)
        else:
            self._call.image("image/*", "url", url)

    def _images(self, raw: bytes) -> None:
        for item in items_of(raw) or [msgspec.Raw(raw)]:
            url = url_of(fields_of(item) or {})
            if url:
                self.image(url)
            else:
                self._call.beside("raw", {"delta": b'{"images":[%s]}' % compact(item)})


def _citations_last(extra: Extra) -> bool:
    return extra.name == "citations"

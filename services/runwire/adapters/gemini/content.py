"""The parts of one answer: text, thoughts, calls, media, and whatever else Gemini puts there."""

from collections.abc import Callable
from typing import Final

import msgspec

from runwire.adapters.gemini.calls import Calls
from runwire.adapters.gemini.executed import Executed
from runwire.adapters.gemini.media import write_media
from runwire.adapters.gemini.wire import NULL, Members, given, members_of, object_of, rest_of
from runwire.adapters.opaque import compact, items_of, text_of
from runwire.adapters.writing.call import Call

_CONTENT_READ: Final = frozenset({"parts", "role"})
_SIGNATURE: Final = "thoughtSignature"
_MEDIA: Final = ("inlineData", "fileData")
_BLOB_READ: Final = frozenset({"data", "fileUri", "mimeType"})


class Content:
    """What one candidate says."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.calls = Calls(call)
        self._executed = Executed(call)
        self._handlers: dict[str, Callable[[msgspec.Raw, Members], None]] = {
            "inlineData": self._media,
            "fileData": self._media,
            "functionCall": self.calls.part,
            "executableCode": self._executed.code,
            "codeExecutionResult": self._executed.code_result,
            "toolCall": self._executed.tool,
            "toolResponse": self._executed.tool_result,
        }

    def text(self, text: str) -> None:
        """An unsigned part of the answer's text. An empty one says nothing."""
        if text:
            self._executed.prose()
            self._call.text(text)

    def thought(self, text: str) -> None:
        """An unsigned part of the reasoning. What was signed is closed: each signature is of its own part."""
        if self._call.signed:
            self._call.end_thinking()
        if text:
            self._call.thinking(text)

    def loose(self, content: Members) -> None:
        """Any content, part by part."""
        for raw in items_of(content.get("parts", NULL)):
            part = members_of(raw)
            if part is not None:
                self._part(part)
            else:
                self._call.beside("raw", {"part": compact(raw)})
        unknown = rest_of(content, _CONTENT_READ)
        if unknown:
            self._call.beside("raw", {"content": object_of(unknown)})

    def _part(self, part: Members) -> None:
        thought = bytes(part.get("thought", NULL)) == b"true"
        data = [name for name in self._handlers if given(part, name)]
        text = text_of(part.get("text"))
        rest = rest_of(part, frozenset({"text", "thought", *data}))
        if text is not None or list(rest) == [_SIGNATURE]:
            self._prose(text or "", {} if data else rest, thought=thought)
        elif not data and rest:
            # A kind that is not known here: kept whole.
            self._call.beside("raw", {"part": object_of(part)})
        for name in data:
            if thought and name in _MEDIA:
                self._media(part[name], rest, kind="reasoning-file")
            else:
                self._handlers[name](part[name], rest)

    def _prose(self, text: str, rest: Members, *, thought: bool) -> None:
        if not thought:
            self._answer(text, rest)
            return
        self.thought(text)
        signature = text_of(rest.get(_SIGNATURE))
        others = rest_of(rest, frozenset({_SIGNATURE})) if signature else rest
        if others:
            self._call.note_thinking(object_of(others))
        if signature:
            self._call.sign(signature)

    def _answer(self, text: str, rest: Members) -> None:
        if not rest:
            self.text(text)
            return
        if text:
            self._executed.prose()
        self._call.text(text, object_of(rest))

    def _media(self, raw: msgspec.Raw, rest: Members, kind: str = "file") -> None:
        """`inlineData` (base64) and `fileData` (a URL)."""
        blob = members_of(raw) or {}
        media_type, data, url = (text_of(blob.get(name)) or "" for name in ("mimeType", "data", "fileUri"))
        if not write_media(self._call, media_type, data, url, {**rest_of(blob, _BLOB_READ), **rest}, kind):
            self._call.beside("raw", {"part": object_of({"media": raw, **rest})})

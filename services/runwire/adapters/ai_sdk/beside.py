"""Files, sources and facts about the response: kept as blocks where the union has them, else beside."""

import base64
from typing import Final

import msgspec

from runwire.adapters.ai_sdk.wire import NULL, Members, inner_of, object_of, rest_of, word_of
from runwire.adapters.opaque import compact, fields_of, present, quote, text_of
from runwire.adapters.writing.call import Call

_FILE_READ: Final = frozenset({"type", "mediaType", "data"})
_DATA: Final = ("data", "url", "text")
_numbers = msgspec.json.Decoder(list[int] | dict[str, int]).decode


class Beside:
    """What one response has beside its text and tools."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._identity = ("", "", "")
        self._cited = 0
        self.facts = False  # something is known of the response besides who gave it

    def file(self, part: Members) -> None:
        """An image is a block; any other file is a `file` chunk."""
        self._file(part, {}, image=True)

    def reasoning_file(self, part: Members) -> None:
        """A file that the model made while it thought: no part of the answer."""
        self._file(part, {"reasoning": msgspec.Raw(b"true")}, image=False)

    def source(self, part: Members) -> None:
        """A page or a document, with the id that the SDK gave it."""
        kind = word_of(part, "sourceType")
        if kind not in ("url", "document"):
            self._call.beside("raw", {"part": object_of(part)})
            return
        payload = {name: compact(raw) for name, raw in part.items() if name != "type" and bytes(raw) != b"null"}
        identity = word_of(part, "id") or self._numbered()
        payload |= {"id": quote(identity), "sourceType": quote(kind), "title": quote(word_of(part, "title"))}
        self._call.beside("source", payload, named=False)

    def citation(self, raw: msgspec.Raw) -> None:
        """A place in a source that the text before it rests on. Several may be in one source, under one id."""
        source = inner_of(fields_of(raw) or {}, "source")
        url, title = word_of(source, "url"), word_of(source, "title")
        payload = {"id": self._numbered(), "sourceType": "url" if url else "document", "title": title}
        if url:
            payload["url"] = url
        said = {name: quote(value) for name, value in payload.items()}
        said["providerMetadata"] = b'{"ai-sdk":%s}' % compact(raw)
        self._call.beside("source", said, named=False)

    def _numbered(self) -> str:
        self._cited += 1
        return f"{self._call.response_id}:source:{self._cited}" if self._call.response_id else f"source:{self._cited}"

    def remember(self, members: Members) -> None:
        """Facts about the response."""
        for name, raw in members.items():
            if present(raw):
                self.facts = True
                self._call.remember(name, compact(raw))

    def warnings(self, part: Members) -> None:
        """`stream-start`: what of the request was not understood."""
        self.remember(rest_of(part, frozenset({"type"})))

    def metadata(self, part: Members) -> None:
        """`response-metadata`: who answered and when."""
        identity = (word_of(part, "id"), word_of(part, "modelId"), word_of(part, "timestamp"))
        if identity != self._identity:
            self._identity = identity
            self._call.identify(*identity)
        self.remember(rest_of(part, frozenset({"type", "id", "modelId", "timestamp"})))

    def raw(self, part: Members) -> None:
        """The provider's own event, for who asked for it."""
        self._call.beside("raw", {"rawValue": compact(part.get("rawValue", NULL))})

    def _file(self, part: Members, more: Members, *, image: bool) -> None:
        media_type = word_of(part, "mediaType") or "application/octet-stream"
        key, value = _content(part.get("data", NULL))
        if not value:
            self._call.beside("raw", {"part": object_of(part)})
            return
        rest = {**rest_of(part, _FILE_READ), **more}
        if image and media_type.startswith("image/") and key != "text":
            self._call.image(media_type, "url" if key == "url" else "data", value)
            if rest:
                self._call.beside("raw", {"file": object_of(rest)})
            return
        payload = {"data": quote(value), "mimeType": quote(media_type)}
        self._call.beside("file", payload | {name: compact(raw) for name, raw in rest.items()}, named=False)


def _content(raw: msgspec.Raw) -> tuple[str, str]:
    """(`data`, base64), (`url`, URL) or (`text`, text); the second is empty if there is none of them.

    V2 and V3 give base64 or bytes; V4 says which it is: `{type, data | url | text}`.
    """
    text = text_of(raw)
    if text is not None:
        return "data", text
    members = fields_of(raw) or {}
    kind = text_of(members.get("type"))
    if kind in _DATA:
        inner = members.get(kind, NULL)
        text = text_of(members.get("originalUrl")) or text_of(inner)
        return kind, _bytes(inner) if text is None else text
    return "data", _bytes(raw)


def _bytes(raw: msgspec.Raw) -> str:
    """Bytes as JSON has them, in base64: a Uint8Array is an object of numbers, a Buffer an object with them in `data`.

    "" for anything else.
    """
    members = fields_of(raw)
    given = members["data"] if members and text_of(members.get("type")) == "Buffer" and "data" in members else raw
    try:
        numbers: list[int] | dict[str, int] = _numbers(bytes(given))
        if isinstance(numbers, dict):
            numbers = [numbers[str(at)] for at in range(len(numbers))]
        return base64.b64encode(bytes(numbers)).decode()
    except (msgspec.DecodeError, KeyError, ValueError):
        return ""

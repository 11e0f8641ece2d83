"""The parts of content that came as an array."""

from typing import Final, Literal, NamedTuple

import msgspec

from runwire.adapters.opaque import compact, fields_of, items_of, text_of, unread
from runwire.adapters.openai_chat.wire import UNREAD, PartIn

PartKind = Literal["text", "thinking", "signature", "image", "other"]
# Members of each kind that are read, and what the JSON of their shapes begins with (`b""`: any).
_READ: Final = {
    "text": {"type": b"", "text": b'"'},
    "thinking": {"type": b"", "thinking": b"", "signature": b'"', "closed": b""},
    "reasoning": {"type": b"", "summary": b""},
    "image": {"type": b"", "image_url": b""},
}
_SUMMARY_READ: Final = {"type": b"", "text": b'"', "signature": b'"'}


class Part(NamedTuple):
    """Text, reasoning, its signature, an image's URL, or anything else as JSON."""

    kind: PartKind
    text: str = ""
    raw: bytes = b""


def parts_in(raw: msgspec.Raw) -> list[Part]:
    """One element of the array: Mistral's text, `thinking` with an array of its own, images; Databricks' reasoning
    with summaries and their signatures; whatever else (references).
    """
    members = fields_of(raw)
    if members is None:
        text = text_of(raw)
        return [Part("other", raw=compact(raw))] if text is None else [Part("text", text)]
    kind, text = text_of(members.get("type")), text_of(members.get("text"))
    if kind in ("text", "output_text") and text is not None:
        return [Part("text", text), *_rest(members, "text")]
    thinking = members.get("thinking", UNREAD) if kind == "thinking" else UNREAD
    if bytes(thinking)[:1] in (b'"', b"["):
        return [*_thinking(thinking), *_signature(members), *_rest(members, "thinking")]
    if kind == "reasoning" and items_of(members.get("summary", UNREAD)):
        summary = [part for item in items_of(members["summary"]) for part in _summary(item)]
        return [*summary, *_rest(members, "reasoning")]
    if kind == "image_url" and (url := url_of(members)):
        return [Part("image", url), *_rest(members, "image")]
    return [Part("other", raw=compact(raw))]


def _thinking(raw: msgspec.Raw) -> list[Part]:
    text = text_of(raw)
    if text is not None:
        return [Part("thinking", text)]
    inner = [part for item in items_of(raw) for part in parts_in(item)]
    return [Part("thinking", part.text) if part.kind == "text" else part for part in inner]


def _summary(raw: msgspec.Raw) -> list[Part]:
    members = fields_of(raw) or {}
    text = text_of(members.get("text"))
    if text is None or unread(members, _SUMMARY_READ):
        return [Part("other", raw=compact(raw))]
    return [Part("thinking", text), *_signature(members)]


def _signature(members: dict[str, msgspec.Raw]) -> list[Part]:
    signature = text_of(members.get("signature"))
    return [Part("signature", signature)] if signature else []


def _rest(members: dict[str, msgspec.Raw], kind: str) -> list[Part]:
    """What a part has beside what was read, under its type."""
    rest = unread(members, _READ[kind])
    return [Part("other", raw=compact(msgspec.json.encode({"type": members["type"], **rest})))] if rest else []


def parts_of(parts: list[PartIn]) -> list[Part]:
    """The parts of a content array that had the usual shape."""
    read: list[Part] = []
    for part in parts:
        if part.type == "text":
            read.append(Part("text", part.text or ""))
        elif isinstance(part.thinking, list):
            read += [Part("thinking", inner.text) for inner in parts_of(part.thinking)]
        else:
            read.append(Part("thinking", part.thinking or ""))
    return read


def url_of(members: dict[str, msgspec.Raw]) -> str | None:
    """The URL of an `image_url` part, which is text or an object with `url`."""
    raw = members.get("image_url")
    inner = None if raw is None else fields_of(raw)
    return text_of(raw) if inner is None else text_of(inner.get("url"))

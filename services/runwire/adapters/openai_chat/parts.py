"""The parts of content that came as an array."""

from typing import Final, Literal, NamedTuple

import msgspec

from runwire.adapters.opaque import compact, fields_of, items_of, present, text_of
from runwire.adapters.openai_chat.wire import UNREAD, PartIn

PartKind = Literal["text", "thinking", "signature", "image", "other"]
_REASONING_READ: Final = frozenset({"type", "text", "signature"})


class Part(NamedTuple):
    """Text, reasoning, its signature, an image's URL, or anything else as JSON."""

    kind: PartKind
    text: str = ""
    raw: bytes = b""


def parts_in(raw: msgspec.Raw) -> list[Part]:  # noqa: PLR0911 - one return for each kind of part
    """One element of the array: Mistral's text, `thinking` with an array of its own, images; Databricks' reasoning
    with summaries and their signatures; whatever else (references).
    """
    members = fields_of(raw)
    if members is None:
        text = text_of(raw)
        return [Part("other", raw=compact(raw))] if text is None else [Part("text", text)]
    kind = text_of(members.get("type"))
    text = text_of(members.get("text"))
    if kind in ("text", "output_text") and text is not None:
        return [Part("text", text)]
    if kind == "thinking" and (thinking := members.get("thinking")) is not None:
        text = text_of(thinking)
        if text is not None:
            return [Part("thinking", text)]
        inner = [part for item in items_of(thinking) for part in parts_in(item)]
        return [Part("thinking", part.text) if part.kind == "text" else part for part in inner]
    if kind == "reasoning" and items_of(members.get("summary", UNREAD)):
        return [part for item in items_of(members["summary"]) for part in _summary(item)]
    if kind == "image_url" and (url := url_of(members)):
        return [Part("image", url)]
    return [Part("other", raw=compact(raw))]


def _summary(raw: msgspec.Raw) -> list[Part]:
    members = fields_of(raw) or {}
    text, signature = text_of(members.get("text")), text_of(members.get("signature"))
    if text is None or any(present(members[name]) for name in members.keys() - _REASONING_READ):
        return [Part("other", raw=compact(raw))]
    return [Part("thinking", text), Part("signature", signature)] if signature else [Part("thinking", text)]


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

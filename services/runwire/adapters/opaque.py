"""JSON that is passed on without being understood: made compact and safe, its numbers as the provider wrote them."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

# A record may nest 128 levels. What is passed on lies a few levels deep in its chunk.
MAX_DEPTH: Final = 112

# An escape: a surrogate pair, a lone surrogate (group 1), or any other.
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
# U+FDD0 is reserved for uses inside programs and is no character; the surrogate follows it in hexadecimal.
_MARK: Final = b"\\ufdd0"
_MARKED: Final = re.compile(rb"\\ufdd0[0-9A-F]{4}")
_MARKED_TEXT: Final = re.compile("\ufdd0([0-9A-F]{4})")
_STRUCTURE: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', re.DOTALL)
_encode = msgspec.json.Encoder().encode
_text_decoder = msgspec.json.Decoder(str)


def quote(text: str) -> bytes:
    """A string as JSON. Lone halves of surrogate pairs, which no UTF-8 can hold, become U+FFFD."""
    try:
        return _encode(text)
    except UnicodeEncodeError:
        return _encode(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def repaired(raw: bytes) -> bytes:
    """JSON text whose strings are no Unicode, made decodable: bad UTF-8 becomes U+FFFD (as the standard of server-sent
    events says), and a lone surrogate is marked, so that `text_of` can hand it out and two halves can be joined.
    """
    return _ESCAPE.sub(_mark, raw.decode(errors="replace").encode())


def _mark(found: re.Match[bytes]) -> bytes:
    lone: bytes | None = found.group(1)
    return found.group() if lone is None else _MARK + lone.upper()


def compact(value: bytes | msgspec.Raw) -> bytes:
    """The same JSON without white space between its tokens. Must be JSON; bad UTF-8 and lone surrogates are replaced.

    What nests deeper than a record may is passed on as one string that holds the JSON text.
    """
    raw = bytes(value)
    if not raw.isascii():
        raw = raw.decode(errors="replace").encode()
    if _MARK in raw:
        raw = _MARKED.sub(rb"\\ufffd", raw)
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and depth_of(raw) > MAX_DEPTH:
        return quote(raw.decode())
    return msgspec.json.format(raw, indent=-1)


def depth_of(raw: bytes) -> int:
    """How deep arrays and objects nest."""
    depth = deepest = 0
    for found in _STRUCTURE.finditer(raw):
        if found.group(1):
            depth += 1
            deepest = max(deepest, depth)
        elif found.group(2):
            depth -= 1
    return deepest


def text_of(value: bytes | msgspec.Raw | None) -> str | None:
    """The string that this JSON is, else None. May hold lone surrogates: `Call` joins or replaces them."""
    if value is None:
        return None
    raw = bytes(value)
    if not raw.startswith(b'"'):
        return None
    text = _text_decoder.decode(raw if raw.isascii() else raw.decode(errors="replace").encode())
    return _MARKED_TEXT.sub(lambda found: chr(int(found.group(1), 16)), text) if _MARK in raw else text


def fields_of(value: bytes | msgspec.Raw) -> dict[str, msgspec.Raw] | None:
    """The members of this JSON if it is an object, undecoded; else None. Raises DecodeError if it is no JSON."""
    raw = bytes(value)
    return _object_decoder.decode(raw) if raw.lstrip()[:1] == b"{" else None


def items_of(value: bytes | msgspec.Raw) -> list[msgspec.Raw]:
    """The elements of this JSON if it is an array, undecoded; else none."""
    raw = bytes(value)
    return _array_decoder.decode(raw) if raw.lstrip()[:1] == b"[" else []


def integer_of(value: bytes | msgspec.Raw | None) -> int | None:
    """The integer that this JSON is (also spelled `1.0` or `"1"`), else None."""
    if value is None:
        return None
    try:
        return msgspec.json.decode(bytes(value), type=int, strict=False)
    except msgspec.DecodeError:
        return None


def present(value: msgspec.Raw | None) -> bool:
    """It holds something: not absent, null, "" or an empty array or object."""
    return value is not None and bytes(value) not in _NOTHING


def unread(members: dict[str, msgspec.Raw], read: Mapping[str, bytes]) -> dict[str, msgspec.Raw]:
    """The members that hold something and were not read. `read` maps names to what the JSON of their usual shapes
    begins with (`b""`: any shape): `{"text": b'"'}` leaves a `text` over that is no string.
    """
    return {
        name: raw
        for name, raw in members.items()
        if present(raw) and (name not in read or (read[name] and bytes(raw)[:1] not in read[name]))
    }


_NOTHING: Final = (b"null", b'""', b"[]", b"{}")
_object_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array_decoder = msgspec.json.Decoder(list[msgspec.Raw])

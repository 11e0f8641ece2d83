"""Stream parts as they come. What does not fit the usual shapes is read member by member instead."""

from typing import Final

import msgspec

from runwire.adapters.opaque import compact, fields_of, integer_of, present, text_of

Members = dict[str, msgspec.Raw]

NULL: Final = msgspec.Raw(b"null")
# Counts above are no integers for most JSON readers, and no provider's truth.
_SURE: Final = 2**53


class TextDelta(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="text-delta", rename="camel", gc=False):
    id: str
    delta: str
    provider_metadata: msgspec.Raw = NULL


class ReasoningDelta(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="reasoning-delta", rename="camel", gc=False
):
    id: str
    delta: str
    provider_metadata: msgspec.Raw = NULL


class InputDelta(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="tool-input-delta", rename="camel", gc=False
):
    id: str
    delta: str
    provider_metadata: msgspec.Raw = NULL


decode_delta = msgspec.json.Decoder(TextDelta | ReasoningDelta | InputDelta).decode


def word_of(members: Members, name: str) -> str:
    """The string of that name, else ""; a number counts as its digits, since some ids are numbers."""
    raw = members.get(name)
    text = text_of(raw)
    if text is None:
        number = integer_of(raw)
        return "" if number is None else str(number)
    return text


def flag_of(members: Members, name: str) -> bool:
    return bytes(members.get(name, NULL)) == b"true"


def inner_of(members: Members, name: str) -> Members:
    return fields_of(members.get(name, NULL)) or {}


def count_of(members: Members, name: str) -> int | None:
    """The number if it can be a count."""
    number = integer_of(members.get(name))
    return number if number is not None and 0 <= number < _SURE else None


def rest_of(members: Members, read: frozenset[str]) -> Members:
    """The members that are not read and say something."""
    return {name: raw for name, raw in members.items() if name not in read and present(raw)}


def object_of(members: Members) -> bytes:
    """Compact JSON."""
    return compact(msgspec.json.encode(members))

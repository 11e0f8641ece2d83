r"""JSON as text: what a schema decoder does not check, and what must not be decoded and encoded again.

Opaque JSON (arguments, results, extra fields) keeps its spelling: `1.0`, `1e400` and `\u00e9` stay as written. Only
insignificant white space goes. So the text is checked apart from decoding: UTF-8, syntax, depth, surrogates.
"""

import json
import re
from typing import Final, NoReturn

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

MAX_DEPTH: Final = 128

_STRING_OR_SPACE: Final = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")|[ \t\n\r]+', re.DOTALL)
# An unterminated string reaches to the end: otherwise each of its quotes would be tried as a new start.
_STRING_OR_OTHER: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[^\[\]{}"]+', re.DOTALL)
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
# A pair, a half that has no other, any other escape: in the text, for a tree has lost what a later equal name replaced.
_ESCAPE: Final = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F])|\\.")
# Longer integers are slow to convert and beyond every bound; as a float they fail the same rules.
_LONGEST_INT: Final = 20


class JsonFault(ValueError):
    """The text is not the JSON that the contract asks for; its message says why."""


def parse(data: bytes | str, depth: int = MAX_DEPTH) -> Json:
    """Decode and check everything: UTF-8, RFC 8259, at most `depth` levels, no unpaired surrogate.

    Raises JsonFault. Numbers that are no integers, or huge, come as floats: only their kind and sign matter here.
    """
    try:
        text = data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError as fault:
        raise JsonFault(f"not UTF-8 at byte {fault.start}") from None
    if levels(text, depth) > depth:
        raise JsonFault(f"more than {depth} levels deep")
    try:
        tree: Json = _decode(text)
    except json.JSONDecodeError as fault:
        raise JsonFault(f"no JSON: {fault.msg} at character {fault.pos}") from None
    if _SURROGATE.search(text) and any(escape[1] for escape in _ESCAPE.finditer(text)):
        raise JsonFault("an unpaired surrogate")
    return tree


def levels(text: str, enough: int = MAX_DEPTH) -> int:
    """How deep arrays and objects lie in each other; a number up to `enough` may be an overestimate."""
    brackets = text.count("[") + text.count("{")
    if brackets <= enough:
        return brackets
    level = deepest = 0
    for char in _STRING_OR_OTHER.sub("", text):
        if char in "]}":
            level -= 1
            continue
        level += 1
        if level > deepest:
            deepest = level
            if deepest > enough:
                break
    return deepest


def compact(data: bytes | str) -> bytes:
    """Valid JSON without its insignificant white space; everything else stays as spelled."""
    text = data if isinstance(data, str) else data.decode()
    if " " in text or "\n" in text or "\t" in text or "\r" in text:
        text = _STRING_OR_SPACE.sub(r"\1", text)
    return text.encode()


def arguments(text: str, depth: int = MAX_DEPTH) -> bytes | None:
    """A tool call's arguments as the compact text of their object; blank ones are `{}`; None if they are no object."""
    if not text.strip(" \t\n\r"):
        return b"{}"
    try:
        tree = parse(text, depth)
    except JsonFault:
        return None
    return compact(text) if isinstance(tree, dict) else None


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


def _no_constant(name: str) -> NoReturn:
    raise JsonFault(f"no JSON: {name}")


# Made once: `json.loads` would make one for each text.
_decode: Final = json.JSONDecoder(parse_int=_integer, parse_constant=_no_constant).decode

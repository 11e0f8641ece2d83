"""What a recording says, written down by reading it, for protocols whose SDK does not put a response together.

One file a protocol, `golden/<protocol>.toml`, with one `[[recording]]` per recorded body:

    [[recording]]
    file = "name.jsonl"
    text = "The whole answer."                     # or {chars, sha256, begins, ends} if it is long
    reasoning = ""                                 # the same
    tools = [["id", "name", '{"arguments":1}']]
    usage = {input_tokens = 1, output_tokens = 2}  # left out: none was reported
    finish = "stop"
    error = "the provider's message"               # left out: no failure
"""

import hashlib
import tomllib
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from conformance.expected import same_arguments
from conformance.recorded import Seen
from conformance.spoken import spoken
from runwire_schemas.raw import Usage

TABLES = Path(__file__).with_name("golden")


class LongText(TypedDict):
    """A text that is too long to stand in a table."""

    chars: int
    sha256: str
    begins: str
    ends: str


class Golden(NamedTuple):
    """One recording as its reader found it."""

    file: str
    text: str | LongText
    reasoning: str | LongText
    tools: list[tuple[str, str, str]]
    usage: Usage | None
    finish: str
    error: str


def goldens(provider: str) -> dict[str, Golden]:
    """By file name."""
    table = TABLES / f"{provider}.toml"
    return {row["file"]: _golden(row) for row in tomllib.loads(table.read_text())["recording"]}


def _golden(row: dict[str, Any]) -> Golden:
    usage = Usage(**row["usage"]) if "usage" in row else None
    tools = [(identity, name, arguments) for identity, name, arguments in row["tools"]]
    return Golden(row["file"], row["text"], row["reasoning"], tools, usage, row["finish"], row.get("error", ""))


def unlike(provider: str, golden: Golden, seen: Seen) -> set[str]:
    """The fields in which a call differs from what was read."""
    found = {name for name in ("text", "reasoning") if not _same_text(getattr(golden, name), getattr(seen, name))}
    found |= {name for name in ("usage", "finish") if getattr(golden, name) != getattr(seen, name)}
    exact = spoken(provider).exact
    if len(golden.tools) != len(seen.tools) or not all(
        theirs[:2] == ours[:2] and (theirs[2] == ours[2] if exact else same_arguments(ours[2], theirs[2]))
        for theirs, ours in zip(golden.tools, seen.tools, strict=True)
    ):
        found.add("tools")
    if golden.error != seen.failure:
        found.add("error")
    return found


def _same_text(golden: str | LongText, text: str) -> bool:
    if isinstance(golden, str):
        return golden == text
    digest = hashlib.sha256(text.encode()).hexdigest()
    same = (golden["chars"], golden["sha256"]) == (len(text), digest)
    return same and text.startswith(golden["begins"]) and text.endswith(golden["ends"])

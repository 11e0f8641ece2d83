"""What the official SDKs make of the same bytes, offline, and where Runwire differs on purpose."""

import tomllib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import msgspec

from runwire_schemas.raw import Usage

TABLES = Path(__file__).with_name("differences")


class Difference(NamedTuple):
    """One reviewed difference. `field` `sdk` means that the SDK raises: then there is nothing to compare."""

    file: str
    field: str
    reason: str
    notes: str


class Violation(NamedTuple):
    """A recording that the raw grammar does not accept: with which code, and why that is right."""

    file: str
    code: str
    reason: str


class Expected(NamedTuple):
    """What a call says, read by other code than the adapters. `finish` None: nothing ends it.

    `tools` are (id, name, arguments as JSON text). `raised`: `sdk: …` if there is nothing to compare with, `error: …`
    with the provider's message.
    """

    text: str
    reasoning: str
    tools: list[tuple[str, str, str]]
    usage: Usage | None
    finish: str | None
    raised: str


def differences(provider: str) -> list[Difference]:
    """The reviewed table of one protocol: where its adapter and the SDK differ on purpose."""
    return [Difference(**row) for row in _table(provider).get("difference", [])]


def violations(provider: str) -> dict[str, Violation]:
    """The recordings of one protocol that the grammar refuses, by file name."""
    return {row["file"]: Violation(**row) for row in _table(provider).get("violation", [])}


def _table(provider: str) -> dict[str, Any]:
    table = TABLES / f"{provider}.toml"
    return tomllib.loads(table.read_text()) if table.exists() else {}


def answering(body: bytes) -> httpx2.Client:
    """An HTTP client that answers every request with this body."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body, request=request)

    return httpx2.Client(transport=httpx2.MockTransport(answer))


@contextmanager
def quiet() -> Iterator[None]:
    """The SDKs' models warn about what other servers send; a warning must not become an exception inside them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def same_arguments(ours: str, theirs: str) -> bool:
    """Equal as JSON, for SDKs that keep the parsed object and not the text."""
    try:
        return bool(msgspec.json.decode(ours or "{}") == msgspec.json.decode(theirs or "{}"))
    except msgspec.DecodeError:
        return ours == theirs

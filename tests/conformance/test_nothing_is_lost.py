"""Accounting: every string that a provider sent comes out again, unless it is listed here as saying nothing."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from conformance.recorded import convert, files

RECORDED = files()

# Members by name. Padding, constants of the protocol, and copies of what another member of the same event says.
SAYS_NOTHING = {
    "openai-chat": {"object", "obfuscation", "p", "role", "channel", "message", "text"},
    "anthropic": {"role", "p"},
}
AUTHOR = ("name", "assistant")  # one server names who speaks in every delta
# Facts about the response that every event repeats; the adapter keeps the first or the last.
REPEATED = {"id", "model", "system_fingerprint", "provider", "service_tier"}
# The protocol's own words, which become the words of raw chunks.
WORDS = {"type", "finish_reason", "native_finish_reason", "stop_reason", "format"}


@pytest.mark.parametrize(("provider", "path"), RECORDED, ids=[path.name for _, path in RECORDED])
def test_every_string_comes_out_again(provider: str, path: Path) -> None:
    emitted = convert(provider, [path.read_bytes()])
    kept = "\0".join(text for _, body in emitted for _, text in _strings(msgspec.json.decode(body), ""))

    silent = SAYS_NOTHING[provider] | REPEATED | WORDS
    lost = [
        (name, text)
        for event in _events(path.read_bytes())
        for name, text in _strings(event, "", silent)
        if text and text not in kept and (name, text) != AUTHOR
    ]

    assert lost == []


@pytest.mark.parametrize(("provider", "path"), RECORDED, ids=[path.name for _, path in RECORDED])
def test_the_facts_of_a_response_are_kept_once(provider: str, path: Path) -> None:
    emitted = convert(provider, [path.read_bytes()])
    first = next(iter(_events(path.read_bytes())))
    message = first.get("message", first)

    said = [body for kind, body in emitted if kind == "agent" and b'"response-metadata"' in body]

    if isinstance(message, dict) and message.get("id"):
        assert any(message["id"] in body.decode() for body in said)


def _events(body: bytes) -> Iterator[dict[str, object]]:
    for line in body.splitlines():
        data = line.removeprefix(b"data:").strip()
        if data.startswith(b"{"):
            yield msgspec.json.decode(data)


def _strings(value: object, name: str, silent: set[str] | None = None) -> Iterator[tuple[str, str]]:
    """Every string with the name of the member it lies in; members in `silent` are left out with all they hold."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, name, silent)
    elif isinstance(value, dict):
        for key, item in value.items():
            if silent is None or key not in silent:
                yield from _strings(item, key, silent)

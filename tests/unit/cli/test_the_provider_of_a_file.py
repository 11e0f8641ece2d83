"""Without --provider a file is told from its first event; what cannot be told is an error, never a guess."""

from pathlib import Path

import pytest

from helpers import corpus
from runwire.cli.failures import CommandError, FileUnreadable, ProviderUnclear
from runwire.cli.sources import provider_of

FIRST_EVENTS = {
    "openai-chat": [
        b'data: {"id":"x","object":"chat.completion.chunk","choices":[]}\n\n',
        b': comment\n\ndata: {"choices":[{"delta":{}}]}\n\n',
        b'{"choices":[{"delta":{}}]}\n{"choices":[]}\n',
        b'[{"choices":[]},\n{"choices":[]}]',
    ],
    "anthropic": [
        b'event: message_start\ndata: {"type":"message_start","message":{}}\n\n',
        b'event: ping\ndata: {"type": "ping"}\n\n',
        b'{"type":"content_block_start","index":0}\n',
    ],
    "raw": [b'{"type":"block-start","index":0,"blockKind":"text"}\n', b'\n\n{"type":"usage","usage":{}}\n'],
    "record": [b'{"kind":"provider","call":"c","body":{"type":"finish"}}\n'],
}


@pytest.mark.parametrize(("provider", "head"), [(name, head) for name, heads in FIRST_EVENTS.items() for head in heads])
def test_the_first_event_tells(tmp_path: Path, provider: str, head: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(head)
    assert provider_of(str(path)) == provider


@pytest.mark.parametrize("head", [b"", b"hello\n", b"{}\n", b'{"type":"text"}\n', b"\xff\xfe", b"[1,2]", b'{"type":'])
def test_what_cannot_be_told_is_an_error(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(head)
    with pytest.raises(ProviderUnclear):
        provider_of(str(path))


def test_stdin_and_missing_files_are_errors_too(tmp_path: Path) -> None:
    with pytest.raises(CommandError):
        provider_of("-")
    with pytest.raises(FileUnreadable):
        provider_of(str(tmp_path / "nowhere"))


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic"])
def test_recorded_streams_are_told_apart(protocol: str) -> None:
    wrong = {path.name: told for path in corpus(protocol) if (told := told_or_none(path)) not in (protocol, None)}
    assert wrong == {}
    assert sum(told_or_none(path) is None for path in corpus(protocol)) <= 2


def told_or_none(path: Path) -> str | None:
    try:
        return provider_of(str(path))
    except ProviderUnclear:
        return None

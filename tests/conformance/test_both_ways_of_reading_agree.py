"""An event is read the fast way if it has the usual shape, else member by member. Both give the same chunks."""

from pathlib import Path

import msgspec
import pytest

from conformance.recorded import convert, files
from runwire.adapters.anthropic import messages
from runwire.adapters.openai_chat import chat

RECORDED = files()


def _never_usual(data: bytes) -> object:
    msgspec.json.decode(data)
    raise msgspec.ValidationError("not the usual shape")


@pytest.mark.parametrize(("provider", "path"), RECORDED, ids=[path.name for _, path in RECORDED])
def test_member_by_member_gives_the_same(provider: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = convert(provider, [path.read_bytes()])

    monkeypatch.setattr(chat, "decode_chunk", _never_usual)
    monkeypatch.setattr(messages, "decode_delta", _never_usual)

    assert convert(provider, [path.read_bytes()]) == fast

"""An event is read the fast way if it has the usual shape, else member by member. Both give the same chunks."""

from pathlib import Path

import msgspec
import pytest

from conformance.recorded import convert, files
from conformance.spoken import spoken

RECORDED = files()


def _never_usual(data: bytes) -> object:
    msgspec.json.decode(data)
    raise msgspec.ValidationError("not the usual shape")


@pytest.mark.parametrize(("provider", "path"), RECORDED, ids=[path.name for _, path in RECORDED])
def test_member_by_member_gives_the_same(provider: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = convert(provider, [path.read_bytes()])

    for module, name in spoken(provider).fast:
        monkeypatch.setattr(f"{module}.{name}", _never_usual)

    assert convert(provider, [path.read_bytes()]) == fast

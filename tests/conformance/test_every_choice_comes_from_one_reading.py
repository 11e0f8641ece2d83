"""Every recorded stream read for all of its choices at once: each is what an adapter for it alone makes of the body."""

import random
from pathlib import Path

import pytest

from conformance.recorded import Seen, convert, files
from helpers import recordings
from runwire.adapters import Emitted, choices

RECORDED = files()


def every_choice(provider: str, body: bytes, seed: int) -> dict[int, list[Emitted]]:
    several, chance, at = choices(provider), random.Random(seed), 0
    chosen = []
    while at < len(body):
        step = chance.choice((1, 5, 200, 20_000))
        chosen += several.feed(body[at : at + step])
        at += step
    calls: dict[int, list[Emitted]] = {}
    for choice, emitted in [*chosen, *several.close()]:
        calls.setdefault(choice, []).append(emitted)
    return calls


@pytest.mark.parametrize(("provider", "path"), RECORDED, ids=[path.name for _, path in RECORDED])
def test_each_choice_is_a_call_of_its_own(provider: str, path: Path) -> None:
    body = path.read_bytes()
    for seed, name in enumerate((provider, "auto")):
        calls = every_choice(name, body, seed)

        assert calls == {choice: convert(provider, [body], choice=choice) for choice in calls}
        assert 0 in calls


def test_a_recording_with_several_choices_is_among_them() -> None:
    (path,) = (path for path in recordings("openai-chat") if "multiple_choices_proxy" in path.name)
    calls = every_choice("openai-chat", path.read_bytes(), 0)

    assert calls.keys() == {0, 1}
    assert all(Seen(emitted).text for emitted in calls.values())

"""The official SDK reads the same bytes offline into typed events; what differs on purpose is in differences."""

from pathlib import Path

import msgspec
import pytest
from google.genai import errors

from conformance.compared import reviewed, stale, unequal
from conformance.oracles.gemini import events, reads
from conformance.recorded import Seen, as_sse, convert
from helpers import corpus
from runwire.adapters import adapter, feed_event

PROVIDER = "gemini"
RECORDED = corpus(PROVIDER)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_the_adapter_says_what_the_sdk_says(path: Path) -> None:
    """Text, reasoning, tool calls, usage and finish. A row that is not needed fails as a missing one does."""
    found = unequal(PROVIDER, path, reads(as_sse(PROVIDER, path)))

    assert found == reviewed(PROVIDER, path)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_what_model_dump_gives_is_understood(path: Path) -> None:
    """Objects as dictionaries, with the names that the SDK gives to their members, and None for what was not sent."""
    if reviewed(PROVIDER, path) & {"sdk"}:
        return
    try:
        dumps = [event.model_dump() for event in events(as_sse(PROVIDER, path))]
    except errors.APIError:
        return
    wire = adapter(PROVIDER)

    seen = Seen([chunk for dump in dumps for chunk in feed_event(wire, dump)] + wire.close())

    whole = Seen(convert(PROVIDER, [path.read_bytes()]))
    for field in ("text", "reasoning", "executed", "usage", "finish", "kinds"):
        assert getattr(seen, field) == getattr(whole, field), field
    assert [tool[:2] for tool in seen.tools] == [tool[:2] for tool in whole.tools]
    assert [msgspec.json.decode(tool.arguments) for tool in seen.tools] == [
        msgspec.json.decode(tool.arguments) for tool in whole.tools
    ]
    assert len(seen.beside("source")) == len(whole.beside("source"))


def test_every_row_of_the_table_names_a_recording() -> None:
    assert stale(PROVIDER, RECORDED) == set()

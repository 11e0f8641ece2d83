"""The official SDK reads the same bytes offline into typed events; what differs on purpose is in differences."""

from pathlib import Path

import pytest

from conformance.compared import reviewed, stale, unequal
from conformance.oracles.gemini import reads
from conformance.recorded import as_sse
from helpers import corpus

PROVIDER = "gemini"
RECORDED = corpus(PROVIDER)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_the_adapter_says_what_the_sdk_says(path: Path) -> None:
    """Text, reasoning, tool calls, usage and finish. A row that is not needed fails as a missing one does."""
    found = unequal(PROVIDER, path, reads(as_sse(PROVIDER, path)))

    assert found == reviewed(PROVIDER, path)


def test_every_row_of_the_table_names_a_recording() -> None:
    assert stale(PROVIDER, RECORDED) == set()

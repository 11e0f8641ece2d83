"""The official SDK's own accumulator reads the same bytes offline; what differs on purpose is in differences."""

from pathlib import Path

import pytest

from conformance.compared import reviewed, stale, unequal
from conformance.oracles.openai_chat import reads
from conformance.recorded import as_sse
from helpers import corpus

PROVIDER = "openai-chat"
RECORDED = corpus(PROVIDER)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_the_adapter_says_what_the_sdk_says(path: Path) -> None:
    """Text, reasoning, tool calls, usage and finish. A row that is not needed fails as a missing one does."""
    found = unequal(PROVIDER, path, reads(as_sse(PROVIDER, path)))

    assert found == reviewed(PROVIDER, path)


def test_every_row_of_the_table_names_a_recording() -> None:
    assert stale(PROVIDER, RECORDED) == set()


@pytest.mark.parametrize("choice", [0, 1])
def test_each_of_several_choices_is_a_call_of_its_own(choice: int) -> None:
    path = next(path for path in RECORDED if "multiple_choices_proxy" in path.name)

    found = unequal(PROVIDER, path, reads(as_sse(PROVIDER, path), choice), choice=choice)

    # Choice 1 never gets a finish_reason from this proxy; [DONE] ends it.
    assert found == ({"usage"} if choice == 0 else {"usage", "finish"})

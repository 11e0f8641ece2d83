"""botocore reads the same events offline, framed as on the wire; what differs on purpose is in differences."""

from pathlib import Path

import pytest

from conformance.compared import reviewed, stale, unequal
from conformance.oracles.bedrock_client import client
from conformance.oracles.bedrock_converse import reads
from conformance.recorded import as_sse
from helpers import corpus
from runwire.adapters.failures import AWS_STATUS

PROVIDER = "bedrock-converse"
RECORDED = corpus(PROVIDER)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_the_adapter_says_what_the_sdk_says(path: Path) -> None:
    """Text, reasoning, tool calls, usage and finish. A row that is not needed fails as a missing one does."""
    found = unequal(PROVIDER, path, reads(as_sse(PROVIDER, path)))

    assert found == reviewed(PROVIDER, path)


def test_every_row_of_the_table_names_a_recording() -> None:
    assert stale(PROVIDER, RECORDED) == set()


def test_exceptions_have_the_statuses_of_the_services_model() -> None:
    with client(b"") as bedrock:
        shapes = bedrock.meta.service_model.error_shapes

    statuses = {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in shapes}
    common = {"ExpiredTokenException", "InternalFailure", "UnrecognizedClientException"}
    assert {name: status for name, status in AWS_STATUS.items() if name not in common} == statuses

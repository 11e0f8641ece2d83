"""Events made of the protocols' own words in any order and type: never an exception, and always a legal call."""

import importlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.recorded import judge
from runwire.adapters import PROVIDERS, adapter
from unit.adapters.saying import Json, run


def _stream(provider: str) -> st.SearchStrategy[list[Json]]:
    """Each protocol has a module of its name in `shapes` that holds its `STREAM`."""
    name = provider.replace("-", "_")
    found: st.SearchStrategy[list[Json]] = importlib.import_module(f"unit.adapters.shapes.{name}").STREAM
    return found


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(data=st.data())
def test_any_events_make_a_legal_call(provider: str, data: st.DataObject) -> None:
    events = data.draw(_stream(provider))
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    wire = adapter(provider)

    emitted = run(wire, body)

    assert b'"finish"' in emitted[-1].body
    # A message that never reports usage cannot end well, and the adapter invents none.
    assert {finding.code for finding in judge(emitted, wire.usage)[1]} <= {"usage-missing"}


@pytest.mark.parametrize("provider", [*PROVIDERS, "raw"])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(body=st.binary(max_size=200), head=st.sampled_from([b"", b"data: ", b"{", b"[{", b"event: error\ndata: "]))
def test_any_bytes_make_a_call_that_ends(provider: str, body: bytes, head: bytes) -> None:
    emitted = run(adapter(provider), head + body)

    assert b'"finish"' in emitted[-1].body

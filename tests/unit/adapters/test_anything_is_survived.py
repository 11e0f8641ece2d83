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


@pytest.mark.parametrize("provider", [*PROVIDERS, "auto"])
@pytest.mark.parametrize(
    "event",
    [
        b'{"chunk":{"bytes":',
        b'{"chunk":{"bytes":"eyJ"',
        b'{"chunk":{"bytes":1},',
        b'{"chunk":' + b"[" * 5000,
        b'{"chunk":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"chunk":{"bytes":"####"}}',
        b'{"type":"comple',
    ],
    ids=["cut", "cut in its text", "another type and cut", "deep and cut", "deep", "no base64", "no envelope"],
)
def test_an_envelope_that_is_none_makes_a_call_that_ends(provider: str, event: bytes) -> None:
    for body in (event, b"data: " + event + b"\n\n"):
        assert b'"finish"' in run(adapter(provider), body)[-1].body
    wire = adapter(provider)
    assert b'"finish"' in (wire.feed_json(event) + wire.close())[-1].body

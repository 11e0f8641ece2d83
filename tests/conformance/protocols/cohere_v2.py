"""Cohere's Chat API, version 2, as the tests see it."""

from conformance.spoken import Spoken, lines

SPOKEN = Spoken(
    events=lines,
    sure=lambda body: body.find(b"message-end"),
    silent=frozenset({"role"}),
    words=frozenset({"type", "finish_reason"}),
    fast=(("runwire.adapters.cohere_v2.chat", "decode_delta"),),
)

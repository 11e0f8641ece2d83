"""Anthropic Messages, as the tests see it."""

from conformance.spoken import Spoken, lines

SPOKEN = Spoken(
    events=lines,
    sure=lambda body: body.find(b"message_stop"),
    silent=frozenset({"role", "p"}),
    words=frozenset({"type", "stop_reason"}),
    fast=(("runwire.adapters.anthropic.messages", "decode_delta"),),
    exact=False,  # the SDK keeps the parsed object, not the text
)

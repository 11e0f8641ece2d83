"""Gemini's interactions, as the tests see them."""

from conformance.spoken import Spoken, lines

SPOKEN = Spoken(
    events=lines,
    sure=lambda body: body.find(b"interaction.completed"),
    # What an interaction is called, in the only one of its members that every one of them has the same.
    silent=frozenset({"object"}),
    words=frozenset({"type", "event_type", "status"}),
    fast=(("runwire.adapters.gemini_interactions.stream", "decode_delta"),),
)

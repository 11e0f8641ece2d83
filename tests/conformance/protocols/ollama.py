"""Ollama, as the tests see it."""

from conformance.spoken import Spoken, lines

SPOKEN = Spoken(
    events=lines,
    sure=lambda body: body.find(b'"done":true'),
    # Each line has its own time; the first one's is kept.
    silent=frozenset({"role", "created_at"}),
    words=frozenset({"done_reason"}),
    fast=(("runwire.adapters.ollama.lines", "decode_line"),),
)

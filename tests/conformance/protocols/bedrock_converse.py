"""Bedrock ConverseStream, as the tests see it."""

from conformance.spoken import Spoken, lines

SPOKEN = Spoken(
    events=lines,
    sure=lambda body: body.find(b"messageStop"),
    # Padding, and who speaks.
    silent=frozenset({"p", "role"}),
    # `status` of a tool's result becomes `isError`; `format` and `type` say what a block is.
    words=frozenset({"stopReason", "status", "type", "format"}),
    fast=(("runwire.adapters.bedrock_converse.converse", "decode_event"),),
)

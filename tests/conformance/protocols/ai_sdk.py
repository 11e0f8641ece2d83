"""The AI SDK's stream parts, as the tests see them."""

from conformance.spoken import Spoken, lines

SPOKEN = Spoken(
    events=lines,
    sure=lambda body: body.rfind(b'{"type":"finish"'),
    # `input` repeats what was streamed, spelled anew (the oracles compare it), and encrypted reasoning that is being
    # written is replaced by what it is in the end.
    silent=frozenset({"input", "reasoningEncryptedContent"}),
    words=frozenset({"type", "finishReason", "unified"}),
    fast=(("runwire.adapters.ai_sdk.parts", "decode_delta"),),
    exact=False,  # the SDK keeps the parsed input, not the text
)

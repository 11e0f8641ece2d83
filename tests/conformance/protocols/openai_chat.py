"""OpenAI Chat, as the tests see it."""

from conformance.spoken import Spoken, lines


def _sure(body: bytes) -> int:
    """The finish reason; `"finish_reason": null` comes before it."""
    return body.replace(b'": "', b'":"').find(b'"finish_reason":"')


SPOKEN = Spoken(
    events=lines,
    sure=_sure,
    # Padding, constants, and gpt-oss' channel, which says no more than that reasoning is reasoning.
    silent=frozenset({"object", "obfuscation", "p", "role", "channel"}),
    words=frozenset({"type", "finish_reason", "native_finish_reason", "format"}),
    fast=(("runwire.adapters.openai_chat.chat", "decode_chunk"),),
)

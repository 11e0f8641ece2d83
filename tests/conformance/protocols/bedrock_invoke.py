"""Bedrock InvokeModelWithResponseStream of any model, as the tests see it."""

from conformance.spoken import Spoken, lines

# The words with which a model says that it is over; null and false come before.
_ENDS = (b'"stop_reason":"', b'"stopReason":"', b'"finish_reason":"', b'"completionReason":"', b'"is_finished":true')


def _sure(body: bytes) -> int:
    return min((at for end in _ENDS if (at := body.find(end)) > 0), default=0)


SPOKEN = Spoken(
    events=lines,
    sure=_sure,
    silent=frozenset({"p", "role", "object"}),
    words=frozenset({"type", "stop_reason", "stopReason", "finish_reason", "completionReason"}),
    fast=(
        ("runwire.adapters.bedrock_invoke.completions", "decode_piece"),
        ("runwire.adapters.bedrock_converse.converse", "decode_event"),
        ("runwire.adapters.bedrock_invoke.command_r", "decode_text"),
    ),
)

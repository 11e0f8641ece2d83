"""What Bedrock itself adds to the events of a model, whichever it is: `amazon-bedrock-…`."""

from typing import Final

import msgspec

from runwire.adapters.opaque import compact, fields_of, integer_of, text_of
from runwire.adapters.writing.call import Call
from runwire_schemas.raw import Usage

Members = dict[str, msgspec.Raw]

NULL: Final = msgspec.Raw(b"null")
# What an event begins with that has nothing else in it.
NOTHING: Final = b"{}"
_PREFIX: Final = "amazon-bedrock-"
_METRICS: Final = "amazon-bedrock-invocationMetrics"
_ACTION: Final = "amazon-bedrock-guardrailAction"
_SURE: Final = 2**53


class Told:
    """Facts about one response, for its metadata: metrics (in the last event), and the guardrail's action and trace."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.metered = False  # the metrics came: Bedrock's own word that the response is over

    def without(self, data: bytes) -> bytes:
        """The event without what Bedrock added to it. Raises msgspec.DecodeError.

        The metrics' counts become the call's usage if the model has reported none.
        """
        top = fields_of(data) or {}
        added = {name: raw for name, raw in top.items() if name.startswith(_PREFIX)}
        if not added:
            return data
        for name, raw in added.items():
            self._call.remember(name, compact(raw))
        if text_of(added.get(_ACTION)) == "INTERVENED":
            self._call.filtered = True
        metrics = fields_of(added.get(_METRICS, NULL))
        if metrics is not None:
            self.metered = True
            self._call.usage = self._call.usage or _usage_of(metrics)
        return compact(msgspec.json.encode({name: raw for name, raw in top.items() if name not in added}))


def _usage_of(metrics: Members) -> Usage | None:
    """Counts of the cache lie beside `inputTokenCount`, as in Converse."""
    prompt, output = count_of(metrics, "inputTokenCount"), count_of(metrics, "outputTokenCount")
    if prompt is None or output is None:
        return None
    return Usage(
        input_tokens=prompt,
        output_tokens=output,
        cache_read_tokens=count_of(metrics, "cacheReadInputTokenCount"),
        cache_write_tokens=count_of(metrics, "cacheWriteInputTokenCount"),
    )


def count_of(members: Members, name: str) -> int | None:
    """The member if it can be a count."""
    number = integer_of(members.get(name))
    return number if number is not None and 0 <= number < _SURE else None

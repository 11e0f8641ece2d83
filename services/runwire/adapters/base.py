"""What every adapter is: bytes of one provider response in, raw chunks (and agent chunks beside them) out.

An adapter is pure: no I/O, no clock, no randomness. The same bytes give the same chunks however they are split.
"""

from typing import Final, Literal, NamedTuple, Protocol

from runwire.adapters.framing.sse import WireEvent
from runwire_schemas.record import UsageRule

Framing = Literal["sse", "ndjson", "json", "eventstream"]

# One event holds at most this many bytes: enough for an image of several megabytes in base64, little enough that a
# body without line ends cannot eat the memory of its reader. Agent chunks have the same limit further on.
MAX_EVENT: Final = 8 * 1024 * 1024
# As many choices as one request to OpenAI may ask for; no other provider gives more.
MAX_CHOICES: Final = 128

# What comes after some events: more, nothing any more, or one that is larger than the limit.
Next = Literal["more", "over", "too-large"]


class Emitted(NamedTuple):
    """One record to be. `body` is compact JSON: a raw chunk (`provider`) or an agent chunk sent beside it (`agent`)."""

    kind: Literal["provider", "agent"]
    body: bytes


class Adapter(Protocol):
    """One call: the response of one provider to one request. `usage` is what its protocol promises about usage."""

    usage: UsageRule

    def feed(self, data: bytes) -> list[Emitted]:
        """Bytes as they come from the wire. Never raises on what they hold: bad data becomes a `finish` error."""
        ...

    def feed_json(self, event: bytes) -> list[Emitted]:
        """One event without its framing, as a provider's SDK hands it out."""
        ...

    def close(self) -> list[Emitted]:
        """The body is over. Ends the call if its protocol did not, as `aborted`. Idempotent."""
        ...


class EventAdapter(Adapter, Protocol):
    """An adapter that also takes events which somebody else has cut.

    `choices` are those that the response was seen to have, empty for a protocol that knows no choices.
    """

    choices: set[int]

    def read(self, events: list[WireEvent], then: Next = "more") -> list[Emitted]:
        """Some events of one body, in order, and what comes after them. Used instead of `feed` and `close`."""
        ...

"""What every adapter is: bytes of one provider response in, raw chunks (and agent chunks beside them) out.

An adapter is pure: no I/O, no clock, no randomness. The same bytes give the same chunks however they are split.
"""

from typing import ClassVar, Final, Literal, NamedTuple, Protocol

from runwire_schemas.record import UsageRule

Framing = Literal["sse", "ndjson", "json"]

# One event holds at most this many bytes: enough for an image of several megabytes in base64, little enough that a
# body without line ends cannot eat the memory of its reader. Agent chunks have the same limit further on.
MAX_EVENT: Final = 8 * 1024 * 1024


class Emitted(NamedTuple):
    """One record to be. `body` is compact JSON: a raw chunk (`provider`) or an agent chunk sent beside it (`agent`)."""

    kind: Literal["provider", "agent"]
    body: bytes


class Adapter(Protocol):
    """One call: the response of one provider to one request. `usage` is what its protocol promises about usage."""

    usage: ClassVar[UsageRule]

    def feed(self, data: bytes) -> list[Emitted]:
        """Bytes as they come from the wire. Never raises on what they hold: bad data becomes a `finish` error."""
        ...

    def feed_json(self, event: bytes) -> list[Emitted]:
        """One event without its framing, as a provider's SDK hands it out."""
        ...

    def close(self) -> list[Emitted]:
        """The body is over. Ends the call if its protocol did not, as `aborted`. Idempotent."""
        ...

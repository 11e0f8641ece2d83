"""Raw chunks that were written by somebody else's adapter: passed on as they are, for the grammar to judge."""

from contextlib import suppress
from typing import Final

import msgspec

from runwire.adapters.base import MAX_EVENT, Emitted, Framing, Next
from runwire.adapters.failures import cut_off
from runwire.adapters.framing.framed import Framed
from runwire.adapters.framing.sse import WireEvent
from runwire.adapters.framing.values import TooLarge
from runwire_schemas.raw import Aborted, Finish
from runwire_schemas.record import UsageRule


class _Type(msgspec.Struct, gc=False):
    type: str


_type_of = msgspec.json.Decoder(_Type).decode
# In place of an oversized chunk: enough for the grammar to say that it is too large.
_OVERSIZED: Final = 2 * 1024 * 1024


class RawChunks:
    """One call: NDJSON (or a JSON array, or server-sent events) of raw chunks. Lines that are no JSON go on as well."""

    usage: UsageRule = "required"

    def __init__(self, framing: Framing | None = None, limit: int = MAX_EVENT, *, ends: bool = True) -> None:
        """`ends`: a call that is left without `finish` gets one, aborted."""
        self._ends = ends
        self._framed = Framed(framing or "ndjson", limit)
        self._ended = False
        self._closed = False
        self._broken = False
        self.choices: set[int] = set()

    def feed(self, data: bytes) -> list[Emitted]:
        """See `Adapter.feed`. What follows `finish` is passed on too: the grammar refuses it."""
        if self._broken:
            return []
        events: list[WireEvent] = []
        try:
            self._framed.feed(data, events)
        except TooLarge:
            return self.read(events, "too-large")
        return self.read(events)

    def read(self, events: list[WireEvent], then: Next = "more") -> list[Emitted]:
        """See `EventAdapter.read`."""
        if self._broken:
            events = []
        emitted = [self._passed(event.data) for event in events]
        if then == "too-large" and not self._broken:
            self._broken = True
            emitted.append(self._passed(b" " * _OVERSIZED))
        if then == "over" and self._ends and not self._ended:
            self._ended = True
            finish = Finish(reason=Aborted(failure=cut_off("it ended without finish")))
            emitted.append(Emitted("provider", msgspec.json.encode(finish)))
        return emitted

    def feed_json(self, event: bytes) -> list[Emitted]:
        """See `Adapter.feed_json`."""
        return [self._passed(event)]

    def close(self) -> list[Emitted]:
        """See `Adapter.close`."""
        if self._closed:
            return []
        self._closed = True
        events: list[WireEvent] = []
        if not self._broken:
            # What is left is no larger than the limit, else `feed` had found it.
            self._framed.close(events)
        return self.read(events, "over")

    def _passed(self, body: bytes) -> Emitted:
        if b'"finish"' in body:
            with suppress(msgspec.DecodeError, RecursionError):
                self._ended = self._ended or _type_of(body).type == "finish"
        return Emitted("provider", body)

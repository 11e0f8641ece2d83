"""Several answers to one request (n > 1): each is a call of its own, all from one reading of the bytes."""

from collections.abc import Callable
from typing import Final, NamedTuple

from runwire.adapters.base import MAX_CHOICES, MAX_EVENT, Emitted, EventAdapter, Framing, Next
from runwire.adapters.framing.framed import Framed
from runwire.adapters.framing.sse import WireEvent
from runwire.adapters.framing.values import TooLarge
from runwire_schemas.record import UsageRule

# What came before a choice was first seen holds nothing of it but facts about the response, which stand at its very
# beginning and its end. So many events, of so many bytes together, are kept for choices that are yet to come.
KEPT_EVENTS: Final = 64
KEPT_BYTES: Final = 256 * 1024


def run_of(run_id: str, choice: int) -> str:
    """The run of one choice where each has its own: the first has the given id."""
    return f"{run_id}.{choice}" if choice else run_id


class Chosen(NamedTuple):
    """One record to be, and the choice whose call it belongs to."""

    choice: int
    emitted: Emitted


class Choices:
    """The calls of all choices of one response, at most 128. A call that is alone is choice 0."""

    def __init__(
        self, make: Callable[[int], EventAdapter], framing: Framing | None = None, limit: int = MAX_EVENT
    ) -> None:
        """`make` gives the adapter of one choice."""
        self._make = make
        self._framed = Framed(framing, limit)
        self._lead = make(0)
        self._others: dict[int, EventAdapter] = {}
        self._kept: list[WireEvent] = []
        self._room = KEPT_BYTES
        self._over = False

    @property
    def usage(self) -> UsageRule:
        return self._lead.usage

    def feed(self, data: bytes) -> list[Chosen]:
        """See `Adapter.feed`."""
        if self._over:
            return []
        events: list[WireEvent] = []
        try:
            self._framed.feed(data, events)
        except TooLarge:
            return self._read(events, "too-large")
        return self._read(events)

    def feed_json(self, event: bytes) -> list[Chosen]:
        """See `Adapter.feed_json`."""
        return [] if self._over else self._read([WireEvent("", event)])

    def close(self) -> list[Chosen]:
        """See `Adapter.close`. Ends every choice that its protocol did not."""
        if self._over:
            return []
        events: list[WireEvent] = []
        try:
            self._framed.close(events)
        except TooLarge:
            return self._read(events, "too-large")
        return self._read(events, "over")

    def _read(self, events: list[WireEvent], then: Next = "more") -> list[Chosen]:
        last = len(events) - 1
        chosen: list[Chosen] = []
        for at, event in enumerate(events):
            self._event([event], then if at == last else "more", chosen)
        if not events:
            self._event([], then, chosen)
        self._over = self._over or then != "more"
        return chosen

    def _event(self, event: list[WireEvent], then: Next, chosen: list[Chosen]) -> None:
        emitted = self._lead.read(event, then)
        seen = self._lead.choices
        # A response may lack choice 0: then its call never begins.
        if not seen or 0 in seen:
            chosen.extend(Chosen(0, one) for one in emitted)
        if len(self._others) + 1 < MAX_CHOICES:
            for choice in sorted(seen - self._others.keys() - {0}):
                self._others[choice] = other = self._make(choice)
                chosen.extend(Chosen(choice, one) for one in other.read(list(self._kept)))
        for choice, other in self._others.items():
            chosen.extend(Chosen(choice, one) for one in other.read(event, then))
        for one in event:
            self._keep(one)

    def _keep(self, event: WireEvent) -> None:
        if len(self._kept) < KEPT_EVENTS and self._room >= len(event.data):
            self._kept.append(event)
            self._room -= len(event.data)

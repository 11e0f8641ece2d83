"""The frame of every adapter: bytes to events, and whatever goes wrong on the way to a failed end."""

from abc import ABC, abstractmethod
from typing import ClassVar

import msgspec

from runwire.adapters.base import MAX_CHOICES, MAX_EVENT, Emitted, Framing, Next
from runwire.adapters.failures import cut_off, undecodable
from runwire.adapters.framing.eventstream import ENVELOPE, opened
from runwire.adapters.framing.framed import Framed
from runwire.adapters.framing.sse import DONE, WireEvent
from runwire.adapters.framing.values import TooLarge
from runwire.adapters.opaque import repaired
from runwire.adapters.writing.call import Call, FailedKind
from runwire_schemas.raw import Failure
from runwire_schemas.record import UsageRule


class WireAdapter(ABC):
    """What is common to all protocols. A protocol reads events (`_read`) and says how a body without its end ends.

    A protocol whose responses may have several choices says with `_saw` which it met.
    """

    usage: UsageRule
    provider: ClassVar[str]

    def __init__(self, framing: Framing | None = None, limit: int = MAX_EVENT) -> None:
        self._framed = Framed(framing, limit)
        self._limit = limit
        self._closed = False
        self._call = Call(self.provider)
        self.choices: set[int] = set()

    def feed(self, data: bytes) -> list[Emitted]:
        """See `Adapter.feed`. What follows the end of the call is ignored."""
        if not data or self._call.finished:
            return []
        events: list[WireEvent] = []
        try:
            self._framed.feed(data, events)
        except TooLarge:
            return self.read(events, "too-large")
        return self.read(events)

    def read(self, events: list[WireEvent], then: Next = "more") -> list[Emitted]:
        """See `EventAdapter.read`."""
        self._closed = self._closed or then == "over"
        self._events(events)
        if not self._call.finished:
            if then == "too-large":
                failure = Failure(message=f"one event is larger than {self._limit} bytes", code="event-too-large")
                self._call.fail(failure)
            elif then == "over":
                self._end_of_body()
        return self._call.take()

    def feed_json(self, event: bytes) -> list[Emitted]:
        """See `Adapter.feed_json`."""
        if not self._call.finished:
            self._events([WireEvent("", event)])
        return self._call.take()

    def close(self) -> list[Emitted]:
        """See `Adapter.close`."""
        if self._closed or self._call.finished:
            return []
        self._closed = True
        events: list[WireEvent] = []
        try:
            self._framed.close(events)
        except TooLarge:
            return self.read(events, "too-large")
        return self.read(events, "over")

    def _saw(self, choice: int) -> None:
        """The response has this choice."""
        if choice >= 0 and len(self.choices) < MAX_CHOICES:
            self.choices.add(choice)

    def _events(self, events: list[WireEvent]) -> None:
        call = self._call
        for name, data in events:
            if call.finished:
                return
            # Bedrock's envelope around an event of the model's own protocol, as its SDKs hand it out.
            inner = opened(data) if data.startswith(ENVELOPE) else None
            if inner is not None:
                self._events([WireEvent(name, one) for one in inner])
                continue
            try:
                self._read(name, data)
            except (msgspec.DecodeError, RecursionError):
                self._read_again(name, data)

    def _read_again(self, name: str, data: bytes) -> None:
        """An event that is no JSON: repaired where only its strings are broken, else the end of the call."""
        text = data.strip()
        if not text:
            return
        if text == DONE:
            self._done()
            return
        try:
            self._loose(name, repaired(text))
        except (msgspec.DecodeError, RecursionError):
            # An event at the end of the body that stops in the middle is a body that was cut, not a broken event.
            kind: FailedKind = "aborted" if self._closed else "error"
            self._call.fail(cut_off("it ends inside an event") if self._closed else undecodable(text), kind)

    @abstractmethod
    def _read(self, name: str, data: bytes) -> None:
        """One event. Raises msgspec.DecodeError if it is no JSON; anything else it does not understand, it keeps."""

    @abstractmethod
    def _loose(self, name: str, data: bytes) -> None:
        """The same, member by member, so that no unusual shape and no broken string is lost."""

    def _done(self) -> None:  # noqa: B027 - most protocols have an end of their own and pass `[DONE]` over
        """`[DONE]` came."""

    @abstractmethod
    def _end_of_body(self) -> None:
        """The body is over and the call is not."""

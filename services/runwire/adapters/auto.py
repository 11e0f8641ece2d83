"""Which protocol a body speaks, told from its first events. `signs.SIGNS` is the table, `Head` the only judge."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from runwire.adapters.base import MAX_EVENT, Emitted, Framing
from runwire.adapters.failures import cut_off
from runwire.adapters.framing.framed import Framed
from runwire.adapters.framing.sse import DONE, WireEvent
from runwire.adapters.framing.values import TooLarge
from runwire.adapters.opaque import compact, fields_of, repaired, text_of
from runwire.adapters.signs import BROKEN, IN_FRAMES, INVOKED, SIGNS, Sign
from runwire_schemas.raw import Aborted, Failed, Failure, Finish
from runwire_schemas.record import UsageRule

T = TypeVar("T")

# So many events may come before one that tells: servers send a ping or some facts first, never this many.
MAX_EVENTS: Final = 32
# Of the events that tell nothing, so many are described in the error, with so many of their members.
_DESCRIBED: Final = 3
_MEMBERS: Final = 8
_SHOWN: Final = 60


class Guess(NamedTuple):
    """A provider, and what it was told by: `the first event has candidates`. `alone`: no other one sends the same."""

    provider: str
    reason: str
    alone: bool = True


class Head:
    """The beginning of a body, up to the event that tells its protocol.

    `guess` is final once `over` is true: nothing more will be learned. `objects` counts the events so far that are
    JSON objects: a body without any is no stream.
    """

    def __init__(self, framing: Framing | None = None, limit: int = MAX_EVENT) -> None:
        self._framed = Framed(framing, limit)
        self._limit = limit
        self._size = 0
        self._maybe: Guess | None = None
        self._described: list[str] = []
        self._begins = b""
        self.guess: Guess | None = None
        self.over = False
        self.events = 0
        self.objects = 0

    @property
    def framing(self) -> Framing | None:
        """How the body is framed, once that is known."""
        return self._framed.framing

    @property
    def seen(self) -> str:
        """What came instead of an event that tells, for an error."""
        if self._described:
            return ", ".join(self._described)
        begins = self._begins[:_SHOWN].decode(errors="replace")
        return f"no event, in a body that begins with {begins!r}" if begins.strip() else "no event, in an empty body"

    def feed(self, data: bytes) -> None:
        """More of the body, split anywhere."""
        if self.over:
            return
        if len(self._begins) < _SHOWN:
            self._begins += data[:_SHOWN]
        self._size += len(data)
        events: list[WireEvent] = []
        try:
            self._framed.feed(data, events)
        except TooLarge:
            self._size = self._limit + 1
        self._look(events)
        if self._size > self._limit:
            self._decide()

    def event(self, data: bytes) -> None:
        """One event of an SDK's stream."""
        self._look([WireEvent("", data)], ordered=False)

    def close(self) -> None:
        """The body is over."""
        if self.over:
            return
        events: list[WireEvent] = []
        with suppress(TooLarge):
            self._framed.close(events)
        # What a body ends in the middle of is no event.
        self._look([event for event in events if _members(event.data) is not None])
        self._decide()

    def _look(self, events: list[WireEvent], *, ordered: bool = True) -> None:
        for event in events:
            if self.over:
                return
            self.events += 1
            self._judge(event, ordered=ordered)
            if self.events >= MAX_EVENTS:
                self._decide()

    def _judge(self, event: WireEvent, *, ordered: bool) -> None:
        members = _members(event.data)
        if members is None:
            if event.data.strip() != DONE:
                self._describe(f"an event that is no JSON object ({_excerpt(event.data)})")
            return
        if self.framing == "eventstream" and _fits(BROKEN, members):
            self._describe("binary data that are no frames of AWS's")
            return
        self.objects += 1
        found = next((sign for sign in SIGNS if (ordered or not sign.ordered) and _fits(sign, members)), None)
        if found is None:
            self._describe(_described(members))
            return
        guess = self._guess(found, members)
        if found.sure:
            self.guess, self.over = guess, True
        elif self._maybe is None:
            self._maybe = guess

    def _guess(self, sign: Sign, members: dict[str, msgspec.Raw]) -> Guess:
        reason, alone = self._reason(sign, members), sign.sure and not sign.but
        if self.framing == "eventstream" and sign.provider not in IN_FRAMES:
            # InvokeModel carries the events of whichever model was asked.
            return Guess(INVOKED, f"{reason}, in a frame of Bedrock's", alone)
        return Guess(sign.provider, reason, alone)

    def _reason(self, sign: Sign, members: dict[str, msgspec.Raw]) -> str:
        which = "the first event" if self.events == 1 else f"event {self.events}"
        if "type" in sign.members:
            what = f"is of type {text_of(members['type'])}"
        else:
            what = f"has {' and '.join(map(partial(_named, members), sign.members.items()))}"
        return f"{which} {what}{f' ({sign.but})' if sign.but else ''}"

    def _describe(self, text: str) -> None:
        if len(self._described) < _DESCRIBED and text not in self._described:
            self._described.append(text)

    def _decide(self) -> None:
        if not self.over:
            self.guess, self.over = self._maybe, True


def _members(data: bytes) -> dict[str, msgspec.Raw] | None:
    """The members of an event; None if it is no JSON object."""
    try:
        return fields_of(data)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return fields_of(repaired(data))
    except (msgspec.DecodeError, RecursionError):
        return None


def _fits(sign: Sign, members: dict[str, msgspec.Raw]) -> bool:
    if not members.keys().isdisjoint(sign.without):
        return False
    return all(_begins(members, path, start.encode()) for path, start in sign.members.items())


def _begins(members: dict[str, msgspec.Raw], path: str, start: bytes) -> bool:
    name, _, inner = path.partition(".")
    value = members.get(name)
    if value is None:
        return False
    if inner:
        return _begins(_members(bytes(value)) or {}, inner, start)
    return compact(value).startswith(start) if start else bytes(value) != b"null"


def _named(members: dict[str, msgspec.Raw], wanted: tuple[str, str]) -> str:
    """A member, with its value if that is what tells."""
    name, start = wanted
    return f"{name} {text_of(members[name])}" if len(start) > 1 and start.startswith('"') else name


def _described(members: dict[str, msgspec.Raw]) -> str:
    kind = text_of(members.get("type"))
    if kind is not None:
        return f"an event of type {kind[:_SHOWN]!r}"
    names = ", ".join(name[:_SHOWN] for name in list(members)[:_MEMBERS])
    return f"an event with {names}" if names else "an event without members"


def _excerpt(data: bytes) -> str:
    text = data.strip().decode(errors="replace")
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


class Reads(Protocol[T]):
    """What reads a body once its protocol is known: an adapter, or all choices of a response."""

    def feed(self, data: bytes) -> list[T]: ...
    def feed_json(self, event: bytes) -> list[T]: ...
    def close(self) -> list[T]: ...


class Auto(Generic[T]):
    """Holds a body back until its protocol can be told, at most 32 events or one of the largest size, then reads it.

    `guess` is the provider and why, None as long as nobody can say; `usage` is its protocol's rule from then on. A body
    that nobody can tell fails as `provider-unclear`, with what was seen and which providers there are; one without any
    event was cut off.
    """

    def __init__(
        self,
        known: tuple[str, ...],
        make: Callable[[str, Framing | None], tuple[Reads[T], UsageRule]],
        wrap: Callable[[Emitted], T],
        framing: Framing | None = None,
        limit: int = MAX_EVENT,
    ) -> None:
        """`known`: the names that `make` knows. It gets one and the framing, and gives a reader and its protocol's rule
        about usage. `wrap`: for a chunk of our own.
        """
        self._known = known
        self._make = make
        self._wrap = wrap
        self._head = Head(framing, limit)
        self._kept: list[tuple[bool, bytes]] = []  # pieces of the body (False) and events (True)
        self._reader: Reads[T] | None = None
        self._failed = False
        # Until the protocol is known nothing is promised.
        self.usage: UsageRule = "optional"

    @property
    def guess(self) -> Guess | None:
        return None if self._reader is None else self._head.guess

    @property
    def unclear(self) -> str:
        """Why nobody can say what this body speaks."""
        guess = self._head.guess
        looks = f" looks like {guess.provider}, which has no adapter ({guess.reason})" if guess else ""
        seen = looks or f": no event has a mark of a known protocol; seen: {self._head.seen}"
        return f"the provider cannot be told{seen}; known are {', '.join(self._known)}"

    def feed(self, data: bytes) -> list[T]:
        """See `Adapter.feed`."""
        if self._reader is not None:
            return self._reader.feed(data)
        if self._failed:
            return []
        self._kept.append((False, data))
        self._head.feed(data)
        return self._start() if self._head.over else []

    def feed_json(self, event: bytes) -> list[T]:
        """See `Adapter.feed_json`."""
        if self._reader is not None:
            return self._reader.feed_json(event)
        if self._failed:
            return []
        self._kept.append((True, event))
        self._head.event(event)
        return self._start() if self._head.over else []

    def close(self) -> list[T]:
        """See `Adapter.close`."""
        if self._reader is None and not self._failed:
            self._head.close()
            started = self._start()
        else:
            started = []
        reader = self._reader
        return started if reader is None else started + reader.close()

    def _start(self) -> list[T]:
        guess = self._head.guess
        if guess is None or guess.provider not in self._known:
            return self._fail()
        reader, self.usage = self._make(guess.provider, self._head.framing)
        self._reader = reader
        kept, self._kept = self._kept, []
        return [one for event, data in kept for one in (reader.feed_json(data) if event else reader.feed(data))]

    def _fail(self) -> list[T]:
        self._failed = True
        self._kept.clear()
        reason: Failed | Aborted
        if self._head.events:
            reason = Failed(failure=Failure(message=self.unclear, code="provider-unclear", retryable=False))
        else:
            reason = Aborted(failure=cut_off(self._head.seen))
        return [self._wrap(Emitted("provider", msgspec.json.encode(Finish(reason=reason))))]

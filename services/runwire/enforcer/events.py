"""Run events on their way out: from the outbox that a commit filled, through FastStream, to everybody who listens.

At least once: an entry leaves the outbox after its event is in the events stream. Whoever owns a partition does it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Final, Protocol, cast

import msgspec
from faststream.redis import RedisBroker, StreamSub
from pydantic import WithJsonSchema

from runwire.broker.chores import Apart, Spell
from runwire.broker.partition import Partition
from runwire.broker.reading import Entry
from runwire_schemas.events import AnyRunEvent, RunEnded, RunOpened, RunViolated

PAGE: Final = 200
_decode = msgspec.json.Decoder(AnyRunEvent).decode


class Publish(Protocol):
    """Sends events, in order; returns once the server has them."""

    async def __call__(self, events: Sequence[AnyRunEvent]) -> None: ...


class EventPublisher:
    """The typed FastStream publisher of run events."""

    def __init__(self, broker: RedisBroker, stream: str, maximum: int) -> None:
        """Declares the publisher (AsyncAPI shows it); call before the broker starts."""
        self._broker = broker
        self._publisher = broker.publisher(
            stream=StreamSub(stream, maxlen=maximum),
            title="RunEvents",
            description="Runs that were opened, ended, or broke the grammar. At least once, after the commit.",
            schema=Annotated[dict[str, Any], WithJsonSchema(event_schema())],
        )

    async def __call__(self, events: Sequence[AnyRunEvent]) -> None:
        """One round trip for all."""
        client = await self._broker.connect()
        async with client.pipeline(transaction=False) as pipeline:
            for event in events:
                await self._publisher.publish(msgspec.to_builtins(event), pipeline=pipeline)
            await pipeline.execute()


def event_schema() -> dict[str, Any]:
    """JSON Schema of what the events stream carries. What events share is written out: nothing can refer here."""
    events = (RunOpened, RunEnded, RunViolated)
    _, components = msgspec.json.schema_components(events, ref_template="{name}")
    names = [event.__name__ for event in events]
    return {"oneOf": [{"title": name, **_written_out(components[name], components)} for name in names]}


def _written_out(schema: Any, parts: Mapping[str, Any]) -> Any:
    match schema:
        case {"$ref": str(name)}:
            return _written_out(parts[name], parts)
        case dict():
            return {key: _written_out(value, parts) for key, value in cast("dict[str, Any]", schema).items()}
        case [*values]:
            return [_written_out(value, parts) for value in values]
        case _:
            return schema


class Outbox:
    """Empties the outboxes of the partitions that flow here."""

    every_s: ClassVar[float] = 0.05
    # A rest for a partition that nobody told us about: events of a commit whose reply was lost.
    SWEEP_S: ClassVar[float] = 5.0

    def __init__(self, publish: Publish) -> None:
        self._publish = publish
        self._waiting: set[int] = set()
        self._swept: dict[int, int] = {}
        self._next_sweep = 0.0
        self._apart = Apart("Outbox", self.every_s)

    def note(self, partition: int) -> None:
        """A commit put events into this partition's outbox."""
        self._waiting.add(partition)

    async def run(self, spell: Spell) -> None:
        """Publish what waits, one page a partition."""
        now = asyncio.get_running_loop().time()
        sweep = now >= self._next_sweep
        if sweep:
            self._next_sweep = now + self.SWEEP_S
        for partition in spell.desk.flowing():
            taken_over = self._swept.get(partition.number) != partition.generation
            if sweep or taken_over or partition.number in self._waiting:
                self._swept[partition.number] = partition.generation
                await self._apart.attempt(spell, partition, partial(self._empty, spell, partition))

    async def _empty(self, spell: Spell, partition: Partition) -> None:
        # Before the look, so that a commit that comes during it is not overlooked.
        self._waiting.discard(partition.number)
        key, finished = partition.keys.outbox, False
        try:
            page = cast("list[Entry]", await spell.link.call("XRANGE", key, "-", "+", "COUNT", PAGE))
            if page:
                await self._publish(self._events(spell, partition, page))
                await spell.link.call("XDEL", key, *(entry_id for entry_id, _ in page))
            finished = len(page) < PAGE
        finally:
            if not finished:
                self._waiting.add(partition.number)

    @staticmethod
    def _events(spell: Spell, partition: Partition, page: list[Entry]) -> list[AnyRunEvent]:
        """The events of a page. What is none came from somebody else: it is said, and goes with the page."""
        events: list[AnyRunEvent] = []
        for entry_id, fields in page:
            try:
                events.append(_decode(fields[1]))
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                spell.desk.observer.say(
                    "event-unreadable", partition.number, entry=entry_id.decode(), reason=f"{error}"
                )
        return events

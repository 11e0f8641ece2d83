"""What follows a commit: typed events, at least once, and a copy of a violated run's raw records."""

import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
from faststream.redis import BinaryMessageFormatV1, RedisBroker

from helpers import wait_until
from helpers.enforcing import Heard, bodies_of_run, crash, evidence_codes, quick_settings, run_in, running, write
from runwire.broker.chores import Chore, Spell
from runwire.broker.connection import Link
from runwire.broker.functions import Commit
from runwire.broker.runtime import Node
from runwire.embedded.server import Server
from runwire.enforcer.events import EventPublisher, Outbox, Publish
from runwire.enforcer.handler import KEEP, RunHandler
from runwire.enforcer.keeping import Keeping
from runwire.enforcer.limits import limits_of
from runwire.settings import Settings
from runwire_schemas.events import AnyRunEvent, RunEnded, RunOpened, RunViolated
from runwire_schemas.keys import Keys

BROKEN = b'{"type":"text-delta","index":7,"text":"nowhere"}'


class Listening(Heard):
    """Tells the outbox what a commit put into it, as the telemetry of the product does."""

    def __init__(self, outbox: Outbox) -> None:
        super().__init__()
        self._outbox = outbox

    def committed(self, partition: int, commit: Commit, seconds: float) -> None:
        super().committed(partition, commit, seconds)
        if commit.events:
            self._outbox.note(partition)


def node_of(settings: Settings, publish: Publish) -> Any:
    handler = RunHandler(limits_of(settings), settings.partitions, clock=time.monotonic)
    outbox = Outbox(publish)
    return running(settings, handler, chores=[outbox], observer=Listening(outbox))


@contextlib.asynccontextmanager
async def publisher(settings: Settings) -> AsyncIterator[EventPublisher]:
    broker = RedisBroker(settings.redis_url)
    publish = EventPublisher(broker, Keys(settings.prefix).events, 1000)
    await broker.start()
    try:
        yield publish
    finally:
        await broker.stop()


async def published(link: Link, settings: Settings) -> list[AnyRunEvent]:
    entries: Any = await link.call("XRANGE", Keys(settings.prefix).events, "-", "+")
    bodies = [BinaryMessageFormatV1.parse(fields[1]) for _, fields in entries]
    assert all(headers["content-type"] == "application/json" for _, headers in bodies)
    return [msgspec.json.decode(body, type=AnyRunEvent) for body, _ in bodies]


async def test_opened_ended_and_violated_are_published_through_faststream(
    server: Server, prefix: str, link: Link
) -> None:
    settings = quick_settings(server.url, prefix)
    sound, broken = run_in(1, 4, "sound"), run_in(2, 4, "broken")
    bodies = bodies_of_run(3)
    async with publisher(settings) as publish, node_of(settings, publish):
        await write(link, settings, sound, bodies)
        await write(link, settings, broken, [*bodies[:2], BROKEN])

        async def all_there() -> bool:
            return len(await published(link, settings)) == 5

        await wait_until(all_there, "five events")
        events = await published(link, settings)
        await wait_until(lambda: _empty(link, settings), "the outboxes are empty")
    mine = {run: [event for event in events if event.run == run] for run in (sound, broken)}
    assert [type(event) for event in mine[sound]] == [RunOpened, RunEnded]
    assert [type(event) for event in mine[broken]] == [RunOpened, RunViolated, RunEnded]
    assert {event.partition for event in mine[sound]} == {1}
    ended = mine[sound][1]
    assert isinstance(ended, RunEnded)
    assert (ended.reason, ended.seq) == ("stop", 3 + 6)


async def _empty(link: Link, settings: Settings) -> bool:
    keys = Keys(settings.prefix)
    lengths = await link.call_many([("XLEN", keys.partition(p).outbox) for p in range(settings.partitions)])
    return lengths == [0] * settings.partitions


async def test_events_survive_a_failing_publisher_and_a_crash(server: Server, prefix: str, link: Link) -> None:
    """What was published but not yet deleted comes again from the heir: at least once, and never not at all."""
    settings = quick_settings(server.url, prefix, partitions=1)
    sent: list[AnyRunEvent] = []
    tries = 0

    async def refuse(events: Sequence[AnyRunEvent]) -> None:
        nonlocal tries
        tries += 1
        raise ConnectionError("the events stream cannot be reached")

    async def send_and_die(events: Sequence[AnyRunEvent]) -> None:
        sent.extend(events)
        raise ConnectionError("published, but the process dies before it deletes them")

    async def send(events: Sequence[AnyRunEvent]) -> None:
        sent.extend(events)

    async with node_of(settings, refuse):
        await write(link, settings, "run", bodies_of_run(2))
        await wait_until(lambda: tries >= 2, "tried again")
    async with node_of(settings, send_and_die):
        await wait_until(lambda: sent, "published once")
    assert not await _empty(link, settings)
    async with node_of(settings, send):
        await wait_until(lambda: _empty(link, settings), "published again and deleted")
    assert [type(event) for event in sent[-2:]] == [RunOpened, RunEnded]
    assert len(sent) >= 4


def keeping_node(settings: Settings) -> tuple[RunHandler, list[Chore]]:
    handler = RunHandler(limits_of(settings), settings.partitions, clock=time.monotonic)
    return handler, [Keeping(handler)]


async def kept(link: Link, settings: Settings, run: str) -> list[bytes]:
    entries: Any = await link.call("XRANGE", Keys(settings.prefix).partition(0).kept(run), "-", "+")
    return [fields[-1] for _, fields in entries]


async def test_a_violated_run_is_copied_aside(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1)
    handler, chores = keeping_node(settings)
    bodies = bodies_of_run(300)
    keys = Keys(prefix).partition(0)
    async with running(settings, handler, chores=chores):
        await write(link, settings, "other", bodies)
        await write(link, settings, "run", [*bodies[:250], BROKEN])
        await wait_until(lambda: _same(link, settings, "run", [*bodies[:250], BROKEN]), "all its records are kept")
        await wait_until(lambda: _no_holds(link, keys.holds), "the originals are let go")
        assert await link.call("PTTL", keys.kept("run")) > 0  # type: ignore[operator]
    assert await kept(link, settings, "other") == []


async def _same(link: Link, settings: Settings, run: str, bodies: list[bytes]) -> bool:
    return await kept(link, settings, run) == bodies


async def _no_holds(link: Link, key: str) -> bool:
    return await link.call("HLEN", key) == 0


async def test_an_heir_does_the_copy_that_was_not_done(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1)
    bodies = bodies_of_run(20)
    keys = Keys(prefix).partition(0)
    doomed = Node(settings, RunHandler(limits_of(settings), 1, clock=time.monotonic))
    await doomed.start()
    await write(link, settings, "run", [*bodies[:10], BROKEN])
    await wait_until(lambda: link.call("HGET", keys.holds, "keep:run"), "the hold is there")
    await crash(doomed)
    handler, chores = keeping_node(settings)
    async with running(settings, handler, chores=chores):
        await wait_until(lambda: _same(link, settings, "run", [*bodies[:10], BROKEN]), "copied by the heir")
        await wait_until(lambda: _no_holds(link, keys.holds), "let go")


async def test_a_copy_that_came_too_late_is_said(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1)
    keys = Keys(prefix).partition(0)
    handler = RunHandler(limits_of(settings), 1, clock=time.monotonic)

    class Late(Keeping):
        """Comes when trimming has already given up waiting."""

        async def run(self, spell: Spell) -> None:
            if await link.call("HDEL", keys.holds, f"{KEEP}run") or await link.call("XLEN", keys.evidence):
                await super().run(spell)

    async with running(settings, handler, chores=[Late(handler)]):
        await write(link, settings, "run", [*bodies_of_run(5)[:3], BROKEN])

        async def said() -> bool:
            return "kept-incomplete" in await evidence_codes(link, settings, 0)

        await wait_until(said, "evidence says that the copy is not complete")


async def test_a_copy_that_was_asked_for_twice_is_complete(server: Server, prefix: str, link: Link) -> None:
    """A new owner may see the hold of a commit before it hears the commit's answer: the copy is asked for twice."""
    settings = quick_settings(server.url, prefix, partitions=1)
    keys = Keys(prefix).partition(0)

    class Repeating(RunHandler):
        asked = 0
        again: Sequence[str] = ()

        def take_to_keep(self, partition: int) -> list[str]:
            self.asked += 1
            runs, self.again = [*super().take_to_keep(partition), *self.again], ()
            return runs

    handler = Repeating(limits_of(settings), settings.partitions, clock=time.monotonic)
    async with running(settings, handler, chores=[Keeping(handler)]):
        await write(link, settings, "run", [*bodies_of_run(5)[:3], BROKEN])
        await wait_until(lambda: kept(link, settings, "run"), "copied")
        await wait_until(lambda: _no_holds(link, keys.holds), "let go")
        handler.again, before = ("run",), handler.asked
        await wait_until(lambda: handler.asked > before + 1, "the second copy was tried")

    assert "kept-incomplete" not in await evidence_codes(link, settings, 0)


async def test_the_copy_of_a_run_is_bounded(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1, kept_bytes=4096)
    handler, chores = keeping_node(settings)
    bodies = bodies_of_run(400)
    keys = Keys(prefix).partition(0)
    async with running(settings, handler, chores=chores):
        await write(link, settings, "run", [*bodies[:390], BROKEN])
        await wait_until(lambda: kept(link, settings, "run"), "copied")
        await wait_until(lambda: _no_holds(link, keys.holds), "let go")
        copied = await kept(link, settings, "run")
        assert copied == bodies[: len(copied)]
        assert 10 < len(copied) < 60

"""The partition runtime: a node owns partitions, reads them, lets its handler work, commits.

A node works in spells. A spell is one set of connections; when one of them fails, the outcome of what was on its way
is unknown, so everything is forgotten, and the next spell takes the leases again and reads the positions.
"""

import asyncio
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, Literal, overload

import msgspec

from runwire.backoff import Backoff
from runwire.broker.checks import check_server
from runwire.broker.chores import Chore, Spell, Trim, repeat
from runwire.broker.connection import Link, ServerError, open_link
from runwire.broker.desk import Desk, Observer, Silent, StreamName
from runwire.broker.handling import BatchHandler, Handler, Ledger, StoredT_contra, WantT, WorkT
from runwire.broker.intake import Intake
from runwire.broker.keeper import Keeper
from runwire.broker.leases import Event
from runwire.broker.ledgers import RunLedger
from runwire.broker.poster import Poster
from runwire.broker.reading import Appetite
from runwire.broker.worker import Worker
from runwire.errors import LinkLost
from runwire.settings import Settings
from runwire_schemas.keys import ENFORCER_GROUP

# A server that is still loading its data, or starts at the same time as this process.
FIRST_CONNECTION_S: Final = 15.0
# Each has its own: a blocking read, and replies of large reads, must not delay a renewal.
_PURPOSES: Final = ("leases", "reads", "commits", "errands", "nudges")


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What health and operators ask. Times are seconds ago, lags are records."""

    name: str
    connected: bool
    problem: str | None
    members: list[str]
    held: list[int]
    lag: Mapping[int, int]
    halted: Mapping[int, str]
    trimmed_unread: Mapping[int, int]
    stalled: list[int]
    last_progress_s: float | None
    loop_age_s: float


class _DrainedError(Exception):
    """Ends the tasks of a spell after a clean leave."""


class Node:
    """One worker of one group."""

    @overload
    def __init__(
        self,
        settings: Settings,
        handler: BatchHandler,
        *,
        group: str = ENFORCER_GROUP,
        stream: Literal["raw"] = "raw",
        chores: Sequence[Chore] = (),
        observer: Observer | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        settings: Settings,
        handler: Handler[WantT, StoredT_contra, WorkT],
        *,
        ledger: Ledger[WantT, StoredT_contra, WorkT],
        group: str,
        stream: Literal["chunks"],
        chores: Sequence[Chore] = (),
        observer: Observer | None = None,
    ) -> None: ...

    def __init__(
        self,
        settings: Settings,
        handler: Handler[Any, Any, Any],
        *,
        ledger: Ledger[Any, Any, Any] | None = None,
        group: str = ENFORCER_GROUP,
        stream: StreamName = "raw",
        chores: Sequence[Chore] = (),
        observer: Observer | None = None,
    ) -> None:
        # A new name at each start: the server must be able to tell a restarted process from its former self.
        self.name = f"{group}-{os.getpid()}-{secrets.token_hex(4)}"
        self._settings = settings
        self._desk = Desk(settings, handler, ledger or RunLedger(), self.name, group, stream, observer or Silent())
        self._chores = (Trim(), *chores)
        self._task: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._problem: str | None = "not started"
        self._keeper: Keeper | None = None
        self._appetite = Appetite(settings.read_records)

    async def start(self) -> None:
        """Check the server, join, and take what is ours and free.

        Raises ServerUnfit for a server or settings that must not be used, LinkLost when it cannot be reached in 15 s.
        """
        await self._first_check()
        self._task = asyncio.create_task(self._serve(), name="runwire node")
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait((ready, self._task), timeout=FIRST_CONNECTION_S, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._task.done():
            await self._task
        elif not self._ready.is_set():
            await self.abandon()
            raise LinkLost(f"the server was lost before this node could join: {self._problem}")

    async def wait(self) -> None:
        """Until the node has drained. Raises what ended it otherwise."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def drain(self) -> None:
        """Stop reading, finish the commit in flight, hand every lease over. Idempotent."""
        desk = self._desk
        desk.draining = True
        for event in (desk.keeper_wake, desk.worker_wake, desk.intake_wake):
            event.set()
        await self.wait()

    async def abandon(self) -> None:
        """Stop without a word to anybody, as a killed process does: leases stay until they run out."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))
            self._task = None

    @property
    def draining(self) -> bool:
        """Whether the node is on its way out."""
        return self._desk.draining

    def status(self) -> NodeStatus:
        """A snapshot."""
        now = asyncio.get_running_loop().time()
        desk = self._desk
        held = list(desk.held())
        busy = [p for p in held if p.flowing and not p.idle]
        return NodeStatus(
            name=self.name,
            connected=self._problem is None,
            problem=self._problem,
            members=self._keeper.members if self._keeper else [],
            held=[p.number for p in held],
            lag={p.number: p.lag for p in held},
            halted={p.number: why for p in desk.partitions if (why := p.halted_because)},
            trimmed_unread={p.number: n for p in held if (n := p.lease.trimmed_unread)},
            stalled=[p.number for p in busy if now - p.lease.progress_at > self._settings.lease_ttl_s],
            last_progress_s=now - desk.progress_at if desk.progress_at else None,
            loop_age_s=now - desk.turned_at,
        )

    async def _first_check(self) -> None:
        """Every check, before anything else is begun. A server that is just starting is waited for."""
        deadline = asyncio.get_running_loop().time() + FIRST_CONNECTION_S
        backoff = self._backoff()
        while True:
            try:
                async with await self._open("check") as link:
                    return await self._check(link)
            except (LinkLost, ServerError) as error:
                hopeless = isinstance(error, ServerError) and error.outcome == "bug"
                if hopeless or asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(backoff.delay())

    def _backoff(self) -> Backoff:
        return Backoff(self._settings.backoff_min_s, self._settings.backoff_max_s)

    async def _open(self, purpose: str) -> Link:
        settings = self._settings
        return await open_link(
            settings.redis_url,
            f"{self.name}:{purpose}",
            limit=settings.command_timeout_s,
            connect_limit=settings.connect_timeout_s,
        )

    async def _check(self, link: Link) -> None:
        settings = self._settings
        await check_server(
            link,
            self._desk.keys,
            settings.partitions,
            allow_no_persistence=settings.allow_no_persistence,
        )

    async def _serve(self) -> None:
        backoff = self._backoff()
        while not self._desk.draining:
            began = self._desk.turned_at = asyncio.get_running_loop().time()
            try:
                await self._spell()
            except* _DrainedError:
                pass
            except* (LinkLost, ServerError) as errors:
                self._forget(errors.exceptions)
            if self._desk.draining:
                return
            # One that fails as soon as it has begun proves nothing: it would begin twenty times a second.
            if asyncio.get_running_loop().time() - began > self._settings.lease_ttl_s:
                backoff.reset()
            await asyncio.sleep(backoff.delay())

    def _forget(self, errors: Sequence[BaseException]) -> None:
        """The outcome of everything on its way is unknown: nothing that was believed holds any more."""
        self._problem = "; ".join(sorted({str(error) for error in errors}))
        self._desk.observer.say("server-lost", reason=self._problem)
        for partition in self._desk.partitions:
            self._desk.lose(partition, Event.SERVER_LOST)

    async def _spell(self) -> None:
        desk = self._desk
        async with AsyncExitStack() as stack:
            leases, reads, commits, errands, nudges = [
                await stack.enter_async_context(await self._open(purpose)) for purpose in _PURPOSES
            ]
            await self._check(leases)
            poster = None
            if desk.ledger.posts:
                poster = Poster(desk, await stack.enter_async_context(await self._open("posts")))
            intake = Intake(desk, reads, errands, self._appetite)
            worker = Worker(desk, commits, poster)
            keeper = self._keeper = Keeper(desk, leases, nudges, intake.wake)
            await nudges.subscribe(desk.keys.nudge(desk.group), keeper.nudge)
            spell = Spell(desk, errands, worker)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(intake.run())
                tasks.create_task(worker.run())
                if poster is not None:
                    tasks.create_task(poster.run())
                tasks.create_task(self._keep(keeper, worker))
                tasks.create_task(self._follow(keeper))
                for chore in self._chores:
                    tasks.create_task(repeat(chore, spell))

    async def _follow(self, keeper: Keeper) -> None:
        """The node is up once it has looked at members and leases."""
        await keeper.settled()
        self._problem = None
        self._ready.set()

    async def _keep(self, keeper: Keeper, worker: Worker) -> None:
        """Keep leases until the drain, then give them away: what is on its way is waited for, nothing new begun."""
        await keeper.run()
        try:
            # Much shorter than the lease: whoever waits for these partitions would rather take them.
            async with asyncio.timeout(self._settings.lease_ttl_s / 2):
                await worker.flushed()
                await keeper.leave()
        except TimeoutError:
            self._desk.observer.say("drain-too-slow", held=[p.number for p in self._desk.held()])
        raise _DrainedError

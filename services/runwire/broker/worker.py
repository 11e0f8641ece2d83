"""Hands batches to the handler and commits what it made. One task, one connection, at most two commits a partition."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, assert_never, cast

from runwire.broker import functions
from runwire.broker.connection import Command, Link, Reply, ServerError
from runwire.broker.desk import Desk
from runwire.broker.dispatch import Dispatch
from runwire.broker.handling import Batch
from runwire.broker.leases import Event
from runwire.broker.partition import Partition
from runwire.broker.poster import Poster
from runwire.broker.reading import Entry
from runwire.errors import LinkLost

T = TypeVar("T")
Failed = dict[Partition, Exception]


class _Cut(NamedTuple):
    partition: Partition
    generation: int
    batch: Batch
    missing: list[Any]

    @property
    def void(self) -> bool:
        return self.partition.generation != self.generation


class _Question(NamedTuple):
    """Something a chore wants to know from the handler, answered between two rounds."""

    partition: Partition
    needs: Callable[[], list[Any]]
    answer: Callable[[], Any]
    future: "asyncio.Future[Any]"


class Worker:
    """The only caller of the handler."""

    def __init__(self, desk: Desk, link: Link, poster: Poster | None = None) -> None:
        self._desk = desk
        self._link = link
        self._dispatch = Dispatch(desk, link, poster)
        self._questions: list[_Question] = []

    async def run(self) -> None:
        """Until cancelled. Raises LinkLost, or ServerError when the server refuses for a reason that passes."""
        desk = self._desk
        while True:
            desk.worker_wake.clear()
            if self._dispatch.error is not None:
                raise self._dispatch.error
            if self._questions:
                await self._answer_questions()
            ready = [] if desk.draining else [p for p in desk.flowing() if p.ready]
            if not ready:
                await desk.worker_wake.wait()
                continue
            await self._round([p for p in ready if not p.isolated])
            for partition in ready:
                if partition.isolated and partition.ready:
                    await self._alone(partition)

    async def ask(self, partition: Partition, needs: Callable[[], list[Any]], answer: Callable[[], T]) -> T | None:
        """Let a chore ask the handler between two rounds: load the runs that `needs` names, then call `answer`.

        None when the partition was lost meanwhile.
        """
        future: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self._questions.append(_Question(partition, needs, answer, future))
        self._desk.worker_wake.set()
        return await future

    async def flushed(self) -> None:
        """Return once no commit is on its way. For a drain: nothing new is begun then."""
        await self._dispatch.flushed()

    async def _round(self, ready: Sequence[Partition]) -> None:
        settings = self._desk.settings
        cuts = [c for p in ready if (c := self._cut(p, settings.commit_chunks, settings.commit_bytes)) is not None]
        self._desk.intake_wake.set()
        missing = [(c.partition, c.missing) for c in cuts if c.missing]
        failed = await self._load(missing) if missing else {}
        for cut in cuts:
            if not cut.void:
                self._handle(cut, failed)
                # The server applies this commit while the next one is made; reads and renewals get their turn.
                await asyncio.sleep(0)

    async def _alone(self, partition: Partition) -> None:
        """One record, alone with the process, and its commit awaited: if this kills the process, the record did it."""
        desk = self._desk
        cut = self._cut(partition, 1, 1)
        if cut is None:
            return
        first = cut.batch.entries[0][0].decode()
        # A fenced answer needs nothing here: the commit is fenced, too.
        await functions.write_suspect(self._link, partition.keys, desk.group, desk.me, partition.lease.epoch, first)
        if partition.condemns(first):
            desk.observer.say("record-set-aside", partition.number, record=first, attempts=cut.batch.attempts)
            cut = cut._replace(batch=cut.batch._replace(quarantine=True))
            await self._announce_quarantine(cut)
        failed = await self._load([(partition, cut.missing)]) if cut.missing else {}
        if cut.void:
            return
        sent = self._handle(cut, failed)
        if sent is not None:
            # A parcel may have to wait for room in another partition. That is no fault of the record, which is handled.
            await asyncio.wait((sent,), timeout=desk.settings.command_timeout_s)

    async def _announce_quarantine(self, cut: _Cut) -> None:
        """Write into the stream that this record is set aside, so that a later reader of the records does the same."""
        note = self._desk.handler.condemn(cut.batch.entries[0])
        if note is None:
            return
        desk, partition = self._desk, cut.partition
        outcome = await functions.write_quarantine(
            self._link,
            partition.keys,
            desk.group,
            desk.me,
            partition.lease.epoch,
            cut.batch.entries[0][0].decode(),
            *note,
        )
        if cut.void:
            return
        match outcome:
            case functions.Quarantined():
                pass
            case functions.Fenced():
                desk.lose(partition, Event.FENCED)
            case functions.Moved():
                desk.again(partition)
            case _:
                assert_never(outcome)

    def _cut(self, partition: Partition, records: int, size: int) -> _Cut | None:
        entries = partition.cut(records, size)
        batch = Batch(partition.number, entries, partition.prev, partition.lease.attempts)
        try:
            missing = self._desk.handler.missing(batch)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is about these records, and is isolated
            self._crashed(partition, entries, error)
            return None
        return _Cut(partition, partition.generation, batch, missing)

    def _handle(self, cut: _Cut, failed: Failed) -> "asyncio.Future[Any] | None":
        partition, batch = cut.partition, cut.batch
        try:
            _raise(failed.get(partition))
            commit = self._desk.handler.handle(batch)
        except Exception as error:  # noqa: BLE001 - as above
            self._crashed(partition, batch.entries, error, condemned=batch.quarantine)
            return None
        if commit.records < len(batch.entries):
            partition.backlog.put_back(batch.entries[commit.records :])
        return self._dispatch.send(partition, commit)

    def _crashed(
        self, partition: Partition, entries: list[Entry], error: Exception, *, condemned: bool = False
    ) -> None:
        """The handler raised: try the records one by one, then set the one aside that raises alone."""
        desk = self._desk
        first = entries[0][0].decode()
        desk.observer.say("handler-crashed", partition.number, record=first, records=len(entries), error=error)
        if condemned:
            desk.halt(partition, f"record {first} crashes even when it is set aside: {error!r}")
            return
        if len(entries) == 1:
            partition.condemned = first
        partition.isolated_records = max(partition.isolated_records, len(entries))
        desk.again(partition)

    async def _load(self, wanted: Sequence[tuple[Partition, list[Any]]]) -> Failed:
        """Fetch states, and the entries they refer to, each in one round trip. Returns what handlers raised."""
        failed: Failed = {}
        ledger = self._desk.ledger
        generations = [p.generation for p, _ in wanted]
        commands: list[Command] = [ledger.read(p.keys, want) for p, wants in wanted for want in wants]
        replies = iter(await self._link.call_many(commands))
        references: list[tuple[Partition, int, str]] = []
        for (partition, wants), generation in zip(wanted, generations, strict=True):
            found = [next(replies) for _ in wants]
            if partition.generation != generation or not self._readable(partition, found):
                continue
            try:
                stored = [ledger.stored(want, reply) for want, reply in zip(wants, found, strict=True)]
                ids = self._desk.handler.load(partition.number, stored)
            except Exception as error:  # noqa: BLE001 - as above
                failed[partition] = error
            else:
                references += [(partition, generation, entry_id) for entry_id in ids]
        if references:
            await self._restore(references, failed)
        return failed

    def _readable(self, partition: Partition, replies: Sequence[Reply]) -> bool:
        """Whether the states of a partition could be read. A key of a wrong type stops this partition and no other."""
        for reply in replies:
            if isinstance(reply, ServerError):
                if reply.outcome != "bug":
                    raise reply
                self._desk.halt(partition, f"a state cannot be read: {reply}")
                return False
        return True

    async def _restore(self, references: Sequence[tuple[Partition, int, str]], failed: Failed) -> None:
        commands = [("XRANGE", self._desk.source(p.keys), entry_id, entry_id) for p, _, entry_id in references]
        found: dict[Partition, list[Entry]] = {}
        for (partition, generation, _), reply in zip(
            references, _checked(await self._link.call_many(commands)), strict=True
        ):
            if partition.generation == generation:
                found.setdefault(partition, []).extend(cast("list[Entry]", reply))
        for partition, entries in found.items():
            try:
                self._desk.handler.restore(partition.number, entries)
            except Exception as error:  # noqa: BLE001 - as above
                failed[partition] = error

    async def _answer_questions(self) -> None:
        questions, self._questions = self._questions, []
        for question in questions:
            if question.future.done():
                continue
            partition, generation = question.partition, question.partition.generation
            try:
                missing = question.needs()
                failed = await self._load([(partition, missing)]) if missing else {}
                _raise(failed.get(partition))
                answer = question.answer() if partition.generation == generation and partition.flowing else None
            except (LinkLost, ServerError):
                raise
            except Exception as error:  # noqa: BLE001 - the asker hears it; the worker goes on
                question.future.set_exception(error)
            else:
                if not question.future.done():
                    question.future.set_result(answer)


def _raise(error: Exception | None) -> None:
    if error is not None:
        raise error


def _checked(replies: list[Reply]) -> list[Reply]:
    for reply in replies:
        if isinstance(reply, ServerError):
            raise reply
    return replies

"""Hands batches to the handler and commits what it made. One task, one connection, at most two commits a partition.

Nothing is ever sent twice: a commit whose outcome is unknown is answered by the position that the next take reads.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar, assert_never, cast

from runwire.broker import functions
from runwire.broker.connection import Command, Link, Reply, ServerError
from runwire.broker.desk import Desk
from runwire.broker.functions import Commit, CommitOutcome
from runwire.broker.handling import Batch, StoredState
from runwire.broker.leases import Event, State
from runwire.broker.partition import Partition
from runwire.broker.reading import Entry
from runwire.errors import LinkLost

T = TypeVar("T")
Failed = dict[Partition, Exception]


class _Cut(NamedTuple):
    partition: Partition
    generation: int
    batch: Batch
    missing: list[str]

    @property
    def void(self) -> bool:
        return self.partition.generation != self.generation


class _Question(NamedTuple):
    """Something a chore wants to know from the handler, answered between two rounds."""

    partition: Partition
    needs: Callable[[], list[str]]
    answer: Callable[[], Any]
    future: "asyncio.Future[Any]"


class Worker:
    """The only caller of the handler."""

    def __init__(self, desk: Desk, link: Link) -> None:
        self._desk = desk
        self._link = link
        self._error: Exception | None = None
        self._questions: list[_Question] = []
        self._sent: set[asyncio.Future[list[Reply]]] = set()

    async def run(self) -> None:
        """Until cancelled. Raises LinkLost, or ServerError when the server refuses for a reason that passes."""
        desk = self._desk
        while True:
            desk.worker_wake.clear()
            if self._error is not None:
                raise self._error
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

    async def ask(self, partition: Partition, needs: Callable[[], list[str]], answer: Callable[[], T]) -> T | None:
        """Let a chore ask the handler between two rounds: load the runs that `needs` names, then call `answer`.

        None when the partition was lost meanwhile.
        """
        future: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self._questions.append(_Question(partition, needs, answer, future))
        self._desk.worker_wake.set()
        return await future

    async def flushed(self) -> None:
        """Return once no commit is on its way. For a drain: nothing new is begun then."""
        while self._sent:
            await asyncio.wait(self._sent)

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
            await asyncio.wait((sent,))

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

    def _handle(self, cut: _Cut, failed: Failed) -> "asyncio.Future[list[Reply]] | None":
        partition, batch = cut.partition, cut.batch
        try:
            _raise(failed.get(partition))
            commit = self._desk.handler.handle(batch)
        except Exception as error:  # noqa: BLE001 - as above
            self._crashed(partition, batch.entries, error, condemned=batch.quarantine)
            return None
        if commit.records < len(batch.entries):
            partition.backlog.put_back(batch.entries[commit.records :])
        return self._send(partition, commit)

    def _send(self, partition: Partition, commit: Commit) -> "asyncio.Future[list[Reply]]":
        desk = self._desk
        args = functions.commit_args(partition.keys, desk.group, desk.me, partition.lease.epoch, desk.lifetimes, commit)
        sent = self._link.send_many((args,))
        partition.in_flight += 1
        partition.prev = commit.last
        began = asyncio.get_running_loop().time()
        self._sent.add(sent)
        sent.add_done_callback(partial(self._answered, partition, partition.generation, commit, began))
        return sent

    def _answered(
        self, partition: Partition, generation: int, commit: Commit, began: float, sent: "asyncio.Future[list[Reply]]"
    ) -> None:
        self._sent.discard(sent)
        self._desk.worker_wake.set()
        if sent.cancelled():
            return
        error = sent.exception()
        if error is not None:
            self._error = error if isinstance(error, Exception) else LinkLost(str(error))
            return
        if partition.generation != generation:
            return
        partition.in_flight -= 1
        try:
            outcome = functions.commit_result(sent.result()[0])
        except ServerError as refusal:
            self._refused_by_server(partition, refusal)
        else:
            self._settle(partition, commit, outcome, began)
        if not partition.in_flight and partition.lease.state is State.LEAVING:
            self._desk.keeper_wake.set()

    def _settle(self, partition: Partition, commit: Commit, outcome: CommitOutcome, began: float) -> None:
        desk = self._desk
        match outcome:
            case functions.Committed():
                now = asyncio.get_running_loop().time()
                partition.committed(commit.last, commit.records, now)
                desk.progress_at = now
                desk.handler.committed(partition.number, commit)
                desk.observer.committed(partition.number, commit, now - began)
            case functions.Fenced():
                desk.observer.say("commit-fenced", partition.number, epoch=partition.lease.epoch)
                desk.lose(partition, Event.FENCED)
            case functions.BadArguments(key=key):
                desk.halt(partition, f"the server found a malformed commit at {key}")
            case functions.Moved() | functions.Skip() | functions.Gone() | functions.StateConflict():
                desk.refused(partition, f"{outcome}")
            case _:
                assert_never(outcome)

    def _refused_by_server(self, partition: Partition, error: ServerError) -> None:
        if error.outcome == "bug":
            self._desk.halt(partition, f"the server failed: {error}")
        else:
            # Every commit will meet the same; beliefs about leases may be void too (a demoted primary).
            self._error = error

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

    async def _load(self, wanted: Sequence[tuple[Partition, list[str]]]) -> Failed:
        """Fetch states of runs, and the entries they refer to, each in one round trip. Returns what handlers raised."""
        failed: Failed = {}
        generations = [p.generation for p, _ in wanted]
        commands: list[Command] = [("HMGET", p.keys.state(run), "s", "b", "a") for p, runs in wanted for run in runs]
        replies = iter(_checked(await self._link.call_many(commands)))
        references: list[tuple[Partition, int, str]] = []
        for (partition, runs), generation in zip(wanted, generations, strict=True):
            stored = [_stored(run, next(replies)) for run in runs]
            if partition.generation == generation:
                try:
                    ids = self._desk.handler.load(partition.number, stored)
                except Exception as error:  # noqa: BLE001 - as above
                    failed[partition] = error
                else:
                    references += [(partition, generation, entry_id) for entry_id in ids]
        if references:
            await self._restore(references, failed)
        return failed

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


def _stored(run: str, reply: Reply) -> StoredState:
    seq, blob, attempt = cast("list[bytes | None]", reply)
    return StoredState(run, int(seq or 0), blob, int(attempt or 1))

"""Sends commits in the order of their batches, after what they wait for, and settles what is answered.

Nothing is ever sent twice: a commit whose outcome is unknown is answered by the position that the next take reads.
"""

import asyncio
from collections import deque
from functools import partial
from typing import Any, NamedTuple, assert_never, cast

from runwire.broker import functions
from runwire.broker.connection import Link, Reply, ServerError
from runwire.broker.desk import Desk
from runwire.broker.functions import CommitOutcome
from runwire.broker.handling import Work
from runwire.broker.leases import Event, State
from runwire.broker.partition import Partition
from runwire.broker.poster import Errand, Poster
from runwire.errors import LinkLost


class _Unsent(NamedTuple):
    """A commit that waits for its parcels, or for another that does. `over` when it was answered or given up."""

    work: Work
    errand: Errand
    over: "asyncio.Future[None]"

    @property
    def void(self) -> bool:
        return self.errand.generation != self.errand.partition.generation

    def end(self) -> None:
        """Tell who waits."""
        if not self.over.done():
            self.over.set_result(None)


class Dispatch:
    """The commits of all partitions of a node, on one connection."""

    def __init__(self, desk: Desk, link: Link, poster: Poster | None) -> None:
        """`error` is set when the node's spell must end."""
        self.error: Exception | None = None
        self._desk = desk
        self._link = link
        self._poster = poster
        self._sent: set[asyncio.Future[list[Reply]]] = set()
        self._unsent: dict[Partition, deque[_Unsent]] = {p: deque() for p in desk.partitions}

    async def flushed(self) -> None:
        """Return once no commit is on its way or waits."""
        while waiting := {*self._sent, *(unsent.over for queue in self._unsent.values() for unsent in queue)}:
            await asyncio.wait(cast("set[asyncio.Future[Any]]", waiting))

    def send(self, partition: Partition, work: Work) -> "asyncio.Future[Any]":
        """Send a commit, or let it wait for its parcels. The future is done when it was answered, or never will be."""
        partition.in_flight += 1
        partition.prev = work.last
        queue, parcels = self._unsent[partition], self._desk.ledger.parcels(work)
        while queue and queue[0].void:
            queue.popleft().end()
        if self._poster is None or not (parcels or queue):
            return self._commit(partition, work)
        errand = self._poster.post(partition, parcels)
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(_Unsent(work, errand, over))
        errand.done.add_done_callback(partial(self._posted, partition))
        return over

    def _posted(self, partition: Partition, _done: "asyncio.Future[None]") -> None:
        """Commits go in the order of their batches: each one names the position that the one before it reaches."""
        queue = self._unsent[partition]
        while queue and (queue[0].void or queue[0].errand.done.done()):
            unsent = queue.popleft()
            done = unsent.errand.done
            if unsent.void:
                unsent.end()
            elif done.cancelled():
                queue.appendleft(unsent)
                self._give_up(partition)
            elif error := done.exception():
                unsent.end()
                self._refused_by_server(partition, cast("ServerError", error))
            else:
                self._commit_posted(partition, unsent)
        self._desk.worker_wake.set()

    def _commit_posted(self, partition: Partition, unsent: _Unsent) -> None:
        try:
            self._commit(partition, unsent.work).add_done_callback(lambda _: unsent.end())
        except LinkLost as error:
            self.error = error
            unsent.end()

    def _give_up(self, partition: Partition) -> None:
        """The partition leaves while a parcel waits for room. Its heir makes all of it again."""
        queue = self._unsent[partition]
        while queue:
            partition.in_flight -= 1
            queue.popleft().end()
        if not partition.in_flight and partition.lease.state is State.LEAVING:
            self._desk.keeper_wake.set()

    def _commit(self, partition: Partition, work: Work) -> "asyncio.Future[list[Reply]]":
        desk = self._desk
        epoch, lifetimes = partition.lease.epoch, desk.lifetimes
        sent = self._link.send_many((desk.ledger.commit(partition.keys, desk.group, desk.me, epoch, lifetimes, work),))
        began = asyncio.get_running_loop().time()
        self._sent.add(sent)
        sent.add_done_callback(partial(self._answered, partition, partition.generation, work, began))
        return sent

    def _answered(
        self, partition: Partition, generation: int, commit: Work, began: float, sent: "asyncio.Future[list[Reply]]"
    ) -> None:
        self._sent.discard(sent)
        self._desk.worker_wake.set()
        if sent.cancelled():
            return
        error = sent.exception()
        if error is not None:
            self.error = error if isinstance(error, Exception) else LinkLost(str(error))
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

    def _settle(self, partition: Partition, commit: Work, outcome: CommitOutcome, began: float) -> None:
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
            self.error = error

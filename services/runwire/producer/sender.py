"""Moves batches to the broker: one connection, all partitions pipelined on it, one batch in flight per partition."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, assert_never

from runwire.backoff import Backoff
from runwire.broker.batches import Full, Refused, Stored, Unusable, outcome_of
from runwire.broker.connection import Link, Reply, ServerError
from runwire.broker.packing import pack
from runwire.errors import DeploymentMissing, LinkLost, PublishRefused
from runwire.producer.lane import Lane
from runwire.producer.options import ProducerOptions
from runwire.producer.queue import Batch, Failed, Kept, bound_tails
from runwire.producer.session import ASK_IDENTITY, ServerIdentity, Session, identity_of
from runwire_schemas.keys import ENFORCER_GROUP

log = logging.getLogger("runwire.producer")

_LOG_EVERY_S: Final = 10.0

Fail = Callable[[Failed, Exception], None]


class _Group(NamedTuple):
    """What one write asked for, in order."""

    batches: list[tuple[Lane, Batch]]
    lags: list[Lane]
    identity: bool

    @property
    def replies(self) -> int:
        return sum(batch.count + 2 for _, batch in self.batches) + 2 * len(self.lags) + self.identity


class Sender:
    """The task behind a producer. It alone touches the connection and moves queues on.

    Every failure has one answer: close, wait, connect again, rewind every queue. Only a full memory is waited out on
    the same connection, because the server has lost nothing and replaying would ask it for more.
    """

    def __init__(
        self, first: Session, connect: Callable[[], Awaitable[Session]], options: ProducerOptions, fail: Fail
    ) -> None:
        self.lanes: dict[int, Lane] = {}
        self.kept = Kept()
        self.reconnects = 0
        self.replayed = 0
        # Why nothing moves, for the errors of those who wait; None while all is well.
        self.trouble: str | None = None
        # Set whenever something was acknowledged, pruned or checked.
        self.moved = asyncio.Event()
        self._connect = connect
        self._options = options
        self._fail = fail
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._busy: set[Lane] = set()
        self._first = first
        self._link: Link | None = first.link
        self._server: ServerIdentity | None = None
        self._lost: str | None = None
        self._good_at = float("-inf")
        self._checked_at = float("-inf")
        self._pruned_at = float("-inf")
        self._hold_until = float("-inf")
        self._full_logged_at = float("-inf")
        self._full: set[Lane] = set()
        self._flying = 0
        self._backoff = Backoff(options.backoff_min, options.backoff_max)
        self._full_backoff = Backoff(options.backoff_min, options.backoff_max)

    @property
    def quiet(self) -> bool:
        """Nothing is left that a new connection would send."""
        return not any(lane.queue.kept for lane in self.lanes.values())

    @property
    def replaying(self) -> bool:
        """A new connection has not got everything again yet."""
        return any(lane.queue.replaying for lane in self.lanes.values())

    @property
    def memory_full(self) -> bool:
        """The server refused something for want of memory, and has not taken it yet."""
        return bool(self._full)

    def touch(self, lane: Lane) -> None:
        """Something of this lane may be due."""
        self._busy.add(lane)
        self._wake.set()

    async def run(self) -> None:
        """Send until cancelled, or until the broker refuses for good (PublishRefused, ServerUnfit)."""
        current: Session | None = self._first
        try:
            while True:
                try:
                    current = current or await self._connect()
                    self._adopt(current)
                    await self._serve(current.link)
                except (LinkLost, DeploymentMissing) as error:
                    if self._link is not None:
                        self.reconnects += 1
                        log.warning("connection lost: %s", error)
                    await self.drop(str(error))
                    current = None
                await asyncio.sleep(self._backoff.delay())
        finally:
            await self.drop("closed")

    # ------------------------------------------------------------------ connections

    def _adopt(self, session: Session) -> None:
        now = self._loop.time()
        self._link, self._server, self._lost, self._flying = session.link, session.server, None, 0
        self._good_at = self._checked_at = now
        self.trouble = None
        for lane in self.lanes.values():
            lane.queue.rewind()
            if failed := lane.queue.expire(now - self._options.retry_limit):
                error = PublishRefused(f"not sent for {self._options.retry_limit:g} s: too old to be sent again")
                self._give_up(lane, failed, error)
            if lane.queue.replaying:
                log.info("partition %d: replaying what was acknowledged lately", lane.number)
            self.touch(lane)

    async def drop(self, reason: str) -> None:
        """Close the connection, if there is one."""
        link, self._link = self._link, None
        self.trouble = reason
        if link is not None:
            await link.close()

    async def _serve(self, link: Link) -> None:
        while self._lost is None:
            self._wake.clear()
            again = self._pump(link)
            timer = None if again is None else self._loop.call_at(again, self._wake.set)
            try:
                await self._wake.wait()
            finally:
                if timer is not None:
                    timer.cancel()
        raise LinkLost(self._lost)

    # ------------------------------------------------------------------ sending

    def _pump(self, link: Link) -> float | None:
        """Send all that is due; when to look again, None if only a new record or a reply can change anything."""
        now = self._loop.time()
        group, again = self._collect(now)
        if group.replies:
            self._write(link, group)
        return again

    def _collect(self, now: float) -> tuple[_Group, float | None]:
        group = _Group([], [], identity=self._identity_due(now))
        times = [self._checked_at + self._options.check_every] if self.kept.total else []
        for lane in list(self._busy):
            due = lane.queue.due()
            if due is None and not (lane.queue.paused and lane.queue.pending):
                self._busy.discard(lane)
                continue
            checks = lane.lag_checked_at + self._options.lag_every
            if due is not None and max(due, self._hold_until) <= now:
                # Otherwise the next answer makes room.
                if not self._flying or self._flying < self._options.flight_bytes:
                    batch = lane.queue.next(now)
                    self._flying += batch.size
                    group.batches.append((lane, batch))
            elif due is not None:
                times.append(max(due, self._hold_until))
            if (due is None or due <= now) and checks <= now:
                lane.lag_checked_at = now
                group.lags.append(lane)
            elif due is None:
                times.append(checks)
        return group, min(times, default=None)

    def _identity_due(self, now: float) -> bool:
        if now < self._checked_at + self._options.check_every or not self.kept.total:
            return False
        self._checked_at = now
        return True

    def _write(self, link: Link, group: _Group) -> None:
        parts = [batch.data for _, batch in group.batches]
        for lane in group.lags:
            parts.append(pack("XINFO", "STREAM", lane.keys.raw))
            parts.append(pack("HGET", lane.keys.pos_raw, f"{ENFORCER_GROUP}:n"))
        if group.identity:
            parts.append(pack(*ASK_IDENTITY))
        self.replayed += sum(batch.count for _, batch in group.batches if batch.acknowledged)
        try:
            limit = self._options.command_timeout + self._flying / self._options.slowest_line
            future = link.send_packed(b"".join(parts), group.replies, limit=limit)
        except LinkLost as error:
            self._fail_link(str(error))
            return
        future.add_done_callback(lambda done: self._answered(link, group, done))

    # ------------------------------------------------------------------ answers

    def _answered(self, link: Link, group: _Group, done: "asyncio.Future[list[Reply]]") -> None:
        if done.cancelled():
            return
        error = done.exception()
        if link is not self._link or self._lost is not None:
            return
        if error is not None:
            self._fail_link(str(error))
            return
        self._flying -= sum(batch.size for _, batch in group.batches)
        replies, at = done.result(), 0
        for lane, batch in group.batches:
            self._settle(lane, replies[at : at + batch.count + 2], batch)
            at += batch.count + 2
        for lane in group.lags:
            self._judge_lag(lane, replies[at], replies[at + 1])
            at += 2
        if group.identity and self._lost is None:
            self._judge_identity(replies[at])
        if self.kept.total > self._options.replay_bytes:
            bound_tails([lane.queue for lane in self.lanes.values()], self.kept, self._options.replay_bytes)
        self._prune(self._loop.time())
        self._wake.set()

    def _settle(self, lane: Lane, replies: list[Reply], batch: Batch) -> None:
        outcome = outcome_of(replies, batch.count)
        match outcome:
            case Stored():
                self._full.discard(lane)
                self._good()
                lane.queue.acknowledge(self._good_at)
                lane.settle()
            case Full(reason):
                lane.queue.hold_back()
                self.trouble = reason
                self._full.add(lane)
                self._wait_for_memory(reason)
            case Unusable(reason):
                self._fail_link(f"the server cannot take records now: {reason}")
            case Refused(reason):
                error = PublishRefused(f"The server refused records of partition {lane.number}: {reason}.")
                self._give_up(lane, lane.queue.give_up(), error)
            case _:
                assert_never(outcome)
        self._busy.add(lane)

    def _judge_lag(self, lane: Lane, info: Reply, count: Reply) -> None:
        if isinstance(info, ServerError) or not isinstance(info, list):
            return
        fields = dict(zip(info[::2], info[1::2], strict=False))
        added = fields.get(b"entries-added")
        read = int(count) if isinstance(count, bytes) and count.isdigit() else 0
        if isinstance(added, int):
            lane.judge_lag(added - read)

    def _judge_identity(self, info: Reply) -> None:
        server = identity_of(info)
        if server != self._server:
            # The same connection leads elsewhere (a proxy), or the server has another role: what it has may differ.
            self._fail_link(f"the server is not the same as before: {server}")
        else:
            self._good()

    def _good(self) -> None:
        self._good_at = self._loop.time()
        self._backoff.reset()
        if not self._full:
            self._full_backoff.reset()
            self.trouble = None

    def _wait_for_memory(self, reason: str) -> None:
        now = self._loop.time()
        # Memory that is nearly full is full again and again.
        if now >= self._full_logged_at + _LOG_EVERY_S:
            self._full_logged_at = now
            log.warning("the server's memory is full: %s", reason)
        self._hold_until = now + self._full_backoff.delay()

    def _fail_link(self, reason: str) -> None:
        self._lost = self._lost or reason
        self._wake.set()

    def _give_up(self, lane: Lane, failed: Failed, error: Exception) -> None:
        self._fail(failed, error)
        lane.reject(error)

    def _prune(self, now: float) -> None:
        if now < self._pruned_at + self._options.lag_every:
            return
        self._pruned_at = now
        for lane in self.lanes.values():
            lane.queue.prune(self._good_at - self._options.replay_window)
        self.moved.set()

"""All runs of a reader on one connection: one blocking read for what is new, pages for what is behind."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple, cast

from runwire.backoff import Backoff
from runwire.broker.connection import Arg, Link, Reply, ServerError
from runwire.errors import DeploymentMissing, LinkLost, LogDamaged, ReaderDisconnected, RunUnknown
from runwire.readers.feed import Feed, Look
from runwire.readers.options import ReaderOptions
from runwire_schemas.keys import Keys, PartitionKeys, partition_of

log = logging.getLogger("runwire.reader")

# Pages are read for so many runs at once, so that catching up takes at most as many times page_bytes.
_PAGES: Final = 8
_LIVE_COUNT: Final = 100
_FIRST_SIZE: Final = 4096
# What a read costs the server for each run it names. Reading again at once for every single chunk would cost more
# than the chunks, so a read over many runs is followed by a pause of at most 1 ms.
_COST_PER_RUN_S: Final = 5e-6
_LONGEST_PAUSE_S: Final = 0.001
_SHORTEST_PAUSE_S: Final = 0.0002

# The server's state passes, and it has answered nothing.
_PASSING: Final = frozenset({"LOADING", "MASTERDOWN", "CLUSTERDOWN", "BUSY", "TRYAGAIN", "UNBLOCKED", "READONLY"})


class Opened(NamedTuple):
    link: Link
    partitions: int


class Subscription:
    """A feed, who waits for it, and when the run is looked at next."""

    def __init__(self, feed: Feed, deadline: float) -> None:
        self.feed = feed
        self.deadline = deadline
        self.look_at = float("-inf")
        self.full = False
        # Partition count and attempt that the key was made for, and the key.
        self.log: tuple[int, int, bytes] = (0, 0, b"")
        self._ready: asyncio.Future[None] | None = None

    async def wait(self) -> None:
        """Until something changed."""
        self._ready = asyncio.get_running_loop().create_future()
        try:
            await self._ready
        finally:
            self._ready = None

    def notify(self) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)


class Hub:
    """Reads for all subscriptions. Its task lives while there are any, or as long as it is held."""

    def __init__(self, connect: Callable[[], Awaitable[Opened]], keys: Keys, options: ReaderOptions) -> None:
        self.held = False
        self._connect = connect
        self._keys = keys
        self._options = options
        self._subscriptions: set[Subscription] = set()
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._largest = _FIRST_SIZE
        self._refusals = 0
        self._partitions = 1
        # Whether this connection ever told anything about a run: one that only opens is as good as none.
        self._answered = False

    def add(self, feed: Feed, wait: float) -> Subscription:
        """Follow a run, waiting for it `wait` seconds if it is not there."""
        subscription = Subscription(feed, asyncio.get_running_loop().time() + wait)
        self._subscriptions.add(subscription)
        self._wake.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="runwire-reader")
        return subscription

    def drained(self, subscription: Subscription) -> None:
        """A consumer took chunks of a feed whose reading had stopped."""
        subscription.full = False
        self._wake.set()

    async def remove(self, subscription: Subscription) -> None:
        """Stop following; the last one to leave a hub that nobody holds closes its connection."""
        self._subscriptions.discard(subscription)
        if not self._subscriptions and not self.held:
            await self.stop()

    async def stop(self) -> None:
        """Close the connection."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    def fail(self, error: Callable[[Feed], Exception], which: Iterable[Subscription] | None = None) -> None:
        """End all (or these) feeds with an error of their own."""
        for subscription in list(self._subscriptions if which is None else which):
            subscription.feed.fail(error(subscription.feed))
            self._settle(subscription)

    # ------------------------------------------------------------------ life of the connection

    async def _run(self) -> None:
        try:
            await self._reconnecting()
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever ended the task must reach everybody who waits
            reason = error
            self.fail(lambda _: reason)

    async def _reconnecting(self) -> None:
        loop, options = asyncio.get_running_loop(), self._options
        backoff = Backoff(options.backoff_min, options.backoff_max)
        away_since: float | None = None
        while True:
            link: Link | None = None
            try:
                self._answered = False
                link, self._partitions = await self._connect()
                if away_since is not None:
                    self._look_again()
                await self._serve(link)
            except (LinkLost, DeploymentMissing) as error:
                log.info("not connected: %s", error)
                if self._answered or away_since is None:
                    away_since = loop.time()
                if self._answered:
                    backoff.reset()
                else:
                    self._give_up(error, loop.time(), away_since)
            finally:
                if link is not None:
                    await link.close()
            self._wake.clear()
            # Nobody to read for: whoever comes next connects.
            idle = None if not self._subscriptions else max(0.0, self._next_deadline() - loop.time())
            await self._rest(idle if idle is None else min(backoff.delay(), idle))

    def _look_again(self) -> None:
        # Perhaps the last read was too large for the line: begin with little.
        self._largest = self._options.page_bytes
        for subscription in self._subscriptions:
            subscription.feed.rewind()
            subscription.look_at = float("-inf")

    def _give_up(self, error: Exception, now: float, away_since: float) -> None:
        """Those who have waited long enough get the reason."""
        waited = [s for s in self._subscriptions if not s.feed.known and now >= s.deadline]
        left = [s for s in self._subscriptions if s.feed.known and now >= away_since + self._options.reconnect_limit]
        if isinstance(error, DeploymentMissing):
            self.fail(lambda _: error, waited)
        else:
            left += waited
        self.fail(lambda feed: ReaderDisconnected(_away(feed, error)), left)

    # ------------------------------------------------------------------ reading

    async def _serve(self, link: Link) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            now = loop.time()
            for subscription in self._subscriptions:
                subscription.full = not subscription.feed.has_room if not subscription.full else subscription.full
            looks = [s for s in self._subscriptions if s.look_at <= now and not s.full]
            for at in range(0, len(looks), _PAGES):
                await self._look(link, looks[at : at + _PAGES])
            behind = [s for s in self._subscriptions if s.feed.behind and not s.full][:_PAGES]
            if behind:
                await self._page(link, behind)
            live = [s for s in self._subscriptions if not s.feed.behind and not s.full]
            if live:
                await self._read(link, live, wait=len(behind) == 0)
            elif not behind:
                await self._rest(None if not self._subscriptions else self._next_look() - now)

    async def _look(self, link: Link, subscriptions: list[Subscription]) -> None:
        """State first, log after: what the state knows of is then in the log, or gone."""
        commands: list[tuple[Arg, ...]] = []
        for subscription in subscriptions:
            feed, key = subscription.feed, self._key(subscription)
            partition = self._partition(feed)
            commands += [
                ("HMGET", partition.state(feed.run_id), "s", "a"),
                ("ZSCORE", partition.open, feed.run_id),
                ("XRANGE", key, f"{feed.own_from}-0", f"{feed.seq}-0"),
                ("XRANGE", key, f"({feed.seq}-0", "+", "COUNT", feed.page_size),
                ("XREVRANGE", key, "+", "-", "COUNT", 1),
            ]
        size = 5
        replies = await link.call_many(commands, limit=self._options.page_timeout)
        self._answered = True
        for at, subscription in enumerate(subscriptions):
            self._looked(subscription, replies[at * size : (at + 1) * size])

    def _looked(self, subscription: Subscription, replies: list[Reply]) -> None:
        feed, now = subscription.feed, asyncio.get_running_loop().time()
        if (error := _first_error(replies)) is not None:
            _raise_passing(error)
            feed.fail(LogDamaged(f"Run {feed.run_id!r} cannot be read: {error.text.rstrip('.')}."))
        else:
            attempt = feed.attempt
            feed.judge(_look_of(replies), feed.page_size)
            if attempt != feed.attempt:
                return
        if not feed.known and now >= subscription.deadline:
            feed.fail(RunUnknown(f"There is no run {feed.run_id!r}, and none appeared in the time waited for it."))
        wait = self._options.check_every if feed.known else self._options.poll
        subscription.look_at = now + wait if feed.known else min(now + wait, max(subscription.deadline, now))
        self._settle(subscription)

    async def _page(self, link: Link, behind: list[Subscription]) -> None:
        commands = [("XRANGE", self._key(s), f"({s.feed.seq}-0", "+", "COUNT", s.feed.page_size) for s in behind]
        replies = await link.call_many(commands, limit=self._options.page_timeout)
        for subscription, reply in zip(behind, replies, strict=True):
            if isinstance(reply, ServerError):
                # The next look tells what is wrong.
                _raise_passing(reply)
                subscription.look_at = float("-inf")
                subscription.feed.behind = False
                continue
            subscription.feed.take_page(cast("list[Reply]", reply), subscription.feed.page_size)
            self._took(subscription)

    async def _read(self, link: Link, live: list[Subscription], *, wait: bool) -> None:
        loop, options = asyncio.get_running_loop(), self._options
        full = any(s.full for s in self._subscriptions)
        block = min(options.block_while_full if full else options.block, max(0.001, self._next_look() - loop.time()))
        count = max(1, min(_LIVE_COUNT, options.page_chunks, options.page_bytes // (self._largest * len(live))))
        blocking: tuple[Arg, ...] = ("BLOCK", max(1, int(block * 1000))) if wait else ()
        by_key: dict[bytes, list[Subscription]] = {}
        for subscription in live:
            by_key.setdefault(self._key(subscription), []).append(subscription)
        # One run may be followed several times: its log is read from the place of the one that is least far.
        low = {key: min(s.feed.seq for s in same) for key, same in by_key.items()}
        ids = [f"{seq}-0" for seq in low.values()]
        replies = await link.call_many([("XREAD", "COUNT", count, *blocking, "STREAMS", *by_key, *ids)])
        if isinstance(replies[0], ServerError):
            self._refused(replies[0], live)
            return
        self._refusals = 0
        got = 0
        for key, entries in cast("list[list[Reply]]", replies[0] or []):
            name, found = cast("bytes", key), cast("list[Reply]", entries)
            got += len(found)
            for subscription in by_key[name]:
                fresh = found[subscription.feed.seq - low[name] :]
                self._distribute(subscription, fresh, full=len(found) >= count)
        pause = min(_LONGEST_PAUSE_S, _COST_PER_RUN_S * len(live))
        if 0 < got < len(live) and pause >= _SHORTEST_PAUSE_S:
            await asyncio.sleep(pause)

    def _distribute(self, subscription: Subscription, entries: list[Reply], *, full: bool) -> None:
        feed = subscription.feed
        # Decaying slowly: one read of small chunks does not promise small ones.
        self._largest = max(feed.take(entries), self._largest * 7 // 8, 1)
        feed.behind = full and not feed.over
        feed.known = feed.known or bool(entries)
        if entries:
            self._took(subscription)

    def _refused(self, error: ServerError, live: list[Subscription]) -> None:
        """An error for all, although perhaps one log is to blame: looking at each finds it."""
        _raise_passing(error)
        self._refusals += 1
        if self._refusals > 1:
            self.fail(lambda feed: LogDamaged(f"Run {feed.run_id!r} cannot be read: {error.text.rstrip('.')}."))
        for subscription in live:
            subscription.look_at = float("-inf")

    # ------------------------------------------------------------------ small things

    def _took(self, subscription: Subscription) -> None:
        subscription.look_at = asyncio.get_running_loop().time() + self._options.check_every
        self._settle(subscription)

    def _settle(self, subscription: Subscription) -> None:
        if subscription.feed.over:
            self._subscriptions.discard(subscription)
        subscription.notify()

    def _next_look(self) -> float:
        return min((s.look_at for s in self._subscriptions if not s.full), default=float("inf"))

    def _next_deadline(self) -> float:
        return min((s.deadline for s in self._subscriptions if not s.feed.known), default=float("inf"))

    async def _rest(self, seconds: float | None) -> None:
        """Until something was added or drained, at most `seconds`."""
        if seconds is not None and seconds <= 0:
            return
        timer = None
        if seconds is not None and seconds != float("inf"):
            timer = asyncio.get_running_loop().call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            if timer is not None:
                timer.cancel()

    def _partition(self, feed: Feed) -> PartitionKeys:
        return self._keys.partition(partition_of(feed.run_id, self._partitions))

    def _key(self, subscription: Subscription) -> bytes:
        """The run's log. Kept, because it is needed in every read."""
        feed, (partitions, attempt, key) = subscription.feed, subscription.log
        if (partitions, attempt) != (self._partitions, feed.attempt):
            key = self._partition(feed).log(feed.run_id, feed.attempt).encode()
            subscription.log = (self._partitions, feed.attempt, key)
        return key


def _first_error(replies: list[Reply]) -> ServerError | None:
    return next((reply for reply in replies if isinstance(reply, ServerError)), None)


def _raise_passing(error: ServerError) -> None:
    if error.code in _PASSING:
        raise LinkLost(f"the server cannot be read now: {error.text}")


def _look_of(replies: list[Reply]) -> Look:
    state, score, own, page, last = replies
    seq, attempt = cast("list[bytes | None]", state)
    return Look(
        seq=None if seq is None else int(seq),
        attempt=int(attempt or 1),
        open=score is not None,
        own=_chunks(own),
        page=cast("list[Reply]", page),
        last=next(iter(_chunks(last)), None),
    )


def _chunks(entries: Reply) -> list[bytes]:
    """The chunks of a reply. What is no chunk is left out: whoever reads on meets it."""
    found: list[bytes] = []
    for entry in cast("list[Reply]", entries):
        match entry:
            case [_, [b"d", bytes(data)]]:
                found.append(data)
            case _:
                pass
    return found


def _away(feed: Feed, error: Exception) -> str:
    return f"Run {feed.run_id!r} could be read up to cursor {feed.cursor}, then: {error}. Resume after that cursor."

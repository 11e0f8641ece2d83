"""One partition on a real server as a test sees it: records go in, commits are made, the data set can be compared."""

from collections.abc import Sequence
from typing import cast

from runwire.broker import functions
from runwire.broker.connection import Link, Reply
from runwire.broker.functions import Commit, CommitOutcome, Lifetimes, RunWrite, Taken
from runwire_schemas.keys import Keys, PartitionKeys

GROUP = "enforcer"
TTL_MS = 60_000
LIVES = Lifetimes(lease_ms=TTL_MS)


class World:
    """Partition 0 under one prefix. `me` owns it once `take` was called."""

    def __init__(self, link: Link, prefix: str, me: str = "me-1") -> None:
        self.link = link
        self.prefix = prefix
        self.me = me
        self.epoch = 0
        self.position = "0-0"

    @property
    def keys(self) -> PartitionKeys:
        return Keys(self.prefix).partition(0)

    async def take(self, me: str | None = None, ttl_ms: int = TTL_MS) -> Taken:
        """Take the partition; fails the test if somebody holds it."""
        taken = await functions.take(self.link, self.keys, "raw", GROUP, me or self.me, ttl_ms)
        assert isinstance(taken, Taken), taken
        self.me, self.epoch, self.position = me or self.me, taken.epoch, taken.position
        return taken

    async def seize(self, me: str) -> Taken:
        """Take the partition whose owner, if it had one, stopped renewing long ago."""
        if await self.link.call("EXISTS", self.keys.lease(GROUP)):
            await self.link.call("HSET", self.keys.lease(GROUP), "x", 1)
        return await self.take(me)

    async def publish(self, count: int, run: str = "r1", body: bytes = b"{}") -> list[str]:
        """Append records to raw; their ids."""
        fields = ("run", run, "src", "s", "epoch", 0, "seq", 1, "kind", "provider", "call", "1", "body", body)
        replies = await self.link.call_many([("XADD", self.keys.raw, "*", *fields) for _ in range(count)])
        return [cast("bytes", reply).decode() for reply in replies]

    def work(self, ids: Sequence[str], *runs: RunWrite, prev: str | None = None) -> Commit:
        """A commit over these records."""
        return Commit(prev or self.position, ids[0], ids[-1], len(ids), list(runs), [], [], {})

    async def commit(self, work: Commit, *, lives: Lifetimes = LIVES) -> CommitOutcome:
        outcome = await functions.commit(self.link, self.keys, GROUP, self.me, self.epoch, lives, work)
        if isinstance(outcome, functions.Committed):
            self.position = work.last
        return outcome

    async def chunks_of(self, run: str, attempt: int = 1) -> list[tuple[str, bytes]]:
        """A run's log: (entry id, chunk)."""
        return [(entry, fields[1]) for entry, fields in await self.entries(self.keys.log(run, attempt))]

    async def entries(self, stream: str, after: str = "-") -> list[tuple[str, list[bytes]]]:
        """All entries of a stream, or those from `after` on: (id, names and values)."""
        reply = await self.link.call("XRANGE", stream, after, "+")
        return [(entry.decode(), fields) for entry, fields in cast("list[tuple[bytes, list[bytes]]]", reply)]

    async def field(self, key: str, name: str) -> str | None:
        reply = await self.link.call("HGET", key, name)
        return reply.decode() if isinstance(reply, bytes) else None

    async def stored_position(self) -> str | None:
        return await self.field(self.keys.pos_raw, GROUP)

    async def snapshot(self) -> dict[str, tuple[Reply, Reply]]:
        """Every key under the prefix: its serialized value and its expiry."""
        names: set[bytes] = set()
        for pattern in (f"{self.prefix}:*", f"{{{self.prefix}:*"):
            cursor = b"0"
            while True:
                reply = await self.link.call("SCAN", cursor, "MATCH", pattern, "COUNT", 1000)
                cursor, found = cast("tuple[bytes, list[bytes]]", reply)
                names |= set(found)
                if cursor == b"0":
                    break
        order = sorted(names)
        dumps = await self.link.call_many([("DUMP", name) for name in order])
        ends = await self.link.call_many([("PEXPIRETIME", name) for name in order])
        return {name.decode(): pair for name, pair in zip(order, zip(dumps, ends, strict=True), strict=True)}


def writes(
    run: str,
    base: int,
    chunks: int,
    *,
    attempt: int = 1,
    deadline_ms: int = 120_000,
    opened: bool = False,
    ended: bool = False,
) -> RunWrite:
    """`chunks` numbered chunks of a run after `base`."""
    data = [b'{"seq":%d}' % seq for seq in range(base + 1, base + chunks + 1)]
    blob = b"state after %d" % (base + chunks)
    return RunWrite(run, attempt, base, data, blob, deadline_ms, opened or base == 0, ended)

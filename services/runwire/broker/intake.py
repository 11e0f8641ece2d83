"""Reads: one blocking call over all partitions of a worker, and ahead of the commits. One task, one connection."""

import asyncio
from typing import cast

from runwire.broker.connection import Command, Link, Reply, ServerError
from runwire.broker.desk import Desk
from runwire.broker.partition import Partition
from runwire.broker.reading import Appetite, Entry, Linger, Pace, entry_bytes
from runwire.errors import LinkLost

Streams = list[tuple[bytes, list[Entry]]]


class Intake:
    """Fills the backlogs. Reading changes nothing on the server, so a paused worker takes nothing away."""

    def __init__(self, desk: Desk, link: Link, side: Link, appetite: Appetite) -> None:
        """`side` is another connection, to end a blocking read that a new partition must not wait for.

        `appetite` is what former intakes learnt of the size of entries.
        """
        self._desk = desk
        self._link = link
        self._side = side
        self._client_id = 0
        self._blocked = False
        self._appetite = appetite
        self._turn = 0  # where the next read begins that cannot name all partitions
        self._pace = Pace(Linger(), asyncio.get_running_loop().time())
        self._by_key = {desk.source(p.keys).encode(): p for p in desk.partitions}

    async def run(self) -> None:
        """Until cancelled. Raises LinkLost."""
        clock = asyncio.get_running_loop().time
        self._client_id = cast("int", await self._link.call("CLIENT", "ID"))
        while True:
            self._desk.intake_wake.clear()
            flowing = self._desk.flowing()
            count = self._appetite.count(len(flowing))
            hungry = [] if self._desk.draining else [p for p in flowing if len(p.backlog) < count]
            some = self._some(hungry)
            block = len(some) == len(flowing)
            records = await self._read(some, count, block=block) if some else 0
            if records:
                pause = self._pace.read(records, clock())
                # Without a pause the loop still turns once, so that the worker gets what came.
                await asyncio.sleep(pause)
            elif len(some) < len(hungry):
                # The others may have something. Large entries are forgotten meanwhile, so this ends.
                self._appetite.saw(0, full=False)
            elif not (some and block):
                await self._rest()

    def wake(self) -> None:
        """A partition was taken: it must not wait for the read on the others to end."""
        self._desk.intake_wake.set()
        if self._blocked:
            try:
                done = self._side.send_many([("CLIENT", "UNBLOCK", self._client_id)])
            except LinkLost:
                return  # whoever uses that connection next ends the spell
            done.add_done_callback(_hear)

    def _some(self, hungry: list[Partition]) -> list[Partition]:
        """As many as one reply may hold an entry of, in turns."""
        most = self._appetite.partitions(len(hungry))
        if most >= len(hungry):
            return hungry
        begin = self._turn % len(hungry)
        self._turn = begin + most
        return (hungry[begin:] + hungry[:begin])[:most]

    async def _rest(self) -> None:
        """Until the worker made room or a partition was taken; never longer than a read would block."""
        try:
            async with asyncio.timeout(self._desk.settings.block_ms / 1000):
                await self._desk.intake_wake.wait()
        except TimeoutError:
            pass

    async def _read(self, hungry: list[Partition], count: int, *, block: bool) -> int:
        generations = [p.generation for p in hungry]
        wait = ("BLOCK", self._desk.settings.block_ms) if block else ()
        keys = [self._desk.source(p.keys) for p in hungry]
        command: Command = ("XREAD", *wait, "COUNT", count, "STREAMS", *keys, *(p.backlog.last_read for p in hungry))
        self._blocked = block
        try:
            reply = await self._link.call(*command)
        except ServerError as error:
            if error.outcome != "bug" or not await self._unreadable(hungry):
                raise
            return 0
        except BaseException:
            # Also when another connection was lost first: a server busy with a huge answer answers nobody.
            self._appetite.failed()
            raise
        finally:
            self._blocked = False
        if reply is None:
            return 0
        if not isinstance(reply, list):
            raise ServerError(f"XREAD answered {reply!r:.100}")
        return self._store(cast("Streams", reply), dict(zip(hungry, generations, strict=True)), count)

    async def _unreadable(self, partitions: list[Partition]) -> bool:
        """One stream that cannot be read fails the read of all: find it and take its partition out.

        False if it is none of them, or all: then the server is at fault.
        """
        commands = [("XREAD", "COUNT", 1, "STREAMS", self._desk.source(p.keys), "0-0") for p in partitions]
        generations = [p.generation for p in partitions]
        replies = await self._link.call_many(commands)
        failed = [reply.text if isinstance(reply, ServerError) else None for reply in replies]
        if None not in failed:
            return False
        for partition, generation, text in zip(partitions, generations, failed, strict=True):
            if text is not None and partition.generation == generation and partition.flowing:
                self._desk.refused(partition, f"its stream cannot be read: {text}")
        return any(failed)

    def _store(self, streams: Streams, generations: dict[Partition, int], count: int) -> int:
        now = asyncio.get_running_loop().time()
        records = largest = 0
        full = False
        for key, entries in streams:
            if not entries:
                # Redis 7.0 answers so for a stream that was trimmed to nothing behind the last read.
                continue
            partition = self._by_key[key]
            # Sizes only steer the next COUNT: the ends of a read stand for its middle.
            largest = max(
                largest, entry_bytes(entries[0]), entry_bytes(entries[-1]), entry_bytes(entries[len(entries) // 2])
            )
            full = full or len(entries) == count
            if partition.generation != generations[partition]:
                continue
            if partition.idle:
                partition.lease.progress_at = now
            partition.backlog.extend(entries)
            records += len(entries)
        self._appetite.saw(largest, full=full)
        self._desk.worker_wake.set()
        return records


def _hear(done: "asyncio.Future[list[Reply]]") -> None:
    """Fetch the outcome: an error here is the next user's to meet, not an unheard exception."""
    if not done.cancelled():
        done.exception()

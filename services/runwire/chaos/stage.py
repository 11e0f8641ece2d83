"""A whole chaos run: set the stage, let faults happen, wait until everything has ended, collect what is left."""

import asyncio
import contextlib
import pickle
import time
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

from runwire.broker.connection import open_link
from runwire.embedded.server import Fsync, Kind, Server
from runwire.grammar.limits import Limits
from runwire_schemas.errors import RunwireError
from runwire_schemas.keys import ENFORCER_GROUP, Keys

from .checker import check
from .faults import FEWEST_ENFORCERS, MOST_ENFORCERS, Faults
from .history import History
from .journal import producer_log, reader_sessions
from .proxy import Proxy
from .reader import READERS
from .replay import replay
from .schedule import kinds_for, schedule
from .snapshot import Waiting, read_stored, waiting
from .staff import Part, Staff
from .verdict import Finding, Verdict

PRODUCERS: Final = 3
PARTITIONS: Final = 16
# Every idle limit of a chaos run, so that the checker can wait for all of them.
IDLE_MS: Final = {"idle_ms": 3000, "ending_ms": 3000, "idle_call_ms": 4000, "gap_ms": 4000, "idle_tools_ms": 5000}
HISTORY: Final = "history.pickle"
START_LIMIT_S: Final = 30.0
# Backlog after the last fault, then the longest idle limit, several times over.
END_LIMIT_S: Final = 60.0
READ_LIMIT_S: Final = 30.0  # pages of a snapshot, on a machine that is busy with something else
_LOOK_S: Final = 0.2


class StageNotSet(RunwireError):
    """The processes of a chaos run did not come up, so there was nothing to break."""

    code: ClassVar[str] = "stage-not-set"


class Wish(NamedTuple):
    """What to do: `appendfsync` None restarts the server in both modes. `rate`: records per second of all producers."""

    seconds: float
    server: Kind
    appendfsync: Fsync | None
    seed: int
    rate: float
    folder: Path


async def chaos(wish: Wish, say: Callable[[str], None]) -> Verdict:
    """Run it and judge it. Raises RunwireError when the stage cannot be set."""
    (wish.folder / "data").mkdir(parents=True, exist_ok=True)
    with _server(wish) as server:
        async with Proxy(server.port) as proxy:
            with Staff(wish.folder, proxy.url, _environ(), wish.seed, wish.rate / PRODUCERS) as staff:
                return await _Stage(wish, server, proxy, staff, say).play()


@contextlib.contextmanager
def _server(wish: Wish) -> Generator[Server]:
    server = Server.start(wish.server, wish.folder / "data", appendfsync=wish.appendfsync or "everysec")
    try:
        yield server
    finally:
        if server.running:
            server.kill()


def _environ() -> dict[str, str]:
    return {f"RUNWIRE_{name.upper()}": str(value) for name, value in IDLE_MS.items()} | {
        "RUNWIRE_PARTITIONS": str(PARTITIONS),
        "RUNWIRE_LOG_LEVEL": "info",
    }


class _Stage:
    def __init__(self, wish: Wish, server: Server, proxy: Proxy, staff: Staff, say: Callable[[str], None]) -> None:
        self.wish, self.server, self.staff, self.say = wish, server, staff, say
        self.faults = Faults(staff, server, proxy, wish.seed, say)
        self.keys = Keys()
        self.waiting = Waiting(0, 0)

    async def play(self) -> Verdict:
        self.staff.watch_server(self.server)
        await self.open()
        began = time.monotonic()
        await self.faults.run(schedule(self.wish.seconds, self.wish.seed, self.wish.appendfsync))
        await asyncio.sleep(max(0.0, began + self.wish.seconds - time.monotonic()))
        seconds = time.monotonic() - began
        self.say("no more faults: waiting for every run to end")
        await self.close()
        history = await self.history(seconds)
        self.say("judging")
        # So that a verdict can be looked into, and judged again by a corrected checker, without the processes.
        (self.wish.folder / HISTORY).write_bytes(pickle.dumps(history))
        verdict = await asyncio.to_thread(_judge, history)
        accidents = [Finding("illegal", name, sentence) for name, sentence in self.staff.accidents()]
        return verdict._replace(findings=(*verdict.findings, *accidents))

    async def open(self) -> None:
        """Enforcers first, and only then records: the first enforcer creates the deployment."""
        for slot in range((FEWEST_ENFORCERS + MOST_ENFORCERS) // 2):
            self.staff.start(Part.ENFORCER, slot)
        if not await self.until(self.owned, "an enforcer owns every partition", START_LIMIT_S):
            raise StageNotSet(f"no enforcer took the partitions: see the logs in {self.wish.folder}")
        for slot in range(READERS):
            self.staff.start(Part.READER, slot)
        for slot in range(PRODUCERS):
            self.staff.start(Part.PRODUCER, slot)

    async def owned(self) -> bool:
        async with await open_link(self.server.url, "chaos") as link:
            leases = [("HGET", self.keys.partition(n).lease(ENFORCER_GROUP), "o") for n in range(PARTITIONS)]
            return all(isinstance(owner, bytes) and owner for owner in await link.call_many(leases))

    async def close(self) -> None:
        """Producers finish, then time ends what they left open, then readers read to the end, then enforcers drain."""
        await self.dismiss(Part.PRODUCER)
        if not await self.until(self.settled, "every record is read and every run has ended", END_LIMIT_S):
            self.say(f"{self.waiting.records} records are unread and {self.waiting.runs} runs are open")
        await self.dismiss(Part.READER)
        await self.dismiss(Part.ENFORCER)

    async def settled(self) -> bool:
        async with await open_link(self.server.url, "chaos") as link:
            self.waiting = await waiting(link, self.keys, PARTITIONS, ENFORCER_GROUP)
        return self.waiting == (0, 0)

    async def dismiss(self, part: Part) -> None:
        leaving = self.staff.active(part)
        for worker in leaving:
            self.staff.ask_to_leave(worker)
        await self.staff.wait_until_left(leaving)

    async def until(self, holds: Callable[[], Awaitable[bool]], what: str, limit_s: float) -> bool:
        """Look until it holds. After the limit the verdict is left to the checker, which sees what is missing."""
        limit = time.monotonic() + limit_s
        while time.monotonic() < limit:
            if await holds():
                return True
            await asyncio.sleep(_LOOK_S)
        self.say(f"not reached within {limit_s:.0f} s: {what}")
        return False

    async def history(self, seconds: float) -> History:
        async with await open_link(self.server.url, "chaos", limit=READ_LIMIT_S) as link:
            stored = await read_stored(link, self.keys, PARTITIONS)
        workers, folder = self.staff.workers, self.wish.folder
        return History(
            seconds=seconds,
            producers=[producer_log(folder, w.slot, w.generation, w.died) for w in workers if w.part is Part.PRODUCER],
            sessions=[
                s
                for w in workers
                if w.part is Part.READER
                for s in reader_sessions(folder, w.slot, w.generation, w.died)
            ],
            cuts=self.faults.cuts,
            faults=self.faults.counts,
            required=kinds_for(self.wish.appendfsync),
            stored=stored,
            idle_ms=min(IDLE_MS.values()),
        )


def _judge(history: History) -> Verdict:
    return check(history, replay(history.stored.raw, Limits(**IDLE_MS)))

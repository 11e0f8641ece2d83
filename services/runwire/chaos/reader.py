"""One reader process of a chaos run: follows its share of the runs live and notes every chunk it is given.

Run as a module, arguments as for the producer. SIGTERM lets it read on until all its runs have ended.
"""

import asyncio
import signal
import sys
import time
from binascii import crc32
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from runwire import CursorAhead, LogExpired, Reader, RunUnknown
from runwire_schemas.errors import RunwireError

from .history import Outcome, Session
from .journal import Journal, Tail, reader_path, reader_sessions
from .sessions import digest_of

READERS: Final = 2
LOOK_EVERY_S: Final = 0.1
FLUSH_EVERY_S: Final = 0.02
WAIT_S: Final = 10.0
# A run whose records a cut took away never appears; one that is late is tried again.
TRIES: Final = 3
_PAUSE_S: Final = 0.5


class Follower:
    """All iterations of one process. `cursors` holds where a predecessor of this slot stood."""

    def __init__(self, folder: Path, reader: Reader, slot: int, generation: int) -> None:
        self.reader, self.slot = reader, slot
        self.cursors: dict[str, int] = {}
        self.over: set[str] = set()
        for earlier in range(generation):
            self.inherit(reader_sessions(folder, slot, earlier, None))
        self.names = Tail(folder, "runs-*")
        self.journal = Journal(reader_path(folder, slot, generation))
        self.lines: list[bytes] = []
        self.number = 0
        self.stopping = asyncio.Event()

    def inherit(self, sessions: Iterable[Session]) -> None:
        for session in sessions:
            self.cursors[session.run] = session.deliveries[-1].seq if session.deliveries else session.after
            if session.outcome == "ended":
                self.over.add(session.run)
            elif session.outcome != "lost":
                self.cursors[session.run] = 0

    async def work(self) -> None:
        """Look for new runs until told to stop, then wait for those begun."""
        flusher = asyncio.create_task(self.keep_flushing())
        begun = set(self.over)
        async with asyncio.TaskGroup() as group:
            last = False
            while not last:
                last = self.stopping.is_set()
                for run in {line.decode() for line in self.names.lines()} - begun:
                    begun.add(run)
                    if crc32(run.encode()) % READERS == self.slot:
                        group.create_task(self.follow(run))
                await asyncio.sleep(LOOK_EVERY_S)
        flusher.cancel()
        self.flush()

    async def follow(self, run: str) -> None:
        after, unknown = self.cursors.get(run, 0), 0
        while True:
            self.number += 1
            after, outcome = await self.iterate(run, after, self.number)
            if outcome == "ended":
                return
            if outcome in ("cursor-ahead", "log-expired"):
                after = 0
            unknown = unknown + 1 if outcome == "run-unknown" else 0
            if unknown >= (1 if self.stopping.is_set() else TRIES):
                return
            await asyncio.sleep(_PAUSE_S)

    async def iterate(self, run: str, after: int, number: int) -> tuple[int, Outcome]:
        self.lines.append(f"B {number} {run} {after} {time.monotonic():.6f}".encode())
        outcome: Outcome = "ended"
        try:
            async for chunk in self.reader.run(run, after=after or None, wait=WAIT_S):
                after = chunk.seq
                self.lines.append(f"D {number} {after} {digest_of(chunk.data)} {time.monotonic():.6f}".encode())
        except CursorAhead:
            outcome = "cursor-ahead"
        except LogExpired:
            outcome = "log-expired"
        except RunUnknown:
            outcome = "run-unknown"
        except RunwireError as error:
            print(f"{run}: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201  its log
            outcome = "lost"
        self.lines.append(f"E {number} {outcome} {time.monotonic():.6f}".encode())
        return after, outcome

    async def keep_flushing(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_EVERY_S)
            self.flush()

    def flush(self) -> None:
        lines, self.lines = self.lines, []
        self.journal.write(lines)


async def main(folder: Path, url: str, slot: int, generation: int) -> None:
    async with Reader(url) as reader:
        follower = Follower(folder, reader, slot, generation)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, follower.stopping.set)
        await follower.work()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))

"""Where a benchmark stands: one real server on a temporary folder, one connection to look at it with."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, cast

from runwire.broker.connection import Link, open_link
from runwire.embedded.server import Kind, Server
from runwire_schemas.errors import RunwireError
from runwire_schemas.keys import ENFORCER_GROUP, Keys

from .figures import Sample
from .prefill import remove_prefix
from .processes import Child, cpu_seconds
from .workload import PARTITIONS

# A rewrite of the append-only file in the middle of a measurement would take a core and be charged to whoever is
# measured; it is asked for between measurements instead.
EXTRA: Final = ("--auto-aof-rewrite-percentage", "0")
REWRITE_ABOVE: Final = 1 << 30
LIMIT_S: Final = 120.0
_LOOK_S: Final = 0.1


class NotReached(RunwireError):
    """Something a benchmark waited for did not happen in time."""

    code: ClassVar[str] = "bench-not-reached"


class Reading(NamedTuple):
    """One look: progress, and the CPU seconds that worker and server had used by then."""

    sample: Sample
    worker_s: float | None
    server_s: float | None


class Ground:
    def __init__(self, server: Server, link: Link, folder: Path, say: Callable[[str], None]) -> None:
        self.server, self.link, self.folder, self.say = server, link, folder, say

    def environ(self, prefix: str) -> dict[str, str]:
        return {
            "RUNWIRE_REDIS_URL": self.server.url,
            "RUNWIRE_PREFIX": prefix,
            "RUNWIRE_PARTITIONS": str(PARTITIONS),
            "RUNWIRE_LOG_LEVEL": "warning",
        }

    async def progress(self, prefix: str) -> list[int]:
        """Records committed, per partition."""
        keys = Keys(prefix)
        commands = [("HGET", keys.partition(n).pos_raw, f"{ENFORCER_GROUP}:n") for n in range(PARTITIONS)]
        return [int(cast("bytes", reply or b"0")) for reply in await self.link.call_many(commands)]

    async def owned(self, prefix: str) -> bool:
        """Whether somebody has taken each partition."""
        keys = Keys(prefix)
        leases = [("HGET", keys.partition(n).lease(ENFORCER_GROUP), "o") for n in range(PARTITIONS)]
        return all(await self.link.call_many(leases))

    async def read(self, prefix: str, written: list[int], child: Child) -> Reading:
        done = await self.progress(prefix)
        backlog = min(total - read for total, read in zip(written, done, strict=True))
        sample = Sample(time.monotonic(), sum(done), backlog)
        return Reading(sample, child.cpu_s(), cpu_seconds(self.server.pid))

    async def until(self, holds: Callable[[], Any], what: str, child: Child | None = None) -> None:
        """Look until the awaitable condition holds. Raises NotReached, or ProcessFailed if `child` has ended."""
        limit = time.monotonic() + LIMIT_S
        while not await holds():
            if child is not None:
                child.check()
            if time.monotonic() > limit:
                raise NotReached(f"not reached within {LIMIT_S:.0f} s: {what}")
            await asyncio.sleep(_LOOK_S)

    async def clear(self, prefix: str) -> None:
        """Free a prefix, and let the server finish what it does in the background."""
        await remove_prefix(self.link, prefix)
        if (await self.info("persistence", "aof_current_size")) > REWRITE_ABOVE:
            await self.link.call("BGREWRITEAOF")
        await self.until(self._idle, "the server is idle again")

    async def _idle(self) -> bool:
        rewriting = await self.info("persistence", "aof_rewrite_in_progress")
        freeing = await self.info("memory", "lazyfree_pending_objects")
        return not rewriting and not freeing

    async def info(self, section: str, name: str) -> int:
        text = cast("bytes", await self.link.call("INFO", section)).decode()
        return next(int(line.partition(":")[2]) for line in text.splitlines() if line.startswith(f"{name}:"))


@contextlib.asynccontextmanager
async def standing(kind: Kind, folder: Path, say: Callable[[str], None]) -> AsyncGenerator[Ground]:
    server = Server.start(kind, folder / "data", appendfsync="everysec", extra=EXTRA)
    try:
        async with await open_link(server.url, "bench", limit=LIMIT_S) as link:
            yield Ground(server, link, folder, say)
    finally:
        server.kill()

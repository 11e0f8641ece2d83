"""Does an enforcer grow with the runs it has finished? Its resident memory after many and after five times as many."""

import asyncio
from typing import Any, Final

from runwire_schemas.keys import Keys

from .ground import Ground
from .prefill import write_short_runs
from .processes import running
from .workload import PARTITIONS, SHORT_RUN

RUN_COUNTS: Final = (10_000, 50_000)
# Written in portions, so that the backlog stays what it is in real life and does not count as the enforcer's memory.
PORTION: Final = 2000
SETTLE_S: Final = 2.0


async def memory(ground: Ground, prefix: str = "memory") -> dict[str, Any]:
    """MB after each count of finished runs, and the growth between them as a share."""
    found: list[float | None] = []
    with running(("runwire", "enforcer"), ground.environ(prefix), ground.folder / f"{prefix}.log") as child:
        written = 0
        for count in RUN_COUNTS:
            while written < count:
                await write_short_runs(ground.link, Keys(prefix), written, PORTION, PARTITIONS)
                written += PORTION
                expected = written * len(SHORT_RUN)

                async def read(expected: int = expected) -> bool:
                    return sum(await ground.progress(prefix)) >= expected

                await ground.until(read, f"{written} runs are finished", child)
            await asyncio.sleep(SETTLE_S)
            found.append(child.memory_mb())
            ground.say(f"memory after {written:,} finished runs: {found[-1] or 0:.1f} MB")
    await ground.clear(prefix)
    few, many = found
    growth = None if few is None or many is None else many / few - 1
    return {"runs_10k": few, "runs_50k": many, "growth": growth}

"""A reader as a process: follows runs and notes how old each chunk was when it came. Run as a module: prefix, runs,
file. SIGTERM ends it; the file then holds one latency in milliseconds a line.
"""

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import uvloop

from runwire import Reader

from .workload import spread_runs

WAIT_S: Final = 60.0


async def follow(reader: Reader, run_id: str, found: list[float]) -> None:
    async for chunk in reader.run(run_id, wait=WAIT_S):
        now = time.monotonic()
        # The stamp stands between two @ signs, which nothing else in these chunks has.
        parts = chunk.data.split(b"@", 2)
        if len(parts) == 3:  # noqa: PLR2004  before, stamp, after
            found.append((now - int(parts[1]) / 1e6) * 1000)


async def main(prefix: str, runs: int) -> list[float]:
    found: list[float] = []
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with Reader(os.environ["RUNWIRE_REDIS_URL"], prefix=prefix) as reader:
        tasks = [asyncio.create_task(follow(reader, run.run_id, found)) for run in spread_runs(runs, prefix="latency")]
        await stopped.wait()
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
    return found


if __name__ == "__main__":
    latencies = uvloop.run(main(sys.argv[1], int(sys.argv[2])))
    Path(sys.argv[3]).write_text("".join(f"{latency:.4f}\n" for latency in latencies))

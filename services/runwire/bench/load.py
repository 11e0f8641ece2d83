"""A producer as a process, for the publish rate and for latencies. Run as a module:

rate prefix runs seconds     send as fast as it is taken; prints records per second
pace prefix runs seconds N   send N records a second, each carrying the time it was given to the producer
"""

import asyncio
import os
import sys
import time
from contextlib import AsyncExitStack
from typing import Final

import uvloop

from runwire import Producer
from runwire.producer.options import ProducerOptions

from .workload import delta_body, spread_runs

OPENING: Final = b'{"type":"block-start","index":0,"blockKind":"text"}'
# Nobody reads while the publish rate is taken, so there must be no back-pressure.
NO_LIMIT: Final = 1 << 31
# The clock of the pace: records are given in time, not in bursts of a timer's resolution.
TICK_S: Final = 0.001


def stamped(now: float) -> bytes:
    """A delta of the usual size whose text begins with the time in microseconds."""
    return delta_body(f"@{int(now * 1e6):016d}@ the quick brown fox jumps over the lazy dog and goes on ")


async def publish_rate(prefix: str, runs: int, seconds: float) -> float:
    """Records acknowledged per second of one producer that is never idle."""
    body, sent = delta_body(), 0
    options = ProducerOptions(max_lag_records=NO_LIMIT)
    async with AsyncExitStack() as stack:
        producer = await stack.enter_async_context(
            Producer(os.environ["RUNWIRE_REDIS_URL"], prefix=prefix, options=options)
        )
        writers = [
            await stack.enter_async_context(producer.run(run.run_id)) for run in spread_runs(runs, prefix="publish")
        ]
        for writer in writers:
            await writer.send(OPENING, call="1")
        await producer.flush()
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            for writer in writers:
                await writer.send(body, call="1")
            sent += len(writers)
        await producer.flush()
        return sent / (time.monotonic() - began)


async def pace(prefix: str, runs: int, seconds: float, rate: float) -> None:
    """Evenly over the runs, evenly over time; records that are late are sent at once, with the time they were due."""
    async with AsyncExitStack() as stack:
        producer = await stack.enter_async_context(Producer(os.environ["RUNWIRE_REDIS_URL"], prefix=prefix))
        writers = [
            await stack.enter_async_context(producer.run(run.run_id)) for run in spread_runs(runs, prefix="latency")
        ]
        for writer in writers:
            await writer.send(OPENING, call="1")
        began, sent = time.monotonic(), 0
        while (elapsed := time.monotonic() - began) < seconds:
            while sent < elapsed * rate:
                # The time it was due, not the time we got to it: a producer held up is part of what a user feels.
                await writers[sent % runs].send(stamped(began + sent / rate), call="1")
                sent += 1
            await asyncio.sleep(max(TICK_S, (sent / rate) - (time.monotonic() - began)))
        await producer.flush()


if __name__ == "__main__":
    what, prefix, runs, seconds, *rest = sys.argv[1:]
    if what == "rate":
        sys.stdout.write(f"{uvloop.run(publish_rate(prefix, int(runs), float(seconds)))}\n")
    else:
        uvloop.run(pace(prefix, int(runs), float(seconds), float(rest[0])))

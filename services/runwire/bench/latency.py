"""How long from `send` to the reader? Through a real producer, enforcer and reader, each a process of its own."""

import asyncio
import contextlib
import time
from typing import Any, Final, NamedTuple

from .figures import latency, percentile
from .ground import Ground
from .processes import running
from .workload import RUNS

SLOW_RATE: Final = 10.0
# At ten a second fewer samples than this would make the p99 a single accident.
SLOW_S: Final = 20.0
# The first moments belong to connecting, to leases and to code that runs for the first time.
WARM_UP_S: Final = 2.0
PING_EVERY_S: Final = 0.01


class Latencies(NamedTuple):
    fifth: dict[str, float]
    slow: dict[str, float]
    ping_p99: float


async def latencies(ground: Ground, seconds: float, peak: float) -> Latencies:
    """At a fifth of the peak and at 10 records a second, beside a PING's of the same time."""
    fifth, pings = await _measured(ground, "fifth", seconds, peak / 5)
    slow, _ = await _measured(ground, "slow", max(seconds, SLOW_S), SLOW_RATE)
    return Latencies(fifth, slow, round(percentile(pings, 0.99), 3))


async def _measured(ground: Ground, prefix: str, seconds: float, rate: float) -> tuple[dict[str, Any], list[float]]:
    runs = min(RUNS, max(1, int(rate)))
    environ, file = ground.environ(prefix), ground.folder / f"{prefix}.latencies"
    with contextlib.ExitStack() as stack:
        enforcer = stack.enter_context(running(("runwire", "enforcer"), environ, ground.folder / f"{prefix}-e.log"))

        async def ready() -> bool:
            return await ground.owned(prefix)

        await ground.until(ready, "the enforcer owns every partition", enforcer)
        listen = ("runwire.bench.listen", prefix, str(runs), str(file))
        reader = stack.enter_context(running(listen, environ, ground.folder / f"{prefix}-r.log"))
        pace = ("runwire.bench.load", "pace", prefix, str(runs), str(WARM_UP_S + seconds), str(rate))
        producer = stack.enter_context(running(pace, environ, ground.folder / f"{prefix}-p.log"))
        pings = asyncio.create_task(_pings(ground))
        await asyncio.to_thread(producer.wait, WARM_UP_S + seconds + 60)
        pings.cancel()
        for child in (enforcer, reader):
            child.check()
    values = [float(line) for line in file.read_text().split()]
    result: dict[str, Any] = latency(values[int(WARM_UP_S * rate) :])
    await ground.clear(prefix)
    return {**result, "rate": round(rate, 1)}, await _result(pings)


async def _pings(ground: Ground) -> list[float]:
    found: list[float] = []
    with contextlib.suppress(asyncio.CancelledError):
        while True:
            began = time.monotonic()
            await ground.link.call("PING")
            found.append((time.monotonic() - began) * 1000)
            await asyncio.sleep(PING_EVERY_S)
    return found


async def _result(task: asyncio.Task[list[float]]) -> list[float]:
    return await task

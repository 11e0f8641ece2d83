"""How fast is what a user of FastStream would write first? The same text deltas, one message per handler call."""

import asyncio
import time
from statistics import median
from typing import Final, cast

from faststream.redis import RedisBroker

from runwire.broker.connection import Link

from .faststream_single import GROUP, INPUT, OUTPUT, QUIET, Delta
from .figures import Sample, window
from .ground import Ground
from .processes import running
from .throughput import LOOK_S, WARM_UP_S
from .workload import delta_body

COMMAND: Final = ("runwire.bench.faststream_single",)
# Half more than the fastest rate seen so far. Its subscriber reads the whole backlog at once, and one four times as
# large made it a sixth slower, which would flatter us. If it does run dry, the window ends before.
PER_SECOND: Final = 6000
FIRST: Final = 2000
SCRATCH: Final = "faststream:scratch"

_FILL: Final = "for i = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], '*', ARGV[2], ARGV[3]) end"


async def faststream_rates(ground: Ground, seconds: float, repeats: int) -> list[float]:
    """Messages per second of each repeat."""
    name, data = await _message(ground.server.url, ground.link)
    rates: list[float] = []
    for repeat in range(repeats):
        rates.append(await _turn(ground, name, data, seconds))
        ground.say(f"faststream {repeat + 1}/{repeats}: {rates[-1]:,.0f}/s")
    return rates


def faststream_rate(rates: list[float]) -> float:
    return median(rates)


async def _message(url: str, link: Link) -> tuple[bytes, bytes]:
    """One message in FastStream's own format: it is published by FastStream and copied by us."""
    async with RedisBroker(url, logger=QUIET) as broker:
        await broker.publish(Delta(run="bench-00001", seq=1, text=delta_body().decode()), stream=SCRATCH)
    entries = cast("list[tuple[bytes, list[bytes]]]", await link.call("XRANGE", SCRATCH, "-", "+"))
    await link.call("DEL", SCRATCH)
    name, data = entries[0][1]
    return name, data


async def _turn(ground: Ground, name: bytes, data: bytes, seconds: float) -> float:
    link, total = ground.link, int(PER_SECOND * (seconds + 2 * WARM_UP_S))
    await link.call("DEL", INPUT, OUTPUT)
    # The documented subscriber makes its group at the end of the stream; the backlog is to be read, so it is made here.
    await link.call("XGROUP", "CREATE", INPUT, GROUP, "0", "MKSTREAM")
    for _ in range(total // FIRST):
        await link.call("EVAL", _FILL, 1, INPUT, FIRST, name, data)
    environ = {"RUNWIRE_REDIS_URL": ground.server.url}
    with running(COMMAND, environ, ground.folder / "faststream.log") as child:

        async def begun() -> bool:
            return bool(await link.call("XLEN", OUTPUT))

        await ground.until(begun, "FastStream publishes", child)
        await asyncio.sleep(WARM_UP_S)
        samples: list[Sample] = []
        while not samples or (samples[-1].at - samples[0].at < seconds and samples[-1].backlog):
            done = cast("int", await link.call("XLEN", OUTPUT))
            samples.append(Sample(time.monotonic(), done, total - done))
            await asyncio.sleep(LOOK_S)
    await link.call("UNLINK", INPUT, OUTPUT)
    return window(samples).rate

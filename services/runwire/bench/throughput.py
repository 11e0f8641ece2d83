"""How fast is the enforcer beside its floor? Both as a child process, on the same records, turn by turn."""

import asyncio
from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

from runwire_schemas.keys import Keys

from .figures import window
from .ground import Ground, Reading
from .prefill import copy_template, write_template
from .processes import running
from .workload import PARTITIONS

COMMANDS: Final = {"floor": ("runwire.bench.floor",), "enforcer": ("runwire", "enforcer")}
TEMPLATE: Final = "template"
WARM_UP_S: Final = 1.0
LOOK_S: Final = 0.1
CALIBRATION_RECORDS: Final = 400_000
CALIBRATION_S: Final = 1.0
# Template, copy and what is made of it, about 1 kB a record in all: the server stays under 4 GB.
MOST_RECORDS: Final = 3_500_000
# The fastest repeat may be this much above the calibration, and the backlog must outlast it.
RESERVE: Final = 1.4


class Turn(NamedTuple):
    """One repeat: records per second, and CPU microseconds per record of worker and server."""

    rate: float
    seconds: float
    worker_us: float | None
    server_us: float | None


class Throughput(NamedTuple):
    floor: list[Turn]
    enforcer: list[Turn]

    @property
    def floor_rate(self) -> float:
        return median(turn.rate for turn in self.floor)

    @property
    def enforcer_rate(self) -> float:
        return median(turn.rate for turn in self.enforcer)


async def throughput(ground: Ground, seconds: float, repeats: int) -> Throughput:
    """Floor and enforcer take turns, so that whatever else the machine does falls on both."""
    await write_template(ground.link, Keys(TEMPLATE), CALIBRATION_RECORDS // PARTITIONS)
    rate = (await _turn(ground, "floor", "calibration", CALIBRATION_S)).rate
    wanted = min(MOST_RECORDS, int(rate * RESERVE * (seconds + 2 * WARM_UP_S)))
    await ground.clear(TEMPLATE)
    ground.say(f"floor about {rate:,.0f}/s: writing {wanted:,} records beforehand")
    await write_template(ground.link, Keys(TEMPLATE), wanted // PARTITIONS)
    result = Throughput([], [])
    for repeat in range(repeats):
        for name, turns in (("floor", result.floor), ("enforcer", result.enforcer)):
            turns.append(await _turn(ground, name, f"{name}{repeat}", seconds))
            ground.say(f"{name} {repeat + 1}/{repeats}: {turns[-1].rate:,.0f}/s")
    await ground.clear(TEMPLATE)
    return result


async def _turn(ground: Ground, name: str, prefix: str, seconds: float) -> Turn:
    written = await copy_template(ground.link, Keys(TEMPLATE), Keys(prefix), PARTITIONS)
    with running(COMMANDS[name], ground.environ(prefix), ground.folder / f"{prefix}.log") as child:

        async def begun() -> bool:
            return all(await ground.progress(prefix))

        await ground.until(begun, f"{name} reads every partition", child)
        await asyncio.sleep(WARM_UP_S)
        readings = [await ground.read(prefix, written, child)]
        while readings[-1].sample.backlog and readings[-1].sample.at - readings[0].sample.at < seconds:
            await asyncio.sleep(LOOK_S)
            child.check()
            readings.append(await ground.read(prefix, written, child))
    turn = _figures(readings)
    await ground.clear(prefix)
    return turn


def _figures(readings: Sequence[Reading]) -> Turn:
    measured = window([reading.sample for reading in readings])
    ends = [r for r in readings if r.sample in (measured.start, measured.end)]
    records = measured.end.done - measured.start.done
    worker, server = (
        None if first is None or last is None else (last - first) / records * 1e6
        for first, last in ((ends[0].worker_s, ends[-1].worker_s), (ends[0].server_s, ends[-1].server_s))
    )
    return Turn(measured.rate, measured.seconds, worker, server)

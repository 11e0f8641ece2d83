"""All measurements, and the one object and the one table they become."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from rich.table import Table

from runwire.embedded.server import Kind

from .comparison import faststream_rates
from .figures import machine, rounded
from .ground import Ground, standing
from .latency import latencies
from .memory import memory
from .processes import running
from .throughput import Throughput, Turn, throughput
from .workload import PARTITIONS, RUNS

# What the ratios must reach, for the table; nothing is decided here.
RATIO_TO_FLOOR: Final = 0.6
RATIO_TO_FASTSTREAM: Final = 20
PACKAGES: Final = ("runwire", "redis", "hiredis", "msgspec", "faststream", "uvloop", "pydantic")


class Wish(NamedTuple):
    """`seconds` is the length of one measurement; rates are medians of `repeats`."""

    seconds: float
    repeats: int
    server: Kind
    folder: Path


async def measure(wish: Wish, say: Callable[[str], None]) -> dict[str, Any]:
    """The whole benchmark, on one server. The result is ready for JSON."""
    async with standing(wish.server, wish.folder, say) as ground:
        turns = await throughput(ground, wish.seconds, wish.repeats)
        single = await faststream_rates(ground, wish.seconds, wish.repeats)
        publish = await _publish(ground, wish)
        delays = await latencies(ground, wish.seconds, turns.enforcer_rate)
        grown = await memory(ground)
        result = {
            **_rates(turns, single),
            "publish": publish,
            "latency_ms": {"fifth": delays.fifth, "slow": delays.slow},
            "ping_ms": {"p99": delays.ping_p99},
            "memory_mb": grown,
            "cpu_us_per_chunk": {
                "worker": _median(turns.enforcer, lambda turn: turn.worker_us),
                "server": _median(turns.enforcer, lambda turn: turn.server_us),
                "floor_worker": _median(turns.floor, lambda turn: turn.worker_us),
                "floor_server": _median(turns.floor, lambda turn: turn.server_us),
            },
            "environment": _environment(wish, ground),
        }
    return dict(rounded(result))


def _rates(turns: Throughput, single: list[float]) -> dict[str, Any]:
    fast = median(single)
    return {
        "floor": round(turns.floor_rate),
        "enforcer": {"rate": round(turns.enforcer_rate), "ratio_to_floor": turns.enforcer_rate / turns.floor_rate},
        "faststream_single": {"rate": round(fast), "ratio": turns.enforcer_rate / fast},
        "repeats": {
            "floor": [round(turn.rate) for turn in turns.floor],
            "enforcer": [round(turn.rate) for turn in turns.enforcer],
            "faststream_single": [round(rate) for rate in single],
            "seconds": min(turn.seconds for turn in (*turns.floor, *turns.enforcer)),
        },
    }


def _median(turns: list[Turn], of: Callable[[Turn], float | None]) -> float | None:
    known = [value for value in map(of, turns) if value is not None]
    return median(known) if known else None


async def _publish(ground: Ground, wish: Wish) -> int:
    """Records per second of one producer process, with nobody reading; the median of the repeats."""
    rates: list[float] = []
    for repeat in range(wish.repeats):
        prefix = f"publish{repeat}"
        log = ground.folder / f"{prefix}.log"
        await ground.link.call("HSET", f"{prefix}:meta", "partitions", PARTITIONS, "wire", 1)
        command = ("runwire.bench.load", "rate", prefix, str(RUNS), str(wish.seconds))
        with running(command, ground.environ(prefix), log) as child:
            child.wait(wish.seconds + 60)
        rates.append(float(log.read_text().split()[-1]))
        ground.say(f"publish {repeat + 1}/{wish.repeats}: {rates[-1]:,.0f}/s")
        await ground.clear(prefix)
    return round(median(rates))


def _environment(wish: Wish, ground: Ground) -> dict[str, Any]:
    return {
        "server": f"{wish.server} ({ground.server.version})",
        "appendfsync": ground.server.appendfsync,
        **machine(),
        "seconds": wish.seconds,
        "repeats": wish.repeats,
        "runs": RUNS,
        "partitions": PARTITIONS,
        "versions": {name: version(name) for name in PACKAGES},
    }


def table(result: dict[str, Any]) -> Table:
    shown = Table(title=f"bench on {result['environment']['server']}, {result['environment']['cores']} cores")
    shown.add_column("what")
    shown.add_column("measured", justify="right")
    shown.add_column("wanted", justify="right", style="dim")
    enforcer, single, delay = result["enforcer"], result["faststream_single"], result["latency_ms"]
    memory_mb, cpu = result["memory_mb"], result["cpu_us_per_chunk"]
    rows = [
        ("floor", f"{result['floor']:,} records/s", ""),
        ("enforcer", f"{enforcer['rate']:,} records/s", ""),
        ("  of the floor", f"{enforcer['ratio_to_floor']:.2f}", f"≥ {RATIO_TO_FLOOR}"),
        ("FastStream, one message a handler", f"{single['rate']:,} messages/s", ""),
        ("  enforcer ÷ FastStream", f"{single['ratio']:.1f}", f"≥ {RATIO_TO_FASTSTREAM}"),
        ("publish, one producer", f"{result['publish']:,} records/s", ""),
        (
            "latency at a fifth of the peak",
            f"p50 {delay['fifth']['p50']} ms, p99 {delay['fifth']['p99']} ms",
            "< 5, < 25",
        ),
        ("latency at 10/s", f"p50 {delay['slow']['p50']} ms, p99 {delay['slow']['p99']} ms", ""),
        ("PING meanwhile", f"p99 {result['ping_ms']['p99']} ms", ""),
        (
            "memory after 10,000 and 50,000 runs",
            f"{memory_mb['runs_10k']} and {memory_mb['runs_50k']} MB",
            "growth < 10 %",
        ),
        ("CPU per chunk", f"worker {cpu['worker']} µs, server {cpu['server']} µs", ""),
    ]
    for row in rows:
        shown.add_row(*row)
    return shown

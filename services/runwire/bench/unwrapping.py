"""How fast one unwrapper is, where every chunk wraps another and where none does. Run as a module.

The logs are written beforehand, inside the server; nobody enforces what comes out, so the two cores are the unwrapper's
and the server's.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, Literal, cast

from runwire.embedded.server import KINDS, Kind
from runwire.settings import load
from runwire.unwrapper.app import run
from runwire_schemas.keys import UNWRAPPER_GROUP, Keys

from .ground import Ground, standing
from .processes import Child, cpu_seconds, running
from .workload import PARTITIONS, by_partition, spread_runs

Content = Literal["wrapped", "plain"]
CHUNKS: Final = 50  # of one entry: what a commit of an enforcer under load has of one run
LIMIT_S: Final = 60.0
_TEXT: Final = "the quick brown fox jumps over the lazy dog and the stream goes on "
_DELTA: Final = '{"type":"text-delta","runId":"%s","from":"AGENT","payload":{"id":"1","text":"' + _TEXT + '"}}'
_WRAPPED: Final = (
    '{"type":"tool-output","runId":"RUN","from":"USER","payload":{"output":'
    + _DELTA % "RUN-child"
    + ',"toolCallId":"c1","toolName":"agent"}}'
)

# KEYS[1] stream; ARGV[1] chunk with RUN for its run, ARGV[2] chunks an entry, ARGV[3] first round, ARGV[4] rounds, then
# run ids. Each round writes one entry of each run.
_WRITE: Final = """
local n, first = tonumber(ARGV[2]), tonumber(ARGV[3])
for round = first, first + tonumber(ARGV[4]) - 1 do
  for i = 5, #ARGV do
    local chunk, pack = string.gsub(ARGV[1], 'RUN', ARGV[i]), {}
    for j = 1, n do pack[j] = chunk end
    if round == 0 then pack[1] = '{"type":"start","runId":"' .. ARGV[i] .. '","from":"AGENT","payload":{}}' end
    redis.call('XADD', KEYS[1], '*', 'run', ARGV[i], 'attempt', '1', 'seq', string.format('%.0f', (round + 1) * n),
      'd', cmsgpack.pack(pack))
  end
end
"""


async def write(ground: Ground, prefix: str, content: Content, chunks: int) -> int:
    """Logs of 200 runs, about so many chunks in all; how many there are."""
    keys, written = Keys(prefix), 0
    chunk = _WRAPPED if content == "wrapped" else _DELTA % "RUN"
    for number, runs in enumerate(by_partition(spread_runs())):
        rounds = max(1, chunks // (PARTITIONS * len(runs) * CHUNKS))
        for at in range(0, rounds, 5):
            some = min(5, rounds - at)
            stream = keys.partition(number).chunks
            await ground.link.call("EVAL", _WRITE, 1, stream, chunk, CHUNKS, at, some, *runs, limit=LIMIT_S)
        written += rounds * len(runs) * CHUNKS
    return written


async def entries(ground: Ground, prefix: str) -> tuple[int, int]:
    """How many entries there are, and how many are settled."""
    keys = [Keys(prefix).partition(number) for number in range(PARTITIONS)]
    lengths = await ground.link.call_many([("XLEN", p.chunks) for p in keys])
    read = await ground.link.call_many([("HGET", p.pos_chunks, f"{UNWRAPPER_GROUP}:n") for p in keys])
    return sum(cast("list[int]", lengths)), sum(int(cast("bytes", one or b"0")) for one in read)


async def measure(ground: Ground, content: Content, chunks: int) -> str:
    """One process from its first settlement to its last; a line of figures."""
    prefix = content
    written = await write(ground, prefix, content, chunks)
    environ = {**ground.environ(prefix), "RUNWIRE_MAX_LAG_RECORDS": str(2**31)}
    with running(("runwire.bench.unwrapping", "worker"), environ, ground.folder / f"{prefix}.log") as child:

        async def begun() -> bool:
            return (await entries(ground, prefix))[1] > 0

        async def done() -> bool:
            total, read = await entries(ground, prefix)
            return total == read

        await ground.until(begun, "the unwrapper has begun", child)
        total, before = await entries(ground, prefix)
        began, worker, server = time.monotonic(), child.cpu_s(), cpu_seconds(ground.server.pid)
        await ground.until(done, "everything is settled", child)
        took = time.monotonic() - began
        share = written * (total - before) / total
        line = _figures(content, share, took, (worker, child.cpu_s()), (server, cpu_seconds(ground.server.pid)))
        await check(ground, prefix, content, written, child)
    await ground.clear(prefix)
    return line


async def check(ground: Ground, prefix: str, content: Content, chunks: int, child: Child) -> None:
    """What came out is what went in: otherwise the figure means nothing."""
    child.check()
    raws = [("XLEN", Keys(prefix).partition(number).raw) for number in range(PARTITIONS)]
    records = sum(cast("list[int]", await ground.link.call_many(raws)))
    # Each run's first chunk is its start, and each child is announced once.
    expected = chunks if content == "wrapped" else 0
    assert records == expected, f"{records} records came of {chunks} chunks"


def _figures(
    content: Content,
    chunks: float,
    took: float,
    worker: tuple[float | None, float | None],
    server: tuple[float | None, float | None],
) -> str:
    costs = [
        f", {name} {(after - before) / chunks * 1e6:.1f} µs a chunk"
        for name, (before, after) in (("worker", worker), ("server", server))
        if before is not None and after is not None
    ]
    return f"{content}: {chunks / took:,.0f} chunks/s{''.join(costs)}"


async def main(kind: str, chunks: int) -> None:
    with tempfile.TemporaryDirectory(prefix="runwire-bench-") as folder:
        chosen: Kind = next(one for one in KINDS if one.startswith(kind))
        contents: tuple[Content, ...] = ("wrapped", "plain")
        async with standing(chosen, Path(folder), _say) as ground:
            for content in contents:
                _say(f"{chosen}, {await measure(ground, content, chunks)}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        run(load(os.environ))
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--server", default="valkey", help="valkey, redis-8.2 or redis-7.0")
        parser.add_argument("--chunks", type=int, default=600_000)
        given = parser.parse_args()
        asyncio.run(main(given.server, given.chunks))

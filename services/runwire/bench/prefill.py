"""Raw records written beforehand: once, inside the server, then copied for each repeat.

Written by a script in the server, because a client that packs and sends them would take longer than the measurement.
"""

import json
from collections.abc import Sequence
from typing import Any, Final, cast

from runwire.broker.connection import Command, Link
from runwire_schemas.keys import Keys, partition_of

from .workload import by_partition, delta, opening, short_run, spread_runs

# The server answers nobody while a script runs; 5,000 XADDs take it about 10 ms.
ROUNDS_BYTES: Final = 5000
LIMIT_S: Final = 60.0

# KEYS[1] stream; ARGV[1] JSON {fields, run, seq}: the flat fields and the places of run id and sequence in them;
# ARGV[2] first sequence, ARGV[3] rounds, then run ids. Each round writes one record of each run.
_WRITE: Final = """
local shape = cjson.decode(ARGV[1])
local fields, run, seq = shape.fields, shape.run, shape.seq
for round = 0, tonumber(ARGV[3]) - 1 do
  fields[seq] = string.format('%.0f', tonumber(ARGV[2]) + round)
  for i = 4, #ARGV do
    fields[run] = ARGV[i]
    redis.call('XADD', KEYS[1], '*', unpack(fields))
  end
end
"""


async def write_template(link: Link, keys: Keys, per_partition: int) -> None:
    """The same number of records in each partition: its runs open, then take turns with one delta each."""
    for number, runs in enumerate(by_partition(spread_runs())):
        stream = keys.partition(number).raw
        await link.call_many([("XADD", stream, "*", *opening(run)) for run in runs], limit=LIMIT_S)
        shape, seq = _shape(delta(runs[0], 2)), 2
        rounds = max(1, ROUNDS_BYTES // len(runs))
        while (seq - 2) * len(runs) < per_partition:
            await link.call("EVAL", _WRITE, 1, stream, shape, seq, rounds, *runs, limit=LIMIT_S)
            seq += rounds


def _shape(fields: Sequence[bytes | str | int]) -> str:
    """The record of a run as a template; places count from 1, as in Lua."""
    flat = [value.decode() if isinstance(value, bytes) else str(value) for value in fields]
    return json.dumps({"fields": flat, "run": flat.index("run") + 2, "seq": flat.index("seq") + 2})


async def copy_template(link: Link, source: Keys, target: Keys, partitions: int) -> list[int]:
    """The template under another prefix; the number of records per partition."""
    lengths: list[int] = []
    for number in range(partitions):
        raw = target.partition(number).raw
        await link.call("COPY", source.partition(number).raw, raw, limit=LIMIT_S)
        lengths.append(_number(await link.call("XLEN", raw)))
    return lengths


async def write_short_runs(link: Link, keys: Keys, first: int, count: int, partitions: int) -> None:
    """Whole runs, from number `first` on."""
    for start in range(first, first + count, 200):
        commands: list[Command] = []
        for number in range(start, min(start + 200, first + count)):
            run_id = f"short-{number:06d}"
            stream = keys.partition(partition_of(run_id, partitions)).raw
            commands += [("XADD", stream, "*", *fields) for fields in short_run(run_id)]
        await link.call_many(commands, limit=LIMIT_S)


async def remove_prefix(link: Link, prefix: str) -> None:
    """Everything under a prefix, freed before the next measurement begins."""
    cursor = b"0"
    while True:
        cursor, found = cast("list[Any]", await link.call("SCAN", cursor, "MATCH", f"*{prefix}:*", "COUNT", 1000))
        if found:
            await link.call("UNLINK", *found, limit=LIMIT_S)
        if cursor == b"0":
            return


def _number(reply: object) -> int:
    assert isinstance(reply, int)
    return reply

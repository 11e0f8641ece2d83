import json
from collections import Counter
from typing import cast

from runwire.bench.workload import PARTITIONS, RUNS, SHORT_RUN, by_partition, delta, opening, short_run, spread_runs
from runwire.grammar.limits import Limits
from runwire.grammar.machine import RunMachine
from runwire_schemas.keys import partition_of
from runwire_schemas.record import parse


def fed(machine: RunMachine, records: list[list[bytes | str | int]]) -> RunMachine:
    for number, fields in enumerate(records, 1):
        flat = [value if isinstance(value, bytes) else str(value).encode() for value in fields]
        machine.feed(parse(f"{number}-0".encode(), flat))
    return machine


def test_runs_are_spread_evenly() -> None:
    runs = spread_runs()
    assert len({run.run_id for run in runs}) == RUNS
    assert all(partition_of(run.run_id, PARTITIONS) == run.partition for run in runs)
    assert set(Counter(run.partition for run in runs).values()) == {12, 13}
    assert sum(map(len, by_partition(runs))) == RUNS


def test_records_are_legal_and_every_delta_becomes_a_chunk() -> None:
    machine = fed(
        RunMachine("bench-00001", Limits()), [opening("bench-00001"), *(delta("bench-00001", n) for n in range(2, 12))]
    )
    assert machine.evidence == []
    assert [json.loads(chunk)["type"] for chunk in machine.chunks] == [
        "start",
        "step-start",
        "text-start",
        *["text-delta"] * 10,
    ]


def test_a_delta_is_about_a_hundred_bytes() -> None:
    fields = delta("bench-00001", 2)
    assert 90 <= len(cast("bytes", fields[-1])) <= 120
    assert fields[-2] == "body"


def test_a_short_run_is_finished() -> None:
    machine = fed(RunMachine("short-000001", Limits()), short_run("short-000001"))
    assert machine.finished
    assert [e.code for e in machine.evidence] == []
    assert len(SHORT_RUN) == 6

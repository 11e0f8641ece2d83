"""What is measured with: 200 runs of text deltas, spread evenly over the partitions. Pure."""

from typing import Final, NamedTuple

from runwire_schemas.keys import partition_of
from runwire_schemas.record import Record, fields_of

RUNS: Final = 200
PARTITIONS: Final = 16
SRC: Final = "bench"
# With its envelope a delta is about 100 B of JSON, as the deltas of real providers are after adaptation.
_TEXT: Final = "the quick brown fox jumps over the lazy dog and the stream goes on "


class Run(NamedTuple):
    run_id: str
    partition: int


def spread_runs(count: int = RUNS, partitions: int = PARTITIONS, prefix: str = "bench") -> list[Run]:
    """`count` run ids whose numbers per partition differ by one at most, so that no partition runs dry early."""
    places = {number: count // partitions + (number < count % partitions) for number in range(partitions)}
    runs: list[Run] = []
    number = 0
    while len(runs) < count:
        number += 1
        run_id = f"{prefix}-{number:05d}"
        partition = partition_of(run_id, partitions)
        if places[partition]:
            places[partition] -= 1
            runs.append(Run(run_id, partition))
    return runs


def by_partition(runs: list[Run], partitions: int = PARTITIONS) -> list[list[str]]:
    return [[run.run_id for run in runs if run.partition == number] for number in range(partitions)]


def opening(run_id: str) -> list[bytes | str | int]:
    """The fields of a run's first record: its text block opens."""
    return fields_of(_record(run_id, 1, b'{"type":"block-start","index":0,"blockKind":"text"}'))


def delta(run_id: str, seq: int) -> list[bytes | str | int]:
    """The fields of record `seq`, one text delta."""
    return fields_of(_record(run_id, seq, delta_body()))


def delta_body(text: str = _TEXT) -> bytes:
    return b'{"type":"text-delta","index":0,"text":"%s"}' % text.encode()


SHORT_RUN: Final = (
    b'{"type":"block-start","index":0,"blockKind":"text"}',
    delta_body(),
    delta_body(),
    b'{"type":"block-end","index":0,"block":{"kind":"text","text":"%s"}}' % (_TEXT * 2).encode(),
    b'{"type":"usage","usage":{"inputTokens":10,"outputTokens":20}}',
    b'{"type":"finish","reason":{"kind":"stop"}}',
)


def short_run(run_id: str) -> list[list[bytes | str | int]]:
    """The records of a whole run of one call, as many as a short answer has."""
    return [fields_of(_record(run_id, seq, body)) for seq, body in enumerate(SHORT_RUN, 1)]


def _record(run_id: str, seq: int, body: bytes) -> Record:
    return Record(
        id="0-1", run=run_id, src=SRC, epoch=0, seq=seq, kind="provider", call="1", ts=1_700_000_000_000, body=body
    )

"""A deployment without nodes: what a producer writes is read raw, and logs are written as the enforcer writes them."""

from collections import defaultdict
from typing import Any

import redis

from runwire.embedded.server import Server
from runwire_schemas.keys import Keys, PartitionKeys, partition_of
from runwire_schemas.record import Record, parse

PARTITIONS = 4
DELTA = b'{"type":"text-delta","index":0,"text":"%d"}'
FINISH = b'{"type":"finish","payload":{}}'


class Bare:
    """Keys of one prefix on one server, seen from outside."""

    def __init__(self, server: Server, prefix: str) -> None:
        self.server, self.prefix, self.keys = server, prefix, Keys(prefix)
        self.client = redis.Redis(port=server.port, socket_timeout=5)
        self.client.hset(self.keys.meta, mapping={"partitions": PARTITIONS, "wire": 1})

    @property
    def url(self) -> str:
        return self.server.url

    def partition(self, run: str) -> PartitionKeys:
        return self.keys.partition(partition_of(run, PARTITIONS))

    def records(self) -> dict[str, list[Record]]:
        """Every record in the raw streams, by run, in arrival order."""
        found: dict[str, list[Record]] = defaultdict(list)
        for number in range(PARTITIONS):
            stream: Any = self.client.xrange(self.keys.partition(number).raw)
            for entry_id, fields in stream:
                record = parse(entry_id, [part for pair in fields.items() for part in pair])
                assert isinstance(record, Record), record
                found[record.run].append(record)
        return found

    def seqs(self) -> dict[str, list[int]]:
        return {run: [r.seq for r in records] for run, records in self.records().items()}

    def bodies(self, run: str) -> list[bytes]:
        """The bodies of a run, duplicates left out."""
        first = {record.seq: record.body for record in reversed(self.records()[run])}
        return [first[seq] for seq in sorted(first)]

    def log(self, run: str, *chunks: bytes) -> None:
        """Append chunks to a run's log and state, all at once, as a commit does; `finish` ends the run."""
        p = self.partition(run)
        seq = int(self.client.hget(p.state(run), "s") or 0)
        pipe = self.client.pipeline(transaction=True)
        for chunk in chunks:
            seq += 1
            pipe.xadd(p.log(run), {"d": chunk}, id=f"{seq}-0")
        pipe.hset(p.state(run), mapping={"s": seq, "b": b"", "a": 1})
        if chunks and chunks[-1].startswith(FINISH[:16]):
            pipe.zrem(p.open, run)
            pipe.pexpire(p.log(run), 60_000)
            pipe.pexpire(p.state(run), 120_000)
        else:
            pipe.zadd(p.open, {run: 1})
        pipe.execute()

    def connections(self, name: str) -> int:
        clients: Any = self.client.client_list()
        return sum(client["name"].startswith(name) for client in clients)


def no_gap(seqs: list[int]) -> bool:
    """First occurrences are 1, 2, 3, … although some came twice."""
    return list(dict.fromkeys(seqs)) == list(range(1, max(seqs) + 1))

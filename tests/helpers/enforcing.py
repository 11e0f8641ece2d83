"""What tests of the partition runtime and the enforcer share: records to write, nodes to run, logs to compare."""

import contextlib
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, cast

from runwire.broker.chores import Chore
from runwire.broker.connection import Link
from runwire.broker.desk import Observer
from runwire.broker.handling import BatchHandler
from runwire.broker.runtime import Node
from runwire.grammar.limits import Limits
from runwire.grammar.machine import RunMachine
from runwire.settings import Settings
from runwire_schemas.keys import Keys, partition_of
from runwire_schemas.record import parse

__all__ = [
    "Heard",
    "bodies_of_run",
    "crash",
    "evidence_codes",
    "evidence_of",
    "expected_log",
    "log_of",
    "quick_settings",
    "run_in",
    "running",
    "write",
]

Entries = list[tuple[bytes, list[bytes]]]


def quick_settings(url: str, prefix: str, **changes: Any) -> Settings:
    """Settings with short leases, so that a test of a crash takes a second."""
    given: dict[str, Any] = {
        "redis_url": url,
        "prefix": prefix,
        "partitions": 4,
        "lease_ttl_s": 1.0,
        "renew_s": 0.1,
        "command_timeout_s": 0.8,
        "block_ms": 20,
        "backoff_max_s": 0.2,
        "log_level": "error",
        **changes,
    }
    return Settings(**given)


class Heard:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.said: list[tuple[str, int | None, dict[str, object]]] = []
        self.commits: list[tuple[int, int]] = []

    def committed(self, partition: int, commit: Any, seconds: float) -> None:
        assert seconds >= 0
        self.commits.append((partition, commit.records))

    def say(self, event: str, partition: int | None = None, **facts: object) -> None:
        self.said.append((event, partition, facts))

    def heard(self, event: str) -> list[dict[str, object]]:
        """The facts of every time that something was said."""
        return [facts for name, _, facts in self.said if name == event]


@contextlib.asynccontextmanager
async def running(
    settings: Settings,
    handler: BatchHandler,
    *,
    chores: Sequence[Chore] = (),
    observer: Observer | None = None,
) -> AsyncIterator[Node]:
    """A node that is drained at the end, unless it was crashed."""
    node = Node(settings, handler, chores=chores, observer=observer)
    await node.start()
    try:
        yield node
    finally:
        await node.drain()


async def crash(node: Node) -> None:
    """End a node as SIGKILL does: nothing is said, released or finished."""
    await node.abandon()


def run_in(partition: int, partitions: int, stem: str = "run") -> str:
    """A run id that belongs to this partition."""
    return next(name for n in range(10_000) if partition_of(name := f"{stem}-{n}", partitions) == partition)


def bodies_of_run(deltas: int, word: str = "word") -> list[bytes]:
    """Raw chunks of one whole call with so many text deltas."""
    text = "".join(f"{word} {n} " for n in range(deltas))
    chunks: list[dict[str, object]] = [
        {"type": "block-start", "index": 0, "blockKind": "text"},
        *({"type": "text-delta", "index": 0, "text": f"{word} {n} "} for n in range(deltas)),
        {"type": "block-end", "index": 0, "block": {"kind": "text", "text": text}},
        {"type": "usage", "usage": {"inputTokens": 3, "outputTokens": deltas}},
        {"type": "finish", "reason": {"kind": "stop"}},
    ]
    return [json.dumps(chunk, separators=(",", ":")).encode() for chunk in chunks]


async def write(
    link: Link,
    settings: Settings,
    run: str,
    bodies: Iterable[bytes],
    *,
    first: int = 1,
    src: str = "test",
    partition: int | None = None,
) -> list[str]:
    """Write records of one call, with sequence numbers from `first`; returns their ids."""
    number = partition_of(run, settings.partitions) if partition is None else partition
    raw = Keys(settings.prefix).partition(number).raw
    commands = [
        (
            "XADD",
            raw,
            "*",
            "run",
            run,
            "src",
            src,
            "epoch",
            0,
            "seq",
            seq,
            "kind",
            "provider",
            "call",
            "c1",
            "body",
            body,
        )
        for seq, body in enumerate(bodies, first)
    ]
    return [cast("bytes", reply).decode() for reply in await link.call_many(commands)]


async def log_of(link: Link, settings: Settings, run: str) -> list[bytes]:
    """The chunks of a run's log, after checking that they are numbered 1, 2, 3 …"""
    keys = Keys(settings.prefix).partition(partition_of(run, settings.partitions))
    entries = cast("Entries", await link.call("XRANGE", keys.log(run), "-", "+"))
    assert [entry_id for entry_id, _ in entries] == [b"%d-0" % n for n in range(1, len(entries) + 1)]
    return [fields[1] for _, fields in entries]


async def expected_log(link: Link, settings: Settings, run: str) -> list[bytes]:
    """What one machine makes of the run's raw records, without broker, batches or stored state."""
    number = partition_of(run, settings.partitions)
    entries = cast("Entries", await link.call("XRANGE", Keys(settings.prefix).partition(number).raw, "-", "+"))
    machine = RunMachine(run, Limits(), partition=number)
    for entry in entries:
        record = parse(*entry)
        if record.run == run:
            machine.feed(record)
    return machine.take().chunks


async def evidence_of(link: Link, settings: Settings, partition: int) -> list[dict[str, Any]]:
    """All evidence of a partition, oldest first."""
    key = Keys(settings.prefix).partition(partition).evidence
    return [json.loads(fields[5]) for _, fields in cast("Entries", await link.call("XRANGE", key, "-", "+"))]


async def evidence_codes(link: Link, settings: Settings, partition: int) -> list[str]:
    """The codes of a partition's evidence, oldest first."""
    return [str(found["code"]) for found in await evidence_of(link, settings, partition)]

"""A pipeline in memory: the real grammar, the real handler of the unwrapper, and streams that are lists.

It stands in for the server only. Nothing here decides what a child is; the integration tests run the same on servers.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, cast

import hiredis
import msgspec

from runwire.broker.handling import Batch, Parcel
from runwire.broker.nests import NestWant, StoredNest, closed_field
from runwire.broker.reading import Entry
from runwire.broker.settling import Settlement
from runwire.grammar.limits import Limits as GrammarLimits
from runwire.grammar.machine import RunMachine
from runwire.unwrapper.core.state import Limits
from runwire.unwrapper.handler import UnwrapHandler
from runwire.unwrapper.settlement import Terms
from runwire_schemas.keys import Keys, partition_of
from runwire_schemas.lineage import Account, Ancestry
from runwire_schemas.record import Record, parse

KEYS = Keys("t")


class CrashError(Exception):
    """The unwrapper dies here."""


class Pipeline:
    """Producers, an enforcer and an unwrapper over some partitions."""

    def __init__(self, partitions: int = 4, *, limits: Limits | None = None, page: int = 7, cache: int = 4) -> None:
        """The enforcer commits `page` chunks of a run at a time; the unwrapper may keep `cache` runs a partition."""
        self.partitions = partitions
        self.raw: list[list[Record]] = [[] for _ in range(partitions)]
        self.chunks: list[list[Entry]] = [[] for _ in range(partitions)]
        self.machines: dict[str, RunMachine] = {}
        self.logs: dict[str, list[bytes]] = {}
        self.evidence: list[dict[str, Any]] = []
        self.hashes: dict[str, dict[str, bytes]] = {}
        self.posted = 0
        self.limits = limits or Limits()
        self._page = page
        self._cache = cache
        self._read = [0] * partitions
        self._position = [0] * partitions
        self._seqs: dict[tuple[str, str], int] = {}
        self._clock = 0
        self.restart()

    # --- producers ---------------------------------------------------------------------------------------------------

    def publish(self, run: str, *bodies: Any, kind: str = "agent", src: str = "agent", call: str | None = None) -> None:
        """Records of a run, numbered on."""
        for body in bodies:
            seq = self._seqs[run, src] = self._seqs.get((run, src), 0) + 1
            self.append(Record(self._id(), run, cast("Any", kind), src, 0, seq, encoded(body), call))

    def append(self, record: Record) -> None:
        """One record into its partition."""
        self.raw[partition_of(record.run, self.partitions)].append(record)

    # --- the enforcer ------------------------------------------------------------------------------------------------

    def enforce(self) -> bool:
        """Everything that is unread goes through its run's machine. False if there was nothing."""
        busy = False
        for partition, records in enumerate(self.raw):
            unread, self._read[partition] = records[self._read[partition] :], len(records)
            touched: dict[str, RunMachine] = {}
            for record in unread:
                machine = self.machines.setdefault(
                    record.run, RunMachine(record.run, GrammarLimits(), partition=partition)
                )
                touched[record.run] = machine
                machine.feed(record)
                busy = True
            for run, machine in touched.items():
                base, chunks, evidence, _ = machine.take()
                self.evidence += [json.loads(msgspec.json.encode(item)) for item in evidence]
                self.logs.setdefault(run, []).extend(chunks)
                self._enter(partition, run, machine.attempt, base, chunks)
        return busy

    def timeout(self, run: str) -> None:
        """Let the run's deadline pass."""
        body = self.machines[run].due()
        assert body is not None, f"{run} has no deadline"
        self.append(Record(self._id(), run, "control", "~enforcer", 0, 0, body))

    def enter(self, run: str, *chunks: Any, attempt: int = 1, base: int | None = None) -> None:
        """Chunks straight into a log, past the grammar."""
        data = [encoded(chunk) for chunk in chunks]
        log = self.logs.setdefault(run, [])
        begin = len(log) if base is None else base
        log.extend(data)
        self._enter(partition_of(run, self.partitions), run, attempt, begin, data)

    def _enter(self, partition: int, run: str, attempt: int, base: int, chunks: list[bytes]) -> None:
        for at in range(0, len(chunks), self._page):
            page = chunks[at : at + self._page]
            last = base + at + len(page)
            packed = msgspec.msgpack.encode([chunk.decode() for chunk in page])
            names = [b"run", run.encode(), b"attempt", b"%d" % attempt, b"seq", b"%d" % last, b"d", packed]
            self.chunks[partition].append((self._id().encode(), names))

    # --- the unwrapper -----------------------------------------------------------------------------------------------

    def restart(self) -> None:
        """A new unwrapper process: it knows what is stored."""
        n = self.partitions
        self._in_flight: list[list[Settlement]] = [[] for _ in range(n)]
        self.unwrapper = UnwrapHandler(
            Terms(KEYS, n, self.limits, 1000, 2000, 2**20, cache_runs=self._cache * n, cache_bytes=2**20)
        )

    def unwrap(self, crash: Callable[[], int | None] = lambda: None, batch: int = 50) -> bool:
        """One batch of each partition. `crash` tells after how many parcels the unwrapper dies, None if it lives.

        As in the runtime the commit of a batch may still be on its way while the next batch is made.
        """
        busy = False
        for partition in range(self.partitions):
            flight = self._in_flight[partition]
            position = self._position[partition] + sum(settlement.records for settlement in flight)
            entries = self.chunks[partition][position : position + batch]
            if entries:
                prev = self.chunks[partition][position - 1][0].decode() if position else "0-0"
                self._make(Batch(partition, entries, prev), crash())
            elif flight:
                self._settle(partition)
            busy = busy or bool(entries or flight)
        return busy

    def _make(self, work: Batch, dies_after: int | None) -> None:
        wants = self.unwrapper.missing(work)
        if len(self._in_flight[work.partition]) > 1:
            # Its answer comes while states are loaded, and they may be older than what is on its way.
            self._settle(work.partition)
        self.unwrapper.load(work.partition, [self._stored(work.partition, want) for want in wants])
        settlement = self.unwrapper.handle(work)
        for parcel in settlement.parcels[:dies_after]:
            self._deliver(parcel)
        if dies_after is not None:
            raise CrashError
        self._in_flight[work.partition].append(settlement)

    def run_dry(self, crash: Callable[[], int | None] = lambda: None, batch: int = 50) -> None:
        """Until nobody has anything to do."""
        busy = True
        while busy:
            busy = self.enforce()
            try:
                busy = self.unwrap(crash, batch) or busy
            except CrashError:
                self.restart()
                busy = True

    def _stored(self, partition: int, want: NestWant) -> StoredNest:
        keys, run = KEYS.partition(partition), want.run_id
        nest = self.hashes.get(keys.nest(run), {})
        closed = {name: nest.get(closed_field(name)) for name in want.children}
        claim = state = None
        if "b" not in nest:
            claim = self.hashes.get(keys.claim(run), {}).get("d")
            machine = self.machines.get(run)
            state = machine.blob() if claim is not None and machine is not None else None
        return StoredNest(run, nest.get("b"), claim, state, closed)

    def _deliver(self, parcel: Parcel) -> None:
        reader = hiredis.Reader()
        reader.feed(parcel.data)
        keys = KEYS.partition(parcel.partition)
        for _ in range(parcel.commands):
            name, key, *rest = cast("list[bytes]", reader.gets())
            match name:
                case b"HSETNX":
                    self.hashes.setdefault(key.decode(), {}).setdefault(rest[0].decode(), rest[1])
                case b"XADD":
                    assert key.decode() == keys.raw
                    record = parse(self._id().encode(), rest[1:])
                    assert isinstance(record, Record), record
                    self.raw[parcel.partition].append(record)
                    self.posted += 1
                case _:
                    assert name == b"PEXPIRE"

    def _settle(self, partition: int) -> None:
        settlement = self._in_flight[partition].pop(0)
        for write in settlement.writes:
            stored = {} if write.fresh else self.hashes.get(write.key, {})
            stored.update(write.fields)
            if stored:
                self.hashes[write.key] = stored
            else:
                self.hashes.pop(write.key, None)
        self.evidence += [json.loads(data) for _, _, data in settlement.evidence]
        self._position[partition] += settlement.records
        self.unwrapper.committed(partition, settlement)

    # --- looking -----------------------------------------------------------------------------------------------------

    def log(self, run: str) -> list[dict[str, Any]]:
        return [json.loads(chunk) for chunk in self.logs.get(run, [])]

    def types(self, run: str) -> list[str]:
        return [chunk["type"] for chunk in self.log(run)]

    def nest(self, run: str) -> dict[str, bytes]:
        return self.hashes.get(KEYS.partition(partition_of(run, self.partitions)).nest(run), {})

    def lineage(self, run: str) -> Ancestry:
        return msgspec.json.decode(self.nest(run)["l"], type=Ancestry)

    def account(self, run: str) -> Account:
        return msgspec.json.decode(self.nest(run)["i"], type=Account)

    def children(self, run: str) -> list[str]:
        nest = self.nest(run)
        return [json.loads(nest[str(n)])["runId"] for n in range(1, self.account(run).children + 1)]

    def codes(self) -> list[str]:
        return [item["code"] for item in self.evidence]

    def _id(self) -> str:
        self._clock += 1
        return f"{self._clock}-0"


def records_of(pipeline: Pipeline, run: str) -> list[Record]:
    """All records of a run, in the order in which they were written."""
    return [record for records in pipeline.raw for record in records if record.run == run]


def encoded(body: Any) -> bytes:
    """Bytes as they are, anything else as compact JSON."""
    return body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()


def chunk(type_: str, run: str | None, payload: dict[str, Any] | None = None, **beside: Any) -> dict[str, Any]:
    """An agent chunk; without a run it has no envelope."""
    head: dict[str, Any] = {"type": type_} if run is None else {"type": type_, "runId": run, "from": "AGENT"}
    return {**head, **({} if payload is None else {"payload": payload}), **beside}


def tool_output(run: str, call: str, output: Any) -> dict[str, Any]:
    return chunk("tool-output", run, {"output": output, "toolCallId": call, "toolName": "sub"})


def tool_call(run: str, call: str) -> dict[str, Any]:
    return chunk("tool-call", run, {"toolCallId": call, "toolName": "sub", "args": {}})


def tool_result(run: str, call: str, **more: Any) -> dict[str, Any]:
    return chunk("tool-result", run, {"toolCallId": call, "toolName": "sub", "result": 1, **more})


def finish(run: str, reason: str = "stop", usage: dict[str, int] | None = None) -> dict[str, Any]:
    output = {} if usage is None else {"usage": usage}
    return chunk("finish", run, {"stepResult": {"reason": reason}, "output": output})


def step_finish(run: str, reason: str = "stop", usage: dict[str, int] | None = None, **more: Any) -> dict[str, Any]:
    output = {} if usage is None else {"usage": usage}
    return chunk("step-finish", run, {"stepResult": {"reason": reason, **more}, "output": output})


def text(run: str, *words: str, block: str = "b") -> list[dict[str, Any]]:
    """A text block."""
    deltas = [chunk("text-delta", run, {"id": block, "text": word}) for word in words]
    return [chunk("text-start", run, {"id": block}), *deltas, chunk("text-end", run, {"id": block})]


def agent(run: str, *words: str, usage: dict[str, int] | None = None) -> list[dict[str, Any]]:
    """A whole agent run of one step."""
    counted = usage or {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}
    return [
        chunk("start", run, {"id": "helper"}),
        chunk("step-start", run, {}),
        *text(run, *words),
        step_finish(run, usage=counted, isContinued=False),
        finish(run, usage=counted),
    ]


def around(run: str, call: str, inner: Iterable[Any]) -> list[dict[str, Any]]:
    """A run that does nothing but call a tool whose outputs these are."""
    return [
        chunk("start", run, {"id": "top"}),
        chunk("step-start", run, {}),
        tool_call(run, call),
        *(tool_output(run, call, value) for value in inner),
        tool_result(run, call),
        step_finish(run, isContinued=False),
        finish(run),
    ]

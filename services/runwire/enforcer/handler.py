"""The enforcer's logic: records of a partition go through their runs' machines, and what comes out is one commit.

What a commit holds is a function of the records and the stored states. The clock given here only measures how long this
process has watched a run in silence.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar, Final, NamedTuple

from msgspec.json import Encoder

from runwire.broker.functions import Commit, RunWrite
from runwire.broker.handling import Batch, StoredState
from runwire.broker.reading import Entry
from runwire.grammar.limits import Limits
from runwire.grammar.machine import RunMachine
from runwire_schemas.evidence import Evidence
from runwire_schemas.keys import partition_of
from runwire_schemas.record import Malformed, Record, parse

# Between two looks at how many chunks a batch has made: a record makes one or two, seldom more.
SLICE: Final = 250
# Unfinished runs kept in memory. An evicted one costs a load of some 50 µs when its next record comes.
CACHE_RUNS: Final = 20_000
CACHE_BYTES: Final = 64 * 2**20  # of stored state; in memory a machine takes a few times that
# A commit writes the whole state of each run it touches, and a load reads it: usually a few hundred bytes a run, but
# runs with a mebibyte of arguments each would make commits that take longer than an answer may.
COMMIT_STATE_BYTES: Final = 8 * 2**20
FORGET: Final = 0.9  # of the largest state seen, per batch: a single large one is forgotten after some 20 batches
# An owner that has watched a run in silence for so long may end it, however long the limit: the deadline is in Redis
# and survives take-overs. Without any watching, the end of an outage would also end healthy runs.
WATCH_S: Final = 30.0
# Evidence keeps at most so many bytes of an entry that belongs to no run.
BODY_KEPT: Final = 64 * 1024
KEEP: Final = "keep:"  # a hold of this kind waits for a copy of the run's raw records

_encode = Encoder().encode


class Due(NamedTuple):
    """What the passing of time asks for: control bodies by run, and names in `open` that have no run behind them."""

    bodies: list[tuple[str, bytes]]
    ghosts: list[str]


class _Held:
    """What is in memory of one partition."""

    __slots__ = ("in_flight", "largest", "machines", "parsed", "seen", "size", "sizes", "to_keep", "wanted")

    def __init__(self) -> None:
        self.machines: dict[str, RunMachine] = {}  # least recently used first
        self.parsed: list[Record | Malformed] = []  # of the batch between `missing` and `handle`
        self.wanted: set[str | None] = set()  # runs of that batch: found or loaded, they must stay until it is handled
        self.in_flight: dict[str, int] = {}  # commits on their way, by run: such a run must stay in memory
        self.seen: dict[str, float] = {}  # when a record of the run last came
        self.sizes: dict[str, int] = {}  # of stored states in bytes, and their sum
        self.size = 0
        self.largest = 1.0  # of the states seen lately
        self.to_keep: list[str] = []  # violated runs whose raw records are still to be copied aside

    def weigh(self, run: str, size: int) -> None:
        """Note how large the stored state of a run is."""
        self.size += size - self.sizes.get(run, 0)
        self.sizes[run] = size
        self.largest = max(self.largest, size)

    def forget(self, run: str) -> None:
        """Drop a run from memory."""
        del self.machines[run]
        self.seen.pop(run, None)
        self.size -= self.sizes.pop(run, 0)


class RunHandler:
    """A BatchHandler over run machines."""

    machine: ClassVar[type[RunMachine]] = RunMachine

    def __init__(
        self,
        limits: Limits,
        partitions: int,
        *,
        clock: Callable[[], float],
        commit_chunks: int = 2000,
        cache_runs: int = CACHE_RUNS,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._limits = limits
        self._partitions = partitions
        self._clock = clock
        self._commit_chunks = commit_chunks
        self._cache_runs = cache_runs
        self._cache_bytes = cache_bytes
        self._held = [_Held() for _ in range(partitions)]

    @property
    def cached_runs(self) -> int:
        """Machines in memory."""
        return sum(len(held.machines) for held in self._held)

    def missing(self, batch: Batch) -> list[str]:
        """Runs of this batch that are not in memory and belong to this partition.

        What may be too much to load at once is left for the next batch, and the records from there on with it.
        """
        held = self._held[batch.partition]
        held.parsed = records = [parse(entry_id, fields) for entry_id, fields in batch.entries]
        held.wanted = {record.run for record in records}
        missing = self.unloaded(batch.partition, held.wanted)
        held.largest = max(1.0, held.largest * FORGET)
        most = max(1, int(COMMIT_STATE_BYTES / held.largest))
        if len(missing) > most:
            # In stream order.
            missing = self.unloaded(batch.partition, dict.fromkeys(record.run for record in records))
            left = set(missing[most:])
            held.parsed = records[: next(n for n, record in enumerate(records) if record.run in left)]
            held.wanted = {record.run for record in held.parsed}
            missing = missing[:most]
        return missing

    def unloaded(self, partition: int, runs: Iterable[str | None]) -> list[str]:
        """Those of the runs that are not in memory and belong to this partition."""
        machines = self._held[partition].machines
        return [
            run
            for run in runs
            if run is not None and run not in machines and partition_of(run, self._partitions) == partition
        ]

    def load(self, partition: int, stored: Sequence[StoredState]) -> list[str]:
        """Make machines; returns the ids of their parked records."""
        held = self._held[partition]
        parked: list[str] = []
        for state in stored:
            if state.run_id not in held.machines:
                machine = self.machine(state.run_id, self._limits, state.blob, state.seq, partition=partition)
                held.machines[state.run_id] = machine
                held.weigh(state.run_id, len(state.blob or b""))
                parked += machine.parked
        return parked

    def restore(self, partition: int, entries: Sequence[Entry]) -> None:
        """Give parked records back to their machines."""
        machines = self._held[partition].machines
        found: dict[str, list[Record]] = {}
        for entry_id, fields in entries:
            record = parse(entry_id, fields)
            if isinstance(record, Record):
                found.setdefault(record.run, []).append(record)
        for run, records in found.items():
            machines[run].restore_parked(records)

    def handle(self, batch: Batch) -> Commit:
        """Feed the records until the commit is full."""
        held = self._held[batch.partition]
        if held.size > COMMIT_STATE_BYTES:
            held.parsed = _fitting(held.parsed, held.sizes)
        held.wanted = set()
        work = _Work(held.machines)
        done = 0
        if batch.quarantine:
            self._set_aside(work, held.parsed[0])
            done = 1
        while done < len(held.parsed):
            work.feed(held.parsed[done : done + SLICE], partial(self._refuse, batch.partition))
            done = min(done + SLICE, len(held.parsed))
            if work.chunks() >= self._commit_chunks:
                break
        held.parsed = []
        return self._commit(held, batch, work, done)

    def condemn(self, entry: Entry) -> tuple[str, bytes] | None:
        """The `quarantine` control record for an entry."""
        record = parse(*entry)
        return None if record.run is None else (record.run, _encode({"type": "quarantine", "record": record.id}))

    def committed(self, partition: int, commit: Commit) -> None:
        """Forget sealed runs and, when memory is full, those that were silent longest."""
        held = self._held[partition]
        held.to_keep += [field.removeprefix(KEEP) for field in commit.holds if field.startswith(KEEP)]
        for write in commit.runs:
            run = write.run_id
            left = held.in_flight[run] - 1
            if left:
                held.in_flight[run] = left
                continue
            del held.in_flight[run]
            if held.machines[run].sealed and run not in held.wanted:
                held.forget(run)
        self._evict(held)

    def drop(self, partition: int) -> None:
        """Forget everything of this partition."""
        self._held[partition] = _Held()

    def take_to_keep(self, partition: int) -> list[str]:
        """Runs of this partition that were violated since the last call."""
        held = self._held[partition]
        runs, held.to_keep = held.to_keep, []
        return runs

    def due(self, partition: int, runs: Iterable[str], taken_at: float) -> Due:
        """Control bodies for the runs that may be timed out, all of them loaded before.

        A run that this process has not watched in silence for long enough since `taken_at` waits for the next look.
        """
        held = self._held[partition]
        now = self._clock()
        result = Due([], [])
        for run in runs:
            machine = held.machines.get(run)
            if machine is None:
                continue
            if not machine.exists:
                result.ghosts.append(run)
                self._discard(held, run)
                continue
            watched_s = now - max(taken_at, held.seen.get(run, taken_at))
            if watched_s >= min(machine.deadline_ms() / 1000, WATCH_S) and (body := machine.due()) is not None:
                result.bodies.append((run, body))
        return result

    def _commit(self, held: _Held, batch: Batch, work: "_Work", records: int) -> Commit:
        entries = batch.entries
        commit = Commit(batch.prev, entries[0][0].decode(), entries[records - 1][0].decode(), records, [], [], [], {})
        now = self._clock()
        for run, machine in work.touched.items():
            violated = machine.violated
            base, chunks, evidence, events = machine.take()
            commit.evidence.extend((run, item.code, _encode(item)) for item in evidence)
            if not machine.exists:
                self._discard(held, run)
                continue
            commit.events.extend(map(_encode, events))
            _hold(commit, run, machine, violated=violated, parked=work.parked[run])
            blob = machine.blob()
            commit.runs.append(
                RunWrite(
                    run, machine.attempt, base, chunks, blob, machine.deadline_ms(), run in work.new, machine.sealed
                )
            )
            held.in_flight[run] = held.in_flight.get(run, 0) + 1
            held.seen[run] = now
            if held.sizes.get(run) != len(blob):
                held.weigh(run, len(blob))
            held.machines[run] = held.machines.pop(run)
        commit.evidence.extend(("", item.code, _encode(item)) for item in work.homeless)
        return commit

    def _set_aside(self, work: "_Work", record: Record | Malformed) -> None:
        """The record crashed its readers: it is not looked into again, and its run ends."""
        machine = None if record.run is None else work.machine(record.run)
        if machine is not None and isinstance(record, Record):
            machine.quarantine(record)
        else:
            work.homeless.append(
                _evidence(record, "enforcer-crash", "This entry crashed its readers and was set aside")
            )

    def _refuse(self, partition: int, record: Record | Malformed) -> Evidence:
        """An entry that belongs to no run of this partition."""
        if isinstance(record, Malformed):
            return _evidence(record, "record-invalid", record.reason)
        place = partition_of(record.run, self._partitions)
        if place == partition:
            raise AssertionError(f"run {record.run!r} was not loaded before its record {record.id}")
        return _evidence(record, "record-invalid", f"this run belongs to partition {place}: its producer counts others")

    def _discard(self, held: _Held, run: str) -> None:
        """Drop a machine that nothing is stored of."""
        if run not in held.in_flight and run not in held.wanted:
            held.forget(run)

    def _evict(self, held: _Held) -> None:
        """Each partition may use its share of the memory; what is on its way stays."""
        share, size_share = self._cache_runs / self._partitions, self._cache_bytes / self._partitions
        if len(held.machines) <= share and held.size <= size_share:
            return
        for run in list(held.machines):
            if len(held.machines) <= share and held.size <= size_share:
                return
            if run not in held.in_flight and run not in held.wanted:
                held.forget(run)


class _Work:
    """One batch on its way through the machines."""

    __slots__ = ("_machines", "homeless", "new", "parked", "touched")

    def __init__(self, machines: dict[str, RunMachine]) -> None:
        self._machines = machines
        self.touched: dict[str, RunMachine] = {}
        self.new: set[str] = set()  # did not exist before this batch
        self.parked: dict[str, bool] = {}  # had parked records before this batch
        self.homeless: list[Evidence] = []

    def machine(self, run: str) -> RunMachine | None:
        """The run's machine, noted as touched; None for a run of another partition."""
        machine = self._machines.get(run)
        if machine is not None:
            self.touched[run] = machine
            self.parked[run] = bool(machine.parked)
            if not machine.exists:
                self.new.add(run)
        return machine

    def feed(self, records: Sequence[Record | Malformed], refuse: Callable[[Record | Malformed], Evidence]) -> None:
        """Every record to its machine, in order."""
        find = self.touched.get
        for record in records:
            run = record.run
            machine = None if run is None else find(run) or self.machine(run)
            if machine is None:
                self.homeless.append(refuse(record))
            else:
                machine.feed(record)

    def chunks(self) -> int:
        """How many chunks were made so far."""
        return sum(len(machine.chunks) for machine in self.touched.values())


def _fitting(records: list[Record | Malformed], sizes: dict[str, int]) -> list[Record | Malformed]:
    """The first records, at least one, whose runs' states are together no more than a commit may hold."""
    size, counted = 0, set[str]()
    for number, record in enumerate(records):
        if record.run is not None and record.run not in counted:
            counted.add(record.run)
            size += sizes.get(record.run, 0)
            if size > COMMIT_STATE_BYTES and number:
                return records[:number]
    return records


def _evidence(record: Record | Malformed, code: str, message: str) -> Evidence:
    return Evidence(
        code=code,
        cls="refused",
        message=message,
        record=record.id,
        run=record.run,
        src=record.src,
        epoch=record.epoch,
        seq=record.seq,
        call=record.call if isinstance(record, Record) else None,
        body=record.body[:BODY_KEPT],
    )


def _hold(commit: Commit, run: str, machine: RunMachine, *, violated: bool, parked: bool) -> None:
    """Raw records that must outlive their reading: parked ones, and those of a run that broke a rule."""
    if machine.parked:
        commit.holds[f"parked:{run}"] = min(machine.parked, key=_id_key)
    elif parked:
        commit.holds[f"parked:{run}"] = ""
    if violated:
        commit.holds[f"{KEEP}{run}"] = machine.first_record


def _id_key(entry_id: str) -> tuple[int, int]:
    ms, _, number = entry_id.partition("-")
    return int(ms), int(number)

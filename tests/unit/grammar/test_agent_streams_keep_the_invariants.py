"""Random streams of agent chunks, raw calls, suspensions, tasks and time: the log stays legal and loses nothing."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runwire.grammar import RunMachine
from runwire.grammar.invariants import broken_invariants
from runwire.grammar.repairs import REPAIRS
from runwire_schemas.record import Record
from unit.grammar.agent_writer import LIMITS, OFTEN, RARE, SELDOM, Writer, streams, words_in, words_of

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Run:
    """A stream, told: its log, its findings and its events, stored and loaded before the records at `cuts`."""

    def __init__(
        self,
        records: list[Record],
        cuts: Callable[[int], bool] = lambda _: False,
        look: Callable[[RunMachine, Record], None] = lambda _machine, _record: None,
    ) -> None:
        self.machine = RunMachine("r", LIMITS)
        self.log: list[bytes] = []
        self.evidence: list[Any] = []
        self.events: list[Any] = []
        for number, record in enumerate(records):
            if cuts(number):
                self._reload(records)
            self.machine.feed(record)
            look(self.machine, record)
            self._take()

    def _take(self) -> None:
        produced = self.machine.take()
        assert produced.base_seq == len(self.log)
        self.log += produced.chunks
        self.evidence += produced.evidence
        self.events += produced.events

    def _reload(self, records: list[Record]) -> None:
        parked = set(self.machine.parked)
        self.machine = RunMachine("r", LIMITS, self.machine.blob(), self.machine.seq)
        self.machine.restore_parked(record for record in records if record.id in parked)

    @property
    def all(self) -> tuple[Any, ...]:
        return self.log, self.evidence, self.events, self.machine.blob()


@QUICK
@given(streams())
def test_the_five_invariants(records: list[Record]) -> None:
    told = Run(records)
    assert broken_invariants("r", told.log) == []
    finished = [event for event in told.events if event.__struct_config__.tag == "run.ended"]
    assert len(finished) == (b'"type":"finish"' in b"".join(chunk[:16] for chunk in told.log))


@QUICK
@given(streams())
def test_storing_and_loading_at_every_point_changes_nothing(records: list[Record]) -> None:
    assert Run(records, cuts=lambda _: True).all == Run(records).all


@QUICK
@given(streams(), st.frozensets(st.integers(0, 60)))
def test_storing_and_loading_anywhere_changes_nothing(records: list[Record], cuts: frozenset[int]) -> None:
    assert Run(records, cuts=lambda number: number in cuts).all == Run(records).all


@QUICK
@given(streams())
def test_what_was_not_refused_is_in_the_log(records: list[Record]) -> None:
    told = Run(records)
    refused = {found.record for found in told.evidence if found.cls in ("refused", "fatal")}
    counted = any(found.count > 1 or found.body is None for found in told.evidence if found.cls == "refused")
    swallowed = {found.record for found in told.evidence if found.code == "task-ended"}
    more_swallowed = told.machine.state.repairs.get("task-ended", 0) > 1
    if counted or more_swallowed or "sequence-gap" in {found.code for found in told.evidence}:
        return
    parked = set(told.machine.parked)
    said = words_of(told.log)
    for record in records:
        whole = record.kind == "agent" or b"text-delta" in record.body
        if whole and record.id not in refused | swallowed | parked and _first(records, record):
            assert words_in(record) <= said, (record, told.evidence)


def _first(records: list[Record], record: Record) -> bool:
    """Whether the record is no replay of a seq that was used before."""
    return next(other for other in records if (other.src, other.seq) == (record.src, record.seq)) is record


@QUICK
@given(streams())
def test_every_run_can_be_ended_and_sealed_by_time_alone(records: list[Record]) -> None:
    told = Run(records)
    waits = 0
    while told.machine.exists and (body := told.machine.due()) is not None:
        assert told.machine.deadline_ms() > 0
        before = told.machine.blob()
        moment = 10**6 + waits * 10**12
        told.machine.feed(Record(f"{moment}-0", "r", "control", "~enforcer", 0, 0, body))
        assert told.machine.blob() != before, f"a timeout that was due has had no effect: {body!r}"
        waits += 1
        assert waits < 12
    told._take()
    assert broken_invariants("r", told.log) == []
    assert not told.machine.exists or told.machine.sealed


@QUICK
@given(streams())
def test_the_state_stays_small_and_its_sums_are_right(records: list[Record]) -> None:
    def look(machine: RunMachine, _record: Record) -> None:
        state = machine.state
        assert len(machine.blob()) < 8_000
        assert len(state.agent_blocks) <= LIMITS.open_blocks
        assert len(state.tools) <= LIMITS.unanswered_calls
        assert len(state.answered) <= LIMITS.answered_calls
        assert len(state.tasks) <= LIMITS.live_tasks
        assert len(state.ended_tasks) <= LIMITS.ended_tasks
        assert max(len(state.bare), len(state.wrapped)) <= LIMITS.twins
        assert 0 <= state.args_size <= LIMITS.argument_bytes
        blocks = state.call.blocks.values() if state.call else ()
        known = sum(len(tool.args.encode()) for tool in state.tools.values() if tool.args is not None)
        streamed = sum(tool.parts_size for tool in state.tools.values()) + sum(block.parts_size for block in blocks)
        assert state.args_size == known + streamed
        assert state.agent_block_size == sum(len(block.id) for block in state.agent_blocks.values())
        assert state.task_size == sum(len(k) + len(v.call) + len(v.name) for k, v in state.tasks.items())
        assert set(state.repairs) <= set(REPAIRS)
        if machine.sealed:
            assert (state.tasks, state.ended_tasks, state.bare, state.wrapped) == ({}, [], [], [])

    Run(records, look=look)


@QUICK
@given(streams())
def test_a_sealed_run_takes_nothing(records: list[Record]) -> None:
    sealed_at: list[int] = []

    def look(machine: RunMachine, _record: Record) -> None:
        if sealed_at:
            assert machine.seq == sealed_at[0]
        elif machine.sealed:
            sealed_at.append(machine.seq)

    Run(records, look=look)


def test_the_writer_reaches_every_repair_and_every_ending() -> None:
    """The random streams are worth their name: over many dice they come everywhere."""
    reasons: set[str] = set()
    codes: set[str] = set()
    kinds: set[str] = set()
    for seed in range(350):
        writer, dice = Writer(), seed * 7919 + 13
        writer.write(
            {"type": "start", "payload": {}} if seed % 2 else {"type": "run-start"}, "agent" if seed % 2 else "control"
        )
        for _ in range(45):
            dice = (dice * 1103515245 + 12345) % 2**31
            pool = RARE if dice % 41 == 0 else (SELDOM if dice // 41 % 3 == 0 else OFTEN)
            writer.act(pool[dice // 256 % len(pool)], dice // 4096 % 1000)
        told = Run(writer.records)
        codes.update(found.code for found in told.evidence)
        kinds.update(json.loads(chunk)["type"] for chunk in told.log)
        reasons.update(event.reason for event in told.events if event.__struct_config__.tag == "run.ended")
    assert reasons >= {"stop", "error", "abort", "tripwire", "tool-calls"}
    assert set(REPAIRS) - codes <= {"suspend-mark-foreign"}
    assert kinds >= {"data-run-suspended", "background-task-completed", "tripwire", "abort", "raw", "step-finish"}

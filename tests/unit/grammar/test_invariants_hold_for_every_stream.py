"""Random and mutated streams: whatever comes in, the log keeps its invariants and its bytes."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runwire.grammar import Limits, Produced, RunMachine
from runwire.grammar.invariants import broken_invariants
from runwire_schemas.record import Malformed, Record
from unit.grammar.story import (
    HEARTBEAT,
    RUN_END,
    USAGE,
    Body,
    encoded,
    end,
    finish,
    result,
    start,
    text,
    thinking,
    tool,
    tool_end,
)

# Small, so that random streams reach every bound.
LIMITS = Limits(
    chunk_bytes=600,
    blocks=8,
    open_blocks=4,
    finished_calls=2,
    waiting_bytes=12,
    argument_bytes=30,
    unanswered_calls=4,
    answered_calls=2,
    tool_bytes=200,
    sources=3,
    parked_records=4,
    parked_bytes=400,
    evidence_entries=3,
    evidence_bytes=500,
)
KINDS = ("text", "thinking", "tool_use", "tool_result", "image")
WORDS = ("", "a", "é\n", '"x', "{", '{"a": 1}', "}", " ")


@dataclass
class Writer:
    """Turns dice into records that are legal more often than not."""

    records: list[Record | Malformed] = field(default_factory=list[Record | Malformed])
    open: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    seqs: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    call: int = 1
    next_index: int = 0
    epoch: int = 0
    now: int = 1000

    def write(self, body: Body | bytes, *, kind: str = "provider", src: str = "p", jump: int = 1) -> None:
        epoch = self.epoch if src == "p" else 0
        seq = self.seqs.get((src, epoch), 0) + jump
        self.seqs[src, epoch] = max(seq, self.seqs.get((src, epoch), 0))
        self.now += 1
        call = None if kind == "control" else f"c{self.call}"
        if src == "~enforcer":
            epoch = seq = 0
        usage = "optional" if self.call % 2 else None
        self.records.append(Record(f"{self.now}-0", "r", kind, src, epoch, seq, encoded(body), call, usage))  # type: ignore[arg-type]

    def act(self, name: str, dice: int) -> None:
        getattr(self, f"do_{name}")(dice)

    def do_start(self, dice: int) -> None:
        kind = KINDS[dice % 5]
        self.open[self.next_index] = (kind, "")
        self.write(start(self.next_index, kind))
        self.next_index += 1

    def _pick(self, dice: int) -> int:
        return list(self.open)[dice % len(self.open)] if self.open else dice

    def do_delta(self, dice: int) -> None:
        index = self._pick(dice)
        kind, said = self.open.get(index, ("text", ""))
        word = WORDS[dice % len(WORDS)]
        self.open[index] = (kind, said + word)
        if kind == "tool_use":
            more = {"name": "f"} if dice % 3 else {}
            self.write(tool(word, index, f"t{index % 3}", **more, **({"gemini": {"k": 1}} if dice % 5 == 0 else {})))
        else:
            self.write(
                (thinking if kind == "thinking" else text)(word, index, **({"gemini": 1} if dice % 7 == 0 else {}))
            )

    def do_end(self, dice: int) -> None:
        index = self._pick(dice)
        kind, said = self.open.pop(index, ("text", ""))
        bodies: dict[str, Body] = {
            "text": end(index, text=said),
            "thinking": end(index, "thinking", text=said, signature="s"),
            "tool_use": tool_end(said, index, f"t{index % 3}"),
            "tool_result": result(f"t{dice % 4}", {"x": [1.0]}, index)[1],
            "image": end(index, "image", mediaType="i", url="u"),
        }
        self.write(bodies[kind])

    def do_usage(self, _: int) -> None:
        self.write(USAGE)

    def do_finish(self, dice: int) -> None:
        if dice % 4:
            while self.open:
                self.do_end(0)
        self.write(finish(("stop", "tool_calls", "max_tokens", "error", "aborted")[dice % 5]))
        self.call += 1
        self.open.clear()
        self.next_index = 0

    def do_control(self, dice: int) -> None:
        bodies: list[Body] = [
            HEARTBEAT,
            {"type": "run-start", "mode": "agent-loop", "agentId": "a"},
            {"type": "run-start", "threadId": "t"},
            {"type": "run-end", "reason": "suspended"},
            RUN_END,
            {"type": "run-end", "reason": "error"},
            {"type": "run-end", "reason": "aborted"},
        ]
        self.write(bodies[dice % len(bodies)], kind="control")

    def do_agent(self, dice: int) -> None:
        bodies: list[Body | bytes] = [
            {"type": "source", "id": "s", "sourceType": "url"},
            {"type": "raw", "payload": {"a": 1}},
            {"type": "raw", "payload": 1},
            {"type": "text-delta", "payload": {}},
            b"{",
        ]
        self.write(bodies[dice % len(bodies)], kind="agent")

    def do_wild(self, dice: int) -> None:
        bodies: list[Body | bytes] = [
            b"\xff",
            b"x" * 700,
            b'{"type":"text-delta","index":0,"text":"\\ud800"}',
            {"type": "what"},
            {"type": "text-delta", "index": -1, "text": ""},
            {"type": "text-delta", "index": "0", "text": ""},
        ]
        self.write(bodies[dice % len(bodies)])

    def do_skip(self, dice: int) -> None:
        self.write(HEARTBEAT, kind="control", jump=1 + dice % 4)

    def do_fill(self, dice: int) -> None:
        self.write(HEARTBEAT, kind="control", jump=-(dice % 4))

    def do_other(self, dice: int) -> None:
        self.write(HEARTBEAT if dice % 3 else start(9), kind="control" if dice % 3 else "provider", src=f"q{dice % 4}")

    def do_epoch(self, dice: int) -> None:
        self.epoch = max(0, self.epoch + (1 if dice % 3 else -1))
        self.write(HEARTBEAT, kind="control")

    def do_repeat(self, dice: int) -> None:
        if self.records:
            self.now += 1
            again = self.records[-1 - dice % len(self.records)]
            id_ = f"{self.now}-0"
            self.records.append(
                again._replace(id=id_) if isinstance(again, Malformed) else msgspec.structs.replace(again, id=id_)
            )

    def do_malformed(self, dice: int) -> None:
        self.now += 1
        seq = self.seqs.get(("p", self.epoch), 0) + 1 if dice % 2 else None
        if seq is not None:
            self.seqs["p", self.epoch] = seq
        self.records.append(Malformed(f"{self.now}-0", "reason", "r", "p", self.epoch, seq, b"m"))

    def do_timeout(self, dice: int) -> None:
        phases = ("call", "tools", "idle", "suspended", "gap", "ending")
        known = self.records[-1 - dice % 3].id if len(self.records) > 2 else "1-0"
        self.write({"type": "timeout", "phase": phases[dice % 6], "after": known}, kind="control", src="~enforcer")


COMMON = ("start", "delta", "delta", "delta", "end", "usage", "finish")
RARE = ("control", "agent", "wild", "skip", "fill", "other", "epoch", "repeat", "malformed", "timeout")
ACTIONS = st.one_of(st.sampled_from(COMMON), st.sampled_from(COMMON), st.sampled_from(COMMON), st.sampled_from(RARE))


@st.composite
def streams(draw: st.DrawFn) -> list[Record | Malformed]:
    writer = Writer()
    if draw(st.booleans()):
        writer.write({"type": "run-start", "mode": "agent-loop"}, kind="control")
    for name, dice in draw(st.lists(st.tuples(ACTIONS, st.integers(0, 99)), max_size=60)):
        writer.act(name, dice)
    return writer.records


def run(
    records: list[Record | Malformed],
    *,
    cuts: frozenset[int] = frozenset(),
    hurry: bool = True,
    look: Callable[[RunMachine, Record | Malformed, bytes], None] | None = None,
) -> tuple[list[bytes], list[Any], list[Any], bytes]:
    """Chunks, evidence and events of a stream, stored and loaded at `cuts`, and the state at its end."""
    machine = RunMachine("r", LIMITS)
    machine.hurry = hurry
    parts: list[Produced] = []
    for number, record in enumerate(records):
        if number in cuts:
            parts.append(machine.take())
            parked = set(machine.parked)
            machine = RunMachine("r", LIMITS, machine.blob(), machine.seq)
            machine.hurry = hurry
            machine.restore_parked(old for old in records if isinstance(old, Record) and old.id in parked)
        before = machine.blob() if look is not None else b""
        machine.feed(record)
        if look is not None:
            look(machine, record, before)
    parts.append(machine.take())
    assert all(left.base_seq + len(left.chunks) == right.base_seq for left, right in pairwise(parts))
    return (
        [chunk for part in parts for chunk in part.chunks],
        [found for part in parts for found in part.evidence],
        [event for part in parts for event in part.events],
        machine.blob(),
    )


QUICK = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(streams())
def test_the_five_invariants(records: list[Record | Malformed]) -> None:
    chunks, _, events, _ = run(records)
    log = [json.loads(chunk) for chunk in chunks]
    assert broken_invariants("r", chunks) == []
    assert all(chunk["runId"] == "r" and chunk["from"] in ("AGENT", "SYSTEM") for chunk in log)
    assert all(msgspec.json.format(chunk, indent=-1) == chunk for chunk in chunks)
    finished = bool(log) and log[-1]["type"] == "finish"
    assert [event.__struct_config__.tag for event in events].count("run.ended") == int(finished)


@QUICK
@given(streams(), st.data())
def test_storing_and_loading_anywhere_changes_nothing(records: list[Record | Malformed], data: st.DataObject) -> None:
    cuts = data.draw(st.frozensets(st.integers(0, max(0, len(records) - 1)), max_size=8))
    assert run(records, cuts=cuts) == run(records)


@QUICK
@given(streams())
def test_the_quick_way_gives_what_the_general_way_gives(records: list[Record | Malformed]) -> None:
    assert run(records, hurry=True) == run(records, hurry=False)


@QUICK
@given(streams())
def test_every_run_can_be_ended_by_time_alone(records: list[Record | Malformed]) -> None:
    machine = RunMachine("r", LIMITS)
    for record in records:
        machine.feed(record)
    waits = 0
    while machine.exists and (body := machine.due()) is not None:
        assert machine.deadline_ms() > 0
        machine.feed(Record(f"{10**6 + waits}-0", "r", "control", "~enforcer", 0, 0, body))
        waits += 1
        assert waits < 5, "a timeout that was due has had no effect"
    chunks = machine.take().chunks
    assert broken_invariants("r", chunks) == []
    assert not machine.exists or json.loads(chunks[-1])["type"] == "finish"


@QUICK
@given(streams())
def test_a_refused_record_changes_no_more_than_its_bookkeeping(records: list[Record | Malformed]) -> None:
    def look(machine: RunMachine, record: Record | Malformed, before: bytes) -> None:
        [*found] = machine.evidence
        produced = machine.take()
        own = [evidence for evidence in found if evidence.record == record.id]
        if not before or len(found) != 1 or not own or own[0].cls != "refused":
            return
        if produced.chunks or machine.finished:
            return
        old, new = RunMachine("r", LIMITS, before).state, machine.state
        for name in ("call", "held", "tools", "answered", "uses", "steps", "blocks", "suspended", "totals", "mode"):
            if record.epoch == 0:
                assert getattr(old, name) == getattr(new, name)

    run(records, look=look)


@QUICK
@given(streams())
def test_the_state_stays_small(records: list[Record | Malformed]) -> None:
    def look(machine: RunMachine, _record: Record | Malformed, _before: bytes) -> None:
        assert len(machine.blob()) < 6_000
        state = machine.state
        assert len(state.tools) <= LIMITS.unanswered_calls
        assert len(state.answered) <= LIMITS.answered_calls
        assert len(state.sources) <= LIMITS.sources
        assert 0 <= state.args_size <= LIMITS.argument_bytes
        asked, answered = state.tools.values(), state.answered.values()
        assert set(state.uses) <= {tool.id for tool in asked} | {tool.id for tool in answered}
        known = sum(len(tool.args.encode()) for tool in state.tools.values() if tool.args is not None)
        waiting = sum(block.parts_size for block in (state.call.blocks.values() if state.call else ()))
        assert state.args_size == known + waiting

    run(records, look=look)


@QUICK
@given(streams(), st.integers(0, 59), st.binary(max_size=40))
def test_any_bytes_in_a_body_are_evidence_at_most(records: list[Record | Malformed], place: int, body: bytes) -> None:
    mutated = [
        msgspec.structs.replace(record, body=record.body[:place] + body)
        if number == place and isinstance(record, Record)
        else record
        for number, record in enumerate(records)
    ]
    chunks, evidence, _, _ = run(mutated)
    assert broken_invariants("r", chunks) == []
    for found in evidence:
        assert found.code
        assert base64.b64encode(found.body or b"") is not None
        assert msgspec.json.encode(found)


def test_a_story_reaches_the_end_of_every_kind() -> None:
    """The writer above is worth its name: over many dice its runs end in all ways."""
    reasons: set[str] = set()
    codes: set[str] = set()
    for seed in range(250):
        writer = Writer()
        dice = seed * 7919 + 13
        if seed % 2:
            writer.write({"type": "run-start", "mode": "agent-loop"}, kind="control")
        for _ in range(40):
            dice = (dice * 1103515245 + 12345) % 2**31
            pool: tuple[str, ...] = RARE if dice % 12 == 0 else COMMON
            writer.act(pool[dice // 64 % len(pool)], dice // 1024 % 100)
        chunks, evidence, _, _ = run(writer.records)
        codes.update(found.code for found in evidence)
        if chunks and b'"type":"finish"' in chunks[-1][:20]:
            reasons.add(json.loads(chunks[-1])["payload"]["stepResult"]["reason"])
    assert reasons >= {"stop", "error", "abort", "length", "tool-calls"}
    assert len(codes) > 15


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_batches_of_any_size_give_the_same(size: int) -> None:
    writer = Writer()
    for number in range(60):
        writer.act(COMMON[number % len(COMMON)], number * 7)
    cuts = frozenset(range(0, len(writer.records), size))
    assert run(writer.records, cuts=cuts) == run(writer.records)

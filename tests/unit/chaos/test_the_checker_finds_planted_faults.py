"""A history in which all went well passes, and each planted fault turns its own counter: the checker cannot sleep."""

from collections.abc import Callable

import pytest

from runwire.chaos.checker import check
from runwire.chaos.content import TOKEN, Planned, Role, plan, run_id
from runwire.chaos.history import (
    Ack,
    Cut,
    Delivery,
    History,
    LogEntry,
    ProducerLog,
    RawEntry,
    Replayed,
    Session,
    Stored,
)
from runwire.chaos.replay import replay
from runwire.chaos.schedule import FaultKind
from runwire.chaos.sessions import digest_of
from runwire.chaos.verdict import COUNTERS, Verdict
from runwire.grammar.limits import Limits
from runwire.grammar.machine import RunMachine
from runwire_schemas.keys import Keys, partition_of
from runwire_schemas.record import ENFORCER_SRC, Kind, Record, fields_of, parse

SEED = 3
START = 1_000_000
LIMITS = Limits(gap_ms=2500, idle_ms=3000, ending_ms=3000, idle_call_ms=3000, idle_tools_ms=3000)
RUNS = [run_id(SEED, slot, number) for slot in range(2) for number in range(4)]
PARTITION = 0


class World:
    """A broker and its witnesses after a run of chaos without any fault in the product. Tests then break one thing."""

    def __init__(self) -> None:
        self.raw: list[RawEntry] = []
        self.producers: list[ProducerLog] = []
        self.logs: dict[str, list[LogEntry]] = {}
        self.copies: dict[str, list[bytes]] = {}
        self.sessions: list[Session] = []
        self.cuts: list[Cut] = []
        self.expiry: dict[str, int] = {"rw:meta": -1, "{rw:0}:raw": -1, "{rw:0}:lease:enforcer": -1}
        self.open: set[str] = set()
        self.unannounced: set[str] = set()
        self.ms = START

    def write(self, run: str, generation: int, role: Role, count: int | None = None) -> int:
        """A process of this generation writes the first `count` records of its plan; the number written."""
        records = plan(run, generation, role).records[:count]
        for seq, record in enumerate(records, 1):
            # A stable source: its successor raises the epoch.
            src, epoch = ("joined", 0) if role == "join" else ("slot", generation)
            self.append(run, src, epoch, seq, record)
        return len(records)

    def append(self, run: str, src: str, epoch: int, seq: int, what: Planned) -> None:
        self.ms += 1
        kind: Kind = "provider" if what.call else "control"
        record = Record(
            id=f"{self.ms}-0", run=run, src=src, epoch=epoch, seq=seq, kind=kind, call=what.call, body=what.body
        )
        fields = [v if isinstance(v, bytes) else str(v).encode() for v in fields_of(record)]
        self.raw.append(RawEntry(record.id, record.run, record.call, record.body, fields))

    def time_out(self, run: str, after_ms: int) -> None:
        """Time passes, and the owner writes the record that says so."""
        machine = RunMachine(run, LIMITS)
        for entry in self.raw:
            if entry.run == run:
                machine.feed(parse(entry.id.encode(), list(entry.fields)))
        self.ms += after_ms - 1
        body = machine.due()
        assert body is not None
        self.append(run, ENFORCER_SRC, 0, 0, Planned(body))

    def time_out_open_runs(self) -> None:
        for run, result in self.replayed().items():
            if result.ended is None:
                self.time_out(run, 3000)

    def producer(
        self, generation: int, counts: dict[str, int], role: Role = "start", died: float | None = None
    ) -> None:
        roles = dict.fromkeys(counts, role)
        self.producers.append(ProducerLog(0, generation, roles, [Ack(1.0, 1.1, counts)], died))

    def settle(self) -> None:
        """The enforcer does its work, and one reader sees all of it."""
        for run, result in self.replayed().items():
            self.logs[run] = [LogEntry(f"{seq}-0", data) for seq, data in enumerate(result.chunks, 1)]
            self.copies[run] = list(result.chunks)
            self.expiry[Keys().partition(PARTITION).log(run)] = 86_400_000
            self.expiry[Keys().partition(PARTITION).state(run)] = 604_800_000
            self.read(run)

    def read(self, run: str) -> None:
        seen = [Delivery(2.0, seq, digest_of(entry.data)) for seq, entry in enumerate(self.logs[run], 1)]
        self.sessions.append(Session(0, run, 0, 1.0, 3.0, seen, "ended"))

    def replayed(self) -> dict[str, Replayed]:
        return replay({PARTITION: self.raw}, LIMITS)

    def judge(self, faults: dict[FaultKind, int] | None = None) -> Verdict:
        announced = frozenset(self.logs.keys() - self.unannounced)
        stored = Stored({PARTITION: self.raw}, self.logs, self.copies, self.expiry, frozenset(self.open), announced)
        happened = dict.fromkeys(FaultKind, 1) if faults is None else faults
        history = History(
            20.0, self.producers, self.sessions, self.cuts, happened, frozenset(FaultKind), stored, idle_ms=3000
        )
        return check(history, self.replayed())

    def forget_raw(self, run: str, body: bytes) -> None:
        self.raw = [entry for entry in self.raw if (entry.run, entry.body) != (run, body)]

    def delta_at(self, run: str) -> int:
        """The place of some delta in the run's log, not its first."""
        places = [n for n, entry in enumerate(self.logs[run]) if TOKEN.search(entry.data.decode())]
        return places[len(places) // 2]

    def renumber(self, run: str, data: list[bytes]) -> None:
        self.logs[run] = [LogEntry(f"{seq}-0", chunk) for seq, chunk in enumerate(data, 1)]


@pytest.fixture
def world() -> World:
    w = World()
    counts: dict[str, int] = {}
    for run in RUNS:
        counts[run] = w.write(run, 0, "start")
    w.time_out_open_runs()
    w.producer(0, counts)
    w.settle()
    return w


@pytest.fixture
def victim(world: World) -> str:
    """A run of several text deltas."""
    return max(world.logs, key=lambda run: sum(b'"text-delta"' in entry.data for entry in world.logs[run]))


def test_a_history_without_a_fault_passes(world: World) -> None:
    verdict = world.judge()
    assert verdict.findings == ()
    assert verdict.ok
    assert verdict.summary()["published"] == sum(len(plan(run, 0, "start").records) for run in RUNS)
    assert [verdict.summary()[counter] for counter in COUNTERS] == [0] * len(COUNTERS)


def test_content_of_every_role_is_legal_and_complete() -> None:
    """A process is killed in the middle; its successor replaces it, joins or aborts. Nothing of that is a finding."""
    w = World()
    for n, run in enumerate(RUNS):
        half = w.write(run, 0, "start", len(plan(run, 0, "start").records) // 2 or 1)
        w.producer(0, {run: half}, died=1.5)
        role: Role = ("replace", "join", "abort")[n % 3]
        w.producer(1, {run: w.write(run, 1, role)}, role)
    w.time_out_open_runs()
    w.settle()
    assert w.judge().findings == ()


def test_an_acknowledged_record_that_is_not_in_raw_is_lost(world: World, victim: str) -> None:
    body = next(record.body for record in reversed(plan(victim, 0, "start").records) if record.token)
    world.forget_raw(victim, body)
    assert world.judge().count("lost") == 1


def test_a_delta_that_is_in_raw_and_not_in_the_log_is_lost(world: World, victim: str) -> None:
    data = [entry.data for entry in world.logs[victim]]
    del data[world.delta_at(victim)]
    world.renumber(victim, data)
    assert world.judge().count("lost") == 1


def test_a_delta_that_is_in_the_log_twice_is_doubled(world: World, victim: str) -> None:
    data = [entry.data for entry in world.logs[victim]]
    at = world.delta_at(victim)
    world.renumber(victim, [*data[: at + 1], data[at], *data[at + 1 :]])
    assert world.judge().count("doubled") == 1


def test_two_deltas_that_changed_places_are_reordered(world: World, victim: str) -> None:
    data = [entry.data for entry in world.logs[victim]]
    first, second = [n for n, chunk in enumerate(data) if TOKEN.search(chunk.decode())][:2]
    data[first], data[second] = data[second], data[first]
    world.renumber(victim, data)
    assert world.judge().count("reordered") == 1


def test_a_missing_number_in_a_log_is_a_hole(world: World, victim: str) -> None:
    del world.logs[victim][world.delta_at(victim)]
    assert world.judge().count("holes") == 1


def test_a_log_that_breaks_an_invariant_is_illegal(world: World, victim: str) -> None:
    data = [entry.data for entry in world.logs[victim]]
    world.renumber(victim, [*data, data[-1]])
    assert any("follows finish" in finding.sentence for finding in world.judge().findings)
    assert world.judge().count("illegal") >= 1


def test_a_chunk_whose_text_was_changed_is_illegal(world: World, victim: str) -> None:
    data = [entry.data for entry in world.logs[victim]]
    at = world.delta_at(victim)
    data[at] = data[at].replace(b" ", b"_", 1)
    world.renumber(victim, data)
    sentences = [finding.sentence for finding in world.judge().findings if finding.counter == "illegal"]
    assert any("nobody wrote that" in sentence for sentence in sentences)
    assert any("the grammar makes of the raw records" in sentence for sentence in sentences)


def test_a_partition_log_that_differs_from_the_run_log_is_illegal(world: World, victim: str) -> None:
    del world.copies[victim][-1]
    assert world.judge().count("illegal") == 1


def test_a_log_of_a_run_that_nobody_wrote_is_illegal(world: World) -> None:
    world.write(run_id(SEED, 9, 9), 0, "start")
    world.logs |= {run: [LogEntry("1-0", b"{}")] for run in world.replayed() if run not in world.logs}
    assert any(finding.sentence == "nobody wrote this run" for finding in world.judge().findings)


def test_an_end_that_no_event_announces_is_a_lost_event(world: World, victim: str) -> None:
    world.unannounced.add(victim)
    assert [finding.counter for finding in world.judge().findings] == ["lost"]


def test_a_log_without_finish_is_unended(world: World, victim: str) -> None:
    world.renumber(victim, [entry.data for entry in world.logs[victim]][:-1])
    assert world.judge().count("unended") == 1


def test_a_run_that_waits_for_a_deadline_is_unended(world: World, victim: str) -> None:
    world.open.add(victim)
    assert world.judge().count("unended") == 1


def test_a_finished_run_s_key_without_ttl_is_left_over(world: World, victim: str) -> None:
    world.expiry[Keys().partition(PARTITION).log(victim)] = -1
    assert world.judge().count("leftover_keys") == 1


def test_a_key_that_the_keys_module_does_not_know_is_left_over(world: World) -> None:
    world.expiry["rw:oops"] = 1000
    assert world.judge().count("leftover_keys") == 1


def test_a_violation_that_nothing_explains_is_illegal() -> None:
    """A producer that skips a record: the log is what the grammar makes of it, and still something went wrong."""
    w = World()
    run = RUNS[0]
    count = w.write(run, 0, "start")
    skipped = w.raw.pop(1)
    w.time_out(run, 10_000)
    w.producer(0, {run: count})
    w.settle()
    sentences = [finding.sentence for finding in w.judge().findings]
    assert "it was ended by sequence-gap, and nothing done to it explains that" in sentences
    assert skipped not in w.raw


def test_a_timeout_that_came_too_early_is_illegal() -> None:
    w = World()
    run = RUNS[0]
    w.producer(0, {run: w.write(run, 0, "start", 3)})
    w.time_out(run, 2900)
    w.settle()
    assert [finding.counter for finding in w.judge().findings] == ["illegal"]
    assert "after a silence of 2900 ms" in w.judge().findings[0].sentence


def test_what_comes_after_the_end_is_late_and_not_lost() -> None:
    w = World()
    run = RUNS[0]
    w.write(run, 0, "start", 3)
    w.time_out(run, 3000)
    records = plan(run, 0, "start").records
    for seq, record in enumerate(records[3:], 4):
        w.append(run, "slot", 0, seq, record)
    w.producer(0, {run: len(records)})
    w.settle()
    assert w.judge().findings == ()


def replace_session(world: World, run: str, change: Callable[[Session], Session]) -> None:
    world.sessions = [change(session) if session.run == run else session for session in world.sessions]


@pytest.mark.parametrize(
    ("counter", "change"),
    [
        ("holes", lambda seen: [*seen[:2], *seen[3:]]),
        ("doubled", lambda seen: [*seen[:2], seen[1], *seen[2:]]),
        ("reordered", lambda seen: [*seen[:2], seen[0], *seen[2:]]),
        ("illegal", lambda seen: [seen[0]._replace(digest="0" * 16), *seen[1:]]),
        ("holes", lambda seen: seen[:-1]),
    ],
)
def test_what_a_reader_saw_must_be_a_piece_of_the_log(
    world: World, victim: str, counter: str, change: Callable[[list[Delivery]], list[Delivery]]
) -> None:
    replace_session(world, victim, lambda session: session._replace(deliveries=change(list(session.deliveries))))
    assert [finding.counter for finding in world.judge().findings] == [counter]


def test_a_reader_that_never_came_to_the_end_is_a_hole(world: World, victim: str) -> None:
    replace_session(world, victim, lambda session: session._replace(outcome="lost"))
    assert [finding.counter for finding in world.judge().findings] == ["holes"]


def test_a_resumed_reader_is_judged_from_its_cursor(world: World, victim: str) -> None:
    whole = next(session for session in world.sessions if session.run == victim)
    killed = whole._replace(deliveries=whole.deliveries[:3], outcome="lost")
    resumed = whole._replace(after=3, begun=2.0, deliveries=whole.deliveries[3:])
    world.sessions = [session for session in world.sessions if session.run != victim] + [killed, resumed]
    assert world.judge().findings == ()


def test_cursor_ahead_is_only_for_those_whose_log_was_cut(world: World, victim: str) -> None:
    whole = next(session for session in world.sessions if session.run == victim)
    ahead = whole._replace(deliveries=[], outcome="cursor-ahead", after=len(whole.deliveries) + 1, begun=0.5, ended=0.6)
    world.sessions.append(ahead)
    assert [finding.counter for finding in world.judge().findings] == ["illegal"]
    world.cuts.append(Cut(0.2, 0.4))
    assert world.judge().findings == ()


def test_after_a_cut_a_reader_is_not_led_on_to_other_content(world: World, victim: str) -> None:
    def other(session: Session) -> Session:
        seen = list(session.deliveries)
        return session._replace(deliveries=[*seen[:2], seen[2]._replace(digest="0" * 16), *seen[3:]])

    replace_session(world, victim, other)
    world.cuts.append(Cut(1.5, 1.8))
    assert ["was led on" in finding.sentence for finding in world.judge().findings] == [True]


def cut_world(*, died: float | None, acks: list[Ack], cut: Cut) -> Verdict:
    """Two records of a run are in raw, a third was acknowledged and went with the tail."""
    w = World()
    run = next(run for run in RUNS if plan(run, 0, "start").records[2].token)
    w.write(run, 0, "start", 2)
    w.time_out(run, 3000)
    w.producers.append(ProducerLog(0, 0, {run: "start"}, [ack._replace(counts={run: 3}) for ack in acks], died))
    w.cuts.append(cut)
    w.settle()
    return w.judge()


def test_a_record_that_went_with_the_tail_and_its_dead_producer_is_cut() -> None:
    verdict = cut_world(died=12.0, acks=[Ack(9.0, 9.1, {})], cut=Cut(10.0, 11.0))
    assert (verdict.cut, verdict.count("lost")) == (1, 0)


@pytest.mark.parametrize(
    ("died", "acks", "cut"),
    [
        (None, [Ack(9.0, 9.1, {})], Cut(10.0, 11.0)),  # it lived and should have replayed
        (12.0, [Ack(4.0, 4.1, {})], Cut(10.0, 11.0)),  # acknowledged long before
        (12.0, [Ack(9.0, 9.1, {}), Ack(11.5, 11.6, {})], Cut(10.0, 11.0)),  # it spoke to the new server before it died
        (12.0, [Ack(11.5, 11.6, {})], Cut(10.0, 11.0)),  # acknowledged by the new server
    ],
)
def test_a_cut_excuses_nothing_else(died: float | None, acks: list[Ack], cut: Cut) -> None:
    verdict = cut_world(died=died, acks=acks, cut=cut)
    assert (verdict.cut, verdict.count("lost")) == (0, 1)


def test_a_run_without_every_kind_of_fault_proves_too_little(world: World) -> None:
    faults = dict.fromkeys(FaultKind, 1)
    del faults[FaultKind.AOF_CUT]
    verdict = world.judge(faults)
    assert verdict.findings == ()
    assert not verdict.ok
    assert verdict.missing == [FaultKind.AOF_CUT]


def test_nothing_published_proves_nothing() -> None:
    assert not World().judge().ok


def test_runs_are_in_partitions_by_their_id() -> None:
    """The world above has one partition; the real one must be told apart by the same function."""
    assert {partition_of(run, 1) for run in RUNS} == {PARTITION}

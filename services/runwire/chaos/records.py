"""Where is every acknowledged record? Lost, doubled and reordered records, judged from raw stream and run log. Pure."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from .content import TOKEN, Planned, plan
from .history import Cut, History, LogEntry, ProducerLog, RawEntry, Replayed
from .verdict import Finding

# A producer replays what was acknowledged in the 5 s before the last good reply (DESIGN.md, Producers).
REPLAY_WINDOW_S: Final = 5.0
_DELTAS: Final = {"text-delta": "text", "reasoning-delta": "text", "tool-call-delta": "argsTextDelta"}

Place = tuple[int, int]  # (generation, number in its plan): the order in which a run's records were written


class Accounts(NamedTuple):
    published: int
    cut: int
    findings: tuple[Finding, ...]


class Shown(NamedTuple):
    """A delta as a log shows it: where it belongs, and its text."""

    place: Place
    text: str


def account(history: History, replayed: Mapping[str, Replayed]) -> Accounts:
    """Follow every acknowledged record into the raw stream and, if it is a delta, into its run's log."""
    writers: dict[str, list[ProducerLog]] = defaultdict(list)
    for producer in sorted(history.producers, key=lambda p: p.generation):
        for run in producer.roles:
            writers[run].append(producer)
    raw = _by_run(history.stored.raw)
    published = cut = 0
    findings: list[Finding] = []
    for run, producers in writers.items():
        shown = list(_shown(history.stored.logs.get(run, ())))
        findings += _order(run, shown)
        findings += _content(run, shown, producers)
        one = _Run(run, raw.get(run, ()), {delta.place for delta in shown}, replayed.get(run), history.cuts)
        for producer in producers:
            one.follow(producer)
        published, cut = published + one.published, cut + one.cut
        findings += one.findings
    findings += [Finding("illegal", run, "nobody wrote this run") for run in raw.keys() - writers.keys()]
    return Accounts(published, cut, tuple(findings))


def _by_run(raw: Mapping[int, Sequence[RawEntry]]) -> dict[str, list[RawEntry]]:
    runs: dict[str, list[RawEntry]] = defaultdict(list)
    for entries in raw.values():
        for entry in entries:
            runs[entry.run].append(entry)
    return runs


def _shown(log: Sequence[LogEntry]) -> Iterator[Shown]:
    for entry in log:
        if b"-delta" not in entry.data:
            continue
        chunk: dict[str, Any] = json.loads(entry.data)
        field = _DELTAS.get(chunk["type"])
        text = str(chunk["payload"][field]) if field else ""
        if field and (token := TOKEN.search(text)):
            yield Shown((int(token[1]), int(token[2])), text)


def _order(run: str, shown: Sequence[Shown]) -> Iterator[Finding]:
    seen: set[Place] = set()
    newest: Place = (-1, -1)
    for delta in shown:
        if delta.place in seen:
            yield Finding("doubled", run, f"record {delta.place} is in the log twice")
        elif delta.place < newest:
            yield Finding("reordered", run, f"record {delta.place} comes after {newest}")
        seen.add(delta.place)
        newest = max(newest, delta.place)


def _content(run: str, shown: Sequence[Shown], producers: Sequence[ProducerLog]) -> Iterator[Finding]:
    written = {(p.generation, n): record for p in producers for n, record in enumerate(_records(run, p))}
    for delta in shown:
        record = written.get(delta.place)
        if record is None or record.text != delta.text:
            sentence = f"the log shows {delta.text[:80]!r} for record {delta.place}: nobody wrote that"
            yield Finding("illegal", run, sentence)


def _records(run: str, producer: ProducerLog) -> Sequence[Planned]:
    return plan(run, producer.generation, producer.roles[run]).records


class _Run:
    """The acknowledged records of one run, one writer after the other."""

    def __init__(
        self, run: str, raw: Sequence[RawEntry], places: set[Place], replayed: Replayed | None, cuts: Sequence[Cut]
    ) -> None:
        self.run, self.places, self.cuts = run, places, cuts
        self.ended = replayed.ended if replayed else None
        self.first: dict[tuple[str | None, bytes], str] = {}
        for entry in raw:
            self.first.setdefault((entry.call, entry.body), entry.id)
        self.published = self.cut = 0
        self.findings: list[Finding] = []

    def follow(self, producer: ProducerLog) -> None:
        count = max((ack.counts.get(self.run, 0) for ack in producer.acks), default=0)
        self.published += count
        for number, record in enumerate(_records(self.run, producer)[:count]):
            place = (producer.generation, number)
            entry = self.first.get((record.call, record.body))
            if entry is None and _went_with_the_tail(producer, self.run, number, self.cuts):
                self.cut += 1
            elif entry is None:
                self.findings.append(Finding("lost", self.run, f"record {place} was acknowledged and is not in raw"))
            elif record.token and place not in self.places and not self.late(entry):
                sentence = f"record {place} is in raw as {entry}, before the run's end, and not in the log"
                self.findings.append(Finding("lost", self.run, sentence))

    def late(self, entry: str) -> bool:
        """A record that came after the run's end is refused, not lost; the checker asks elsewhere why the run ended."""
        return self.ended is not None and id_of(entry) > id_of(self.ended)


def id_of(entry: str) -> tuple[int, int]:
    """A stream id as Redis orders it."""
    ms, _, number = entry.partition("-")
    return int(ms), int(number)


def _went_with_the_tail(producer: ProducerLog, run: str, number: int, cuts: Sequence[Cut]) -> bool:
    """Acknowledged within the replay window before a cut, by a process that died before it could replay.

    A process that had anything acknowledged by the new server had replayed its tail first, so it has no excuse.
    """
    ack = next((ack for ack in producer.acks if ack.counts.get(run, 0) > number), None)
    if ack is None or producer.died is None:
        return False
    return any(
        ack.begun <= cut.back
        and ack.at >= cut.killed - REPLAY_WINDOW_S
        and not any(later.begun > cut.back for later in producer.acks)
        for cut in cuts
    )

"""The demo's claims, each compared with something that did not go through the deployment."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from runwire.broker.connection import Link, Reply
from runwire.cli.verdict import Tally, judge
from runwire.grammar.limits import Limits
from runwire.grammar.machine import RunMachine
from runwire_schemas.keys import Keys, partition_of
from runwire_schemas.record import Malformed, parse

PAGE = 1000


class Check(NamedTuple):
    """One claim. It holds if `actual` equals `expected`; both are for people to read."""

    claim: str
    expected: str
    actual: str

    @property
    def holds(self) -> bool:
        return self.expected == self.actual


class Stored(NamedTuple):
    """What the broker holds of one run: its log (seq, chunk) and its raw records as stream entries."""

    log: list[tuple[int, bytes]]
    records: list[tuple[bytes, list[bytes]]]


async def stored_run(link: Link, keys: Keys, partitions: int, run: str) -> Stored:
    """Read a run's log and its raw records back from the broker."""
    p = keys.partition(partition_of(run, partitions))
    log = [(int(id_.partition(b"-")[0]), fields[1]) for id_, fields in await _entries(link, p.log(run))]
    raw = await _entries(link, p.raw)
    return Stored(log, [(id_, fields) for id_, fields in raw if _run_of(id_, fields) == run])


async def _entries(link: Link, stream: str) -> list[tuple[bytes, list[bytes]]]:
    found: list[tuple[bytes, list[bytes]]] = []
    start = "-"
    while True:
        page = cast("list[list[Reply]]", await link.call("XRANGE", stream, start, "+", "COUNT", PAGE))
        found += [(cast("bytes", entry[0]), cast("list[bytes]", entry[1])) for entry in page]
        if len(page) < PAGE:
            return found
        start = f"({found[-1][0].decode()}"


def _run_of(entry_id: bytes, fields: list[bytes]) -> str | None:
    record = parse(entry_id, fields)
    return None if isinstance(record, Malformed) else record.run


def recomputed(run: str, records: Iterable[tuple[bytes, list[bytes]]], limits: Limits) -> list[bytes]:
    """The run's chunks as a machine of our own makes them from the same records: no broker, no enforcer."""
    machine = RunMachine(run, limits)
    for entry_id, fields in records:
        machine.feed(parse(entry_id, fields))
    return machine.take().chunks


def text_of_file(run: str, entries: Iterable[tuple[bytes, list[bytes]]], limits: Limits) -> str:
    """SHA-256 of the text that a file holds, by the same offline judge as `runwire check`."""
    tally = Tally()
    judge(RunMachine(run, limits), iter(entries), tally)
    return tally.verdict(run).text_sha256


def text_of_chunks(chunks: Iterable[bytes]) -> str:
    """SHA-256 of the text in these chunks."""
    tally = Tally()
    tally.add(chunks, ())
    return tally.verdict("").text_sha256


def agreement(claim: str, runs: Mapping[str, bool]) -> Check:
    """A claim about every run; the actual side names those that break it."""
    wrong = sorted(run for run, right in runs.items() if not right)
    total = len(runs)
    actual = f"{total - len(wrong)} of {total} runs" + (f", not {', '.join(wrong)}" if wrong else "")
    return Check(claim, f"{total} of {total} runs", actual)


def numbered_without_hole(seqs: Sequence[int]) -> bool:
    """Whether these are exactly 1, 2, 3 … n, with at least one."""
    return bool(seqs) and list(seqs) == list(range(1, len(seqs) + 1))

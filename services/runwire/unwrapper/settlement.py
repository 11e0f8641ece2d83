"""One settlement in the making: records of children for other partitions, and what this partition keeps."""

from typing import Final, NamedTuple

from msgspec.json import Encoder

from runwire.broker.handling import Parcel
from runwire.broker.nests import ACCOUNT, BLOB, LINEAGE, Letters, closed_field
from runwire.broker.settling import HashWrite, Settlement
from runwire.unwrapper.core import child, state
from runwire.unwrapper.core.log import RunLog
from runwire.unwrapper.core.nest import Complaint, Letter
from runwire.unwrapper.core.state import Limits
from runwire.unwrapper.entries import Page
from runwire_schemas.evidence import Evidence
from runwire_schemas.keys import Keys, partition_of
from runwire_schemas.record import UNWRAP_SRC

_encode: Final = Encoder().encode


class Terms(NamedTuple):
    """What all partitions of an unwrapper share."""

    keys: Keys
    partitions: int
    limits: Limits
    tombstone_ms: int
    commit_chunks: int
    commit_bytes: int
    cache_runs: int
    cache_bytes: int


class Birth(NamedTuple):
    """A run that nothing is stored of yet, and whether there is a claim, which is not needed any more then."""

    claimed: bool


class _Change:
    """What is written of one run."""

    __slots__ = ("birth", "changed", "fields", "fresh", "log")

    def __init__(self, log: RunLog, birth: Birth | None) -> None:
        self.log = log
        self.birth = birth
        self.changed = birth is not None
        self.fresh = False
        self.fields: dict[str, bytes] = {}


class Draft:
    """Chunks go in by page; `settle` closes it."""

    def __init__(self, terms: Terms, partition: int) -> None:
        self.letter_bytes = 0
        self._terms = terms
        self._keys = terms.keys.partition(partition)
        self._changes: dict[str, _Change] = {}
        self._letters: dict[tuple[str, int, str], Letters] = {}
        self._parcels: list[Parcel] = []
        self._evidence: list[tuple[str, str, bytes]] = []

    def touches(self, run: str) -> bool:
        """Whether the run is in it already."""
        return run in self._changes

    def feed(self, page: Page, log: RunLog, birth: Birth | None, *, fresh: bool) -> None:
        """Everything of a page goes through its run's log. `fresh`: a new attempt, nothing of the old one stays."""
        change = self._changes.get(page.run)
        if change is None or change.log is not log:
            change = self._changes[page.run] = _Change(log, birth or (change.birth if change else None))
        change.fresh = change.fresh or fresh
        for look in page.looks:
            log.feed(look)
        change.changed = change.changed or log.changed
        taken = log.take()
        for letter in taken.letters:
            self._send(letter, log)
        for ordinal, link in taken.links:
            change.fields[str(ordinal)] = _encode(link)
        for name, done in taken.closed:
            change.fields[closed_field(name)] = child.dump(done)
        for complaint in taken.complaints:
            self._complain(page, complaint)

    def homeless(self, entry_id: str) -> None:
        """An entry that the enforcer did not write."""
        self._note(Evidence(code="entry-unreadable", cls="refused", message="no log of a run", record=entry_id))

    def settle(self, prev: str, first: str, last: str, records: int) -> tuple[Settlement, dict[str, int]]:
        """The settlement, and how many bytes of state it writes of each run."""
        writes: list[HashWrite] = []
        sizes: dict[str, int] = {}
        for run, change in self._changes.items():
            if not (change.changed or change.fresh):
                continue
            log, birth = change.log, change.birth
            fields = [(BLOB, state.dump(log.state)), (ACCOUNT, _encode(log.account())), *change.fields.items()]
            sizes[run] = len(fields[0][1])
            if birth is not None or change.fresh:
                fields.append((LINEAGE, _encode(log.lineage())))
            ttl = self._terms.tombstone_ms if log.sealed else 0
            writes.append(HashWrite(self._keys.nest(run), change.fresh, ttl, fields))
            if birth is not None and birth.claimed:
                writes.append(HashWrite(self._keys.claim(run), fresh=True, ttl_ms=0, fields=[]))
        return Settlement(prev, first, last, records, writes, self._evidence, self._parcels), sizes

    def _send(self, letter: Letter, log: RunLog) -> None:
        terms, child = self._terms, letter.run_id
        key = (log.run_id, log.state.attempt, child)
        letters = self._letters.get(key)
        if letters is None:
            place = partition_of(child, terms.partitions)
            keys = terms.keys.partition(place)
            letters = self._letters[key] = Letters(keys, place, child, UNWRAP_SRC + log.run_id, log.state.attempt)
        self.letter_bytes += len(letter.body)
        if letter.claim is None:
            parcel = letters.parcel(letter.seq, letter.kind, letter.body)
        else:
            parcel = letters.first_parcel(letter.seq, letter.kind, letter.body, letter.claim, terms.tombstone_ms)
        self._parcels.append(parcel)

    def _complain(self, page: Page, complaint: Complaint) -> None:
        look = complaint.look
        self._note(
            Evidence(
                code=complaint.code,
                cls="refused",
                message=f"chunk {look.seq} stays wrapped: {complaint.message}",
                record=page.id,
                run=page.run,
                attempt=page.attempt,
                chunk_type=look.type[:100],
                count=complaint.times,
            )
        )

    def _note(self, evidence: Evidence) -> None:
        self._evidence.append((evidence.run or "", evidence.code, _encode(evidence)))

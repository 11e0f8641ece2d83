"""The unwrapper's logic: chunks of a partition's runs go through their nestings, what comes out is one settlement.

What it holds is a function of the chunks and the stored states. So after a crash between writing to other partitions
and committing, the same records are written again, with the same numbers.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.json import Encoder

from runwire.broker.handling import Batch
from runwire.broker.nests import NestWant, StoredNest
from runwire.broker.reading import Entry
from runwire.broker.settling import Settlement
from runwire.unwrapper.entries import Page, named, read_entry
from runwire.unwrapper.holding import Held
from runwire.unwrapper.settlement import Draft, Terms
from runwire_schemas.evidence import Evidence

# Runs that are loaded for one batch. Most are new and have nothing; a state may have a few hundred children.
LOAD_RUNS: Final = 500
# A settlement writes the state of each run that changed: usually some hundred bytes, but runs with a thousand open
# children each would make commits that take longer than an answer may.
COMMIT_STATE_BYTES: Final = 8 * 2**20

_encode: Final = Encoder().encode


class UnwrapHandler:
    """A handler over the log of a partition."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._held = [Held(terms) for _ in range(terms.partitions)]

    @property
    def cached_runs(self) -> int:
        """Runs in memory."""
        return sum(len(held.logs) for held in self._held)

    def missing(self, batch: Batch) -> list[NestWant]:
        """Runs of this batch that are not in memory, and children of those that are."""
        held = self._held[batch.partition]
        held.pages = [] if batch.quarantine else self._pages(batch)
        wants: dict[str, set[str]] = {}
        for number, page in enumerate(held.pages):
            if not page.looks:
                continue
            if page.run not in wants and len(wants) == LOAD_RUNS:
                held.pages = held.pages[:number]
                break
            outputs = [seen.output for seen in page.looks if seen.output is not None]
            log = held.logs.get(page.run)
            if log is None:
                wants.setdefault(page.run, set()).update(named(page.run, outputs))
            elif log.state.attempt == page.attempt and (names := set(filter(None, map(log.unknown, outputs)))):
                wants.setdefault(page.run, set()).update(names)
        held.wanted = {page.run for page in held.pages if page.looks}
        return [NestWant(run, tuple(sorted(names))) for run, names in wants.items()]

    def _pages(self, batch: Batch) -> list[Page]:
        """As many as one settlement takes: what is left over is read again for the next."""
        pages: list[Page] = []
        chunks = 0
        for entry in batch.entries:
            pages.append(read_entry(entry))
            chunks += pages[-1].chunks
            if chunks >= self._terms.commit_chunks:
                break
        return pages

    def load(self, partition: int, stored: Sequence[StoredNest]) -> list[str]:
        """Take nests in. Raises StateUnreadable and NestUnreadable for what a newer version wrote."""
        held = self._held[partition]
        for nest in stored:
            held.take_in(nest)
        return []

    def restore(self, partition: int, entries: Sequence[Entry]) -> None:
        """No nest refers to entries."""

    def handle(self, batch: Batch) -> Settlement:
        """Take chunks until the settlement is full."""
        if batch.quarantine:
            return self._set_aside(batch)
        held, terms = self._held[batch.partition], self._terms
        draft = Draft(terms, batch.partition)
        done = size = 0
        for page in held.pages:
            if page.looks:
                size += 0 if draft.touches(page.run) else held.size_of(page.run)
                if done and size > COMMIT_STATE_BYTES:
                    break
                held.feed(page, draft)
            elif not page.run:
                draft.homeless(page.id)
            done += 1
            if draft.letter_bytes >= terms.commit_bytes:
                break
        held.pages, held.wanted = [], set()
        settlement, sizes = draft.settle(
            batch.prev, batch.entries[0][0].decode(), batch.entries[done - 1][0].decode(), done
        )
        held.sent(sizes)
        return settlement

    def condemn(self, entry: Entry) -> tuple[str, bytes] | None:  # noqa: ARG002 - the protocol's signature
        """Nobody reads a log by its partition's entries but the nodes behind the enforcer, each for itself."""
        return None

    def committed(self, partition: int, commit: Settlement) -> None:
        """Forget what is over and, when memory is full, what was silent longest."""
        self._held[partition].committed(commit)

    def drop(self, partition: int) -> None:
        """Forget everything of this partition."""
        self._held[partition] = Held(self._terms)

    def _set_aside(self, batch: Batch) -> Settlement:
        """The entry crashed its readers: what it wraps stays wrapped."""
        name = batch.entries[0][0].decode()
        evidence = Evidence(
            code="unwrapper-crash",
            cls="refused",
            message="This entry crashed the unwrapper and was set aside: what it wraps stays wrapped",
            record=name,
        )
        self._held[batch.partition].sent({})
        return Settlement(batch.prev, name, name, 1, [], [("", evidence.code, _encode(evidence))], [])

"""What an unwrapper has in memory of one partition."""

from collections import deque
from typing import Final

import msgspec

from runwire.broker.nests import StoredNest
from runwire.broker.settling import Settlement
from runwire.grammar import state as run_state
from runwire.unwrapper.core import child
from runwire.unwrapper.core import state as nest_state
from runwire.unwrapper.core.child import Child
from runwire.unwrapper.core.log import RunLog
from runwire.unwrapper.core.state import Above, Nest
from runwire.unwrapper.entries import Page
from runwire.unwrapper.settlement import Birth, Draft, Terms
from runwire_schemas.control import Parent
from runwire_schemas.lineage import Ancestry
from runwire_schemas.record import UNWRAP_SRC

# Of children that are done a run remembers so many; the others are loaded again when somebody names them.
CLOSED_KEPT: Final = 256
_lineage: Final = msgspec.json.Decoder(Ancestry).decode


class Held:
    """Runs by id, least recently used first."""

    def __init__(self, terms: Terms) -> None:
        self.logs: dict[str, RunLog] = {}
        self.pages: list[Page] = []
        """Of the batch between `missing` and `handle`."""
        self.wanted: set[str] = set()
        """Runs of that batch: found or loaded, they must stay until it is handled."""
        self._terms = terms
        self._births: dict[str, Birth] = {}
        self._in_flight: dict[str, int] = {}
        self._flights: deque[list[str]] = deque()
        self._sizes: dict[str, int] = {}
        self._size = 0

    def take_in(self, nest: StoredNest) -> None:
        """What was stored of a run, or of children that it had."""
        log = self.logs.get(nest.run_id)
        if log is None:
            log = self.logs[nest.run_id] = self._found(nest) if nest.blob else self._new(nest)
        for name, data in nest.closed.items():
            done = None if data is None else child.load(data)
            log.closed.setdefault(name, _same_attempt(done, log))

    def size_of(self, run: str) -> int:
        """Bytes of the run's state when it was last written or read."""
        return self._sizes.get(run, 0)

    def feed(self, page: Page, draft: Draft) -> None:
        """A page goes through its run's log. A newer attempt begins from nothing; an older one is over."""
        log = self.logs[page.run]
        fresh = page.attempt > log.state.attempt
        if fresh:
            log = self.logs[page.run] = RunLog(
                page.run, self._terms.limits, Nest(attempt=page.attempt, path=log.state.path)
            )
        if page.attempt == log.state.attempt:
            draft.feed(page, log, self._births.get(page.run), fresh=fresh)

    def sent(self, sizes: dict[str, int]) -> None:
        """A settlement of these runs is on its way."""
        self._flights.append(list(sizes))
        for run, size in sizes.items():
            self._births.pop(run, None)
            self._in_flight[run] = self._in_flight.get(run, 0) + 1
            self._weigh(run, size)
            self.logs[run] = self.logs.pop(run)

    def committed(self, _: Settlement) -> None:
        """The oldest settlement took effect: what it wrote need not be remembered for its sake."""
        for run in self._flights.popleft():
            left = self._in_flight.pop(run) - 1
            if left:
                self._in_flight[run] = left
            elif run not in self.wanted:
                log = self.logs[run]
                if log.sealed:
                    self._forget(run)
                elif len(log.closed) > CLOSED_KEPT:
                    log.closed.clear()
        self._evict()

    def _found(self, nest: StoredNest) -> RunLog:
        assert nest.blob is not None
        self._weigh(nest.run_id, len(nest.blob))
        return RunLog(nest.run_id, self._terms.limits, nest_state.load(nest.blob))

    def _new(self, nest: StoredNest) -> RunLog:
        lineage = _origin(nest)
        self._births[nest.run_id] = Birth(nest.claim is not None)
        path = [Above(up.run_id, up.wrapper, up.key) for up in lineage.path]
        return RunLog(nest.run_id, self._terms.limits, Nest(path=path))

    def _weigh(self, run: str, size: int) -> None:
        self._size += size - self._sizes.get(run, 0)
        self._sizes[run] = size

    def _forget(self, run: str) -> None:
        del self.logs[run]
        self._births.pop(run, None)
        self._size -= self._sizes.pop(run, 0)

    def _evict(self) -> None:
        """Each partition may use its share of the memory; what is on its way stays."""
        terms = self._terms
        runs, size = terms.cache_runs / terms.partitions, terms.cache_bytes / terms.partitions
        if len(self.logs) <= runs and self._size <= size:
            return
        for run in list(self.logs):
            if len(self.logs) <= runs and self._size <= size:
                return
            if run not in self._in_flight and run not in self.wanted:
                self._forget(run)


def _same_attempt(done: Child | None, log: RunLog) -> Child | None:
    """What an older attempt had is no child of this one."""
    return done if done is not None and done.attempt == log.state.attempt else None


def _origin(nest: StoredNest) -> Ancestry:
    """Where a run came from: as its claim says, if the enforcer let the claimant write it.

    A claim alone proves nothing. Its run may have been opened by a producer, or for another parent, just before.
    """
    if nest.claim is None:
        return Ancestry()
    claimed = _lineage(nest.claim)
    parent = claimed.parent
    if nest.state is None or parent is None:
        return claimed
    author = run_state.load(nest.state).author
    if author == UNWRAP_SRC + parent.run_id:
        return claimed
    if not author:
        return Ancestry()
    # The claim of its author is lost, which takes a loss of data: what stands above that one cannot be known.
    return Ancestry(path=(Parent(run_id=author.removeprefix(UNWRAP_SRC), wrapper="unknown", key="unknown"),))

"""Pure parts of reading: how much to ask for, what waits unread in memory, when to linger."""

from typing import Final, NamedTuple

Entry = tuple[bytes, list[bytes]]

# One reply of the server is held in memory three times for a moment (its buffer, ours, the parsed form): 2 MiB keeps
# that small and is far above what one commit takes.
REPLY_BYTES: Final = 2 * 1024 * 1024
MAX_COUNT: Final = 500
FIRST_COUNT: Final = 2  # for each partition, before anything was seen: all entries may be large
# What a batch is measured by: every record is weighed, and adding up its 16 names and values would cost as much as
# reading it.
CONTENT: Final = frozenset({b"body", b"d"})
SHORT_FIELDS: Final = 200
DECAY: Final = 0.9  # of the largest entry seen, per read: a single large record is forgotten after some 20 reads


class Appetite:
    """COUNT of the next read: per partition, so that the whole reply stays near `REPLY_BYTES`."""

    __slots__ = ("_count", "_largest", "_most")

    def __init__(self, most: int = MAX_COUNT) -> None:
        """`most` is the highest COUNT ever asked for."""
        self._largest = 0.0
        self._most = most
        self._count = min(FIRST_COUNT, most)

    def count(self, partitions: int) -> int:
        """COUNT for a read over that many partitions: from 1 to the highest."""
        if not self._largest:
            return self._count
        fitting = int(REPLY_BYTES / self._largest / max(partitions, 1))
        return max(1, min(fitting, self._count))

    def partitions(self, hungry: int) -> int:
        """How many of the hungry partitions one read may name: even one entry of each could be too much."""
        return hungry if self._largest * hungry <= REPLY_BYTES else max(1, int(REPLY_BYTES / self._largest))

    def failed(self) -> None:
        """A read was not answered: perhaps what it asked for was too much for the line. Begin with little."""
        self._largest = max(self._largest, float(REPLY_BYTES))
        self._count = min(FIRST_COUNT, self._most)

    def saw(self, largest: int, *, full: bool) -> None:
        """A read brought entries of at most `largest` bytes; `full` tells whether some partition filled its COUNT."""
        self._largest = max(float(largest), self._largest * DECAY)
        if full:
            # Sizes are known only after the fact, so the count doubles only while reads prove to be small.
            self._count = min(self._most, self._count * 2)


def entry_bytes(entry: Entry) -> int:
    """Bytes of all names and values of an entry."""
    return sum(map(len, entry[1]))


class Backlog:
    """Entries of one partition that were read and not yet handed to the handler, in stream order."""

    __slots__ = ("_entries", "_start", "last_read")

    def __init__(self, position: bytes) -> None:
        self._entries: list[Entry] = []
        self._start = 0
        self.last_read = position  # where the next read begins; may run ahead of the committed position

    def __len__(self) -> int:
        return len(self._entries) - self._start

    def extend(self, entries: list[Entry]) -> None:
        """Append what a read brought."""
        if self._start == len(self._entries):
            self._entries, self._start = entries, 0
        else:
            self._entries = self._entries[self._start :] + entries
            self._start = 0
        self.last_read = entries[-1][0]

    def cut(self, records: int, size: int) -> list[Entry]:
        """Take from the front at most `records` entries of together at most `size` bytes, and always at least one."""
        batch = self._entries[self._start : self._start + records]
        weights = _weigh(batch)
        if sum(weights) > size:
            batch = batch[: max(1, _fitting(weights, size))]
        self._start += len(batch)
        return batch

    def put_back(self, entries: list[Entry]) -> None:
        """Entries of the last cut that were not handled come first again."""
        self._entries = entries + self._entries[self._start :]
        self._start = 0


def _weigh(batch: list[Entry]) -> list[int]:
    """About the bytes of each entry. Quick where the content comes last: the rest is a few short names and values."""
    return [len(f[-1]) + SHORT_FIELDS if f[-2] in CONTENT else sum(map(len, f)) for _, f in batch]


def _fitting(weights: list[int], size: int) -> int:
    for number, weight in enumerate(weights):
        size -= weight
        if size < 0:
            return number
    return len(weights)


class Linger(NamedTuple):
    """When reads bring only a few records each and come fast, waiting a little halves the cost per record."""

    few: int = 8
    rate: float = 300.0  # reads per second: below it the CPU that lingering saves does not matter
    pause_s: float = 0.0015

    def pause(self, records: float, reads_per_s: float) -> float:
        """Seconds to wait before the next read, given what reads lately brought."""
        return self.pause_s if 0 < records < self.few and reads_per_s > self.rate else 0.0


class Pace:
    """Measures reads over short windows for `Linger`. Times are monotonic seconds."""

    __slots__ = ("_began", "_linger", "_pause", "_reads", "_records")
    WINDOW_S: Final = 0.1

    def __init__(self, linger: Linger, now: float) -> None:
        self._linger, self._began = linger, now
        self._reads = self._records = 0
        self._pause = 0.0

    def read(self, records: int, now: float) -> float:
        """Count one read; the pause to make before the next."""
        self._reads += 1
        self._records += records
        elapsed = now - self._began
        if elapsed >= self.WINDOW_S:
            # A pause lowers the rate it is decided by, so the time it took is left out.
            busy = max(elapsed - self._pause * self._reads, elapsed / 4)
            self._pause = self._linger.pause(self._records / self._reads, self._reads / busy)
            self._began, self._reads, self._records = now, 0, 0
        return self._pause

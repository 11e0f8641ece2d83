"""One run as one reader follows it: what was taken from its log, what was handed out, and why it ended. No I/O."""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, cast
from zlib import crc32

from runwire.broker.connection import Reply
from runwire.errors import CursorAhead, LogDamaged, LogExpired, ReadError, Superseded
from runwire.readers.chunks import FINISH, Chunk
from runwire.readers.cursors import Cursor, cursor_text
from runwire.readers.options import ReaderOptions

# Page sizes follow what the last page held; the first one is a guess at small chunks.
_FIRST_PAGE = 64


class Look(NamedTuple):
    """What Redis knows of a run at one moment, read in this order."""

    seq: int | None
    attempt: int
    open: bool
    own: list[bytes]
    page: list[Reply]
    last: bytes | None


class Feed:
    """Chunks of one run in order, each once. Whatever cannot be in order ends it with an error after what was."""

    def __init__(self, run_id: str, after: Cursor, options: ReaderOptions) -> None:
        self.run_id = run_id
        self.attempt = after.attempt or 1
        self.seq = after.seq
        self.known = False
        self.ended = False
        self.error: Exception | None = None
        # Whether the log may hold more than was asked for: then pages are read instead of waiting for news.
        self.behind = False
        self.page_size = min(_FIRST_PAGE, options.page_chunks)
        self._after = after
        self._options = options
        self._queue: deque[Chunk] = deque()
        self._bytes = 0
        self._delivered_seq = after.seq
        self._delivered: bytes | None = None
        # The chunk `seq`, if this reader has read it itself: after a loss another one may stand there.
        self._last: bytes | None = None
        # Checksum and size of the chunks handed out last. Sources that take turns may come back in another order after
        # a loss, so that the last chunk is the same and one before it is not.
        self._seen: deque[tuple[int, int]] = deque()
        self._seen_bytes = 0
        self._lost = False

    @property
    def over(self) -> bool:
        """Nothing more is to be read."""
        return self.ended or self.error is not None

    @property
    def has_room(self) -> bool:
        return len(self._queue) < self._options.queue_chunks and self._bytes < self._options.queue_bytes

    @property
    def drained(self) -> bool:
        """Half of the room is free again. Reading on at every single chunk would mean a read for each."""
        half = 2
        return len(self._queue) * half <= self._options.queue_chunks and self._bytes * half <= self._options.queue_bytes

    @property
    def cursor(self) -> str:
        """After the last chunk that was taken: an error comes after all of them."""
        return cursor_text(self.attempt, self.seq)

    def pop(self) -> Chunk | None:
        """The next chunk, None if there is none yet."""
        if not self._queue:
            return None
        chunk = self._queue.popleft()
        self._bytes -= len(chunk.data)
        self._delivered_seq, self._delivered = chunk.seq, chunk.data
        self._remember(chunk.data)
        return chunk

    def _remember(self, data: bytes) -> None:
        self._seen.append((crc32(data), len(data)))
        self._seen_bytes += len(data)
        options = self._options
        while len(self._seen) > options.recheck_chunks or self._seen_bytes > options.page_bytes:
            self._seen_bytes -= self._seen.popleft()[1]

    @property
    def own_from(self) -> int:
        """The first of the chunks up to `seq` that the next look must see again: more than the last after a loss."""
        return self.seq - len(self._seen) + 1 if self._lost and self._seen else self.seq

    def fail(self, error: Exception) -> None:
        """End with this error, unless it has ended already."""
        if not self.over:
            self.error = error

    def take(self, entries: Sequence[Reply]) -> int:
        """Entries of the log after `seq`, in order; the size of the largest."""
        largest = 0
        for entry in entries:
            if self.over:
                break
            entry_id, fields = cast("list[Reply]", entry)
            data = _data(fields)
            if data is None or not isinstance(entry_id, bytes):
                self.fail(self._damaged(entry_id))
                break
            if entry_id != b"%d-0" % (self.seq + 1):
                self.fail(self._hole(entry_id))
                break
            self._append(data)
            largest = max(largest, len(data))
        return largest

    def take_page(self, entries: Sequence[Reply], asked: int) -> None:
        """A page of catching up, of at most `asked` entries; sizes the next one."""
        largest = self.take(entries)
        self.behind = len(entries) >= asked and not self.over
        if largest:
            fitting = self._options.page_bytes // largest
            # Growing by doubling: one small page does not promise small chunks.
            self.page_size = max(1, min(fitting, asked * 2, self._options.page_chunks))

    def rewind(self) -> None:
        """The connection was lost: what was not handed out is read again, because the server may have lost it."""
        if not self.over:
            # Perhaps the last page was too large for the line: begin with little.
            self.page_size = 1
            self._queue.clear()
            self._bytes = 0
            self.seq, self._last = self._delivered_seq, self._delivered
            self._lost = True

    def judge(self, look: Look, asked: int) -> None:
        """Compare what Redis knows with what was seen, and take the page. `known` stays False for a run not there."""
        if look.seq is None:
            if self.known:
                self.fail(self._ahead(0))
            return
        if look.attempt != self.attempt and not self._switch(look.attempt):
            return
        self.known = True
        replaced = self._replaced(look.own)
        self._lost = False
        if look.seq < self.seq or replaced:
            self.fail(self._ahead(look.seq))
        elif look.page:
            self.take_page(look.page, asked)
        elif look.seq > self.seq:
            self.fail(LogExpired(self._missing(f"chunks {self.seq + 1} to {look.seq}")))
        elif look.last is None and look.open and self.seq:
            self.fail(LogExpired(self._missing("what follows")))
        else:
            # With everything seen, a finished run is at its end, whether its log is still there or not.
            self.behind = False
            self.ended = self.seq > 0 and (look.last.startswith(FINISH) if look.last is not None else not look.open)

    def _replaced(self, own: list[bytes]) -> bool:
        """Whether other chunks than those that were read stand in the log. An expired log has none."""
        if not own or self._last is None:
            return False
        if self._lost and self._seen:
            return [crc32(data) for data in own] != [checksum for checksum, _ in self._seen]
        return own[-1] != self._last

    def _switch(self, newest: int) -> bool:
        """Go to the newest attempt if none was asked for. True if the look that told so can still be used."""
        if self._after.attempt is None and not self.known and self.seq == 0:
            # The page was read from the wrong log; the next look reads the right one.
            self.attempt = newest
        elif newest > self.attempt:
            self.fail(Superseded(f"Run {self.run_id!r} has a newer attempt, {newest}. Read that from its start."))
        else:
            self.fail(CursorAhead(f"Run {self.run_id!r} has only {newest} attempts, your cursor names {self.attempt}."))
        return False

    def _append(self, data: bytes) -> None:
        self.seq += 1
        self._last = data
        self._queue.append(Chunk(cursor_text(self.attempt, self.seq), self.seq, self.attempt, data))
        self._bytes += len(data)
        if data.startswith(FINISH):
            self.ended = True

    def _ahead(self, stored: int) -> CursorAhead:
        return CursorAhead(
            f"You have seen run {self.run_id!r} up to {cursor_text(self.attempt, self.seq)}, Redis has kept it only up "
            f"to {cursor_text(self.attempt, stored)} or has other chunks there: the server lost data. "
            "Read the run again from its start."
        )

    def _hole(self, entry_id: bytes) -> ReadError:
        number, _, rest = entry_id.partition(b"-")
        if rest == b"0" and int(number) > self.seq + 1:
            return LogExpired(self._missing(f"chunks {self.seq + 1} to {int(number) - 1}"))
        return self._damaged(entry_id)

    def _missing(self, what: str) -> str:
        return f"The log of run {self.run_id!r} no longer has {what}: it is kept in Redis for a limited time only."

    def _damaged(self, entry_id: Reply) -> LogDamaged:
        return LogDamaged(
            f"The log of run {self.run_id!r} has the entry {entry_id!r} after chunk {self.seq}, which is no chunk: "
            "somebody else wrote into it."
        )


def _data(fields: Reply) -> bytes | None:
    match fields:
        case [b"d", bytes(data)]:
            return data
        case _:
            return None

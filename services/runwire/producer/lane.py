"""A partition's queue, and who waits at it: for room, and for acknowledgements."""

import asyncio
from collections import deque

from runwire.producer.options import ProducerOptions
from runwire.producer.queue import Failed, Kept, PartitionQueue
from runwire_schemas.keys import PartitionKeys


class _Turn:
    """Someone who waits for room. `granted` once room was set aside for it."""

    __slots__ = ("future", "granted", "size")

    def __init__(self, size: int) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.granted = False
        self.size = size


class Lane:
    """One partition of a producer. All waiting is first come, first served; nobody overtakes who waits for room."""

    def __init__(self, number: int, partitions: int, keys: PartitionKeys, options: ProducerOptions, kept: Kept) -> None:
        self.number = number
        self.keys = keys
        self.queue = PartitionQueue(partitions, options, kept)
        self.lag = 0
        self.lag_checked_at = float("-inf")
        self._options = options
        self._turns: deque[_Turn] = deque()
        self._granted = 0
        self._granted_bytes = 0
        # In order of their ordinals.
        self._acknowledgements: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def settled(self) -> int:
        """Up to this ordinal every record was acknowledged or given up."""
        return self.queue.acknowledged + self.queue.given_up

    @property
    def open(self) -> bool:
        """Whether a record may be pushed at once."""
        return not self._turns and self.queue.has_room(self._granted, self._granted_bytes)

    async def room(self, size: int) -> None:
        """Wait until a record of `size` bytes may be pushed. The caller limits the time and pushes at once after."""
        turn = _Turn(size)
        self._turns.append(turn)
        try:
            await turn.future
        except BaseException:
            self._leave(turn)
            self._grant()
            raise
        self._leave(turn)

    def settle(self) -> None:
        """Tell who waits that something was acknowledged."""
        settled = self.settled
        while self._acknowledgements and self._acknowledgements[0][0] <= settled:
            _resolve(self._acknowledgements.popleft()[1])
        self._grant()

    def acknowledged(self, ordinal: int) -> asyncio.Future[None]:
        """Done when the record of this ordinal is in the broker; the error if it was given up."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if ordinal <= self.settled:
            future.set_result(None)
        else:
            self._acknowledgements.append((ordinal, future))
        return future

    def fail(self, error: Exception) -> Failed:
        """Give up everything unacknowledged and tell who waits for it or for room."""
        failed = self.queue.give_up()
        self.reject(error)
        return failed

    def reject(self, error: Exception) -> None:
        """Tell everybody who waits that it is in vain."""
        for _, future in self._acknowledgements:
            _resolve(future, error)
        self._acknowledgements.clear()
        for turn in self._turns:
            _resolve(turn.future, error)

    def judge_lag(self, lag: int) -> None:
        """Stop above the limit, go on below half of it: a partition at the limit would stop and go on all the time."""
        self.lag = lag
        options = self._options
        limit = options.max_lag_records * (options.resume_lag if self.queue.paused else 1)
        self.queue.paused = lag > limit

    def _leave(self, turn: _Turn) -> None:
        if turn.granted:
            self._granted -= 1
            self._granted_bytes -= turn.size
        else:
            self._turns.remove(turn)

    def _grant(self) -> None:
        while self._turns and self.queue.has_room(self._granted, self._granted_bytes):
            turn = self._turns.popleft()
            turn.granted = True
            self._granted += 1
            self._granted_bytes += turn.size
            _resolve(turn.future)


def _resolve(future: asyncio.Future[None], error: Exception | None = None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
        # Whoever stopped waiting has been told otherwise.
        future.exception()

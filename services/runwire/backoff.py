"""How long to wait before the next attempt. Shared by everything that connects to a server."""

import random
from typing import Final

_DOUBLE: Final = 2.0


class Backoff:
    """50 ms, doubled up to 1 s by default, each with jitter: clients of a lost server shall not return as one."""

    def __init__(self, first: float = 0.05, longest: float = 1.0) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def reset(self) -> None:
        """Something worked."""
        self._next = self._first

    def delay(self) -> float:
        """Seconds to wait now: between half of the step and all of it."""
        step, self._next = self._next, min(self._next * _DOUBLE, self._longest)
        return step * random.uniform(0.5, 1.0)  # noqa: S311 - spreads clients in time, no secret

"""How much of the append-only file a power loss may take: what was written within the last moments before the kill."""

import random
import time
from collections import deque
from pathlib import Path
from typing import Final, NamedTuple

from runwire.embedded.server import Server

# Everysec promises a second and may lose up to two; producers replay five. A cut goes back a second and a half at most.
DEPTH_S: Final = 1.5
# At least one whole record goes even when nothing was written lately.
SMALLEST: Final = 400


class Sample(NamedTuple):
    at: float
    path: Path
    size: int


class TailWatch:
    """Remembers how large the file was, so that a cut is measured in time and not in bytes."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._samples: deque[Sample] = deque(maxlen=200)

    def look(self) -> None:
        path = self._server.aof_file()
        if path is not None and path.exists():
            self._samples.append(Sample(time.monotonic(), path, path.stat().st_size))

    def cut_size(self, rng: random.Random, killed: float) -> int:
        """Bytes to cut: from one record to all that was written in the last `DEPTH_S`, at any byte."""
        path = self._server.aof_file()
        if path is None or not path.exists():
            return 0
        now = path.stat().st_size
        # A file that is younger than the window holds nothing older: all of it may go.
        known = [s.size for s in self._samples if s.path == path and s.at <= killed - DEPTH_S]
        deepest = now - max(known, default=0)
        return min(now, rng.randint(SMALLEST, max(SMALLEST, deepest)))

"""A power loss: the append-only file loses what was written within the last moments before the kill."""

import random
import subprocess
import time
from collections import deque
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

from runwire.embedded.server import Kind, Server, find_server
from runwire_schemas.errors import RunwireError

# Everysec promises a second and may lose up to two; producers replay five. A cut goes back a second and a half at most.
DEPTH_S: Final = 1.5
# At least one whole record goes even when nothing was written lately.
SMALLEST: Final = 400

# Redis 7.0 and 8.2 leave a transaction without its EXEC in the file when they load it, and the next start runs half of
# it, in front of what was written since. Valkey has repaired that (9.1.2). Whoever runs Redis is told to mend the file
# with Redis' own tool after a power loss (docs/chaos.md), and so does a run of chaos.
MENDER: Final[dict[Kind, str]] = {"redis-7.0": "redis-check-aof", "redis-8.2": "redis-check-aof"}
MEND_LIMIT_S: Final = 60.0


class NotMended(RunwireError):
    """The server's own tool could not mend the cut append-only file, so what follows would prove nothing."""

    code: ClassVar[str] = "aof-not-mended"


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


def cut_tail(server: Server, size: int) -> int:
    """Cut `size` bytes while the server is down, and mend what Redis would not; the bytes that are gone."""
    before = server.aof_file()
    length = before.stat().st_size if before else 0
    server.truncate_aof(size)
    if tool := MENDER.get(server.kind):
        _mend(server, tool)
    return length - before.stat().st_size if before else 0


def _mend(server: Server, tool: str) -> None:
    """The tool is the server's own binary under another name."""
    manifest = next((server.folder / "appendonlydir").glob("*.manifest"))
    asked = subprocess.run(
        [tool, "--fix", str(manifest)],
        executable=find_server(server.kind).path,
        input=b"y\n",
        capture_output=True,
        timeout=MEND_LIMIT_S,
        check=False,
    )
    if asked.returncode:
        raise NotMended(f"{tool} --fix {manifest}: {asked.stdout.decode(errors='replace')[-500:]}")

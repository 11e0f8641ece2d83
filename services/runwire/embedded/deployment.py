"""A whole deployment on this machine: an embedded Valkey in a data folder, and every node as a child process."""

import asyncio
import contextlib
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from runwire.broker.connection import open_link
from runwire.broker.overview import overview, stored_partitions
from runwire.embedded.datafolder import DataFolder, Endpoint
from runwire.embedded.server import HOST, Server, free_port
from runwire.embedded.supervisor import Child, Ended, Kept, Supervisor, stop_children
from runwire.errors import DeploymentMissing, LinkLost
from runwire.settings import load
from runwire_schemas.errors import RunwireError
from runwire_schemas.keys import Keys

SERVER: Final = "server"
# The port of every Redis tutorial, so that `Producer()` and `redis-cli` work without being told.
USUAL_PORT: Final = 6379
# An enforcer drains in well under its lease; what takes longer is stuck.
DRAIN_LIMIT_S: Final = 10.0
# A server left behind by a killed `runwire up` must have saved and gone after this.
ORPHAN_LIMIT_S: Final = 10.0
# Without pidfd (not Linux) a dead server is noticed after at most this.
WATCH_EVERY_S: Final = 0.5
READY_POLL_S: Final = 0.05


class PortInUse(RunwireError):
    """The port asked for is taken."""

    code: ClassVar[str] = "in-use"
    hint: ClassVar[str] = "choose another with --port; --port 0 takes any free one"


class ServerProcess(Kept):
    """The embedded server under supervision: restarted on the same port and folder. It runs when it comes here."""

    def __init__(self, server: Server) -> None:
        super().__init__(SERVER, server.log)
        self.server = server

    @property
    def pid(self) -> int | None:
        return self.server.pid if self.server.running else None

    def launch(self, ended: Callable[[Ended], None]) -> None:
        if not self.server.running:
            self.server.restart()
        threading.Thread(target=self._wait, args=(self.server.pid, ended), daemon=True).start()

    def _wait(self, pid: int, ended: Callable[[Ended], None]) -> None:
        wait_for_end(pid)
        ended(Ended(SERVER, f"pid {pid} is gone"))


def wait_for_end(pid: int) -> None:
    """Block until a process is over, without reaping it: that is its owner's."""
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            try:
                select.select([handle], [], [])
            finally:
                os.close(handle)
        return
    while _alive(pid):
        time.sleep(WATCH_EVERY_S)


class Deployment:
    """Server and enforcers of one data folder, whose lock the caller holds. `say` gets what is worth telling."""

    def __init__(self, folder: DataFolder, enforcers: int, port: int | None, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._say = say
        self._wanted_port = port
        self._enforcers = enforcers
        self._server: ServerProcess | None = None
        self._supervisor = Supervisor(say)
        self._stopping = threading.Event()
        self.children: list[Child] = []
        self.url = ""

    @property
    def server_pid(self) -> int | None:
        return self._server.pid if self._server is not None else None

    def start(self) -> str:
        """Start the server, then the enforcers; return the URL. Raises PortInUse and what Server.start raises."""
        stop_orphan(self._folder, self._say)
        port = choose_port(self._wanted_port, self._folder.last_endpoint())
        server = Server.start("valkey-9.1", self._folder.server, port=port)
        self.url = server.url
        self._server = ServerProcess(server)
        self._folder.write_endpoint(Endpoint(url=server.url, port=port, pid=server.pid, up=os.getpid()))
        self.children = [self._enforcer(number, server.url) for number in range(1, self._enforcers + 1)]
        for one in (self._server, *self.children):
            self._supervisor.start(one)
        return self.url

    def _enforcer(self, number: int, url: str) -> Child:
        name = f"enforcer-{number}"
        command = [sys.executable, "-m", "runwire", "enforcer", "--while-stdin-open"]
        return Child(name, self._folder.logs / f"{name}.log", command, {**os.environ, "RUNWIRE_REDIS_URL": url})

    def run(self) -> None:
        """Keep everything running until `request_stop`."""
        self._supervisor.run()

    def wait_ready(self, limit_s: float) -> bool:
        """Whether every partition has an owner, after at most `limit_s`; what is missing is said. From any thread."""
        missing = asyncio.run(_wait_for_owners(self.url, limit_s, self._stopping))
        if missing and not self._stopping.is_set():
            self._say(f"not ready after {limit_s:.0f} s: {missing}; logs are in {self._folder.logs}")
        return not missing

    def request_stop(self) -> None:
        """End `run` and `wait_ready`, also one that has not begun. Safe from a signal handler and from any thread."""
        self._stopping.set()
        self._supervisor.request_stop()

    def stop(self) -> None:
        """Drain the enforcers, then stop the server, which writes its append-only file to the end. Not during `run`."""
        for name in stop_children(self.children, DRAIN_LIMIT_S):
            self._say(f"{name} did not drain in {DRAIN_LIMIT_S:.0f} s and was killed; another one continues its work")
        if self._server is not None:
            self._server.server.stop()


async def _wait_for_owners(url: str, limit_s: float, stopping: threading.Event) -> str:
    """Empty once all partitions are owned, else what was missing at the end or when it is to stop."""
    keys = Keys(load(os.environ).prefix)
    deadline = time.monotonic() + limit_s
    missing = "no enforcer has started"
    while time.monotonic() < deadline and not stopping.is_set():
        with contextlib.suppress(LinkLost, DeploymentMissing):
            async with await open_link(url, "runwire-up") as link:
                views = (await overview(link, keys, await stored_partitions(link, keys))).partitions
            unowned = [str(view.partition) for view in views if view.owner is None]
            if not unowned:
                return ""
            missing = f"nobody owns partition {', '.join(unowned)}"
        await asyncio.sleep(READY_POLL_S)
    return missing


def choose_port(wanted: int | None, last: Endpoint | None) -> int:
    """The port to listen on: the one asked for (0: any free one), else the folder's last, else 6379, else any."""
    if wanted:
        if not port_is_free(wanted):
            raise PortInUse(f"port {wanted} is in use by another program")
        return wanted
    usual: Iterable[int] = () if wanted == 0 else (*((last.port,) if last else ()), USUAL_PORT)
    return next((port for port in usual if port_is_free(port)), 0) or free_port()


def port_is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def stop_orphan(folder: DataFolder, say: Callable[[str], None]) -> None:
    """Stop the server of a `runwire up` that was killed: it still writes this folder. It saves what it has first.

    Only a server that says itself that it runs on this folder is stopped, whatever the pid file claims.
    """
    last = folder.last_endpoint()
    if last is None or not _alive(last.pid) or _folder_of(last.port) != str(folder.server):
        return
    say(f"stopping the server (pid {last.pid}) that an earlier runwire up left behind")
    _ask(last.port, b"SHUTDOWN\r\n")
    deadline = time.monotonic() + ORPHAN_LIMIT_S
    while _alive(last.pid) and time.monotonic() < deadline:
        time.sleep(0.02)


def _folder_of(port: int) -> str | None:
    """The folder that the server on this port works in."""
    # Lines of the reply: *2, $3, dir, $<length>, <folder>.
    lines = _ask(port, b"CONFIG GET dir\r\n").splitlines()
    return lines[-1].decode(errors="replace") if lines else None


def _ask(port: int, inline: bytes) -> bytes:
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1.0) as link:
        link.sendall(inline)
        return link.recv(4096)
    return b""


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

"""`runwire enforcer`: one enforcer process, as many as you like beside it."""

import contextlib
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Generator
from typing import Annotated

import typer

from runwire.cli.failures import CommandError
from runwire.cli.options import Data, Json, Url
from runwire.cli.target import find_target, reaching


class HealthAddress(CommandError):
    """The address of the health probes cannot be used."""

    code = "in-use"


def enforcer(
    url: Url = None,
    data: Data = None,
    health_port: Annotated[
        int | None,
        typer.Option("--health-port", min=0, max=65535, help="Serve /livez and /readyz on this port."),
    ] = None,
    health_host: Annotated[
        str,
        typer.Option("--health-host", metavar="ADDRESS", help="Where to serve them; 0.0.0.0 for everybody."),
    ] = "127.0.0.1",
    as_json: Json = False,
    while_stdin_open: Annotated[bool, typer.Option("--while-stdin-open", hidden=True)] = False,
) -> None:
    """Run one enforcer: it validates and normalizes the records of the partitions it owns.

    Any number of them share the partitions. SIGTERM hands over and ends; kill -9 costs the lease at most.

    [bold]Examples[/bold]

    [cyan]runwire enforcer --url redis://redis.internal:6379/0 --health-port 8080[/cyan]
    """
    target = find_target(url, data)
    if while_stdin_open:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    from runwire.enforcer.app import run

    with reaching(target), _listening(health_host, health_port):
        run(target.settings, health_port=health_port, json=as_json, host=health_host)


@contextlib.contextmanager
def _listening(host: str, port: int | None) -> Generator[None]:
    """The one address that an enforcer opens is that of its probes."""
    try:
        yield
    except OSError as error:
        unusable = (errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL)
        if port is None or not (error.errno in unusable or isinstance(error, socket.gaierror)):
            raise
        text = f"cannot serve probes on {host}:{port}: {error.strerror}"
        raise HealthAddress(text, "choose another with --health-port and --health-host") from error


def _end_with_stdin() -> None:
    """Who started this process holds the other end of stdin: when it is gone, however it went, drain and end."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)

"""A node as a process: it works until it is asked to stop, drains, and answers probes meanwhile."""

import asyncio
import contextlib
import gc
import json as json_text
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, Final, NamedTuple

import uvicorn
from faststream.asgi import AsgiFastStream, AsgiResponse, get
from faststream.redis import RedisBroker

from runwire.broker.runtime import Node
from runwire.service import health
from runwire.settings import Settings

JSON: Final = {"Content-Type": "application/json"}


class Service(NamedTuple):
    """The application and the node that works inside its lifespan. `kind` is its word for people."""

    kind: str
    app: AsgiFastStream
    node: Node


@contextlib.asynccontextmanager
async def working(node: Node) -> AsyncGenerator[None]:
    """The lifespan of an application around its node."""
    try:
        await node.start()
        yield
    finally:
        await node.drain()


def broker_of(settings: Settings) -> RedisBroker:
    """FastStream's own connection, for events. An application does not start without one."""
    return RedisBroker(
        settings.redis_url,
        socket_timeout=settings.command_timeout_s,
        socket_connect_timeout=settings.connect_timeout_s,
    )


def routes(node: Node, render: Callable[[], bytes]) -> list[tuple[str, Any]]:
    """The probes of a node; `render` makes the text for Prometheus."""

    @get
    async def livez(_scope: Any) -> AsgiResponse:
        """Alive: the loop turns."""
        state = health.live(node.status())
        body = {"live": state.ok, "reasons": state.reasons}
        return AsgiResponse(json_text.dumps(body).encode(), 200 if state.ok else 503, JSON)

    @get
    async def readyz(_scope: Any) -> AsgiResponse:
        """Doing its work: leases, lag, halted partitions; 503 says why not."""
        status = node.status()
        state = health.ready(status, draining=node.draining)
        body = health.report(status, state)
        return AsgiResponse(json_text.dumps(body).encode(), 200 if state.ok else 503, JSON)

    @get
    async def prometheus(_scope: Any) -> AsgiResponse:
        """Metrics in Prometheus' text format."""
        return AsgiResponse(render(), 200, {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    return [("/livez", livez), ("/readyz", readyz), ("/metrics", prometheus)]


class _Web(uvicorn.Server):
    """uvicorn without its own signal handling: the drain comes first, then the probes end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def serve(build: Callable[[], Service], health_port: int | None, *, json: bool, host: str) -> None:
    """Work until SIGTERM or SIGINT, then drain. `health_port` 0 takes a free one; None serves no probes.

    One line on stdout says when the process has joined. Raises ServerUnfit and LinkLost before that.
    """
    # Entries of a read are many small lists without cycles: at the usual 700, looking at them took 12 % of the time.
    gc.set_threshold(50_000, 20, 100)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner, contextlib.suppress(asyncio.CancelledError):
        runner.run(_serve(build, health_port, json=json, host=host))


async def _serve(build: Callable[[], Service], health_port: int | None, *, json: bool, host: str) -> None:
    stop = asyncio.Event()
    started = _on_signals(stop)
    service = build()
    async with _probes(service.app, health_port, host) as port, service.app.start_lifespan_context():
        started.set()
        _announce(service, port, json=json)
        ended = asyncio.create_task(service.node.wait())
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if ended.done():
            await ended
        ended.cancel()


def _on_signals(stop: asyncio.Event) -> asyncio.Event:
    """SIGTERM and SIGINT ask for the drain; until the returned event says that the start is complete, for the end."""
    loop, main, started = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()

    def end() -> None:
        # Once: a second signal must not cut short the drain that the first one asked for.
        if not started.is_set() and not stop.is_set() and main is not None:
            main.cancel()
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    return started


@contextlib.asynccontextmanager
async def _probes(app: AsgiFastStream, port: int | None, host: str) -> AsyncGenerator[int | None]:
    """Serve the application's routes while the node starts, works and drains."""
    if port is None:
        yield None
        return
    listener = socket.create_server((host, port))
    server = _Web(uvicorn.Config(app, lifespan="off", log_level="warning", access_log=False))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await serving
        listener.close()


def _announce(service: Service, port: int | None, *, json: bool) -> None:
    node = service.node
    held = node.status().held
    if json:
        line = json_text.dumps({"event": "ready", "name": node.name, "partitions": held, "health_port": port})
    else:
        probes = "" if port is None else f", health on port {port}"
        line = f"{service.kind} {node.name} is ready: {len(held)} partitions{probes}"
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _loop_factory() -> Any:
    """The loop of uvloop where there is one: a third less CPU per read and commit."""
    try:
        import uvloop  # noqa: PLC0415 - optional on platforms that it does not support
    except ImportError:
        return None
    return uvloop.new_event_loop

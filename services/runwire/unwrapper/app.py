"""The unwrapper as a FastStream application: wiring only. The partition runtime reads the logs (docs/decisions)."""

from faststream.asgi import AsgiFastStream
from faststream.specification import AsyncAPI

from runwire.broker.nests import NestLedger
from runwire.broker.runtime import Node
from runwire.service.process import Service, broker_of, routes, serve, working
from runwire.service.telemetry import make_logger
from runwire.settings import Settings
from runwire.unwrapper.core.state import Limits
from runwire.unwrapper.handler import UnwrapHandler
from runwire.unwrapper.settlement import Terms
from runwire.unwrapper.telemetry import Metrics, Telemetry
from runwire_schemas.keys import UNWRAPPER_GROUP, Keys

# Runs kept in memory, and bytes of their states as they are stored: an evicted run is loaded when it goes on.
CACHE_RUNS = 20_000
CACHE_BYTES = 64 * 2**20


def terms_of(settings: Settings) -> Terms:
    """What an unwrapper's handler must know of the settings."""
    return Terms(
        keys=Keys(settings.prefix),
        partitions=settings.partitions,
        limits=Limits(chunk_bytes=settings.max_agent_chunk_bytes),
        tombstone_ms=round(settings.tombstone_ttl_s * 1000),
        commit_chunks=settings.commit_chunks,
        commit_bytes=settings.commit_bytes,
        cache_runs=CACHE_RUNS,
        cache_bytes=CACHE_BYTES,
    )


def build(settings: Settings) -> Service:
    """Put the parts together; nothing is started and nothing connected."""
    metrics = Metrics()
    handler = UnwrapHandler(terms_of(settings))
    node = Node(
        settings,
        handler,
        ledger=NestLedger(),
        group=UNWRAPPER_GROUP,
        stream="chunks",
        observer=Telemetry(metrics, make_logger(settings.log_level)),
    )
    app = AsgiFastStream(
        broker_of(settings),
        logger=None,
        lifespan=lambda: working(node),
        specification=AsyncAPI(title="Runwire unwrapper", version="1", description="Makes runs of nested outputs."),
        asgi_routes=routes(node, lambda: metrics.render(node.status(), handler.cached_runs)),
    )
    return Service("unwrapper", app, node)


def run(settings: Settings, health_port: int | None = None, *, json: bool = False, host: str = "127.0.0.1") -> None:
    """Work until SIGTERM or SIGINT, then drain. `health_port` 0 takes a free one; None serves no probes.

    One line on stdout says when the process has joined. Raises ServerUnfit and LinkLost before that.
    """
    serve(lambda: build(settings), health_port, json=json, host=host)

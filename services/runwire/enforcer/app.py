"""The enforcer as a FastStream application: wiring only. The partition runtime reads the records (docs/decisions)."""

import asyncio

from faststream.asgi import AsgiFastStream, AsyncAPIRoute
from faststream.specification import AsyncAPI

from runwire.broker.runtime import Node
from runwire.enforcer.events import EventPublisher, Outbox
from runwire.enforcer.handler import RunHandler
from runwire.enforcer.keeping import Keeping
from runwire.enforcer.limits import limits_of
from runwire.enforcer.telemetry import Metrics, Telemetry
from runwire.enforcer.timeouts import Timeouts
from runwire.service.process import Service, broker_of, routes, serve, working
from runwire.service.telemetry import make_logger
from runwire.settings import Settings
from runwire_schemas.keys import Keys


def build(settings: Settings) -> Service:
    """Put the parts together; nothing is started and nothing connected."""
    metrics = Metrics()
    log = make_logger(settings.log_level)
    broker = broker_of(settings)
    publish = EventPublisher(broker, Keys(settings.prefix).events, settings.events_max)
    clock = asyncio.get_running_loop().time
    handler = RunHandler(limits_of(settings), settings.partitions, clock=clock, commit_chunks=settings.commit_chunks)
    outbox = Outbox(publish)
    telemetry = Telemetry(metrics, log, outbox.note)
    chores = (Timeouts(handler), Keeping(handler), outbox)
    node = Node(settings, handler, chores=chores, observer=telemetry)

    app = AsgiFastStream(
        broker,
        logger=None,
        lifespan=lambda: working(node),
        specification=AsyncAPI(title="Runwire enforcer", version="1", description="Run events, at least once."),
        asgi_routes=routes(node, lambda: metrics.render(node.status(), handler.cached_runs)),
        asyncapi_path=AsyncAPIRoute("/asyncapi", try_it_out_path=None),
    )
    return Service("enforcer", app, node)


def run(settings: Settings, health_port: int | None = None, *, json: bool = False, host: str = "127.0.0.1") -> None:
    """Work until SIGTERM or SIGINT, then drain. `health_port` 0 takes a free one; None serves no probes.

    One line on stdout says when the process has joined. Raises ServerUnfit and LinkLost before that.
    """
    serve(lambda: build(settings), health_port, json=json, host=host)

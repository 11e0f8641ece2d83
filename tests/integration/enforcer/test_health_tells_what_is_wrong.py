"""Probes know leases, lag and halted partitions; a process that must not start says why."""

import asyncio
import signal

import pytest

from helpers import wait_until
from helpers.enforcing import bodies_of_run, log_of, quick_settings, write
from integration.enforcer.conftest import Start
from runwire.broker.connection import Link, open_link
from runwire.broker.runtime import Node
from runwire.embedded.server import Server
from runwire.enforcer.handler import RunHandler
from runwire.enforcer.limits import limits_of
from runwire.errors import PartitionMismatch
from runwire.settings import Settings
from runwire_schemas.keys import Keys, partition_of

pytestmark = pytest.mark.timeout(90)


async def test_ready_shows_leases_lag_and_a_halted_partition(
    server: Server, prefix: str, link: Link, start: Start
) -> None:
    settings = quick_settings(server.url, prefix, partitions=2)
    process = start(settings, health=True).wait_ready()
    assert process.ready["partitions"] == [0, 1]
    status, body = process.get("/readyz")
    assert (status, body["ready"], body["leases"], body["halted"]) == (200, True, [0, 1], {})
    assert body["broker"] == "reachable"
    assert body["lag"] == {"0": 0, "1": 0}

    # A log whose state was deleted by hand: the partition is stopped before it is numbered from 1 again.
    bodies = bodies_of_run(10)
    await write(link, settings, "run", bodies[:5])
    await wait_until(lambda: log_of(link, settings, "run"), "begun")
    process.send(signal.SIGTERM)
    process.wait()
    number = partition_of("run", 2)
    assert await link.call("DEL", Keys(prefix).partition(number).state("run")) == 1
    process = start(settings, health=True).wait_ready()
    # A new source opens the run again, as far as anybody can tell without the state.
    await write(link, settings, "run", bodies, src="second")
    halted = await wait_until(lambda: process.get("/readyz")[1]["halted"], "halted")
    assert list(halted) == [str(number)]
    status, body = process.get("/readyz")
    assert status == 503
    assert any(f"partition {number} is halted" in reason for reason in body["reasons"])
    assert process.get("/livez")[0] == 200, "a restart would not help"
    assert "runwire_enforcer_halted_partitions 1.0" in process.text("/metrics")[1]


async def test_not_ready_without_a_server_and_ready_again(own_server: Server, start: Start) -> None:
    settings = quick_settings(own_server.url, "rw")
    process = start(settings, health=True).wait_ready()
    assert process.get("/readyz")[0] == 200
    own_server.kill()
    await wait_until(lambda: process.get("/readyz")[0] == 503, "red")
    assert any("unreachable" in reason for reason in process.get("/readyz")[1]["reasons"])
    assert process.get("/livez")[0] == 200
    own_server.restart()
    await wait_until(lambda: process.get("/readyz")[0] == 200, "green again")


async def test_metrics_and_asyncapi_tell_what_happens(server: Server, prefix: str, link: Link, start: Start) -> None:
    settings = quick_settings(server.url, prefix, partitions=1)
    process = start(settings, health=True).wait_ready()
    bodies = bodies_of_run(5)
    await write(link, settings, "run", [*bodies[:3], b"no json"])

    def counted() -> bool:
        text = process.text("/metrics")[1]
        return "runwire_enforcer_records_total 4.0" in text and 'violations_total{code="undecodable"} 1.0' in text

    await wait_until(counted, "records and violations are counted")
    api = process.get("/asyncapi.json")[1]
    assert f"{prefix}:events" in {channel["address"] for channel in api["channels"].values()}
    event = next(s for name, s in api["components"]["schemas"].items() if "RunEvents" in name)
    assert [kind["title"] for kind in event["oneOf"]] == ["RunOpened", "RunEnded", "RunViolated"]


async def test_another_partition_count_refuses_to_start(server: Server, prefix: str) -> None:
    right = quick_settings(server.url, prefix, partitions=4)
    wrong = quick_settings(server.url, prefix, partitions=8)

    def node(settings: Settings) -> Node:
        return Node(settings, RunHandler(limits_of(right), 8, clock=lambda: 0.0))

    first = node(right)
    await first.start()
    with pytest.raises(PartitionMismatch, match="RUNWIRE_PARTITIONS=4"):
        await node(wrong).start()
    await first.drain()


async def test_start_waits_for_a_server_that_is_just_starting(own_server: Server) -> None:
    settings = quick_settings(own_server.url, "rw", backoff_max_s=0.1)
    node = Node(settings, RunHandler(limits_of(settings), 4, clock=lambda: 0.0))
    own_server.stop()
    starting = asyncio.create_task(node.start())
    await asyncio.sleep(0)
    await asyncio.to_thread(own_server.restart)
    await asyncio.wait_for(starting, 10.0)
    async with await open_link(own_server.url) as link:
        assert await link.call("EXISTS", "rw:meta") == 1
    await node.drain()

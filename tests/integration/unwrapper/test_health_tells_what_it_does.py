"""An unwrapper's probes and metrics."""

import signal

from helpers import wait_until
from helpers.enforcing import quick_settings
from helpers.nesting import agent, around
from helpers.unwrapping import enforcing, publish, settled
from integration.unwrapper.conftest import Start
from runwire.broker.connection import Link
from runwire.embedded.server import Server
from runwire_schemas.keys import UNWRAPPER_GROUP, Keys


async def test_probes_and_metrics(server: Server, prefix: str, link: Link, start: Start) -> None:
    settings = quick_settings(server.url, prefix, partitions=2)
    process = start("unwrapper", settings, health=True).wait_ready()
    assert process.ready["partitions"] == [0, 1]
    async with enforcing(settings):
        await publish(link, settings, "top", around("top", "c1", [*agent("sub", "hi"), *agent("~no", "x")]))
        await settled(link, settings)
    assert process.get("/livez") == (200, {"live": True, "reasons": []})
    status, body = process.get("/readyz")
    assert (status, body["ready"], body["leases"]) == (200, True, [0, 1])
    text = process.text("/metrics")[1]
    records = len(agent("sub", "hi")) + 1

    def counted() -> bool:
        return f"runwire_unwrapper_child_records_total {records}.0" in process.text("/metrics")[1]

    await wait_until(counted, "records of the child are counted")
    assert 'runwire_unwrapper_evidence_total{code="child-invalid"}' in text
    assert 'runwire_unwrapper_lag_records{partition="1"}' in text


async def test_a_halted_partition_is_red(server: Server, prefix: str, link: Link, start: Start) -> None:
    settings = quick_settings(server.url, prefix, partitions=1)
    process = start("unwrapper", settings, health=True).wait_ready()
    nest = Keys(prefix).partition(0).nest("top")
    await link.call("SET", nest, "somebody else's", "PX", 60_000)
    async with enforcing(settings):
        await publish(link, settings, "top", agent("top", "hi"))
        await wait_until(lambda: process.get("/readyz")[0] == 503, "red")
        assert process.get("/livez")[0] == 200
        assert "partition 0" in process.get("/readyz")[1]["reasons"][0]
    await link.call("DEL", nest)


async def test_sigterm_frees_what_it_holds(server: Server, prefix: str, link: Link, start: Start) -> None:
    settings = quick_settings(server.url, prefix, partitions=2, lease_ttl_s=20.0, renew_s=1.0)
    process = start("unwrapper", settings).wait_ready()
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    for number in range(2):
        assert await link.call("HGET", Keys(prefix).partition(number).lease(UNWRAPPER_GROUP), "o") == b""

"""Every key is declared and of one slot: a cluster that moves the slot refuses a commit before it runs."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import cast

import pytest

from helpers import wait_until
from integration.broker.world import World, writes
from runwire.broker.connection import Link, ServerError, open_link
from runwire.broker.functions import Committed
from runwire.broker.library import load_library
from runwire.embedded.server import Server, free_port

SLOTS = 16_384


@pytest.fixture
async def nodes(start_server: Callable[..., Server]) -> AsyncIterator[tuple[Link, Link]]:
    """Two cluster nodes; the first has all slots."""
    # By default the second port is the first plus 10,000, which may be no port at all.
    buses = [free_port(), free_port()]
    options = [
        ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-port", str(bus)) for bus in buses
    ]
    servers = [start_server(extra=extra) for extra in options]
    links = [await open_link(server.url) for server in servers]
    await links[0].call("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS - 1)
    await links[0].call("CLUSTER", "MEET", "127.0.0.1", servers[1].port, buses[1])

    async def joined() -> bool:
        infos = await asyncio.gather(*(link.call("CLUSTER", "INFO") for link in links))
        wanted = (b"cluster_state:ok", b"cluster_known_nodes:2")
        return all(fact in cast("bytes", info) for info in infos for fact in wanted)

    await wait_until(joined, "both nodes know each other", 20)
    yield links[0], links[1]
    for link in links:
        await link.close()


async def test_a_commit_into_a_moving_slot_is_refused_whole(nodes: tuple[Link, Link]) -> None:
    here, there = nodes
    await load_library(here)
    world = World(here, "rw")
    await world.take()
    ids = await world.publish(2)
    assert await world.commit(world.work(ids, writes("r1", 0, 2), writes("r2", 0, 1))) == Committed(3)
    slot = await here.call("CLUSTER", "KEYSLOT", world.keys.raw)
    names = [cast("bytes", await link.call("CLUSTER", "MYID")) for link in (here, there)]
    assert isinstance(slot, int)
    await there.call("CLUSTER", "SETSLOT", slot, "IMPORTING", names[0])
    await here.call("CLUSTER", "SETSLOT", slot, "MIGRATING", names[1])
    # A run without state: its keys are not here, and may be there.
    ids = await world.publish(1)
    before = await world.snapshot()
    with pytest.raises(ServerError) as caught:
        await world.commit(world.work(ids, writes("r1", 2, 1), writes("r3", 0, 1)))
    assert (caught.value.code, caught.value.outcome) == ("TRYAGAIN", "refused")
    assert await world.snapshot() == before
    await here.call("CLUSTER", "SETSLOT", slot, "STABLE")
    assert await world.commit(world.work(ids, writes("r1", 2, 1), writes("r3", 0, 1))) == Committed(2)

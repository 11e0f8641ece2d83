"""Whatever somebody does to the keys of one partition, the others flow, and health says what is wrong."""

import asyncio

import pytest

from helpers import wait_until
from helpers.enforcing import Heard, log_of, quick_settings, run_in, running, write
from runwire.broker.connection import Link, open_link
from runwire.broker.floor import FloorHandler
from runwire.embedded.server import Server
from runwire.settings import Settings
from runwire_schemas.keys import ENFORCER_GROUP, Keys, PartitionKeys

BODIES = [b'{"n":%d}' % n for n in range(1, 6)]


def key_of(keys: PartitionKeys, name: str) -> str:
    return {
        "lease": keys.lease(ENFORCER_GROUP),
        "position": keys.pos_raw,
        "raw": keys.raw,
        "chunks": keys.chunks,
        "open": keys.open,
        "outbox": keys.outbox,
        "holds": keys.holds,
    }[name]


async def wait_for_log(link: Link, settings: Settings, run: str, count: int) -> None:
    async def whole() -> bool:
        return len(await log_of(link, settings, run)) >= count

    await wait_until(whole, f"{count} chunks of {run}", 5.0)


@pytest.mark.parametrize("name", ["lease", "position", "raw"])
async def test_a_key_of_a_wrong_type_at_the_start(own_server: Server, name: str) -> None:
    settings = quick_settings(own_server.url, "rw")
    run = run_in(1, 4)
    async with await open_link(own_server.url) as link:
        await link.call("SET", key_of(Keys("rw").partition(2), name), "not what it should be")
        async with asyncio.timeout(15), running(settings, FloorHandler(4)) as node:
            await write(link, settings, run, BODIES)
            await wait_for_log(link, settings, run, 5)
            assert list(node.status().halted) == [2]
            await link.call("DEL", key_of(Keys("rw").partition(2), name))
            await wait_until(lambda: 2 in node.status().held and not node.status().halted, "partition 2 is served", 5.0)


@pytest.mark.parametrize("name", ["lease", "position", "raw"])
async def test_a_key_of_a_wrong_type_in_the_middle(own_server: Server, name: str) -> None:
    settings, heard = quick_settings(own_server.url, "rw"), Heard()
    run, other = run_in(1, 4), run_in(2, 4)
    async with (
        await open_link(own_server.url) as link,
        asyncio.timeout(15),
        running(settings, FloorHandler(4), observer=heard) as node,
    ):
        await write(link, settings, other, BODIES)
        await wait_for_log(link, settings, other, 5)
        key = key_of(Keys("rw").partition(2), name)
        await link.call("DEL", key)
        await link.call("SET", key, "not what it should be")
        if name != "raw":
            await write(link, settings, other, BODIES, first=6)
        await wait_until(lambda: list(node.status().halted) == [2], "partition 2 is halted", 5.0)
        await write(link, settings, run, BODIES)
        await wait_for_log(link, settings, run, 5)
        lost = len(heard.heard("server-lost"))
        await write(link, settings, run, BODIES, first=6)
        await wait_for_log(link, settings, run, 10)
        assert lost <= 1, "the others lost their connections again and again"


async def test_a_state_of_a_wrong_type_stops_its_partition_only(own_server: Server) -> None:
    settings, heard = quick_settings(own_server.url, "rw"), Heard()
    run, other = run_in(1, 4), run_in(2, 4)
    async with (
        await open_link(own_server.url) as link,
        asyncio.timeout(15),
        running(settings, FloorHandler(4), observer=heard) as node,
    ):
        await link.call("SET", Keys("rw").partition(2).state(other), "not what it should be")
        await write(link, settings, other, BODIES)
        await wait_until(lambda: list(node.status().halted) == [2], "partition 2 is halted", 5.0)
        await write(link, settings, run, BODIES)
        await wait_for_log(link, settings, run, 5)
        assert not heard.heard("server-lost")

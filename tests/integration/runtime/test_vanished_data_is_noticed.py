"""FLUSHALL under a running deployment: what producers and readers need to find it is there again at once."""

import asyncio

from helpers import wait_until
from helpers.enforcing import Heard, log_of, quick_settings, run_in, running, write
from runwire.broker.connection import Link, open_link
from runwire.broker.floor import FloorHandler
from runwire.embedded.server import Server
from runwire.settings import Settings
from runwire_schemas.keys import Keys

BODIES = [b'{"n":%d}' % n for n in range(1, 6)]


async def is_logged(link: Link, settings: Settings, run: str) -> bool:
    return len(await log_of(link, settings, run)) == len(BODIES)


async def test_a_flushed_server_gets_its_deployment_back(own_server: Server) -> None:
    settings, heard = quick_settings(own_server.url, "rw"), Heard()
    run, later = run_in(1, 4), run_in(1, 4, "later")
    async with (
        await open_link(own_server.url) as link,
        asyncio.timeout(15),
        running(settings, FloorHandler(4), observer=heard) as node,
    ):
        await write(link, settings, run, BODIES)
        await wait_until(lambda: is_logged(link, settings, run), "logged")
        await link.call("FLUSHALL")

        async def known() -> bool:
            return await link.call("HGET", Keys("rw").meta, "partitions") == b"4"

        await wait_until(known, "the deployment is known again", 3.0)
        await write(link, settings, later, BODIES)
        await wait_until(lambda: is_logged(link, settings, later), "a new run is logged", 5.0)
        await wait_until(lambda: node.status().connected, "connected", 5.0)
        assert len(heard.heard("server-lost")) == 1, "one look at everything is enough"


async def test_a_flushed_library_is_loaded_again(own_server: Server) -> None:
    settings, heard, run = quick_settings(own_server.url, "rw"), Heard(), run_in(1, 4)
    async with (
        await open_link(own_server.url) as link,
        asyncio.timeout(15),
        running(settings, FloorHandler(4), observer=heard),
    ):
        await link.call("FUNCTION", "FLUSH")
        await write(link, settings, run, BODIES)
        await wait_until(lambda: is_logged(link, settings, run), "logged", 5.0)
        assert len(heard.heard("server-lost")) <= 1

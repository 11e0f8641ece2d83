"""The function library: there after any start, compared by digest, never replaced, clear where it is forbidden."""

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest

from integration.broker.world import GROUP, TTL_MS, World
from runwire.broker import functions
from runwire.broker.connection import Link, ServerError, open_link
from runwire.broker.library import LIBRARY, load_library, source
from runwire.embedded.server import Server
from runwire.errors import LibraryMismatch, ServerUnfit


@pytest.fixture
async def fresh(own_server: Server) -> AsyncIterator[Link]:
    async with await open_link(own_server.url) as link:
        yield link


async def libraries(link: Link) -> list[bytes]:
    listed = await link.call("FUNCTION", "LIST")
    return [library[1] for library in cast("list[list[bytes]]", listed)]  # a flat list of names and values


async def test_many_processes_may_load_it_at_once(fresh: Link, own_server: Server) -> None:
    links = [await open_link(own_server.url) for _ in range(8)]
    await asyncio.gather(*(load_library(link) for link in links))
    await load_library(fresh)
    assert await libraries(fresh) == [LIBRARY.encode()]
    assert await fresh.call("FCALL", "rw_digest_1", 0) == source()[1].encode()
    await asyncio.gather(*(link.close() for link in links))


async def test_it_survives_a_restart_and_a_flush_of_the_data(fresh: Link, own_server: Server) -> None:
    await load_library(fresh)
    await fresh.call("FLUSHALL")
    own_server.kill()
    own_server.restart()
    async with await open_link(own_server.url) as link:
        assert await libraries(link) == [LIBRARY.encode()]


async def test_a_server_that_lost_it_gets_it_again_by_the_next_call(fresh: Link) -> None:
    await load_library(fresh)
    await fresh.call("FUNCTION", "FLUSH")
    world = World(fresh, "rw")
    assert (await world.take()).epoch == 1
    await fresh.call("FUNCTION", "FLUSH")
    with pytest.raises(ServerError) as caught:
        await world.commit(world.work(await world.publish(1)))
    assert (caught.value.outcome, caught.value.missing_function) == ("refused", True)


async def test_other_code_under_the_name_is_an_error_and_stays(fresh: Link) -> None:
    other = "#!lua name=runwire_1\nredis.register_function('rw_digest_1', function() return 'other' end)"
    await fresh.call("FUNCTION", "LOAD", other)
    with pytest.raises(LibraryMismatch, match="never replaced"):
        await load_library(fresh)
    assert await fresh.call("FCALL", "rw_digest_1", 0) == b"other"


async def test_a_foreign_library_of_the_name_without_a_digest_is_an_error(fresh: Link) -> None:
    await fresh.call("FUNCTION", "LOAD", "#!lua name=runwire_1\nredis.register_function('f', function() return 1 end)")
    with pytest.raises(LibraryMismatch):
        await load_library(fresh)


@pytest.mark.parametrize("rules", ["-fcall -function", "-function"])
async def test_a_server_that_forbids_functions_is_named_so(fresh: Link, own_server: Server, rules: str) -> None:
    await fresh.call("ACL", "SETUSER", "narrow", "on", ">pw", "~*", "&*", "+@all", *rules.split())
    async with await open_link(own_server.url.replace("redis://", "redis://narrow:pw@")) as link:
        with pytest.raises(ServerUnfit, match=r"forbids server-side functions.*\+function"):
            await load_library(link)


async def test_wrong_arguments_of_every_function_are_a_bug_and_write_nothing(world: World) -> None:
    await world.publish(1)
    before = await world.snapshot()
    k = world.keys
    lease, wrong = k.lease(GROUP), "x"
    calls = [
        ("rw_take_1", 4, lease, k.pos_raw, k.raw, k.evidence, GROUP, "me", wrong),
        ("rw_take_1", 3, lease, k.pos_raw, k.raw, GROUP, "me", TTL_MS),
        ("rw_renew_1", 1, lease, world.me, world.epoch, wrong),
        ("rw_release_1", 1, lease, world.me, world.epoch, TTL_MS),
        ("rw_advance_1", 2, lease, k.pos_raw, GROUP, world.me, world.epoch, TTL_MS, "0-0", "1-0", wrong),
        ("rw_advance_1", 2, lease, k.pos_raw, GROUP, world.me, world.epoch, TTL_MS, "0-0", wrong, 1),
        ("rw_trim_1", 3, k.raw, k.pos_raw, k.holds, wrong, 100, 1000),
        ("rw_beat_1", 1, f"{world.prefix}:members:g", "", TTL_MS),
        ("rw_due_1", 1, k.open, wrong),
        ("rw_timeout_1", 3, lease, k.raw, k.open, world.me, world.epoch, 1000, "run-without-body"),
        ("rw_quarantine_1", 3, lease, k.pos_raw, k.raw, GROUP, world.me, world.epoch, wrong, "r", "{}"),
        ("rw_suspect_1", 1, lease, world.me, world.epoch, wrong),
        ("rw_alarm_1", 1, k.evidence, wrong, "", "code", "{}"),
        ("rw_keep_1", 3, lease, k.holds, k.kept("r"), world.me, world.epoch, "r", TTL_MS, 0, "1-1", 3, "a", "b", "c"),
        ("rw_keep_1", 3, lease, k.holds, k.kept("r"), world.me, world.epoch, "r", TTL_MS, 0, "1-1", 4, "a", "b"),
        ("rw_expire_1", 3, k.expiring, k.index, k.evidence, 10, wrong),
    ]
    for reply, call in zip(await world.link.call_many([("FCALL", *call) for call in calls]), calls, strict=True):
        assert isinstance(reply, ServerError), call
        assert (reply.code, reply.outcome) == ("ARGS", "bug")
    assert await world.snapshot() == before
    with pytest.raises(ServerError, match="ARGS rw_due_1"):
        await functions.due(world.link, world.keys, -1)

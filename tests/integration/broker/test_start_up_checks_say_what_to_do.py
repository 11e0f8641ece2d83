"""A server that cannot carry runs is refused at the start, with what was wrong, where, and what to do."""

from collections.abc import AsyncIterator, Callable
from typing import cast

import pytest

from runwire.broker.checks import check_server
from runwire.broker.connection import Command, Link, Reply, open_link
from runwire.embedded.server import Server
from runwire.errors import (
    EvictionEnabled,
    PartitionMismatch,
    PersistenceDisabled,
    ServerTooOld,
    ServerUnfit,
    WireMismatch,
)
from runwire_schemas.keys import Keys


@pytest.fixture
async def own(own_server: Server) -> AsyncIterator[Link]:
    async with await open_link(own_server.url) as link:
        yield link


async def test_a_fit_server_passes_and_says_what_it_is(link: Link, keys: Keys, server: Server) -> None:
    facts = await check_server(link, keys, 16)
    assert facts.flavour == server.kind.split("-")[0]
    assert facts.version == server.version
    assert (facts.partitions, facts.unchecked) == (16, ())
    assert await check_server(link, keys, 16) == facts


async def test_eviction_is_refused(own: Link) -> None:
    await own.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    with pytest.raises(EvictionEnabled, match=r"127\.0\.0\.1.*allkeys-lru.*noeviction"):
        await check_server(own, Keys(), 16)
    assert await own.call("EXISTS", "rw:meta") == 0


async def test_a_server_without_persistence_is_refused_unless_allowed(own: Link) -> None:
    await own.call("CONFIG", "SET", "appendonly", "no")
    with pytest.raises(PersistenceDisabled, match=r"appendonly.*RUNWIRE_ALLOW_NO_PERSISTENCE"):
        await check_server(own, Keys(), 16)
    assert (await check_server(own, Keys(), 16, allow_no_persistence=True)).partitions == 16


async def test_another_partition_count_than_stored_is_refused(link: Link, keys: Keys) -> None:
    await check_server(link, keys, 16)
    with pytest.raises(PartitionMismatch, match=r"says 16 partitions, this process is set to 8.*RUNWIRE_PARTITIONS=16"):
        await check_server(link, keys, 8)
    assert await link.call("HGET", keys.meta, "partitions") == b"16"


async def test_another_wire_version_is_refused(link: Link, keys: Keys) -> None:
    await link.call("HSET", keys.meta, "wire", 99)
    with pytest.raises(WireMismatch, match=r"wire version 99"):
        await check_server(link, keys, 16)


async def test_a_meta_key_that_we_did_not_write_is_refused(link: Link, keys: Keys) -> None:
    await link.call("HSET", keys.meta, "partitions", "many")
    with pytest.raises(ServerUnfit, match="no release of Runwire"):
        await check_server(link, keys, 16)


async def test_a_client_needs_no_functions(own: Link, own_server: Server) -> None:
    await own.call("ACL", "SETUSER", "client", "on", ">pw", "~*", "+@all", "-function", "-fcall", "-config")
    async with await open_link(own_server.url.replace("redis://", "redis://client:pw@")) as client:
        assert (await check_server(client, Keys(), 16, functions=False)).unchecked == ()
        with pytest.raises(ServerUnfit, match="forbids"):
            await check_server(client, Keys(), 16)


async def test_a_server_that_does_not_answer_info_is_refused(own: Link, own_server: Server) -> None:
    await own.call("ACL", "SETUSER", "blind", "on", ">pw", "~*", "+@all", "-info")
    async with await open_link(own_server.url.replace("redis://", "redis://blind:pw@")) as blind:
        with pytest.raises(ServerUnfit, match="does not answer INFO"):
            await check_server(blind, Keys(), 16)


class Told:
    """A link to a server of another make: INFO is as given, everything else is the real server's."""

    def __init__(self, link: Link, change: Callable[[str], str]) -> None:
        self.address = link.address
        self.call = link.call
        self._link, self._change = link, change

    async def call_many(self, commands: list[Command]) -> list[Reply]:
        replies = await self._link.call_many(commands)
        return [self._change(r.decode()).encode() if isinstance(r, bytes) else r for r in replies]


@pytest.mark.parametrize(
    "said", ["redis_version:6.2.14", "redis_version:7.0.0\r\nvalkey_version:7.2.8", "redis_version:new", ""]
)
async def test_a_server_that_is_too_old_is_refused(link: Link, keys: Keys, said: str) -> None:
    def change(info: str) -> str:
        kept = [line for line in info.splitlines() if not line.startswith(("redis_version", "valkey_version"))]
        return "\r\n".join([*kept, said])

    with pytest.raises(ServerTooOld, match=r"Redis 7\.0 or later, or Valkey 8"):
        await check_server(cast("Link", Told(link, change)), keys, 16)


async def test_what_a_server_does_not_tell_is_reported_as_unchecked(link: Link, keys: Keys) -> None:
    def change(info: str) -> str:
        return "\r\n".join(x for x in info.splitlines() if not x.startswith(("maxmemory_policy", "aof_enabled")))

    facts = await check_server(cast("Link", Told(link, change)), keys, 16)
    assert facts.unchecked == ("maxmemory-policy", "appendonly")

"""A reply that is lost leaves the outcome unknown; taking the lease again and comparing positions tells it."""

from collections.abc import AsyncIterator

import pytest

from helpers import wait_until
from integration.broker.world import GROUP, LIVES, World, writes
from runwire.broker.connection import Link, LinkLost, open_link
from runwire.broker.functions import Committed, Fenced, Moved, commit_args, commit_result
from runwire.chaos.proxy import Proxy
from runwire.embedded.server import Server


@pytest.fixture
async def proxy(server: Server) -> AsyncIterator[Proxy]:
    async with Proxy(server.port) as one:
        yield one


@pytest.fixture
async def far(proxy: Proxy) -> AsyncIterator[Link]:
    """A link through the proxy that gives up soon."""
    async with await open_link(proxy.url, limit=0.3) as one:
        yield one


async def test_a_commit_whose_reply_was_lost_is_known_to_be_done_by_the_position(
    world: World, proxy: Proxy, far: Link
) -> None:
    ids = await world.publish(5)
    work = world.work(ids, writes("r1", 0, 5))
    proxy.drop_replies()
    with pytest.raises(LinkLost):
        await far.call_many([commit_args(world.keys, GROUP, world.me, world.epoch, LIVES, work)])
    assert proxy.dropped_bytes > 0
    old = world.epoch
    taken = await world.take()
    assert (taken.position, taken.count, taken.attempts) == (work.last, 5, 0)
    assert len(await world.chunks_of("r1")) == 5
    # A late copy of the command meets a newer epoch; sent again by mistake it meets the position.
    late = commit_args(world.keys, GROUP, world.me, old, LIVES, work)
    assert commit_result((await world.link.call_many([late]))[0]) == Fenced(world.me, taken.epoch)
    assert await world.commit(work) == Moved(work.last)
    assert len(await world.chunks_of("r1")) == 5


async def test_a_commit_that_never_arrived_is_known_not_to_be_done_by_the_position(
    world: World, proxy: Proxy, far: Link
) -> None:
    ids = await world.publish(5)
    work = world.work(ids, writes("r1", 0, 5))
    proxy.pause()
    with pytest.raises(LinkLost, match="no answer in time"):
        await far.call_many([commit_args(world.keys, GROUP, world.me, world.epoch, LIVES, work)])
    taken = await world.take()
    assert taken.position == work.prev
    # Now the late copy arrives after all.
    proxy.resume()
    await wait_until(lambda: proxy.open == 0, "the given-up connection is closed", 3)
    assert await world.stored_position() == work.prev
    assert await world.commit(work) == Committed(5)


async def test_a_connection_cut_between_two_commits_in_flight_keeps_their_order(
    world: World, proxy: Proxy, far: Link
) -> None:
    ids = await world.publish(4)
    first, second = world.work(ids[:2], writes("r1", 0, 2)), world.work(ids[2:], writes("r1", 2, 2), prev=ids[1])
    commits = [commit_args(world.keys, GROUP, world.me, world.epoch, LIVES, work) for work in (first, second)]
    proxy.drop_replies()
    both = [far.send_many([commit]) for commit in commits]
    await wait_until(lambda: proxy.dropped_bytes > 0, "a reply was lost", 3)
    assert proxy.cut() == 1
    for future in both:
        with pytest.raises(LinkLost):
            await future
    taken = await world.take()
    assert taken.position in (first.last, second.last)
    assert len(await world.chunks_of("r1")) == (2 if taken.position == first.last else 4)


async def test_the_proxy_passes_and_holds_and_cuts(server: Server, proxy: Proxy) -> None:
    async with await open_link(proxy.url) as link:
        big = b"x" * 5_000_000
        assert await link.call("ECHO", big) == big
        proxy.pause()
        waiting = link.send_many([("ECHO", "later")])
        assert not waiting.done()
        proxy.resume()
        assert await waiting == [b"later"]
        proxy.cut()
        with pytest.raises(LinkLost):
            await link.call("PING")
        await link.connect()
        proxy.drop_replies()
        lost = link.send_many([("PING",)])
        await wait_until(lambda: proxy.dropped_bytes > 0, "a reply was lost", 3)
        proxy.pass_replies()
        with pytest.raises(LinkLost):
            await lost
        await link.connect()
        assert await link.call("PING") == b"PONG"
    proxy.refusing = True
    with pytest.raises(LinkLost):
        async with await open_link(proxy.url, limit=0.5) as link:
            await link.call("PING")


async def test_the_proxy_says_so_when_the_server_is_gone(start_server: object) -> None:
    async with Proxy(1) as proxy:
        with pytest.raises(LinkLost):
            await open_link(proxy.url, limit=0.5)

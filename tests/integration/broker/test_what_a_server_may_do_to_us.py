"""A server that loses power, fills up, is demoted or paused: never half a commit, always a clear outcome."""

import asyncio
import random
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from helpers import wait_until
from integration.broker.world import GROUP, TTL_MS, World, writes
from runwire.broker import functions
from runwire.broker.connection import Link, ServerError, open_link
from runwire.broker.functions import Committed
from runwire.broker.library import load_library
from runwire.embedded.server import Server

CUTS = 25


@pytest.fixture
async def own(own_server: Server) -> AsyncIterator[World]:
    """A partition on a server of the test's own, to be harmed."""
    async with await open_link(own_server.url, "own") as link:
        await load_library(link)
        world = World(link, "rw")
        await world.take()
        yield world


async def refused(call: object) -> str:
    with pytest.raises(ServerError) as caught:
        await call  # type: ignore[misc]  # whatever the caller wants to see refused
    assert caught.value.outcome == "refused"
    return caught.value.code


def fits(world: World, position: str | None, done: list[tuple[str, int]]) -> int:
    """Chunks that run r1 must have at this position."""
    return dict(done)[position or "0-0"]


# long: one story of cuts and restarts, which parts would only hide
async def test_a_power_loss_leaves_whole_commits_only(own: World, own_server: Server, tmp_path: Path) -> None:
    """The append-only file cut at random offsets: after every restart the logs are what the position says."""
    done, chunks = [("0-0", 0)], 0
    for size in (3, 1, 4, 2, 5, 2):
        ids = await own.publish(size)
        assert await own.commit(own.work(ids, writes("r1", chunks, size), writes(f"once-{chunks}", 0, 1))) == Committed(
            size + 1
        )
        chunks += size
        done.append((ids[-1], chunks))
    await own.link.close()
    own_server.kill()
    whole = tmp_path / "whole"
    shutil.copytree(own_server.folder, whole)
    file = own_server.aof_file()
    assert file is not None
    rng = random.Random(own_server.kind)
    for _ in range(CUTS):
        shutil.rmtree(own_server.folder)
        shutil.copytree(whole, own_server.folder)
        own_server.truncate_aof(rng.randrange(1, file.stat().st_size - 100))
        own_server.restart()
        async with await open_link(own_server.url) as link:
            world = World(link, "rw")
            position = await world.stored_position()
            log = await world.chunks_of("r1")
            expected = fits(world, position, done)
            assert [entry for entry, _ in log] == [f"{seq}-0" for seq in range(1, expected + 1)]
            assert await world.field(world.keys.state("r1"), "s") == (str(expected) if expected else None)
            whole_commits = [at for at, _ in done].index(position or "0-0")
            assert await link.call("XLEN", world.keys.chunks) == 2 * whole_commits
            # And it goes on from there.
            await load_library(link)
            await world.seize("me-2")
            ids = await world.publish(1)
            unread = [entry for entry, _ in await world.entries(world.keys.raw, after=f"({world.position}")]
            assert unread[-1] == ids[0]
            assert await world.commit(world.work(unread, writes("r1", expected, 1))) == Committed(1)
        own_server.kill()


async def full(link: Link, *, on: bool) -> None:
    await link.call("CONFIG", "SET", "maxmemory", 1 if on else 0)


async def test_a_full_server_refuses_producers_and_lets_consumption_make_room(own: World) -> None:
    ids = await own.publish(1000)
    await full(own.link, on=True)
    assert await refused(own.link.call("XADD", own.keys.raw, "*", "run", "r1")) == "OOM"
    assert (await own.take()).position == "0-0"
    assert await own.commit(own.work(ids, writes("r1", 0, 3, deadline_ms=1))) == Committed(3)
    renewed = await functions.renew(own.link, own.keys, GROUP, own.me, own.epoch, TTL_MS)
    assert renewed == functions.Renewed("")
    assert (await functions.trim(own.link, own.keys, "raw", 0)).removed >= 900
    await wait_until(lambda: functions.due(own.link, own.keys, 10), "the deadline of the run passes")
    late = await functions.write_timeouts(own.link, own.keys, GROUP, own.me, own.epoch, [("r1", b"{}")], 60_000)
    assert late == functions.Written(1)
    assert await functions.due(own.link, own.keys, 10) == []
    assert (await functions.beat(own.link, f"rw:members:{GROUP}", own.me, TTL_MS)).names == [own.me]
    await full(own.link, on=False)
    await own.publish(1)


async def test_batches_of_producers_are_stored_whole_or_not_at_all_while_memory_flaps(
    own: World, own_server: Server
) -> None:
    batch, stored = 50, 0

    async def flap() -> None:
        async with await open_link(own_server.url) as other:
            while True:
                for on in (True, False):
                    await full(other, on=on)
                    await asyncio.sleep(0.001)

    flapping = asyncio.ensure_future(flap())
    refusals = 0
    for _ in range(150):
        records = [("XADD", own.keys.raw, "*", "run", "r1", "body", b"x" * 100)] * batch
        *_, answer = await own.link.call_many([("MULTI",), *records, ("EXEC",)])
        if isinstance(answer, ServerError):
            assert (answer.code in ("EXECABORT", "OOM"), answer.outcome) == (True, "refused")
            refusals += 1
        else:
            stored += batch
        # A commit passes in either case.
        if stored:
            assert isinstance(
                await functions.renew(own.link, own.keys, GROUP, own.me, own.epoch, TTL_MS), functions.Renewed
            )
    flapping.cancel()
    await asyncio.wait((flapping,))
    await full(own.link, on=False)
    assert await own.link.call("XLEN", own.keys.raw) == stored
    assert refusals
    assert stored


async def test_a_demoted_server_refuses_whole_and_goes_on_when_it_is_promoted(
    own: World, own_server: Server, start_server: Callable[..., Server]
) -> None:
    primary = start_server()
    ids = await own.publish(3)
    work = own.work(ids, writes("r1", 0, 3))
    before = await own.snapshot()
    # Before the replication link is up the replica still has its own data, and may not write it.
    primary.pause()
    await own.link.call("REPLICAOF", "127.0.0.1", primary.port)
    assert await refused(own.commit(work)) == "READONLY"
    assert await refused(own.take()) == "READONLY"
    assert await own.snapshot() == before
    await own.link.call("REPLICAOF", "NO", "ONE")
    primary.resume()
    taken = await own.take()
    assert (taken.epoch, taken.position) == (2, "0-0")
    assert await own.commit(work) == Committed(3)


async def test_a_promoted_replica_has_the_library_and_the_positions(
    own: World, own_server: Server, start_server: Callable[..., Server]
) -> None:
    ids = await own.publish(3)
    assert await own.commit(own.work(ids, writes("r1", 0, 3))) == Committed(3)
    # A full synchronization waits 5 s for further replicas by default.
    await own.link.call("CONFIG", "SET", "repl-diskless-sync-delay", 0)
    replica = start_server(extra=("--replicaof", f"127.0.0.1 {own_server.port}"))
    async with await open_link(replica.url) as link:
        world = World(link, "rw")
        await wait_until(world.stored_position, "the replica has the data", 15)
        assert await refused(link.call("FCALL", "rw_beat_1", 1, "rw:members:g", "x", 1000)) == "READONLY"
        await link.call("REPLICAOF", "NO", "ONE")
        assert (await world.seize("me-2")).position == ids[-1]
        assert len(await world.chunks_of("r1")) == 3


async def test_a_server_without_enough_replicas_refuses_whole(own: World) -> None:
    ids = await own.publish(1)
    await own.link.call("CONFIG", "SET", "min-replicas-to-write", 1)
    before = await own.snapshot()
    assert await refused(own.commit(own.work(ids, writes("r1", 0, 1)))) == "NOREPLICAS"
    assert await own.snapshot() == before


async def test_a_paused_owner_finds_itself_fenced(own: World) -> None:
    ids = await own.publish(2)
    zombie = World(own.link, "rw", own.me)
    zombie.epoch, zombie.position = own.epoch, own.position
    await own.seize("me-2")
    assert await own.commit(own.work(ids[:1], writes("r1", 0, 1))) == Committed(1)
    assert await zombie.commit(zombie.work(ids, writes("r1", 0, 2))) == functions.Fenced("me-2", 2)
    assert len(await own.chunks_of("r1")) == 1

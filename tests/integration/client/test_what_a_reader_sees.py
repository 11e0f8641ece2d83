"""A run is read once, in order and to its end, from anywhere, live or not; or an error says why not."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import pytest

from helpers import wait_until
from integration.client.bare import DELTA, FINISH, PARTITIONS, Bare
from runwire import (
    Chunk,
    CursorAhead,
    CursorInvalid,
    DeploymentMissing,
    LogDamaged,
    LogExpired,
    PartitionMismatch,
    Reader,
    ReaderClosed,
    ReaderDisconnected,
    ReaderOptions,
    RunUnknown,
)
from runwire.embedded.server import free_port


def reader(bare: Bare, **options: float) -> Reader:
    known = {"backoff_max": 0.1, "command_timeout": 1.0, **options}
    return Reader(bare.url, prefix=bare.prefix, options=ReaderOptions(**known))  # type: ignore[arg-type]  # numbers


async def seqs(chunks: AsyncGenerator[Chunk, None]) -> list[int]:
    return [chunk.seq async for chunk in chunks]


async def take(chunks: AsyncGenerator[Chunk, None], count: int) -> list[Chunk]:
    return [await anext(chunks) for _ in range(count)]


async def test_a_finished_run_is_read_from_its_start_or_after_any_cursor(bare: Bare) -> None:
    bare.log("r", *(DELTA % n for n in range(1, 1500)), FINISH)
    async with reader(bare) as one:
        chunks = [chunk async for chunk in one.run("r")]
        assert [c.seq for c in chunks] == list(range(1, 1501))
        assert [c.data for c in chunks] == [*(DELTA % n for n in range(1, 1500)), FINISH]
        assert chunks[-1].type == "finish"
        for after in (0, "0", 700, "1.700", chunks[699].cursor, 1499):
            seen = await seqs(one.run("r", after=after))
            assert seen == list(range(int(str(after).rpartition(".")[2]) + 1, 1501))
        assert await seqs(one.run("r", after=1500)) == []


async def test_catching_up_and_going_live_neither_skips_nor_repeats(bare: Bare) -> None:
    """Readers attach at any moment and cursor while the log grows: each gets exactly the rest."""
    choose = random.Random(11)
    for turn in range(6):
        run, total, started = f"race-{turn}", 400, asyncio.Event()
        bare.log(run, DELTA % 1)
        async with reader(bare, page_chunks=choose.choice([1, 7, 500]), block=0.02) as one:

            async def write(run: str = run, total: int = total, started: asyncio.Event = started) -> None:
                written = 1
                while written < total:
                    size = min(choose.randint(1, 40), total - written)
                    chunks = [DELTA % n for n in range(written + 1, written + 1 + size)]
                    written += size
                    bare.log(run, *(chunks if written < total else [*chunks[:-1], FINISH]))
                    started.set()
                    await asyncio.sleep(choose.choice([0, 0, 0.002]))

            async def follow(after: int, run: str = run, one: Reader = one, started: asyncio.Event = started) -> int:
                await started.wait()
                await asyncio.sleep(choose.uniform(0, 0.03))
                after = min(after, bare.client.xlen(bare.partition(run).log(run)))
                seen = await seqs(one.run(run, after=after))
                assert seen == list(range(after + 1, 401))
                return len(seen)

            writing = asyncio.create_task(write())
            assert all(await asyncio.gather(*(follow(choose.randint(0, 200)) for _ in range(8))))
            await writing


async def test_many_runs_share_one_connection_and_each_ends_by_itself(bare: Bare) -> None:
    names = [f"run-{n}" for n in range(60)]
    async with reader(bare) as one:
        readers = [asyncio.create_task(seqs(one.run(name))) for name in names]
        for number in range(1, 6):
            for name in names:
                bare.log(name, DELTA % number)
            await asyncio.sleep(0)
        await wait_until(lambda: bare.connections("runwire-reader") == 1, "one connection is open")
        for name in names[:30]:
            bare.log(name, FINISH)
        assert await asyncio.gather(*readers[:30]) == [list(range(1, 7))] * 30
        assert bare.connections("runwire-reader") == 1
        for name in names[30:]:
            bare.log(name, FINISH)
        assert await asyncio.gather(*readers[30:]) == [list(range(1, 7))] * 30


async def test_a_slow_consumer_holds_up_only_itself(bare: Bare) -> None:
    bare.log("slow", *(DELTA % n for n in range(1, 1000)))
    bare.log("fast", DELTA % 1)
    async with reader(bare, queue_chunks=50, page_chunks=40) as one:
        slow, fast = one.run("slow"), one.run("fast")
        async with aclosing(slow), aclosing(fast):
            first = await take(slow, 1)
            await take(fast, 1)
            for number in range(2, 300):
                bare.log("fast", DELTA % number)
                async with asyncio.timeout(2):
                    assert (await anext(fast)).seq == number
            (subscription,) = [s for s in one._hub._subscriptions if s.feed.run_id == "slow"]
            assert len(subscription.feed._queue) < 50 + 40
            bare.log("slow", FINISH)
            assert [c.seq for c in first] + await seqs(slow) == list(range(1, 1001))


async def test_leaving_early_closes_the_connection_unless_the_reader_is_held(bare: Bare) -> None:
    bare.log("r", DELTA % 1, DELTA % 2)
    async with aclosing(reader(bare).run("r")) as chunks:
        await take(chunks, 1)
        assert bare.connections("runwire-reader") == 1
    await wait_until(lambda: bare.connections("runwire-reader") == 0, "the connection is closed")
    async with reader(bare) as one:
        async with aclosing(one.run("r")) as chunks:
            await take(chunks, 1)
        assert bare.connections("runwire-reader") == 1
    await wait_until(lambda: bare.connections("runwire-reader") == 0, "the connection is closed")


async def test_an_idle_reader_asks_a_few_times_a_second(own: Bare) -> None:
    own.log("r", DELTA % 1)
    async with reader(own) as one, aclosing(one.run("r")) as chunks:
        await take(chunks, 1)
        before = own.client.info("commandstats")
        await asyncio.sleep(0.5)
        after = own.client.info("commandstats")
    calls = sum(after[name]["calls"] - before.get(name, {"calls": 0})["calls"] for name in after)
    assert calls < 15, "an idle reader should make about ten reads a second"


async def test_a_run_is_waited_for_and_then_unknown(bare: Bare) -> None:
    loop = asyncio.get_running_loop()
    async with reader(bare) as one:
        began = loop.time()
        with pytest.raises(RunUnknown, match="no run 'nobody'"):
            await seqs(one.run("nobody", wait=0.3))
        assert 0.25 < loop.time() - began < 2.0
        with pytest.raises(RunUnknown):
            await seqs(one.run("nobody", after=5, wait=0))
        late = asyncio.create_task(seqs(one.run("late", wait=10)))
        await asyncio.sleep(0.05)
        bare.log("late", DELTA % 1, FINISH)
        async with asyncio.timeout(1):
            assert await late == [1, 2]


@pytest.mark.parametrize("after", ["x", "-1", "0.1", ""])
def test_a_mistyped_cursor_is_an_error_at_once(after: str) -> None:
    with pytest.raises(CursorInvalid):
        Reader().run("r", after=after)


async def test_a_cursor_ahead_of_the_log_is_an_error_and_never_a_wait(bare: Bare) -> None:
    bare.log("open", DELTA % 1)
    bare.log("done", DELTA % 1, FINISH)
    async with reader(bare) as one, asyncio.timeout(2):
        for run in ("open", "done"):
            with pytest.raises(CursorAhead, match="start"):
                await seqs(one.run(run, after=3))


async def test_a_log_that_is_gone_or_begins_later_has_expired(bare: Bare) -> None:
    for run in ("gone", "cut", "vanished"):
        bare.log(run, *(DELTA % n for n in range(1, 10)), *([] if run == "vanished" else [FINISH]))
    bare.client.delete(bare.partition("gone").log("gone"))
    bare.client.xtrim(bare.partition("cut").log("cut"), minid="5-0", approximate=False)
    async with reader(bare, check_every=0.1) as one, asyncio.timeout(5):
        with pytest.raises(LogExpired):
            await seqs(one.run("gone"))
        assert await seqs(one.run("gone", after=10)) == []
        with pytest.raises(LogExpired):
            await seqs(one.run("cut", after=2))
        assert await seqs(one.run("cut", after=4)) == [5, 6, 7, 8, 9, 10]
        chunks = one.run("vanished")
        assert len(await take(chunks, 9)) == 9
        bare.client.delete(bare.partition("vanished").log("vanished"))
        with pytest.raises(LogExpired):
            await anext(chunks)


async def test_one_damaged_log_harms_no_other_run(bare: Bare) -> None:
    bare.log("fine", DELTA % 1)
    bare.log("foreign", DELTA % 1)
    bare.log("replaced", DELTA % 1)
    async with reader(bare, check_every=0.1) as one, asyncio.timeout(5):
        fine, foreign, replaced = one.run("fine"), one.run("foreign"), one.run("replaced")
        for chunks in (fine, foreign, replaced):
            await take(chunks, 1)
        bare.client.xadd(bare.partition("foreign").log("foreign"), {"oops": "1"}, id="2-0")
        bare.client.delete(bare.partition("replaced").log("replaced"))
        bare.client.set(bare.partition("replaced").log("replaced"), "no stream", ex=60)
        with pytest.raises(LogDamaged):
            await anext(foreign)
        with pytest.raises(LogDamaged):
            await anext(replaced)
        bare.log("fine", FINISH)
        assert await seqs(fine) == [2]


async def test_a_reader_goes_on_after_a_server_restart(own: Bare) -> None:
    names = [f"run-{n}" for n in range(5)]
    async with reader(own) as one:
        readers = {name: one.run(name) for name in names}
        for name in names:
            own.log(name, DELTA % 1, DELTA % 2)
            await take(readers[name], 2)
        own.server.kill()
        await asyncio.to_thread(own.server.restart)
        for name in names:
            own.log(name, DELTA % 3, FINISH)
        for name in names:
            assert await seqs(readers[name]) == [3, 4]


async def test_a_reader_that_has_seen_more_than_redis_kept_is_told(own: Bare) -> None:
    async with reader(own) as one:
        for run in ("cut", "replaced", "kept"):
            own.log(run, DELTA % 1)
        chunks = {run: one.run(run) for run in ("cut", "replaced", "kept")}
        for one_run in chunks.values():
            await take(one_run, 1)
        await wait_until(own.server.aof_file, "the append-only file is there")
        size = (own.server.aof_file() or own.server.log).stat().st_size
        own.log("cut", DELTA % 2)
        own.log("replaced", DELTA % 2)
        for run in ("cut", "replaced"):
            await take(chunks[run], 1)
        own.server.kill()
        own.server.truncate_aof((own.server.aof_file() or own.server.log).stat().st_size - size)
        with pytest.MonkeyPatch.context() as patch:
            # Written before any reader is back, as an enforcer that read a replayed tail would.
            patch.setattr(one._hub, "_connect", _after(asyncio.Event(), own, one._connect))
            await asyncio.to_thread(own.server.restart)
            for run in ("cut", "replaced"):
                with pytest.raises(CursorAhead):
                    await anext(chunks[run])
        own.log("kept", FINISH)
        assert await seqs(chunks["kept"]) == [2]


def _after(_: asyncio.Event, own: Bare, connect: Callable[[], object]) -> Callable[[], object]:
    async def connecting() -> object:
        opened = await connect()  # type: ignore[misc]  # the reader's own coroutine function
        own.log("replaced", b'{"type":"text-delta","another":"content"}', DELTA % 3)
        return opened

    return connecting


async def test_a_server_that_stays_away_is_an_error_with_a_cursor(own: Bare) -> None:
    own.log("r", DELTA % 1, DELTA % 2)
    async with reader(own, reconnect_limit=0.3) as one:
        chunks = one.run("r")
        await take(chunks, 2)
        own.server.kill()
        with pytest.raises(ReaderDisconnected, match="cursor 2"):
            await anext(chunks)
        await asyncio.to_thread(own.server.restart)
        own.log("r", FINISH)
        assert await seqs(one.run("r", after=2)) == [3]


async def test_a_reader_says_what_is_missing(bare: Bare) -> None:
    with pytest.raises(ReaderDisconnected, match="cannot connect"):
        await seqs(Reader(f"redis://127.0.0.1:{free_port()}/0").run("r", wait=0.2))
    with pytest.raises(DeploymentMissing, match="runwire up"):
        await seqs(Reader(bare.url, prefix=f"{bare.prefix}-none").run("r", wait=0.2))
    with pytest.raises(PartitionMismatch, match=f"has {PARTITIONS} partitions"):
        await seqs(Reader(bare.url, prefix=bare.prefix, partitions=16).run("r"))


async def test_a_reader_waits_for_a_deployment_that_is_being_started(bare: Bare) -> None:
    bare.client.delete(bare.keys.meta)
    task = asyncio.create_task(seqs(reader(bare).run("r", wait=5)))
    await wait_until(lambda: bare.connections("runwire-reader") >= 0, "it tries")
    bare.client.hset(bare.keys.meta, mapping={"partitions": PARTITIONS, "wire": 1})
    bare.log("r", FINISH)
    assert await task == [1]


async def test_closing_a_reader_ends_its_iterations(bare: Bare) -> None:
    bare.log("r", DELTA % 1)
    one = reader(bare)
    chunks = one.run("r")
    await take(chunks, 1)
    waiting = asyncio.ensure_future(anext(chunks))
    await asyncio.sleep(0)
    await one.close()
    with pytest.raises(ReaderClosed, match="cursor 1"):
        await waiting
    with pytest.raises(ReaderClosed):
        await seqs(one.run("r"))


async def test_runs_evidence_and_status_are_listed(bare: Bare) -> None:
    bare.log("r", DELTA % 1, FINISH)
    p = bare.partition("r")
    bare.client.zadd(p.index, {"r": 1_700_000_000_000})
    found = b'{"code":"sequence-gap","class":"fatal","message":"m","record":"1-1","run":"r"}'
    bare.client.xadd(p.evidence, {"run": "r", "code": "sequence-gap", "d": found})
    async with reader(bare) as one:
        (run,) = await one.runs()
        assert (run.run, run.chunks, run.state) == ("r", 2, "finished")
        assert await one.runs(since_ms=1_700_000_000_001) == []
        (evidence,) = await one.evidence("r")
        assert (evidence.code, evidence.cls) == ("sequence-gap", "fatal")
        assert await one.evidence("another") == []
        assert [view.partition for view in (await one.status()).partitions] == list(range(PARTITIONS))

"""Lost replies, lost servers, lost data, full memory: retried in order or a clear error, never a silent hole."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable

import pytest
import redis

from helpers import wait_until
from integration.client.bare import DELTA, PARTITIONS, Bare, no_gap
from runwire import (
    BackPressure,
    Producer,
    ProducerBroken,
    ProducerOptions,
    PublishError,
    PublishTimeout,
    Run,
    RunwireError,
)
from runwire.chaos.proxy import Proxy
from runwire.embedded.server import free_port
from runwire_schemas.keys import partition_of

HURRY = ProducerOptions(backoff_max=0.2, command_timeout=0.3, connect_timeout=0.5)


@contextlib.asynccontextmanager
async def publishing(producer: Producer, runs: int, pause: float = 0.001) -> AsyncIterator[dict[str, int]]:
    """Publishes into so many runs until left; gives how many records each has accepted."""
    sent: dict[str, int] = {}

    async def publish(run_id: str) -> None:
        async with producer.run(run_id) as run:
            while not over.is_set():
                await run.send(DELTA % (sent.get(run_id, 0) + 1))
                sent[run_id] = sent.get(run_id, 0) + 1
                await asyncio.sleep(pause)

    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for number in range(runs):
            group.create_task(publish(f"run-{number}"))
        yield sent
        over.set()


def check(bare: Bare, sent: dict[str, int]) -> None:
    """Each run has exactly what was sent, in order, whatever came twice."""
    records = bare.records()
    assert set(records) == set(sent)
    for run, count in sent.items():
        found = records[run]
        assert no_gap([record.seq for record in found]), run
        bodies = {record.seq: record.body for record in found}
        assert bodies == {seq: DELTA % seq for seq in range(1, count + 1)}


async def acknowledged_more(producer: Producer, count: int) -> None:
    goal = producer.stats.acknowledged + count
    await wait_until(lambda: producer.stats.acknowledged >= goal, f"{count} more records are acknowledged")


async def test_exactly_once_although_replies_are_lost_and_connections_cut(bare: Bare) -> None:
    choose = random.Random(7)
    async with Proxy(bare.server.port) as proxy, Producer(proxy.url, prefix=bare.prefix, options=HURRY) as producer:
        async with publishing(producer, 12) as sent:
            for fault in ["drop", "cut", "cut", "drop", "cut"]:
                await acknowledged_more(producer, choose.randint(20, 200))
                if fault == "drop":
                    proxy.drop_replies()
                    lost = proxy.dropped_bytes
                    await wait_until(lambda lost=lost: proxy.dropped_bytes > lost, "a reply was lost")  # type: ignore[misc]  # default binds
                    proxy.pass_replies()
                else:
                    proxy.cut()
            await acknowledged_more(producer, 50)
        stats = producer.stats
    check(bare, sent)
    assert stats.reconnects >= 5
    assert stats.replayed > 0
    assert sum(map(len, bare.seqs().values())) > stats.accepted, "nothing was sent twice: the faults did nothing"


async def test_a_killed_server_that_comes_back_loses_nothing(own: Bare) -> None:
    async with Producer(own.url, options=HURRY) as producer, publishing(producer, 8) as sent:
        await acknowledged_more(producer, 200)
        own.server.kill()
        await asyncio.to_thread(own.server.restart)
        await acknowledged_more(producer, 200)
    check(own, sent)


async def cut_under_load(own: Bare, options: ProducerOptions) -> dict[str, int]:
    """40 active runs, and a power loss that takes the last records from the server."""
    async with Producer(own.url, options=options) as producer, publishing(producer, 40) as sent:
        await acknowledged_more(producer, 1000)
        own.server.kill()
        assert own.server.truncate_aof(40_000) == 40_000
        await asyncio.to_thread(own.server.restart)
        await acknowledged_more(producer, 500)
    return sent


async def test_a_cut_append_only_file_breaks_none_of_40_active_runs(own: Bare) -> None:
    check(own, await cut_under_load(own, HURRY))


async def test_without_the_replayed_tail_the_same_cut_breaks_runs(own: Bare) -> None:
    """The control: the test before this one can fail."""
    without = ProducerOptions(
        replay_window=0.0, replay_bytes=0, backoff_max=0.2, command_timeout=0.3, connect_timeout=0.5
    )
    sent = await cut_under_load(own, without)
    assert len([run for run, found in own.seqs().items() if not no_gap(found)]) > len(sent) // 2


@pytest.mark.parametrize("closing", [False, True], ids=["idle", "lingering in close"])
async def test_a_producer_with_nothing_to_say_notices_a_loss_and_replays(own: Bare, *, closing: bool) -> None:
    options = ProducerOptions(check_every=0.1, backoff_max=0.2, replay_window=3.0)
    producer = Producer(own.url, options=options)
    await producer.start()
    async with producer.run("r") as run:
        for number in range(1, 51):
            await run.send(DELTA % number)
    close = asyncio.create_task(producer.close(linger=3.0) if closing else asyncio.sleep(0))
    own.server.kill()
    own.server.truncate_aof(4000)
    await asyncio.to_thread(own.server.restart)
    await wait_until(
        lambda: own.seqs().get("r", []) and max(own.seqs()["r"]) == 50,
        "what the server lost is there again",
        ignoring=redis.RedisError,
    )
    assert no_gap(own.seqs()["r"])
    await close
    await producer.close()


async def test_a_tail_is_kept_no_longer_than_its_window_and_an_idle_producer_is_silent_after(bare: Bare) -> None:
    options = ProducerOptions(check_every=0.05, replay_window=0.2)
    async with Producer(bare.url, prefix=bare.prefix, options=options) as producer:
        async with producer.run("r") as run:
            await run.send(DELTA % 1)
        sender = producer._sender
        assert sender is not None
        assert sender.kept.total > 0
        await wait_until(lambda: sender.quiet, "the tail is forgotten", limit=3.0)
        assert sender.kept.total == 0


async def test_closing_does_not_wait_for_the_window_by_default(bare: Bare) -> None:
    producer = Producer(bare.url, prefix=bare.prefix)
    await producer.start()
    async with producer.run("r") as run:
        await run.send(DELTA % 1)
    async with asyncio.timeout(0.5):
        await producer.close()


async def test_a_demoted_server_is_retried_until_it_is_a_master_again(own: Bare) -> None:
    async with Producer(own.url, options=HURRY) as producer, publishing(producer, 8) as sent:
        await acknowledged_more(producer, 100)
        own.client.slaveof("127.0.0.1", free_port())
        await wait_until(lambda: producer.stats.reconnects >= 2, "the producer tried elsewhere")
        own.client.slaveof()
        await acknowledged_more(producer, 100)
    check(own, sent)


async def test_full_memory_is_back_pressure_without_a_hole(start_bare: Callable[..., Bare]) -> None:
    own = start_bare(extra=("--maxmemory", "6mb"))
    # Small batches: the server counts what it is being sent, so large ones fill its memory for a moment only.
    options = ProducerOptions(timeout=0.4, batch_records=50, flight_bytes=1, pending_records=400, backoff_max=0.1)
    producer = Producer(own.url, options=options)
    await producer.start()
    sent: dict[str, int] = {f"run-{n}": 0 for n in range(10)}
    async with contextlib.AsyncExitStack() as stack:
        runs = [await stack.enter_async_context(producer.run(name)) for name in sent]
        with pytest.raises(BackPressure, match="memory") as caught:
            await _send_for_ever(runs, sent)
        assert caught.value.partition in range(PARTITIONS)
        for size in ("7mb", "6500kb", "200mb"):
            # Memory flaps: whatever is refused must be refused whole.
            own.client.config_set("maxmemory", size)
            await asyncio.sleep(0)
            with contextlib.suppress(BackPressure):
                await producer.flush()
        await producer.flush()
    await producer.close()
    check(own, sent)
    assert producer.stats.reconnects == 0


async def _send_for_ever(runs: list[Run], sent: dict[str, int]) -> None:
    while True:
        for run in runs:
            await run.send(DELTA % (sent[run.run_id] + 1))
            sent[run.run_id] += 1


async def test_a_server_that_does_not_answer_costs_bounded_memory_and_a_clear_error(own: Bare) -> None:
    options = ProducerOptions(timeout=0.5, pending_records=2000, command_timeout=0.2, connect_timeout=0.2)
    producer = Producer(own.url, options=options)
    await producer.start()
    sent = {"run-1": 0}
    async with producer.run("run-1") as run:
        await run.send(DELTA % 1, wait=True)
        sent["run-1"] = 1
        own.server.pause()
        try:
            with pytest.raises(PublishTimeout, match="kept and still tried"):
                await _send_for_ever([run], sent)
            stats = producer.stats
            assert stats.accepted - stats.acknowledged == 2000 // PARTITIONS == sent["run-1"] - 1
            with pytest.raises(PublishTimeout):
                await producer.flush()
        finally:
            own.server.resume()
        await wait_until(lambda: producer.stats.acknowledged == sent["run-1"], "everything arrived after all")
    await producer.close()
    check(own, sent)


async def test_a_partition_that_nobody_reads_stops_its_runs_and_no_others(bare: Bare) -> None:
    options = ProducerOptions(max_lag_records=200, lag_every=0.02, timeout=0.5, pending_records=2000)
    slow = next(f"r{n}" for n in range(99) if partition_of(f"r{n}", PARTITIONS) == 0)
    fast = next(f"r{n}" for n in range(99) if partition_of(f"r{n}", PARTITIONS) == 1)
    sent = {slow: 0, fast: 0}
    # The fast one's records count as read.
    bare.client.hset(bare.keys.partition(1).pos_raw, "enforcer:n", 10**9)
    async with (
        Producer(bare.url, prefix=bare.prefix, options=options) as producer,
        producer.run(slow) as run,
        producer.run(fast) as other,
    ):
        with pytest.raises(BackPressure, match="Partition 0 has") as caught:
            await _send_for_ever([run], sent)
        assert caught.value.partition == 0
        assert caught.value.lag is not None
        assert caught.value.lag > 200
        for _ in range(1000):
            await other.send(DELTA % (sent[fast] + 1))
            sent[fast] += 1
        await other.flush()
        written = len(bare.seqs()[slow])
        # Not yet below half of the limit.
        bare.client.hset(bare.keys.partition(0).pos_raw, "enforcer:n", written - 150)
        with pytest.raises(BackPressure):
            await run.flush()
        bare.client.hset(bare.keys.partition(0).pos_raw, "enforcer:n", 10**9)
        await run.flush()
    check(bare, sent)


async def test_a_password_that_is_wrong_is_final_and_everything_pending_gets_the_error(own: Bare) -> None:
    producer = Producer(own.url, options=HURRY)
    await producer.start()
    async with contextlib.AsyncExitStack() as stack:
        run = await stack.enter_async_context(producer.run("r"))
        await run.send(DELTA % 1, wait=True)
        own.server.pause()
        waiting = asyncio.create_task(run.send(DELTA % 2, wait=True))
        await wait_until(lambda: producer.stats.accepted == 2, "the second record is accepted")
        own.server.resume()
        with redis.Redis(port=own.server.port) as other:
            other.config_set("requirepass", "secret")
            other.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            with contextlib.suppress(RunwireError):
                await waiting
            with pytest.raises(ProducerBroken):
                await wait_until(lambda: run.send(DELTA % 3), "the producer gives up")
            assert isinstance(producer._broken, RunwireError)
            other.config_set("requirepass", "")
        with pytest.raises(PublishError):
            await stack.aclose()
    with pytest.raises(ProducerBroken):
        await producer.close()


async def test_a_cancelled_wait_leaves_the_record_published(bare: Bare) -> None:
    async with Producer(bare.url, prefix=bare.prefix) as producer, producer.run("r") as run:
        task = asyncio.create_task(run.send(DELTA % 1, wait=True))
        await wait_until(lambda: producer.stats.accepted == 1, "the record is accepted")
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await run.send(DELTA % 2)
    check(bare, {"r": 2})

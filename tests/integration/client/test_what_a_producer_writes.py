"""Records as they stand in the raw streams: in order, with the identity, the controls and nothing more."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from helpers import wait_until
from integration.client.bare import DELTA, PARTITIONS, Bare, no_gap
from runwire import (
    ChunkTooLarge,
    DeploymentMissing,
    LinkLost,
    PartitionMismatch,
    Producer,
    ProducerBroken,
    ProducerClosed,
    ProducerOptions,
    PublishRefused,
    RecordInvalid,
    WireMismatch,
)
from runwire.embedded.server import free_port
from runwire_schemas.keys import partition_of

QUICK = ProducerOptions(start_timeout=0.2)


def controls(bare: Bare, run: str) -> list[dict[str, Any]]:
    return [json.loads(r.body) for r in bare.records()[run] if r.kind == "control"]


async def test_every_run_is_in_order_and_acknowledged_means_in_redis(bare: Bare) -> None:
    async with Producer(bare.url, prefix=bare.prefix) as producer:

        async def publish(run_id: str) -> None:
            async with producer.run(run_id) as run:
                for number in range(300):
                    await run.send(DELTA % number)
            assert [r.body for r in bare.records()[run_id]] == [DELTA % n for n in range(300)]

        await asyncio.gather(*(publish(f"run-{n}") for n in range(10)))
        records = bare.records()
        assert producer.stats.acknowledged == 3000
    assert {run: [r.seq for r in found] for run, found in records.items()} == {
        f"run-{n}": list(range(1, 301)) for n in range(10)
    }
    assert {(r.src, r.epoch, r.kind, r.call) for found in records.values() for r in found} == {
        (producer.src, 0, "provider", "1")
    }


async def test_a_producer_that_sent_nothing_leaves_no_connection(bare: Bare) -> None:
    """Closed before its task had run once: what the task never took up is closed all the same."""
    producer = Producer(bare.url, prefix=bare.prefix)
    async with producer:
        pass
    gone = f"runwire-producer:{producer.src}"[:64]
    await wait_until(lambda: not bare.connections(gone), "the connection is closed", 3)


async def test_wait_and_flush_return_when_redis_has_it(bare: Bare) -> None:
    async with Producer(bare.url, prefix=bare.prefix, src="agent-7", epoch=3) as producer, producer.run("r") as run:
        await run.send(DELTA % 1, wait=True)
        assert bare.seqs() == {"r": [1]}
        await run.send(DELTA % 2)
        await run.flush()
        await run.send(DELTA % 3)
        await producer.flush()
        assert {(r.seq, r.src, r.epoch) for r in bare.records()["r"]} == {(n, "agent-7", 3) for n in (1, 2, 3)}


async def test_a_declared_run_starts_and_ends_explicitly(bare: Bare) -> None:
    async with Producer(bare.url, prefix=bare.prefix) as producer:
        async with producer.run("loop", mode="agent-loop", agent_id="a", thread_id="t", usage="optional") as run:
            async with run.call("c1", usage="optional") as call:
                await call.send(DELTA % 1)
                await call.send(DELTA % 2)
            await run.heartbeat()
        async with producer.run("handed-over", mode="agent-loop", end=False):
            pass
        async with producer.run("suspended", mode="agent-loop") as run:
            await run.end("suspended")
        async with producer.run("plain") as run:
            await run.heartbeat()
            await run.send({"type": "usage", "usage": {}}, call="c9")
    assert controls(bare, "loop") == [
        {"type": "run-start", "mode": "agent-loop", "agentId": "a", "threadId": "t", "usage": "optional"},
        {"type": "heartbeat"},
        {"type": "run-end", "reason": "stop"},
    ]
    assert [(r.call, r.usage) for r in bare.records()["loop"] if r.kind == "provider"] == [
        ("c1", "optional"),
        ("c1", None),
    ]
    assert [c["type"] for c in controls(bare, "handed-over")] == ["run-start"]
    assert [c.get("reason") for c in controls(bare, "suspended")] == [None, "suspended"]
    (only,) = bare.records()["plain"]
    assert (only.kind, only.call, only.seq) == ("provider", "c9", 1), "a heartbeat opens no run and must not be sent"


async def test_an_error_and_a_cancellation_tell_the_readers(bare: Bare) -> None:
    async with Producer(bare.url, prefix=bare.prefix) as producer:

        async def fail() -> None:
            async with producer.run("failed") as run:
                await run.send(DELTA % 1)
                raise ValueError("bad luck")

        with pytest.raises(ValueError, match="bad luck"):
            await fail()
        inside = asyncio.Event()

        async def work() -> None:
            async with producer.run("cancelled") as run:
                await run.send(DELTA % 1)
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ValueError, match="nothing"):
            async with producer.run("never-began"):
                raise ValueError("nothing was sent")
    (end,) = controls(bare, "failed")
    assert (end["reason"], end["failure"]["message"]) == ("error", "ValueError: bad luck")
    assert controls(bare, "cancelled") == [{"type": "run-end", "reason": "aborted"}]
    assert "never-began" not in bare.records()


async def test_what_is_refused_uses_no_number(bare: Bare) -> None:
    async with Producer(bare.url, prefix=bare.prefix) as producer, producer.run("r") as run:
        await run.send(DELTA % 1)
        with pytest.raises(ChunkTooLarge):
            await run.send(b"x" * (2**20 + 1))
        with pytest.raises(RecordInvalid):
            await run.send({"x": object()})
        with pytest.raises(RecordInvalid):
            await run.send(DELTA % 2, call="")
        await run.agent(b"x" * 2**23)
        await run.send(DELTA % 2)
        await run.flush()
        assert bare.seqs() == {"r": [1, 2, 3]}


async def test_a_run_opened_again_goes_on_with_its_numbers(bare: Bare) -> None:
    async with Producer(bare.url, prefix=bare.prefix) as producer:
        for _ in range(3):
            async with producer.run("r") as run:
                await run.send(DELTA % 1)
        assert bare.seqs() == {"r": [1, 2, 3]}


CHUNK = '{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,%s}]}'
CHUNKS = [
    CHUNK % '"delta":{"role":"assistant","content":"Hel"},"finish_reason":null',
    CHUNK % '"delta":{"content":"lo"},"finish_reason":null',
    CHUNK % '"delta":{},"finish_reason":"stop"',
]
SSE = "".join(f"data: {chunk}\n\n" for chunk in [*CHUNKS, "[DONE]"]).encode()


async def test_a_providers_bytes_are_published_in_one_line(bare: Bare) -> None:
    async def response() -> AsyncIterator[bytes]:
        for at in range(0, len(SSE), 7):
            yield SSE[at : at + 7]

    async with Producer(bare.url, prefix=bare.prefix) as producer:
        done = await producer.publish_bytes("r", "openai-chat", response())
        records = [r for r in bare.records()["r"] if r.kind == "provider"]
        assert done.records == len(bare.records()["r"])
        assert (records[0].usage, records[0].call) == ("optional", "1")
        assert "".join(json.loads(r.body).get("text", "") for r in records if b"text-delta" in r.body) == "Hello"
        assert json.loads(records[-1].body) == {"type": "finish", "reason": {"kind": "stop", "raw": "stop"}}


async def test_an_sdk_stream_is_published_in_one_line(bare: Bare) -> None:
    events = [json.loads(chunk) for chunk in CHUNKS]
    async with Producer(bare.url, prefix=bare.prefix) as producer:
        await producer.publish_bytes("bytes", "openai-chat", SSE)
        await producer.publish_stream("events", "openai-chat", events)
        assert bare.bodies("events") == bare.bodies("bytes")


@pytest.mark.parametrize("think", [True, False, None])
async def test_what_stands_between_think_tags_is_the_callers_choice(bare: Bare, think: bool | None) -> None:
    tagged: list[dict[str, Any]] = [
        {"id": "x", "model": "qwq", "choices": [{"index": 0, "delta": {"content": "<think>a</think>b"}}]},
        {"id": "x", "model": "qwq", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    body = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in tagged)
    async with Producer(bare.url, prefix=bare.prefix) as producer:
        await producer.publish_bytes("bytes", "openai-chat", [body], think=think)
        await producer.publish_stream("events", "openai-chat", tagged, think=think)
    for run in ("bytes", "events"):
        reasoned = any(b'"thinking-delta"' in chunk for chunk in bare.bodies(run))
        assert reasoned is (think is not False)


async def test_a_source_that_breaks_ends_its_call_as_aborted(bare: Bare) -> None:
    async def response() -> AsyncIterator[bytes]:
        yield SSE[: SSE.index(b"data:", 10)]
        raise ConnectionResetError("the provider went away")

    async with Producer(bare.url, prefix=bare.prefix) as producer:
        with pytest.raises(ConnectionResetError):
            await producer.publish_bytes("r", "openai-chat", response())
    finish = json.loads(next(b for b in bare.bodies("r") if b'"finish"' in b))
    assert finish["reason"]["kind"] == "aborted"


async def test_a_start_says_what_is_missing(bare: Bare) -> None:
    with pytest.raises(PartitionMismatch, match=f"has {PARTITIONS} partitions, not 16"):
        await Producer(bare.url, prefix=bare.prefix, partitions=16).start()
    with pytest.raises(DeploymentMissing, match="runwire up"):
        await Producer(bare.url, prefix=f"{bare.prefix}-none", options=QUICK).start()
    with pytest.raises(LinkLost, match="cannot connect"):
        await Producer(f"redis://127.0.0.1:{free_port()}/0", options=QUICK).start()
    bare.client.hset(bare.keys.meta, "wire", 99)
    with pytest.raises(WireMismatch, match="99"):
        await Producer(bare.url, prefix=bare.prefix).start()


async def test_a_start_waits_for_a_deployment_that_is_being_started(bare: Bare) -> None:
    bare.client.delete(bare.keys.meta)
    producer = Producer(bare.url, prefix=bare.prefix)
    start = asyncio.create_task(producer.start())
    await asyncio.sleep(0)
    bare.client.hset(bare.keys.meta, mapping={"partitions": PARTITIONS, "wire": 1})
    await start
    await producer.close()


async def test_a_closed_producer_says_so(bare: Bare) -> None:
    producer = Producer(bare.url, prefix=bare.prefix)
    with pytest.raises(ProducerClosed):
        await producer.flush()
    async with producer:
        run = producer.run("r")
        with pytest.raises(ProducerClosed):
            await run.send(DELTA % 1)
        async with run:
            await run.send(DELTA % 1)
    await producer.close()
    with pytest.raises(ProducerClosed):
        async with producer.run("s"):
            pass
    assert bare.seqs() == {"r": [1]}


async def test_a_partition_that_somebody_else_took_breaks_only_its_own_runs(bare: Bare) -> None:
    broken = next(f"r{n}" for n in range(99) if partition_of(f"r{n}", PARTITIONS) == 0)
    other = next(f"r{n}" for n in range(99) if partition_of(f"r{n}", PARTITIONS) == 1)
    bare.client.set(bare.keys.partition(0).raw, "not a stream")
    producer = Producer(bare.url, prefix=bare.prefix)
    await producer.start()
    async with producer.run(other) as fine:
        run = await producer.run(broken).__aenter__()
        with pytest.raises(PublishRefused, match="WRONGTYPE"):
            await run.send(DELTA % 1, wait=True)
        bare.client.delete(bare.keys.partition(0).raw)
        with pytest.raises(ProducerBroken):
            await run.send(DELTA % 2)
        with pytest.raises(ProducerBroken):
            await run.__aexit__(None, None, None)
        await fine.send(DELTA % 1, wait=True)
    with pytest.raises(PublishRefused):
        await producer.flush()
    await producer.close()
    assert bare.seqs() == {other: [1]}
    assert no_gap(bare.seqs()[other])

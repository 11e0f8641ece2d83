"""The one-liners: a provider's response goes through its adapter into a call of a run."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple, TypeVar

from runwire import adapters
from runwire.adapters import Adapter, Emitted, Framing
from runwire.errors import PublishError
from runwire.producer.run import Call, Run
from runwire.producer.sources import each, pieces

_T = TypeVar("_T")

Source = object
"""What `sources.pieces` reads: an async or plain iterable of bytes, a file, bytes, or an httpx response."""

# The enforcer ends a call that is silent for two minutes, and a reasoning model may be. While its source is open the
# call is alive, and whoever reads the source limits how long that may be.
HEARTBEAT_S: Final = 30.0


class Published(NamedTuple):
    """What was published: the run, the call and how many records."""

    run_id: str
    call: str
    records: int


async def publish_bytes(
    run: Run,
    provider: str,
    source: Source,
    *,
    call: str = "1",
    choice: int = 0,
    framing: Framing | None = None,
    think: bool | None = None,
) -> Published:
    """Publish the bytes of one provider response as a call of `run`; see Producer.publish_bytes."""
    adapter = adapters.adapter(provider, choice=choice, framing=framing, think=think)
    return await _publish(run, call, adapter, pieces(source), adapter.feed)


async def publish_stream(
    run: Run, provider: str, source: object, *, call: str = "1", choice: int = 0, think: bool | None = None
) -> Published:
    """Publish the events of an SDK's stream as a call of `run`; see Producer.publish_stream."""
    adapter = adapters.adapter(provider, choice=choice, think=think)
    return await _publish(run, call, adapter, each(source), lambda event: adapters.feed_event(adapter, event))


async def _publish(
    run: Run, name: str, adapter: Adapter, source: AsyncIterator[_T], feed: Callable[[_T], list[Emitted]]
) -> Published:
    call = run.call(name, usage="optional" if adapter.usage == "optional" else None)
    sent = 0
    async with _alive(run):
        try:
            async for item in source:
                sent += await _send(call, feed(item))
        except PublishError:
            raise
        except BaseException:
            # The call's own end says that it was cut; its readers need not wait for a timeout.
            for kind, body in adapter.close():
                run.put_now(kind, body, name)
            raise
        sent += await _send(call, adapter.close())
    return Published(run.run_id, name, sent)


async def _send(call: Call, emitted: Iterable[Emitted]) -> int:
    count = 0
    for kind, body in emitted:
        await call.put(kind, body)
        count += 1
    return count


@asynccontextmanager
async def _alive(run: Run) -> AsyncGenerator[None, None]:
    """Heartbeats while nothing else is sent."""

    async def beat() -> None:
        seen = run.seq
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            if run.seq == seen:
                await run.heartbeat()
            seen = run.seq

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))

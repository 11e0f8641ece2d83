"""The one-liners: a provider's response goes through its adapter into a call of a run, or into one run a choice."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeVar, overload, runtime_checkable

from runwire import adapters
from runwire.adapters import Adapter, Auto, Choices, Chosen, Emitted, Framing, Guess
from runwire.adapters.several import run_of
from runwire.errors import ProviderUnclear, PublishError
from runwire.producer.run import Call, Run
from runwire.producer.sources import each, pieces
from runwire_schemas.record import UsageRule

_T = TypeVar("_T")

Source = object
"""What `sources.pieces` reads: an async or plain iterable of bytes, a file, bytes, or an httpx response."""

# The enforcer ends a call that is silent for two minutes, and a reasoning model may be. While its source is open the
# call is alive, and whoever reads the source limits how long that may be.
HEARTBEAT_S: Final = 30.0


class Published(NamedTuple):
    """What was published: the run, the call, how many records, and by which provider's adapter."""

    run_id: str
    call: str
    records: int
    provider: str = ""


class Publishing(ABC):
    """What a producer can do with a whole response. A subclass says how a run is made."""

    @abstractmethod
    def run(self, *args: Any, **kwargs: Any) -> Run:
        """See Producer.run."""

    @overload
    async def publish_bytes(
        self,
        run_id: str,
        provider: str,
        source: Source,
        *,
        call: str = ...,
        choice: int = ...,
        framing: Framing | None = ...,
        think: bool | None = ...,
        **declared: Any,
    ) -> Published: ...
    @overload
    async def publish_bytes(
        self,
        run_id: str,
        provider: str,
        source: Source,
        *,
        call: str = ...,
        choice: Literal["all"],
        framing: Framing | None = ...,
        think: bool | None = ...,
        **declared: Any,
    ) -> list[Published]: ...
    async def publish_bytes(
        self,
        run_id: str,
        provider: str,
        source: Source,
        *,
        call: str = "1",
        choice: int | Literal["all"] = 0,
        framing: Framing | None = None,
        think: bool | None = None,
        **declared: Any,
    ) -> Published | list[Published]:
        """Publish one provider response, as bytes of its wire format, as a run of one call.

        `provider` is a name of `runwire.adapters`; `auto` tells it from the first events. `source` is an async or plain
        iterable of bytes, a file, bytes, or an httpx response. `framing` and `think` are what `adapter` there takes,
        `declared` is what `run` takes. `choice` "all" publishes every choice of the response from one reading, each in
        a run of its own (`<run_id>`, `<run_id>.1`, …), and returns one result for each.

        Returns when everything is acknowledged. When the source raises, its calls are ended as aborted and the error
        goes on to the caller. Raises UnknownProvider, ProviderUnclear (the call is ended as failed) and what `send`
        raises.
        """
        target = _Target(self.run, declared, run_id, call, provider)
        if choice == "all":
            several = adapters.choices(provider, framing=framing, think=think)
            return await _publish(target, several, pieces(source), several.feed)
        adapter = adapters.adapter(provider, choice=choice, framing=framing, think=think)
        return (await _publish(target, adapter, pieces(source), adapter.feed))[0]

    @overload
    async def publish_stream(
        self,
        run_id: str,
        provider: str,
        source: object,
        *,
        call: str = ...,
        choice: int = ...,
        think: bool | None = ...,
        **declared: Any,
    ) -> Published: ...
    @overload
    async def publish_stream(
        self,
        run_id: str,
        provider: str,
        source: object,
        *,
        call: str = ...,
        choice: Literal["all"],
        think: bool | None = ...,
        **declared: Any,
    ) -> list[Published]: ...
    async def publish_stream(
        self,
        run_id: str,
        provider: str,
        source: object,
        *,
        call: str = "1",
        choice: int | Literal["all"] = 0,
        think: bool | None = None,
        **declared: Any,
    ) -> Published | list[Published]:
        """Publish one provider response, as the stream object of a provider's SDK, as a run of one call.

        `source` is an async or plain iterable of events: SDK objects, mappings, or JSON. Otherwise like publish_bytes.
        """
        target = _Target(self.run, declared, run_id, call, provider)
        if choice == "all":
            several = adapters.choices(provider, think=think)
            return await _publish(target, several, each(source), lambda event: adapters.feed_event(several, event))
        adapter = adapters.adapter(provider, choice=choice, think=think)
        return (await _publish(target, adapter, each(source), lambda event: adapters.feed_event(adapter, event)))[0]


@runtime_checkable
class _Telling(Protocol):
    """What tells the provider by itself."""

    @property
    def guess(self) -> Guess | None: ...
    @property
    def unclear(self) -> str: ...


_Reader = Adapter | Choices | Auto[Emitted] | Auto[Chosen]


class _Target(NamedTuple):
    """Where a response goes. `make_run` makes the run of an id, as declared."""

    make_run: Callable[..., Run]
    declared: dict[str, Any]
    run_id: str
    call: str
    provider: str


async def _publish(
    target: _Target,
    reader: _Reader,
    source: AsyncIterator[_T],
    feed: Callable[[_T], list[Emitted]] | Callable[[_T], list[Chosen]],
) -> list[Published]:
    async with AsyncExitStack() as stack:
        calls = _Calls(target, reader, stack)
        await calls.open(0)
        async with _alive(calls.runs):
            try:
                async for item in source:
                    await calls.send(feed(item))
            except PublishError:
                raise
            except BaseException:
                # The call's own end says that it was cut; its readers need not wait for a timeout.
                calls.send_now(reader.close())
                raise
            await calls.send(reader.close())
    if isinstance(reader, _Telling) and reader.guess is None:
        raise ProviderUnclear(reader.unclear)
    return calls.published()


class _Calls:
    """The calls that a response becomes, each in a run of its own."""

    def __init__(self, target: _Target, reader: _Reader, stack: AsyncExitStack) -> None:
        self._target = target
        self._reader = reader
        self._stack = stack
        self._calls: dict[int, Call] = {}
        self._sent: dict[int, int] = {}
        self.runs: dict[int, Run] = {}

    async def open(self, choice: int) -> None:
        """Enter the run of this choice."""
        run = self._target.make_run(run_of(self._target.run_id, choice), **self._target.declared)
        self.runs[choice] = await self._stack.enter_async_context(run)

    async def send(self, items: list[Emitted] | list[Chosen]) -> None:
        for item in items:
            choice, (kind, body) = item if isinstance(item, Chosen) else (0, item)
            if choice not in self.runs:
                await self.open(choice)
            call = self._calls.get(choice)
            if call is None:
                # Now its protocol is known, and with it what the first record must declare.
                usage: UsageRule | None = "optional" if self._reader.usage == "optional" else None
                call = self._calls[choice] = self.runs[choice].call(self._target.call, usage=usage)
                self._sent[choice] = 0
            await call.put(kind, body)
            self._sent[choice] += 1

    def send_now(self, items: list[Emitted] | list[Chosen]) -> None:
        """Without waiting for room, and only in runs that have begun."""
        for item in items:
            choice, (kind, body) = item if isinstance(item, Chosen) else (0, item)
            if choice in self.runs:
                self.runs[choice].put_now(kind, body, self._target.call)

    def published(self) -> list[Published]:
        """One for each call, in the order of the choices; of a response without any, the empty call."""
        guess = self._reader.guess if isinstance(self._reader, _Telling) else None
        provider = guess.provider if guess else self._target.provider
        sent = self._sent or {0: 0}
        return [
            Published(run_of(self._target.run_id, choice), self._target.call, sent[choice], provider)
            for choice in sorted(sent)
        ]


@asynccontextmanager
async def _alive(runs: dict[int, Run]) -> AsyncGenerator[None, None]:
    """Heartbeats where nothing else is sent."""

    async def beat() -> None:
        seen: dict[int, int] = {}
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            for choice, run in list(runs.items()):
                if run.seq == seen.get(choice, 0):
                    await run.heartbeat()
                seen[choice] = run.seq

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))

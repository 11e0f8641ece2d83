"""What a caller holds while publishing: a run, and a call inside it."""

import asyncio
from types import TracebackType
from typing import Literal, Protocol, Self, runtime_checkable

from runwire.errors import ProducerClosed, PublishError
from runwire.producer.bodies import ChunkLike, body_of, run_end
from runwire.producer.identity import RunState
from runwire_schemas.record import Kind, UsageRule

DEFAULT_CALL = "1"
HEARTBEAT = b'{"type":"heartbeat"}'
EndReason = Literal["stop", "error", "aborted", "suspended"]


@runtime_checkable
class Publisher(Protocol):
    """What a run needs of its producer."""

    def open_run(self, run_id: str) -> RunState: ...
    def close_run(self, state: RunState) -> None: ...
    def submit_now(self, state: RunState, kind: Kind, body: bytes, call: str | None = None) -> None: ...
    async def acknowledged(self, state: RunState) -> None: ...
    async def submit(
        self,
        state: RunState,
        kind: Kind,
        body: bytes,
        call: str | None = None,
        usage: UsageRule | None = None,
        traceparent: str | None = None,
        *,
        wait: bool = False,
    ) -> None: ...


class Run:
    """One run, as `producer.run(...)` describes it; use it as a context.

    Sending is in order: what one task sends arrives in that order. All methods raise ProducerBroken once a record of
    this run could not be published, BackPressure or PublishTimeout when there is no room for longer than the timeout
    (that record was not taken), ChunkTooLarge and RecordInvalid for what the enforcer would refuse, ProducerClosed.
    """

    def __init__(
        self, publisher: Publisher, run_id: str, *, start: bytes | None, ends: bool, traceparent: str | None
    ) -> None:
        self.run_id = run_id
        self._publisher = publisher
        self._start = start
        self._ends = ends
        self._traceparent = traceparent
        self._state: RunState | None = None

    @property
    def seq(self) -> int:
        """The last sequence number used in this run by this producer."""
        return self._entered().seq

    async def send(
        self, chunk: ChunkLike, call: str = DEFAULT_CALL, *, usage: UsageRule | None = None, wait: bool = False
    ) -> None:
        """Publish a raw chunk of a model call. `usage` counts on the call's first record; `wait` for the broker."""
        await self.put("provider", body_of(chunk), call, usage=usage, wait=wait)

    async def agent(self, chunk: ChunkLike, call: str | None = None, *, wait: bool = False) -> None:
        """Publish an agent chunk, with `call` if it belongs to a model call."""
        await self.put("agent", body_of(chunk), call, wait=wait)

    async def control(self, body: ChunkLike, *, wait: bool = False) -> None:
        """Publish a control record, for example {"type": "run-end", "reason": "stop"}."""
        await self.put("control", body_of(body), wait=wait)

    async def heartbeat(self) -> None:
        """Say that the run is alive although nothing is to be said. Nothing is sent before its first record."""
        # A heartbeat opens no run: it would be refused and use up number 1, and nothing after it could open the run.
        if self._entered().seq:
            await self.put("control", HEARTBEAT)

    async def end(self, reason: EndReason = "stop", error: BaseException | None = None) -> None:
        """End the run, or suspend it, explicitly. Leaving the context then sends nothing more."""
        self._ends = False
        await self.put("control", run_end(reason, error))

    def call(self, call: str = DEFAULT_CALL, *, usage: UsageRule | None = None) -> "Call":
        """A call of this run: `async with run.call("c1") as call: await call.send(...)`."""
        return Call(self, call, usage)

    async def flush(self) -> None:
        """Wait until every record of this run accepted so far is in the broker: then another source may take over."""
        await self._publisher.acknowledged(self._entered())

    async def put(
        self, kind: Kind, body: bytes, call: str | None = None, *, usage: UsageRule | None = None, wait: bool = False
    ) -> None:
        """Publish a record as it is."""
        state = self._state or self._entered()
        await self._publisher.submit(state, kind, body, call, usage, self._traceparent, wait=wait)

    def put_now(self, kind: Kind, body: bytes, call: str | None = None) -> None:
        """Publish a record without waiting for room: for what must be said while something fails."""
        self._publisher.submit_now(self._entered(), kind, body, call)

    async def __aenter__(self) -> Self:
        self._state = self._publisher.open_run(self.run_id)
        if self._start is not None:
            try:
                await self.put("control", self._start)
            except BaseException:
                self._leave()
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                self._fail(error)
                return
            if self._ends:
                await self.end()
            await self.flush()
        finally:
            self._leave()

    def _fail(self, error: BaseException) -> None:
        """Tell the readers. Never waits: who was cancelled wants to go, and closing the producer flushes."""
        if not self._entered().seq:
            return
        aborted = isinstance(error, (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit))
        try:
            self.put_now("control", run_end("aborted") if aborted else run_end("error", error))
        except PublishError as second:
            error.add_note(f"runwire: and the end of run {self.run_id!r} could not be published: {second}")

    def _entered(self) -> RunState:
        if self._state is None:
            raise ProducerClosed(f"Run {self.run_id!r} is not open: use `async with producer.run(...)`.")
        return self._state

    def _leave(self) -> None:
        state, self._state = self._state, None
        if state is not None:
            self._publisher.close_run(state)


class Call:
    """One model call of a run. As a context it only groups; a call ends with its `finish` chunk."""

    def __init__(self, run: Run, call: str, usage: UsageRule | None) -> None:
        self.id = call
        self._run = run
        self._usage: UsageRule | None = usage

    async def send(self, chunk: ChunkLike, *, wait: bool = False) -> None:
        """Publish a raw chunk of this call."""
        await self.put("provider", body_of(chunk), wait=wait)

    async def agent(self, chunk: ChunkLike, *, wait: bool = False) -> None:
        """Publish an agent chunk beside this call's raw chunks, such as a source."""
        await self.put("agent", body_of(chunk), wait=wait)

    async def put(self, kind: Kind, body: bytes, *, wait: bool = False) -> None:
        """Publish a record of this call as it is; the first one declares its usage rule."""
        await self._run.put(kind, body, self.id, usage=self._usage, wait=wait)
        self._usage = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

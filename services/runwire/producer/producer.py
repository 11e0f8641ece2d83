"""The producer: where records are accepted, numbered and waited for."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, Self

from runwire.backoff import Backoff
from runwire.errors import DeploymentMissing, LinkLost, ProducerBroken, ProducerClosed, RunwireError
from runwire.producer.bodies import check_size, run_start
from runwire.producer.identity import Registry, RunState, identity
from runwire.producer.lane import Lane
from runwire.producer.options import ProducerOptions
from runwire.producer.publishing import Publishing
from runwire.producer.queue import Failed
from runwire.producer.run import Run
from runwire.producer.sender import Sender
from runwire.producer.session import Session, check_partitions, open_session
from runwire.producer.stats import ProducerStats, stats_of
from runwire.producer.stuck import why_stuck
from runwire_schemas.keys import DEFAULT_PREFIX, Keys, partition_of
from runwire_schemas.record import Kind, UsageRule

DEFAULT_URL = "redis://127.0.0.1:6379/0"
Mode = Literal["single-call", "agent-loop"]

# A loop that only sends never gives way until a queue is full; other tasks, the sender too, get their turn this often.
_BURST = 256
# What a packed record has beside its body, roughly: only who waits for room needs it before it is packed.
_OVERHEAD = 300
# Who is cancelled wants to end: what was accepted gets this long to arrive.
_CANCEL_GRACE_S = 2.0


class Producer(Publishing):
    """Publishes the records of many runs over one connection.

    `async with Producer(url) as producer:` starts and closes it. Not safe for use from several threads or event loops.

    Every record that was accepted is in the broker, or its run gets an error: nothing is skipped silently. `send`
    returns when a record is accepted; `wait=True`, `flush` and leaving a run's context wait for acknowledgements.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        src: str | None = None,
        epoch: int | None = None,
        prefix: str = DEFAULT_PREFIX,
        partitions: int | None = None,
        options: ProducerOptions | None = None,
    ) -> None:
        """`src` is a stable name of this producer, `epoch` a number its owner raises at each restart: both or none.

        `partitions` is checked against the deployment's number; it need not be given. Raises IdentityIncomplete,
        RecordInvalid and SettingInvalid.
        """
        self.options = options or ProducerOptions()
        self.keys = Keys(prefix)
        self._url = url
        self._identity = identity(src, epoch)
        self._given_partitions = partitions
        self._partitions = 0
        self._sender: Sender | None = None
        self._registry: Registry | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self._broken: Exception | None = None
        self._failure: Exception | None = None
        self._burst = 0

    @property
    def src(self) -> str:
        """The source that new runs are written by."""
        return self._registry.who.src if self._registry else self._identity.src

    @property
    def stats(self) -> ProducerStats:
        return stats_of(self._sender)

    # ------------------------------------------------------------------ life

    async def start(self) -> None:
        """Connect and learn the partition count; idempotent.

        Waits `options.start_timeout` for a server and a deployment that are being started at the same moment. Raises
        LinkLost, DeploymentMissing, PartitionMismatch, WireMismatch, ServerUnfit or PublishRefused.
        """
        if self._task is not None:
            return
        session = await self._first_session()
        self._partitions = session.partitions
        self._registry = Registry(
            self._identity, self.options.remembered_runs, lambda run_id: partition_of(run_id, session.partitions)
        )
        self._sender = Sender(session, self._connect, self.options, self._on_failed)
        self._task = asyncio.create_task(self._run(self._sender), name="runwire-producer")

    async def close(self, linger: float | None = None) -> None:
        """Refuse new records, wait for the acknowledgement of the accepted ones, disconnect. Idempotent.

        With `linger` (seconds, `options.close_linger` if None; `options.replay_window` covers all) the producer stays
        that long after its last acknowledgement, so that a server that comes back without its last moments gets them
        again. Without it a producer that ends relies on what it was told: acknowledged means that Redis has it.

        Raises what `flush` raises; the producer is closed all the same, and what was not acknowledged is given up.
        """
        if self._task is None or self._sender is None:
            self._closing = True
            return
        sender, task, was_closing, self._closing = self._sender, self._task, self._closing, True
        try:
            if not was_closing:
                await self.flush()
                await self._linger(sender, self.options.close_linger if linger is None else linger)
        finally:
            await self._stop(sender, task)

    async def aclose(self) -> None:
        """`close()`, by the name that contextlib.aclosing knows."""
        await self.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.close()
            return
        try:
            if isinstance(error, Exception):
                await self.close()
            else:
                await asyncio.wait_for(self.close(), _CANCEL_GRACE_S)
        except (RunwireError, TimeoutError) as second:
            error.add_note(f"runwire: and not everything accepted was acknowledged: {second}")

    # ------------------------------------------------------------------ publishing

    def run(  # noqa: PLR0913 - each names a field of run-start
        self,
        run_id: str,
        *,
        mode: Mode | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        resource_id: str | None = None,
        continues: str | None = None,
        usage: UsageRule | None = None,
        traceparent: str | None = None,
        end: bool = True,
    ) -> Run:
        """A context that publishes records of this run: `async with producer.run("r-1") as run: await run.send(...)`.

        Without a mode a run is one call and nothing but your chunks is sent. When anything is declared, entering sends
        `run-start`; a declared agent loop is ended with `run-end` stop when its context is left without an error,
        unless `end` is False (another producer goes on). An error inside sends `run-end` error with the error's text,
        a cancellation `run-end` aborted. Leaving waits for the acknowledgements.
        """
        declared = {
            "agentId": agent_id,
            "threadId": thread_id,
            "resourceId": resource_id,
            "continues": continues,
            "usage": usage,
        }
        start = None
        if mode is not None or any(value is not None for value in declared.values()):
            start = run_start({"mode": mode or "single-call", **declared})
        return Run(self, run_id, start=start, ends=end and mode == "agent-loop", traceparent=traceparent)

    async def flush(self) -> None:
        """Wait until every record accepted so far is in the broker.

        Raises the error of a record that was given up since the last flush; BackPressure or PublishTimeout when
        `options.timeout` is over, the records being kept and still tried.
        """
        sender = self._ready()
        deadline = asyncio.get_running_loop().time() + self.options.timeout
        for lane in list(sender.lanes.values()):
            await self._in_time(lane.acknowledged(lane.queue.accepted), lane, deadline)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    # ------------------------------------------------------------------ for Run

    def open_run(self, run_id: str) -> RunState:
        """Raises RecordInvalid for an id that the enforcer would refuse, ProducerClosed."""
        self._check_open()
        assert self._registry is not None
        return self._registry.open(run_id)

    def close_run(self, state: RunState) -> None:
        assert self._registry is not None
        self._registry.close(state)

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
    ) -> None:
        """Accept a record, waiting for room; with `wait` also for its acknowledgement."""
        self._check(state)
        check_size(body, kind, self.options)
        lane = self._lane(state.partition)
        if not lane.open:
            await self._room(lane, len(body) + _OVERHEAD)
            self._check(state)
        self._push(lane, state, state.template(lane.keys.raw, kind, call, usage, traceparent).pack, body)
        self._burst += 1
        if self._burst >= _BURST:
            self._burst = 0
            await asyncio.sleep(0)
        if wait:
            await self.acknowledged(state)

    def submit_now(self, state: RunState, kind: Kind, body: bytes, call: str | None = None) -> None:
        """Accept a record without waiting, over the limits of memory if need be: the end of a run that failed."""
        self._check(state)
        lane = self._lane(state.partition)
        self._push(lane, state, state.template(lane.keys.raw, kind, call, None, None).pack, body)

    async def acknowledged(self, state: RunState) -> None:
        """Wait until every record of this run accepted so far is in the broker."""
        if state.ordinal:
            lane = self._lane(state.partition)
            deadline = asyncio.get_running_loop().time() + self.options.timeout
            await self._in_time(lane.acknowledged(state.ordinal), lane, deadline)
        if state.broken is not None:
            self._check(state)

    # ------------------------------------------------------------------ inside

    def _push(self, lane: Lane, state: RunState, pack: Callable[[int, bytes], bytes], body: bytes) -> None:
        state.seq += 1
        state.ordinal = lane.queue.push(pack(state.seq, body), state.run_id, asyncio.get_running_loop().time())
        if lane.queue.ripe:
            assert self._sender is not None
            self._sender.touch(lane)

    def _lane(self, partition: int) -> Lane:
        assert self._sender is not None
        lane = self._sender.lanes.get(partition)
        if lane is None:
            keys = self.keys.partition(partition)
            lane = Lane(partition, self._partitions, keys, self.options, self._sender.kept)
            self._sender.lanes[partition] = lane
        return lane

    def _ready(self) -> Sender:
        if self._sender is None:
            raise ProducerClosed("The producer is not started: use `async with Producer(...)`, or `await start()`.")
        if self._broken is not None:
            raise ProducerBroken(f"Nothing can be published any more: {self._broken}") from self._broken
        return self._sender

    def _check_open(self) -> None:
        if self._closing:
            raise ProducerClosed
        self._ready()

    def _check(self, state: RunState) -> None:
        if state.broken is not None:
            raise ProducerBroken(
                f"An earlier record of run {state.run_id!r} could not be published, what follows would leave a hole: "
                f"{state.broken}"
            ) from state.broken
        self._check_open()

    async def _room(self, lane: Lane, size: int) -> None:
        deadline = asyncio.get_running_loop().time() + self.options.timeout
        await self._in_time(lane.room(size), lane, deadline)

    async def _in_time(
        self, waiting: "Coroutine[Any, Any, None] | asyncio.Future[None]", lane: Lane, deadline: float
    ) -> None:
        try:
            async with asyncio.timeout_at(deadline):
                await waiting
        except TimeoutError:
            assert self._sender is not None
            raise why_stuck(lane, self._sender, self.options) from None

    async def _connect(self) -> Session:
        session = await open_session(self._url, f"runwire-producer:{self.src}"[:64], self.keys, self.options)
        try:
            check_partitions(self._partitions or self._given_partitions, session.partitions, self.keys)
        except RunwireError:
            await session.link.close()
            raise
        return session

    async def _first_session(self) -> Session:
        loop, backoff = asyncio.get_running_loop(), Backoff(self.options.backoff_min, self.options.backoff_max)
        deadline = loop.time() + self.options.start_timeout
        while True:
            try:
                return await self._connect()
            except (LinkLost, DeploymentMissing):
                delay = backoff.delay()
                if loop.time() + delay >= deadline:
                    raise
                await asyncio.sleep(delay)

    async def _run(self, sender: Sender) -> None:
        try:
            await sender.run()
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever ended the task must reach everybody who waits
            self._break(sender, error)

    def _break(self, sender: Sender, error: Exception) -> None:
        self._broken = error
        for lane in sender.lanes.values():
            self._on_failed(lane.fail(error), error)

    def _on_failed(self, failed: Failed, error: Exception) -> None:
        if failed.records:
            assert self._registry is not None
            self._registry.break_runs(failed.runs, error)
            self._failure = self._failure or error

    async def _linger(self, sender: Sender, linger: float) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + linger
        latest = end + self.options.timeout
        # Past its end a replay that has begun is finished: half of one would be worse than none.
        while not sender.quiet and (loop.time() < end or (sender.replaying and loop.time() < latest)):
            sender.moved.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(end if loop.time() < end else latest):
                    await sender.moved.wait()

    async def _stop(self, sender: Sender, task: "asyncio.Task[None]") -> None:
        task.cancel()
        await asyncio.wait((task,))
        # A task that is cancelled before its first step closes nothing.
        await sender.drop("closed")
        closed = ProducerClosed("The producer was closed before this was acknowledged.")
        for lane in sender.lanes.values():
            self._on_failed(lane.fail(closed), closed)

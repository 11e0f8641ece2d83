"""The demo's course of events."""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from runwire.broker.connection import Link, open_link
from runwire.broker.overview import Finding, newest_findings, overview, stored_partitions
from runwire.cli.commands.look import print_finding
from runwire.cli.commands.publish import send_events
from runwire.cli.demo.proof import (
    Check,
    Stored,
    agreement,
    numbered_without_hole,
    recomputed,
    stored_run,
    text_of_chunks,
    text_of_file,
)
from runwire.cli.demo.stage import Stage, stage_for, summary
from runwire.cli.demo.streams import (
    BROKEN_AFTER,
    BROKEN_RULE,
    BROKEN_RUN,
    Stream,
    broken_chunks,
    recorded_streams,
    sample_streams,
)
from runwire.cli.pace import PACE_PER_S, Pace
from runwire.cli.sources import entries, opened
from runwire.embedded.datafolder import DataFolder
from runwire.embedded.deployment import Deployment
from runwire.enforcer.limits import limits_of
from runwire.errors import ReadError
from runwire.settings import Settings, load
from runwire_schemas.evidence import Evidence
from runwire_schemas.keys import Keys, partition_of

if TYPE_CHECKING:
    from rich.console import Console

    from runwire import Chunk, Producer, Reader

ENFORCERS: Final = 2
READY_LIMIT_S: Final = 20.0
# A short stream is slowed down to last this long, so that there is something to see when the enforcer dies.
STREAM_S: Final = 10.0
# Streams begin one after the other.
STAGGER_S: Final = 0.15
KILL_AFTER_S: Final = 3.5
OWNERS_POLL_S: Final = 0.1
# The whole live part: ten seconds of streams, and at most the lease (3 s) and half a second for the dead enforcer.
LIVE_LIMIT_S: Final = 40.0
REPLAY_LIMIT_S: Final = 5.0


class Demo:
    """One performance on one deployment."""

    def __init__(
        self, deployment: Deployment, settings: Settings, url: str, stage: Stage, streams: list[Stream]
    ) -> None:
        self._deployment = deployment
        self._settings = settings
        self._keys = Keys(settings.prefix)
        self._url = url
        self._stage = stage
        self._streams = streams
        self._runs = [stream.run for stream in streams] + [BROKEN_RUN]
        self._seen: dict[str, list[Chunk]] = {run: [] for run in self._runs}
        self._sent = 0
        self._last_at: dict[str, float] = {}
        self._killed_at = 0.0
        self._longest_pause = 0.0
        self._open_at_kill: list[str] = []

    async def perform(self) -> None:
        """Publish and read everything at once, and kill an enforcer in the middle."""
        from runwire import Producer, Reader

        prefix = self._settings.prefix
        async with (
            Producer(self._url, prefix=prefix) as producer,
            Reader(self._url, prefix=prefix) as reader,
            asyncio.timeout(LIVE_LIMIT_S),
            asyncio.TaskGroup() as tasks,
        ):
            for run in self._runs:
                tasks.create_task(self._read(reader, run))
            for place, stream in enumerate(self._streams):
                tasks.create_task(self._publish(producer, stream, place * STAGGER_S))
            tasks.create_task(self._publish_broken(producer))
            tasks.create_task(self._kill_one())

    async def _publish(self, producer: "Producer", stream: Stream, delay: float) -> None:
        await asyncio.sleep(delay)
        rate = min(PACE_PER_S, len(stream.events) / STREAM_S)
        sent = await send_events(producer, stream.run, stream.events, Pace(rate / PACE_PER_S))
        self._sent += sent

    async def _publish_broken(self, producer: "Producer") -> None:
        pace = Pace(1 / PACE_PER_S)
        async with producer.run(BROKEN_RUN) as run:
            for body in broken_chunks():
                await pace.tick()
                await run.send(body, call="1")
                self._sent += 1

    async def _read(self, reader: "Reader", run: str) -> None:
        async for chunk in reader.run(run, wait=LIVE_LIMIT_S):
            now = time.monotonic()
            if self._killed_at and run in self._open_at_kill:
                self._longest_pause = max(self._longest_pause, now - max(self._killed_at, self._last_at.get(run, now)))
            self._last_at[run] = now
            self._seen[run].append(chunk)
            self._stage.chunk(run, chunk.data)

    async def _kill_one(self) -> None:
        """SIGKILL the enforcer that works for most of the runs that are open now, and see who takes over."""
        await asyncio.sleep(KILL_AFTER_S)
        async with await open_link(self._url, "runwire-demo") as link:
            partitions = await stored_partitions(link, self._keys)
            owners = await self._owners(link, partitions)
            open_runs = [run for run in self._runs if not _is_over(self._seen[run])]
            served = {
                child: [run for run in open_runs if f"-{child.pid}-" in owners[partition_of(run, partitions)]]
                for child in self._deployment.children
            }
            victim = max(served, key=lambda child: len(served[child]))
            self._open_at_kill = served[victim]
            dead = f"-{victim.pid}-"
            self._killed_at = time.monotonic()
            victim.send(signal.SIGKILL)
            self._stage.news(f"kill -9 {victim.name}, which was working for {len(self._open_at_kill)} open runs")
            await self._taken_over(link, partitions, dead)
        waited = time.monotonic() - self._killed_at
        self._stage.news(f"all partitions of {victim.name} have another owner, {waited:.1f} s after it was killed")

    async def _taken_over(self, link: Link, partitions: int, dead: str) -> None:
        """Return when every partition has an owner that is not the dead one."""
        owners = [dead]
        while any(not owner or dead in owner for owner in owners):  # the owners are in Redis
            await asyncio.sleep(OWNERS_POLL_S)
            owners = await self._owners(link, partitions)

    async def _owners(self, link: Link, partitions: int) -> list[str]:
        """The owner of each partition, empty where nobody is."""
        return [view.owner or "" for view in (await overview(link, self._keys, partitions)).partitions]

    async def checks(self) -> tuple[list[Check], list[Finding]]:
        """Compare what happened with what should have, by means that did not take part in it."""
        from runwire import Reader

        async with await open_link(self._url, "runwire-demo") as link:
            partitions = await stored_partitions(link, self._keys)
            stored = {run: await stored_run(link, self._keys, partitions, run) for run in self._runs}
            found = await newest_findings(link, self._keys, partitions, None, 1000)
        async with Reader(self._url, prefix=self._settings.prefix) as reader:
            again = {run: await _replayed(reader, run) for run in self._runs}
        return self._compare(stored, found, again), found

    def _compare(self, stored: dict[str, Stored], found: list[Finding], again: dict[str, list[bytes]]) -> list[Check]:
        limits = limits_of(self._settings)
        live = {run: [chunk.data for chunk in seen] for run, seen in self._seen.items()}
        logs = {run: [data for _, data in one.log] for run, one in stored.items()}
        records = sum(len(one.records) for one in stored.values())
        return [
            Check("every record that was acknowledged is in Redis", str(self._sent), str(records)),
            Check("an enforcer was killed while runs were open on it", "yes", "yes" if self._open_at_kill else "no"),
            agreement("every run has ended", {run: _is_over(seen) for run, seen in self._seen.items()}),
            agreement(
                "the log is numbered 1 … n without a hole",
                {run: numbered_without_hole([seq for seq, _ in one.log]) for run, one in stored.items()},
            ),
            agreement("live readers saw exactly the log", {run: live[run] == logs[run] for run in self._runs}),
            agreement(
                "killing the enforcer changed nothing: an offline machine makes the same bytes",
                {run: recomputed(run, stored[run].records, limits) == logs[run] for run in self._runs},
            ),
            agreement("a replay is byte for byte what was live", {run: again[run] == live[run] for run in self._runs}),
            agreement(
                "the text is that of the provider's file",
                {s.run: _text_of(s, self._settings) == text_of_chunks(live[s.run]) for s in self._streams},
            ),
            *_broken_stream(found),
        ]

    @property
    def longest_pause(self) -> float:
        """Seconds that a reader of the dead enforcer's runs waited for its next chunk, at most."""
        return self._longest_pause


def _broken_stream(found: list[Finding]) -> list[Check]:
    """What the evidence must say of the stream that breaks the grammar, and that nothing else did."""
    seen = [msgspec.json.decode(finding.data, type=Evidence) for finding in found]
    broken = [one for one in seen if one.run == BROKEN_RUN]
    stopped_by = ", ".join(one.code for one in broken if one.cls == "fatal")
    refused = sum(one.count for one in broken if one.cls == "refused")
    others = sum(one.run != BROKEN_RUN and one.cls in {"fatal", "refused"} for one in seen)
    return [
        Check("the broken stream was stopped by its rule", BROKEN_RULE, stopped_by or "nothing"),
        Check("what followed in the broken stream was refused", f"{BROKEN_AFTER} records", f"{refused} records"),
        Check("violations and refusals of all other runs", "0", str(others)),
    ]


async def _replayed(reader: "Reader", run: str) -> list[bytes]:
    """The run from its start; what came of it in time if it has not ended."""
    chunks: list[bytes] = []
    with contextlib.suppress(TimeoutError, ReadError):
        async with asyncio.timeout(REPLAY_LIMIT_S):
            chunks.extend([chunk.data async for chunk in reader.run(run, wait=0)])
    return chunks


def _is_over(seen: "list[Chunk]") -> bool:
    return bool(seen) and seen[-1].type == "finish"


def _text_of(stream: Stream, settings: Settings) -> str:
    with opened(str(stream.file)) as file:
        found = entries(file, str(stream.file), stream.run, stream.provider, 0)
        return text_of_file(stream.run, found, limits_of(settings))


@contextlib.asynccontextmanager
async def _deployed(folder: Path, stage: Stage) -> AsyncGenerator[tuple[Deployment, str]]:
    """A deployment that is ready, supervised by a thread, and stopped in the end."""
    with DataFolder(folder) as data:
        deployment = Deployment(data, ENFORCERS, 0, stage.news)
        supervising = threading.Thread(target=deployment.run, daemon=True)
        try:
            url = await _to_its_end(deployment.start)
            supervising.start()
            await asyncio.to_thread(deployment.wait_ready, READY_LIMIT_S)
            stage.news(f"{url} is up with {ENFORCERS} enforcers")
            yield deployment, url
        finally:
            deployment.request_stop()
            if supervising.is_alive():
                await asyncio.to_thread(supervising.join)
            await asyncio.to_thread(deployment.stop)


async def _to_its_end(work: Callable[[], str]) -> str:
    """In a thread. A cancellation waits for it: what a start that goes on has started, nobody would stop."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait((working,))
        raise


async def run_demo(corpus: Path | None, *, keep: bool, plain: bool) -> bool:
    """Perform, check, print the table; whether every check held."""
    # Like Ctrl-C, which cancels and so stops what was started.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, signal.raise_signal, signal.SIGINT)
    streams = sample_streams() + (recorded_streams(corpus) if corpus is not None else [])
    stage = stage_for(plain=plain)
    folder = Path(tempfile.mkdtemp(prefix="runwire-demo-"))
    try:
        async with _deployed(folder, stage) as (deployment, url):
            demo = Demo(deployment, load(os.environ), url, stage, streams)
            with stage:
                try:
                    await demo.perform()
                except TimeoutError:
                    # Not a bug of the demo: the checks will show what is missing.
                    stage.news(f"stopped waiting after {LIVE_LIMIT_S:.0f} s")
            checks, found = await demo.checks()
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    _print_summary(stage.console, checks, found, demo.longest_pause)
    if keep:
        stage.console.print(f"Kept: runwire up --data {folder}", soft_wrap=True)
    return all(check.holds for check in checks)


def _print_summary(console: "Console", checks: list[Check], found: list[Finding], longest_pause: float) -> None:
    console.print("\nThe evidence of the broken stream:", style="bold")
    for finding in found:
        if finding.run == BROKEN_RUN:
            print_finding(finding)
    console.print()
    console.print(summary(checks))
    console.print(f"The longest that a reader waited because of the kill: {longest_pause:.1f} s.")

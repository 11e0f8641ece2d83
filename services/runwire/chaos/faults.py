"""Doing a fault: from its kind to signals, restarts, cuts and a proxy that loses replies."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from runwire.embedded.server import Fsync, Server

from .aof import TailWatch, cut_tail
from .history import Cut
from .proxy import Proxy
from .schedule import Fault, FaultKind
from .staff import Part, Staff, Worker

FEWEST_ENFORCERS: Final = 3
MOST_ENFORCERS: Final = 5
# How long a place stays empty after a kill: shorter and longer than a lease.
VACANT_S: Final = (0.2, 4.0)
DOWN_S: Final = (0.05, 1.0)
# Longer than a server's restart and the back-off of its clients after it.
MEET_S: Final = 5.0
_LOOK_S: Final = 0.1


class Faults:
    """Carries out the lanes of a schedule. `counts` holds what really happened, `cuts` when tails were lost."""

    def __init__(self, staff: Staff, server: Server, proxy: Proxy, seed: int, say: Callable[[str], None]) -> None:
        self.staff, self.server, self.proxy, self.say = staff, server, proxy, say
        self.rng = random.Random(f"targets/{seed}")
        self.tail = TailWatch(server)
        self.counts = Counter[FaultKind]()
        self.cuts: list[Cut] = []
        self._began = time.monotonic()
        self._background: set[asyncio.Task[None]] = set()
        self._actions: dict[FaultKind, Callable[[Fault], Awaitable[bool]]] = {
            FaultKind.PRODUCER_KILL: lambda _: self.kill(Part.PRODUCER),
            FaultKind.ENFORCER_KILL: lambda _: self.kill(Part.ENFORCER),
            FaultKind.READER_KILL: lambda _: self.kill(Part.READER),
            FaultKind.PRODUCER_STOP: lambda fault: self.stop(Part.PRODUCER, fault.seconds),
            FaultKind.ENFORCER_STOP: lambda fault: self.stop(Part.ENFORCER, fault.seconds),
            FaultKind.READER_STOP: lambda fault: self.stop(Part.READER, fault.seconds),
            FaultKind.ENFORCER_JOIN: lambda _: self.join(),
            FaultKind.ENFORCER_LEAVE: lambda _: self.leave(),
            FaultKind.SERVER_KILL_EVERYSEC: lambda _: self.kill_server("everysec"),
            FaultKind.SERVER_KILL_ALWAYS: lambda _: self.kill_server("always"),
            FaultKind.SERVER_PAUSE: lambda fault: self.pause_server(fault.seconds),
            FaultKind.AOF_CUT: lambda _: self.cut_tail(),
            FaultKind.CONNECTIONS_CUT: lambda _: self.cut_connections(),
            FaultKind.REPLIES_LOST: lambda fault: self.lose_replies(fault.seconds),
        }

    async def run(self, lanes: Sequence[Sequence[Fault]]) -> None:
        """All lanes to their end, and every process that was stopped or killed is back."""
        self._began = time.monotonic()
        watch = asyncio.create_task(self._watch_tail())
        async with asyncio.TaskGroup() as group:
            for lane in lanes:
                group.create_task(self._lane(lane))
        watch.cancel()
        if self._background:
            await asyncio.wait(self._background)
        for task in self._background:
            task.result()

    async def _lane(self, lane: Sequence[Fault]) -> None:
        for fault in lane:
            await asyncio.sleep(max(0.0, self._began + fault.at - time.monotonic()))
            await self._do(fault)

    async def _do(self, fault: Fault) -> None:
        """A fault that met nothing (no connection was open, no process was up) is tried again for a while."""
        limit = time.monotonic() + MEET_S
        while not await self._actions[fault.kind](fault):
            if time.monotonic() > limit:
                self.say(f"{fault.kind} met nothing")
                return
            await asyncio.sleep(_LOOK_S)
        self.counts[fault.kind] += 1

    async def _watch_tail(self) -> None:
        while True:
            self.tail.look()
            await asyncio.sleep(_LOOK_S)

    def _later(self, what: Awaitable[None]) -> None:
        self._background.add(asyncio.ensure_future(what))

    def _any(self, part: Part) -> Worker | None:
        active = self.staff.active(part)
        return self.rng.choice(active) if active else None

    async def kill(self, part: Part) -> bool:
        worker = self._any(part)
        if worker is None:
            return False
        self.say(f"SIGKILL {worker.name}")
        self.staff.kill(worker)
        self._later(self._fill(part, worker.slot))
        return True

    async def _fill(self, part: Part, slot: int) -> None:
        await asyncio.sleep(self.rng.uniform(*VACANT_S))
        if part is not Part.ENFORCER or len(self.staff.active(part)) < MOST_ENFORCERS:
            self.staff.start(part, self.staff.free_slot(part) if part is Part.ENFORCER else slot)

    async def stop(self, part: Part, seconds: float) -> bool:
        worker = self._any(part)
        if worker is None:
            return False
        self.say(f"SIGSTOP {worker.name} for {seconds:.1f} s")
        self.staff.stop(worker)
        self._later(self._resume(worker, seconds))
        return True

    async def _resume(self, worker: Worker, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self.staff.resume(worker)

    async def join(self) -> bool:
        if len(self.staff.active(Part.ENFORCER)) >= MOST_ENFORCERS:
            await self.leave()
        worker = self.staff.start(Part.ENFORCER, self.staff.free_slot(Part.ENFORCER))
        self.say(f"{worker.name} joins")
        return True

    async def leave(self) -> bool:
        if len(self.staff.active(Part.ENFORCER)) <= FEWEST_ENFORCERS:
            self.staff.start(Part.ENFORCER, self.staff.free_slot(Part.ENFORCER))
        worker = self._any(Part.ENFORCER)
        if worker is None:
            return False
        self.say(f"SIGTERM {worker.name}")
        self.staff.ask_to_leave(worker)
        self._later(self._left(worker))
        return True

    async def _left(self, worker: Worker) -> None:
        """It should drain and go; one that does not is killed, and the verdict will say so."""
        await self.staff.wait_until_left([worker])

    async def kill_server(self, mode: Fsync) -> bool:
        self.say(f"SIGKILL server, restart with appendfsync {mode}")
        self.server.kill()
        await asyncio.sleep(self.rng.uniform(*DOWN_S))
        await self._restart(mode)
        return True

    async def _restart(self, mode: Fsync) -> None:
        self.server.appendfsync = mode
        await asyncio.to_thread(self.server.restart)
        self.staff.watch_server(self.server)

    async def pause_server(self, seconds: float) -> bool:
        self.say(f"SIGSTOP server for {seconds:.1f} s")
        self.server.pause()
        try:
            await asyncio.sleep(seconds)
        finally:
            self.server.resume()
        return True

    async def cut_tail(self) -> bool:
        killed = time.monotonic()
        self.server.kill()
        cut = await asyncio.to_thread(cut_tail, self.server, self.tail.cut_size(self.rng, killed))
        self.say(f"SIGKILL server and cut the last {cut} bytes of its append-only file")
        await self._restart(self.server.appendfsync)
        self.cuts.append(Cut(killed, time.monotonic()))
        return cut > 0

    async def cut_connections(self) -> bool:
        if cut := self.proxy.cut():
            self.say(f"{cut} connections cut")
        return cut > 0

    async def lose_replies(self, seconds: float) -> bool:
        """Commands run and their answers are lost; then those connections are cut."""
        before = self.proxy.dropped_bytes
        self.proxy.drop_replies()
        try:
            await asyncio.sleep(seconds)
        finally:
            self.proxy.pass_replies()
        if lost := self.proxy.dropped_bytes - before:
            self.say(f"replies lost for {seconds:.1f} s: {lost} bytes")
        return lost > 0

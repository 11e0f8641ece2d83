"""What tests of the unwrapper on real servers share: nodes, agent runs to publish, and what must come out."""

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from helpers import wait_until
from helpers.enforcing import log_of, running
from helpers.nesting import Pipeline, agent, around, encoded
from runwire.broker.connection import Command, Link
from runwire.broker.desk import Observer
from runwire.broker.nests import NestLedger
from runwire.broker.runtime import Node
from runwire.enforcer.handler import RunHandler
from runwire.enforcer.limits import limits_of
from runwire.settings import Settings
from runwire.unwrapper.app import terms_of
from runwire.unwrapper.handler import UnwrapHandler
from runwire_schemas.keys import UNWRAPPER_GROUP, Keys, partition_of

Story = Mapping[str, list[Any]]


@contextlib.asynccontextmanager
async def unwrapping(settings: Settings, *, observer: Observer | None = None) -> AsyncIterator[Node]:
    """An unwrapper that is drained at the end, unless it was crashed."""
    node = Node(
        settings,
        UnwrapHandler(terms_of(settings)),
        ledger=NestLedger(),
        group=UNWRAPPER_GROUP,
        stream="chunks",
        observer=observer,
    )
    await node.start()
    try:
        yield node
    finally:
        await node.drain()


@contextlib.asynccontextmanager
async def enforcing(settings: Settings) -> AsyncIterator[Node]:
    """An enforcer without its chores: no time passes."""
    handler = RunHandler(limits_of(settings), settings.partitions, clock=lambda: 0.0)
    async with running(settings, handler) as node:
        yield node


async def publish(link: Link, settings: Settings, run: str, chunks: Iterable[Any], first: int = 1) -> None:
    """Agent chunks of one run, numbered from `first`."""
    raw = Keys(settings.prefix).partition(partition_of(run, settings.partitions)).raw
    fields = ("run", run, "src", "agent", "epoch", 0)
    commands: list[Command] = [
        ("XADD", raw, "*", *fields, "seq", seq, "kind", "agent", "body", encoded(body))
        for seq, body in enumerate(chunks, first)
    ]
    for reply in await link.call_many(commands):
        assert isinstance(reply, bytes), reply


def families(count: int, words: int = 20) -> Story:
    """So many runs, each with two agents in it, one of them with a third in it."""
    story: dict[str, list[Any]] = {}
    for n in range(count):
        text = [f"{n}.{word} " for word in range(words)]
        inner = [*agent(f"one-{n}", *text), *around(f"two-{n}", "c2", agent(f"three-{n}", *text)), {"type": "tick"}]
        story[f"top-{n}"] = around(f"top-{n}", "c1", inner)
    return story


def expected(story: Story) -> Pipeline:
    """What must come of it, without any server."""
    p = Pipeline()
    for run, chunks in story.items():
        p.publish(run, *chunks)
    p.run_dry()
    return p


async def wait_for_runs(link: Link, settings: Settings, want: Pipeline, limit: float = 20.0) -> None:
    """Until every run that must come out is finished."""

    async def done() -> bool:
        for run, log in want.logs.items():
            found = await log_of(link, settings, run)
            if len(found) < len(log):
                return False
        return True

    await wait_until(done, f"{len(want.logs)} runs are whole", limit)


async def assert_exact(link: Link, settings: Settings, want: Pipeline) -> None:
    """Every log is what it must be, byte for byte, and nothing was refused."""
    for run, log in want.logs.items():
        assert await log_of(link, settings, run) == log, run
    for number in range(settings.partitions):
        evidence = Keys(settings.prefix).partition(number).evidence
        assert await link.call("XRANGE", evidence, "-", "+") == []


async def settled(link: Link, settings: Settings) -> None:
    """Until the unwrapper has read all that the enforcer wrote."""

    async def read() -> bool:
        for number in range(settings.partitions):
            p = Keys(settings.prefix).partition(number)
            last = await link.call("XREVRANGE", p.chunks, "+", "-", "COUNT", 1)
            position = await link.call("HGET", p.pos_chunks, UNWRAPPER_GROUP)
            if isinstance(last, list) and last and isinstance(last[0], list) and last[0][0] != position:
                return False
        return True

    await wait_until(read, "the unwrapper has read everything", 20.0)

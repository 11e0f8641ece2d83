"""Runs in runs: where a run came from, what came from it, and what all of it used."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec

from runwire.broker.connection import ServerError
from runwire.broker.lineage import ChildrenOf, NestView, read_children, read_nests
from runwire.errors import LinkLost, RunUnknown, ServerUnfit, SettingInvalid
from runwire.readers.hub import Opened
from runwire.readers.trees import RunNode, Sapling
from runwire_schemas.control import Parent
from runwire_schemas.keys import Keys
from runwire_schemas.lineage import Account, ChildLink

# One reply: a child is some 200 bytes.
MOST_CHILDREN = 1000


class ChildRun(msgspec.Struct, frozen=True, kw_only=True):
    """One child of a run. `number` counts from 1 in the order in which they were opened: `children(after=number)`.

    `confirmed` None: the run has not been seen yet. False: it exists and is not this run's child, because somebody else
    opened it first; then `account` says nothing of it.
    """

    number: int
    link: ChildLink
    confirmed: bool | None
    account: Account | None


class Lineage:
    """Queries, each on a connection of its own. A run is known once the unwrapper has seen its first chunk.

    All raise RunUnknown for a run that it has not seen, and LinkLost, DeploymentMissing, PartitionMismatch,
    WireMismatch and ServerUnfit.
    """

    def __init__(self, connect: Callable[[], Awaitable[Opened]], keys: Keys) -> None:
        """Made by `Reader.lineage`."""
        self._connect = connect
        self._keys = keys

    async def parent(self, run_id: str) -> Parent | None:
        """The run around this one and the wrapper it came in; None for a root."""
        return (await self._nest(run_id)).ancestry.parent

    async def path(self, run_id: str) -> tuple[Parent, ...]:
        """All runs around this one, the root first; each names the wrapper that the next one came in."""
        return (await self._nest(run_id)).ancestry.path

    async def account(self, run_id: str) -> Account:
        """What the run used by itself, and how it ended."""
        return (await self._nest(run_id)).account

    async def children(self, run_id: str, after: int = 0, limit: int = 100) -> list[ChildRun]:
        """A page of the runs nested in this one, from number `after` + 1 on. Fewer than `limit`: that was the last."""
        if not 1 <= limit <= MOST_CHILDREN or after < 0:
            raise SettingInvalid(f"after must not be below 0, limit is from 1 to {MOST_CHILDREN}")
        async with self._opened() as opened:
            await self._known(opened, run_id)
            (links,) = await read_children(
                opened.link, self._keys, opened.partitions, [ChildrenOf(run_id, after, limit)]
            )
            nests = await self._nests(opened, [link.run_id for link in links])
        return [
            _child(run_id, after + n, link, nest) for n, (link, nest) in enumerate(zip(links, nests, strict=True), 1)
        ]

    async def tree(self, run_id: str, limit: int = 1000) -> RunNode:
        """The run and everything in it, at most `limit` runs; what was left out is marked as not complete."""
        if limit < 1:
            raise SettingInvalid("limit must be above 0")
        async with self._opened() as opened:
            sapling = Sapling(await self._known(opened, run_id), limit)
            while pages := sapling.wanted(MOST_CHILDREN):
                links = await read_children(opened.link, self._keys, opened.partitions, pages)
                found = sapling.named(pages, links)
                sapling.grow(await self._nests(opened, found))
        return sapling.tree()

    async def _nest(self, run_id: str) -> NestView:
        async with self._opened() as opened:
            return await self._known(opened, run_id)

    async def _known(self, opened: Opened, run_id: str) -> NestView:
        (nest,) = await self._nests(opened, [run_id])
        if nest is None:
            raise RunUnknown(
                f"The unwrapper has seen nothing of run {run_id!r}. Either there is no such run, or it ended too long "
                "ago, or no unwrapper works here (`runwire status` tells)."
            )
        return nest

    async def _nests(self, opened: Opened, runs: Sequence[str]) -> list[NestView | None]:
        return await read_nests(opened.link, self._keys, opened.partitions, runs) if runs else []

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[Opened]:
        opened = await self._connect()
        async with opened.link as link:
            try:
                yield opened
            except ServerError as error:
                text = f"the server at {link.address} answered: {error.text}"
                raise (LinkLost(text) if error.outcome == "refused" else ServerUnfit(text)) from None


def _child(run_id: str, number: int, link: ChildLink, nest: NestView | None) -> ChildRun:
    parent = nest.ancestry.parent if nest is not None else None
    confirmed = None if nest is None else parent is not None and parent.run_id == run_id
    account = nest.account if nest is not None and confirmed else None
    return ChildRun(number=number, link=link, confirmed=confirmed, account=account)

"""What people ask about runs in runs: where they came from and what came from them. Reads only, one round trip each."""

from collections.abc import Sequence
from typing import NamedTuple, cast

import msgspec

from runwire.broker.connection import Command, Link, Reply, ServerError
from runwire.broker.nests import ACCOUNT, LINEAGE
from runwire_schemas.keys import Keys, partition_of
from runwire_schemas.lineage import Account, Ancestry, ChildLink

_ancestry = msgspec.json.Decoder(Ancestry).decode
_account = msgspec.json.Decoder(Account).decode
_link = msgspec.json.Decoder(ChildLink).decode


class NestView(NamedTuple):
    """What the unwrapper knows of one run."""

    run_id: str
    ancestry: Ancestry
    account: Account


class ChildrenOf(NamedTuple):
    """Children of a run after number `after`, at most `limit`."""

    run_id: str
    after: int
    limit: int


async def read_nests(link: Link, keys: Keys, partitions: int, runs: Sequence[str]) -> list[NestView | None]:
    """One for each run, in order; None for a run that the unwrapper has not seen, or not yet."""
    commands: list[Command] = [
        ("HMGET", keys.partition(partition_of(run, partitions)).nest(run), LINEAGE, ACCOUNT) for run in runs
    ]
    return [_view(run, reply) for run, reply in zip(runs, await _all(link, commands), strict=True)]


async def read_children(link: Link, keys: Keys, partitions: int, pages: Sequence[ChildrenOf]) -> list[list[ChildLink]]:
    """The children of each page, in the order in which they were opened."""
    commands: list[Command] = [
        (
            "HMGET",
            keys.partition(partition_of(page.run_id, partitions)).nest(page.run_id),
            *range(page.after + 1, page.after + page.limit + 1),
        )
        for page in pages
    ]
    return [
        [_link(data) for data in cast("list[bytes | None]", reply) if data is not None]
        for reply in await _all(link, commands)
    ]


def _view(run: str, reply: Reply) -> NestView | None:
    ancestry, account = cast("list[bytes | None]", reply)
    if ancestry is None or account is None:
        return None
    return NestView(run, _ancestry(ancestry), _account(account))


async def _all(link: Link, commands: Sequence[Command]) -> list[Reply]:
    replies = await link.call_many(commands)
    for reply in replies:
        if isinstance(reply, ServerError):
            raise reply
    return replies

"""The tree of a run of a pipeline in memory, as `Lineage` makes it on a server."""

from collections.abc import Iterator

import msgspec

from helpers.nesting import Pipeline
from runwire.broker.lineage import ChildrenOf, NestView
from runwire.readers.trees import RunNode, Sapling
from runwire_schemas.lineage import ChildLink


def grown(p: Pipeline, run: str, limit: int = 1000, page: int = 3) -> RunNode:
    """Page by page and level by level."""

    def nest(name: str) -> NestView | None:
        return NestView(name, p.lineage(name), p.account(name)) if p.nest(name) else None

    def links(pages: ChildrenOf) -> list[ChildLink]:
        stored = p.nest(pages.run_id)
        numbers = range(pages.after + 1, pages.after + pages.limit + 1)
        return [msgspec.json.decode(stored[str(n)], type=ChildLink) for n in numbers if str(n) in stored]

    root = nest(run)
    assert root is not None
    sapling = Sapling(root, limit)
    while pages := sapling.wanted(page):
        sapling.grow([nest(name) for name in sapling.named(pages, [links(one) for one in pages])])
    return sapling.tree()


def nodes(node: RunNode) -> Iterator[RunNode]:
    yield node
    for child in node.children:
        yield from nodes(child)


def total(node: RunNode) -> int:
    return node.subtree.get("totalTokens", 0)

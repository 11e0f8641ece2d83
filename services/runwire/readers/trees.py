"""A tree of runs from what is stored of each, and what all of it used. No I/O."""

from collections.abc import Mapping, Sequence

import msgspec

from runwire.broker.lineage import ChildrenOf, NestView
from runwire_schemas.lineage import Account, ChildLink


class RunNode(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a tree. `own` is what it used by itself, `subtree` that and everything in it.

    What a workflow says of all its steps together counts as its own where no child is known. `account` is None for a
    run that was opened and not seen yet; then, and where the tree was cut, `complete` is False.
    """

    run_id: str
    depth: int
    wrapper: str | None
    key: str | None
    account: Account | None
    own: dict[str, int]
    subtree: dict[str, int]
    complete: bool
    children: tuple["RunNode", ...]


class _Branch:
    __slots__ = ("account", "children", "depth", "link", "run_id", "seen")

    def __init__(self, run_id: str, depth: int, link: ChildLink | None) -> None:
        self.run_id = run_id
        self.depth = depth
        self.link = link
        self.account: Account | None = None
        self.children: list[_Branch] = []
        self.seen = 0  # children that were asked for, those of other people included

    @property
    def whole(self) -> bool:
        return self.account is not None and self.seen >= self.account.children


class Sapling:
    """Grows level by level: `wanted` names pages, `named` the runs on them, `grow` takes what is known of these."""

    def __init__(self, root: NestView, limit: int) -> None:
        """`limit` is the number of runs, the root included."""
        self._root = _Branch(root.run_id, root.ancestry.depth, None)
        self._root.account = root.account
        self._room = limit - 1
        self._open = [self._root]
        self._new: list[tuple[_Branch, _Branch]] = []
        self._known = {root.run_id}

    def wanted(self, page: int) -> list[ChildrenOf]:
        """Pages of children to read now; none when the tree is complete, or as large as it may be."""
        self._open = [branch for branch in self._open if not branch.whole]
        room, pages = self._room, list[ChildrenOf]()
        for branch in self._open:
            if room <= 0 or branch.account is None:
                break
            count = min(page, room, branch.account.children - branch.seen)
            pages.append(ChildrenOf(branch.run_id, branch.seen, count))
            room -= count
        return pages

    def named(self, pages: Sequence[ChildrenOf], links: Sequence[Sequence[ChildLink]]) -> list[str]:
        """The runs on these pages, to be looked at."""
        branches = {branch.run_id: branch for branch in self._open}
        self._new = []
        for page, found in zip(pages, links, strict=True):
            branch = branches[page.run_id]
            # Links that are missing, because somebody deleted them, are not asked for again.
            branch.seen += page.limit
            self._new += [(branch, _Branch(link.run_id, branch.depth + 1, link)) for link in found]
        return [child.run_id for _, child in self._new]

    def grow(self, nests: Sequence[NestView | None]) -> None:
        """Take what is known of the runs that `named` told. Who says that it is somebody else's child is left out."""
        for (branch, child), nest in zip(self._new, nests, strict=True):
            if nest is not None:
                parent = nest.ancestry.parent
                if parent is None or parent.run_id != branch.run_id or child.run_id in self._known:
                    continue
                child.account = nest.account
                self._open.append(child)
            self._known.add(child.run_id)
            branch.children.append(child)
            self._room -= 1

    def tree(self) -> RunNode:
        """What has grown."""
        return _node(self._root)


def _node(branch: _Branch) -> RunNode:
    children = tuple(_node(child) for child in branch.children)
    own = _own(branch.account, has_children=bool(children))
    subtree = own
    for child in children:
        subtree = _added(subtree, child.subtree)
    return RunNode(
        run_id=branch.run_id,
        depth=branch.depth,
        wrapper=branch.link.wrapper if branch.link else None,
        key=branch.link.key if branch.link else None,
        account=branch.account,
        own=own,
        subtree=subtree,
        complete=branch.whole and all(child.complete for child in children),
        children=children,
    )


def _own(account: Account | None, *, has_children: bool) -> dict[str, int]:
    if account is None:
        return {}
    return account.usage if has_children else _added(account.usage, account.workflow_usage)


def _added(sums: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    """Field by field; what nobody reported stays absent."""
    return {
        name: sums.get(name, 0) + more.get(name, 0) for name in [*sums, *(name for name in more if name not in sums)]
    }

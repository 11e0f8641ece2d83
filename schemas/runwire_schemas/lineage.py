"""Lineage: where a run came from, what came from it, and what it used. Kept by the unwrapper, one hash a run."""

import msgspec

from runwire_schemas.control import Parent


class Ancestry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The runs above a run, the root first; empty for a root. Each names the wrapper that the next one came in."""

    path: tuple[Parent, ...] = ()

    @property
    def parent(self) -> Parent | None:
        return self.path[-1] if self.path else None

    @property
    def depth(self) -> int:
        """1 for a root."""
        return len(self.path) + 1


class Account(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What one run says of itself, in its newest attempt.

    `usage` is its own: the sum of its steps, else what its finish says; a workflow has none. `workflow_usage` is what a
    workflow says of all its steps together: it counts only where no child is known. `children` counts the runs that it
    ever named as its own, `end` is the reason of its finish.
    """

    attempt: int = 1
    agent_id: str | None = None
    workflow_id: str | None = None
    usage: dict[str, int] = {}
    workflow_usage: dict[str, int] = {}
    children: int = 0
    end: str | None = None


class ChildLink(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One child of a run. `seq` is the chunk of the parent's log that opened it.

    Whether the child agrees is for its own lineage to say: a run is written by producers or for one parent.
    """

    run_id: str
    wrapper: str
    key: str
    seq: int

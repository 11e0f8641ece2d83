"""The commit: its arguments and its answer, apart from the call: those of all partitions go out in one write."""

from typing import Final, NamedTuple

from runwire.broker.connection import Arg, Reply, ServerError
from runwire.broker.outcomes import (
    BadArguments,
    CommitOutcome,
    Committed,
    Fenced,
    Gone,
    Moved,
    Skip,
    StateConflict,
)
from runwire.broker.replies import texts
from runwire_schemas.keys import PartitionKeys

FIXED_KEYS: Final = 10


class RunWrite(NamedTuple):
    """What a commit does to one run.

    `chunks` get the numbers base + 1, base + 2 …; `base` must be the stored sequence. `blob` is the state after them.
    `deadline_ms` counts from now, 0 for none. `opened` lists the run; `ended` gives its log and state their TTL, and
    stays true for whatever is written to a run after its end.
    """

    run_id: str
    attempt: int
    base: int
    chunks: list[bytes]
    blob: bytes
    deadline_ms: int
    opened: bool
    ended: bool


class Commit(NamedTuple):
    """What `records` records, from id `first` to id `last`, came to. `prev` is the position before them.

    `evidence`: (run or '', code, JSON). `events`: JSON for the outbox. `holds`: field -> lowest raw id that trimming
    must leave, '' to let go; a field `keep:<run>` lapses by itself.
    """

    prev: str
    first: str
    last: str
    records: int
    runs: list[RunWrite]
    evidence: list[tuple[str, str, bytes]]
    events: list[bytes]
    holds: dict[str, str]


class Lifetimes(NamedTuple):
    """How long what a commit writes may live, in ms; `evidence_max` counts entries of a partition's evidence."""

    lease_ms: int = 3000
    log_ms: int = 86_400_000
    tombstone_ms: int = 7 * 86_400_000
    keep_ms: int = 60_000
    evidence_max: int = 100_000


def commit_args(
    keys: PartitionKeys, group: str, me: str, epoch: int, lifetimes: Lifetimes, commit: Commit
) -> list[Arg]:
    """The whole command, for `Link.call_many` or `send_many`."""
    runs = commit.runs
    args: list[Arg] = [
        "FCALL", "rw_commit_1", FIXED_KEYS + 2 * len(runs),
        keys.lease(group), keys.pos_raw, keys.raw, keys.chunks, keys.evidence, keys.open, keys.index, keys.expiring,
        keys.outbox, keys.holds,
    ]  # fmt: skip
    for run in runs:
        args += (keys.state(run.run_id), keys.log(run.run_id, run.attempt))
    args += (group, me, epoch, *lifetimes, commit.prev, commit.first, commit.last, commit.records)
    args += (len(runs), len(commit.evidence), len(commit.events), len(commit.holds))
    for run in runs:
        chunks = run.chunks
        flags = ("o" if run.opened else "") + ("e" if run.ended else "") or "-"
        args += (run.run_id, run.attempt, run.base, run.deadline_ms, flags, run.blob, len(chunks))
        args += chunks
    for item in commit.evidence:
        args += item
    args += commit.events
    for hold in commit.holds.items():
        args += hold
    return args


def commit_result(reply: Reply) -> CommitOutcome:  # noqa: PLR0911 - one for each answer of the contract
    """The typed outcome, of `rw_settle_1` too. An error reply is raised: `ServerError.outcome` says what it means."""
    if isinstance(reply, ServerError):
        raise reply
    match texts(reply):
        case ["OK", chunks]:
            return Committed(int(chunks))
        case ["FENCED", owner, epoch]:
            return Fenced(owner, int(epoch))
        case ["MOVED", position]:
            return Moved(position)
        case ["SKIP", first_unread]:
            return Skip(first_unread)
        case ["GONE", last]:
            return Gone(last)
        case ["STATE", key, stored]:
            return StateConflict(key, stored)
        case ["ARGS", what]:
            return BadArguments(what)
        case _:
            raise ServerError(f"the commit answered {reply!r:.200}")

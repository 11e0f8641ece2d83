"""One typed function for each server function of the library `runwire_1`; their contracts stand in the Lua file.

All raise LinkLost (outcome unknown) and ServerError. A library that is missing, because the server was flushed or is
newly promoted, is loaded and the call made again: it had not run.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from runwire.broker.commit import Commit, Lifetimes, RunWrite, commit_args, commit_result
from runwire.broker.connection import Arg, Link, Reply, ServerError
from runwire.broker.library import load_library
from runwire.broker.outcomes import (
    Advanced,
    BadArguments,
    CommitOutcome,
    Committed,
    Expired,
    Fenced,
    Gone,
    GroupProgress,
    Held,
    Kept,
    Members,
    Moved,
    Noted,
    Quarantined,
    Released,
    Renewed,
    Skip,
    StateConflict,
    Taken,
    Trimmed,
    Written,
)
from runwire.broker.replies import texts
from runwire_schemas.evidence import Evidence
from runwire_schemas.keys import PartitionKeys

__all__ = [
    "Advanced",
    "BadArguments",
    "Commit",
    "CommitOutcome",
    "Committed",
    "Expired",
    "Fenced",
    "Gone",
    "GroupProgress",
    "Held",
    "Kept",
    "Lifetimes",
    "Members",
    "Moved",
    "Noted",
    "Quarantined",
    "Released",
    "Renewed",
    "RunWrite",
    "Skip",
    "StateConflict",
    "Stream",
    "Taken",
    "Trimmed",
    "Written",
    "advance",
    "beat",
    "commit",
    "commit_args",
    "commit_result",
    "due",
    "expire_index",
    "keep",
    "load_library",
    "release",
    "renew",
    "take",
    "trim",
    "write_alarm",
    "write_quarantine",
    "write_suspect",
    "write_timeouts",
]

Stream = Literal["raw", "chunks"]

# `~` trims whole nodes; so many entries at most in one call keep it under a millisecond.
TRIM_LIMIT: Final = 10_000
# The library refuses to copy an entry with more names and values than this; a record has at most 22.
KEPT_FIELDS: Final = 1000


async def take(link: Link, keys: PartitionKeys, stream: Stream, group: str, me: str, ttl_ms: int) -> Taken | Held:
    """Become the owner of a partition for `group`, unless somebody living is."""
    source, position = _stream(keys, stream)
    names = (keys.lease(group), position, source, keys.evidence)
    match await _fcall(link, "rw_take_1", names, group, me, ttl_ms):
        case ["TAKEN", epoch, at, count, attempts, lost, reset]:
            return Taken(int(epoch), at, int(count), int(attempts), int(lost), reset == "1")
        case ["HELD", owner, epoch, left_ms]:
            return Held(owner, int(epoch), int(left_ms))
        case other:
            raise _unexpected("rw_take_1", other)


async def renew(link: Link, keys: PartitionKeys, group: str, me: str, epoch: int, ttl_ms: int) -> Renewed | Fenced:
    """Stay the owner for `ttl_ms` more."""
    match await _fcall(link, "rw_renew_1", (keys.lease(group),), me, epoch, ttl_ms):
        case ["OK", wanted_by]:
            return Renewed(wanted_by)
        case other:
            return _fenced("rw_renew_1", other)


async def release(
    link: Link, keys: PartitionKeys, group: str, me: str, epoch: int, ttl_ms: int, to: str = ""
) -> Released | Fenced:
    """Give the partition to `to`, who then holds it for `ttl_ms`, or free it."""
    match await _fcall(link, "rw_release_1", (keys.lease(group),), me, epoch, ttl_ms, to):
        case ["OK"]:
            return Released()
        case other:
            return _fenced("rw_release_1", other)


async def commit(
    link: Link, keys: PartitionKeys, group: str, me: str, epoch: int, lifetimes: Lifetimes, work: Commit
) -> CommitOutcome:
    """One commit by itself. The runtime uses `commit_args` and `commit_result` to send those of many partitions."""
    return commit_result((await link.call_many([commit_args(keys, group, me, epoch, lifetimes, work)]))[0])


async def advance(  # noqa: PLR0913 - the words of its contract
    link: Link,
    keys: PartitionKeys,
    stream: Stream,
    group: str,
    me: str,
    epoch: int,
    ttl_ms: int,
    *,
    prev: str,
    last: str,
    records: int,
) -> Advanced | Fenced | Moved:
    """Move the position from `prev` over `records` records to `last`, once their effects are durable elsewhere."""
    names = (keys.lease(group), _stream(keys, stream)[1])
    match await _fcall(link, "rw_advance_1", names, group, me, epoch, ttl_ms, prev, last, records):
        case ["OK"]:
            return Advanced()
        case ["MOVED", position]:
            return Moved(position)
        case other:
            return _fenced("rw_advance_1", other)


async def trim(
    link: Link, keys: PartitionKeys, stream: Stream, horizon_ms: int, *, limit: int = TRIM_LIMIT, keep_ms: int = 60_000
) -> Trimmed:
    """Drop what all groups have read, nothing holds and the horizon has passed; tell how far each group is."""
    source, position = _stream(keys, stream)
    names = (source, position, keys.holds) if stream == "raw" else (source, position)
    removed, added, length, *rest = await _fcall(link, "rw_trim_1", names, horizon_ms, limit, keep_ms)
    groups = [
        GroupProgress(group, at, int(n), int(added) - int(n), max(0, int(added) - int(length) - int(n)))
        for group, at, n in zip(rest[::3], rest[1::3], rest[2::3], strict=True)
    ]
    return Trimmed(int(removed), int(added), int(length), groups)


async def beat(link: Link, members_key: str, me: str, ttl_ms: int) -> Members:
    """A heartbeat of `me`; tells who lives."""
    stale, *names = await _fcall(link, "rw_beat_1", (members_key,), me, ttl_ms)
    return Members(stale == "1", names)


async def due(link: Link, keys: PartitionKeys, limit: int) -> list[str]:
    """Runs whose deadline has passed, by the server's clock."""
    return await _fcall(link, "rw_due_1", (keys.open,), limit)


async def write_timeouts(
    link: Link,
    keys: PartitionKeys,
    group: str,
    me: str,
    epoch: int,
    timeouts: Iterable[tuple[str, bytes]],
    retry_ms: int,
) -> Written | Fenced:
    """Append a `timeout` control record (run, body) for each run that is still due; look again after `retry_ms`."""
    names = (keys.lease(group), keys.raw, keys.open)
    bodies = [part for timeout in timeouts for part in timeout]
    match await _fcall(link, "rw_timeout_1", names, me, epoch, retry_ms, *bodies):
        case ["OK", written]:
            return Written(int(written))
        case other:
            return _fenced("rw_timeout_1", other)


async def write_suspect(
    link: Link, keys: PartitionKeys, group: str, me: str, epoch: int, record: str
) -> Noted | Fenced:
    """Note that `record` is tried next, alone with the process."""
    match await _fcall(link, "rw_suspect_1", (keys.lease(group),), me, epoch, record):
        case ["OK"]:
            return Noted()
        case other:
            return _fenced("rw_suspect_1", other)


async def write_quarantine(
    link: Link, keys: PartitionKeys, group: str, me: str, epoch: int, record: str, run_id: str, body: bytes
) -> Quarantined | Fenced | Moved:
    """Append the `quarantine` control record for `record`, the first after the position. Once for each record."""
    names = (keys.lease(group), keys.pos_raw, keys.raw)
    match await _fcall(link, "rw_quarantine_1", names, group, me, epoch, record, run_id, body):
        case ["OK"]:
            return Quarantined()
        case ["MOVED", position]:
            return Moved(position)
        case other:
            return _fenced("rw_quarantine_1", other)


async def keep(  # noqa: PLR0913, PLR0917 - the words of its contract
    link: Link,
    keys: PartitionKeys,
    group: str,
    me: str,
    epoch: int,
    run_id: str,
    entries: Sequence[tuple[bytes | str, Sequence[bytes]]],
    ttl_ms: int,
    done: bool,  # noqa: FBT001 - as above
) -> Kept | Fenced:
    """Copy entries (id, names and values) of a run's raw records aside, in order; `done` lets go of the originals.

    Of an entry with more than 500 fields the first 500 are copied: no record has so many.
    """
    args: list[Arg] = [me, epoch, run_id, ttl_ms, int(done)]
    for entry_id, fields in entries:
        args += (entry_id, len(fields[:KEPT_FIELDS]), *fields[:KEPT_FIELDS])
    match await _fcall(link, "rw_keep_1", (keys.lease(group), keys.holds, keys.kept(run_id)), *args):
        case ["OK", copied]:
            return Kept(int(copied))
        case other:
            return _fenced("rw_keep_1", other)


async def expire_index(link: Link, keys: PartitionKeys, evidence_ttl_ms: int, limit: int = 1000) -> Expired:
    """Forget runs whose log has expired, and evidence that is too old."""
    names = (keys.expiring, keys.index, keys.evidence)
    runs, evidence = await _fcall(link, "rw_expire_1", names, limit, evidence_ttl_ms)
    return Expired(int(runs), int(evidence))


async def write_alarm(link: Link, keys: PartitionKeys, evidence: Evidence, evidence_max: int = 100_000) -> None:
    """Append evidence of the runtime itself, outside any commit."""
    data = msgspec.json.encode(evidence)
    run = evidence.run or ""
    await _fcall(link, "rw_alarm_1", (keys.evidence,), evidence_max, run, evidence.code, data)


async def _fcall(link: Link, name: str, keys: Sequence[str], *args: Arg) -> list[str]:
    command = ("FCALL", name, len(keys), *keys, *args)
    try:
        reply: Reply = await link.call(*command)
    except ServerError as error:
        if not error.missing_function:
            raise
        await load_library(link)
        reply = await link.call(*command)
    return texts(reply)


def _stream(keys: PartitionKeys, stream: Stream) -> tuple[str, str]:
    return (keys.raw, keys.pos_raw) if stream == "raw" else (keys.chunks, keys.pos_chunks)


def _fenced(function: str, reply: list[str]) -> Fenced:
    match reply:
        case ["FENCED", owner, epoch]:
            return Fenced(owner, int(epoch))
        case _:
            raise _unexpected(function, reply)


def _unexpected(function: str, reply: list[str]) -> ServerError:
    return ServerError(f"{function} answered {reply!r:.200}")

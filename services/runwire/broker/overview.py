"""What people ask about a deployment: partitions and their owners, runs, evidence. Reads only, in few round trips."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, cast

import msgspec

from runwire.broker.connection import Arg, Link, Reply, ServerError
from runwire.errors import DeploymentMissing
from runwire_schemas.keys import ENFORCER_GROUP, Keys, partition_of

# One page of evidence in memory: an entry holds up to a record's body.
EVIDENCE_PAGE: Final = 200
# After `finish` only chunks of background tasks follow; the end is looked for among so many last ones.
TAIL_CHUNKS: Final = 50

Command: TypeAlias = tuple[Arg, ...]


class PartitionView(msgspec.Struct, frozen=True, kw_only=True):
    """One partition. `lag` is in records, times are in milliseconds of the server's clock.

    `owner` is None when nobody holds a valid lease. `oldest_unread_ms` is the age of the first record that no commit
    has covered, None when there is none.
    """

    partition: int
    owner: str | None
    epoch: int
    lease_left_ms: int
    written: int
    read: int
    lag: int
    oldest_unread_ms: int | None
    open_runs: int
    evidence: int


class Overview(NamedTuple):
    """All partitions at one moment: `at_ms` by the server's clock."""

    at_ms: int
    partitions: list[PartitionView]


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `state` is `open` or `finished`; `reason` is the finish reason once there is one."""

    run: str
    partition: int
    started_ms: int
    chunks: int
    attempt: int
    state: str
    reason: str | None


class Finding(NamedTuple):
    """One entry of an evidence stream: its id, its run (None for none), and the Evidence as JSON."""

    id: str
    run: str | None
    code: str
    data: bytes


class _Result(msgspec.Struct):
    reason: str | None = None


class _Finish(msgspec.Struct, rename="camel"):
    step_result: _Result = msgspec.field(default_factory=_Result)


class _Chunk(msgspec.Struct):
    type: str
    payload: msgspec.Raw = msgspec.Raw(b"{}")


_chunk = msgspec.json.Decoder(_Chunk).decode
_finish = msgspec.json.Decoder(_Finish).decode


async def stored_partitions(link: Link, keys: Keys) -> int:
    """The partition count fixed at first start. Raises DeploymentMissing."""
    reply = await link.call("HGET", keys.meta, "partitions")
    if not isinstance(reply, bytes):
        raise DeploymentMissing
    return int(reply)


async def overview(link: Link, keys: Keys, partitions: int, group: str = ENFORCER_GROUP) -> Overview:
    """Every partition of one group, in two round trips."""
    commands: list[Command] = [("TIME",)]
    for number in range(partitions):
        p = keys.partition(number)
        commands += [
            ("HMGET", p.lease(group), "o", "e", "x"),
            ("HMGET", p.pos_raw, group, f"{group}:n"),
            ("XINFO", "STREAM", p.raw),
            ("ZCARD", p.open),
            ("XLEN", p.evidence),
        ]
    time, *replies = await link.call_many(commands)
    now = _milliseconds(time)
    rows = [replies[5 * number : 5 * number + 5] for number in range(partitions)]
    unread = await _oldest_unread(link, keys, [_position(row[1]) for row in rows])
    views = [_partition(number, now, row, unread[number]) for number, row in enumerate(rows)]
    return Overview(now, views)


async def _oldest_unread(link: Link, keys: Keys, positions: Sequence[str]) -> list[int | None]:
    """The time of the first record after each position, in the server's milliseconds."""
    commands: list[Command] = [
        ("XRANGE", keys.partition(number).raw, f"({position}", "+", "COUNT", 1)
        for number, position in enumerate(positions)
    ]
    replies = await link.call_many(commands)
    return [int(_text(_list(entry[0])[0]).partition("-")[0]) if (entry := _list(reply)) else None for reply in replies]


def _partition(number: int, now: int, row: Sequence[Reply], unread: int | None) -> PartitionView:
    owner, epoch, expires = (_text(value) for value in _list(row[0]))
    count = _text(_list(row[1])[1])
    written, read, left = _entries_added(row[2]), int(count or 0), int(expires or 0) - now
    return PartitionView(
        partition=number,
        owner=owner if owner and left > 0 else None,
        epoch=int(epoch or 0),
        lease_left_ms=max(0, left),
        written=written,
        read=read,
        lag=max(0, written - read),
        oldest_unread_ms=max(0, now - unread) if unread is not None else None,
        open_runs=_number(row[3]),
        evidence=_number(row[4]),
    )


def _position(reply: Reply) -> str:
    return _text(_list(reply)[0]) or "0-0"


def _entries_added(reply: Reply) -> int:
    """XINFO STREAM answers a flat list of names and values, or an error where no stream is."""
    if isinstance(reply, ServerError):
        return 0
    flat = _list(reply)
    fields: Mapping[str, Reply] = {_text(flat[at]): flat[at + 1] for at in range(0, len(flat), 2)}
    return _number(fields.get("entries-added"))


async def list_runs(link: Link, keys: Keys, partitions: int, limit: int) -> list[RunView]:
    """The runs that began last, newest first, at most `limit`."""
    pages = await link.call_many(
        [("ZREVRANGE", keys.partition(n).index, 0, limit - 1, "WITHSCORES") for n in range(partitions)]
    )
    found: list[tuple[int, str]] = []
    for page in map(_list, pages):
        found += [(int(float(_text(page[at + 1]))), _text(page[at])) for at in range(0, len(page), 2)]
    newest = sorted(found, reverse=True)[:limit]
    commands: list[Command] = []
    for _, run in newest:
        p = keys.partition(partition_of(run, partitions))
        commands += [("HMGET", p.state(run), "s", "a"), ("ZSCORE", p.open, run)]
    replies = await link.call_many(commands)
    states = [(_list(replies[2 * at]), replies[2 * at + 1]) for at in range(len(newest))]
    attempts = [int(_text(state[1]) or 1) for state, _ in states]
    reasons = await _reasons(link, keys, partitions, [(run, n) for (_, run), n in zip(newest, attempts, strict=True)])
    return [
        RunView(
            run=run,
            partition=partition_of(run, partitions),
            started_ms=started,
            chunks=int(_text(state[0]) or 0),
            attempt=attempt,
            state="open" if deadline is not None else "finished",
            reason=reason,
        )
        for (started, run), (state, deadline), attempt, reason in zip(newest, states, attempts, reasons, strict=True)
    ]


async def _reasons(link: Link, keys: Keys, partitions: int, runs: Sequence[tuple[str, int]]) -> list[str | None]:
    logs = [keys.partition(partition_of(run, partitions)).log(run, attempt) for run, attempt in runs]
    replies = await link.call_many([("XREVRANGE", log, "+", "-", "COUNT", 1) for log in logs])
    reasons = [_reason(reply) for reply in replies]
    for at, reason in enumerate(reasons):
        if reason is None:
            # Rare: an open run, or one whose background tasks spoke after its end.
            reasons[at] = _reason(await link.call("XREVRANGE", logs[at], "+", "-", "COUNT", TAIL_CHUNKS))
    return reasons


def _reason(reply: Reply) -> str | None:
    for entry in _list(reply):
        chunk = _chunk(cast("bytes", _list(_list(entry)[1])[1]))
        if chunk.type == "finish":
            return _finish(chunk.payload).step_result.reason
    return None


async def newest_findings(link: Link, keys: Keys, partitions: int, run: str | None, limit: int) -> list[Finding]:
    """The newest evidence, oldest of it first, at most `limit`; of one run if `run` is given."""
    numbers = range(partitions) if run is None else [partition_of(run, partitions)]
    found: list[Finding] = []
    for number in numbers:
        found += await _newest_of(link, keys.partition(number).evidence, run, limit)
    return sorted(found, key=_order)[-limit:]


async def _newest_of(link: Link, stream: str, run: str | None, limit: int) -> list[Finding]:
    """Read backwards, page by page, until there are enough of this run."""
    found: list[Finding] = []
    before = "+"
    while len(found) < limit:
        page = _list(await link.call("XREVRANGE", stream, before, "-", "COUNT", EVIDENCE_PAGE))
        for finding in (_finding(_list(entry)) for entry in page):
            before = f"({finding.id}"
            if run is None or finding.run == run:
                found.append(finding)
        if len(page) < EVIDENCE_PAGE:
            break
    return found[:limit]


def _order(finding: Finding) -> tuple[int, int]:
    """Ids as Redis orders them; as text 5-10 would come before 5-2."""
    milliseconds, _, number = finding.id.partition("-")
    return int(milliseconds), int(number)


def _finding(entry: Sequence[Reply]) -> Finding:
    flat = _list(entry[1])
    fields: Mapping[str, Reply] = {_text(flat[at]): flat[at + 1] for at in range(0, len(flat), 2)}
    data = fields.get("d")
    return Finding(
        id=_text(entry[0]),
        run=_text(fields.get("run")) or None,
        code=_text(fields.get("code")),
        data=data if isinstance(data, bytes) else b"{}",
    )


def _milliseconds(reply: Reply) -> int:
    seconds, micros = (int(_text(part)) for part in _list(reply))
    return seconds * 1000 + micros // 1000


def _list(reply: Reply) -> list[Reply]:
    """A list reply; an error reply is raised, nothing is an empty list."""
    if isinstance(reply, ServerError):
        raise reply
    return reply if isinstance(reply, list) else []


def _text(reply: Reply) -> str:
    return reply.decode(errors="replace") if isinstance(reply, bytes) else str(reply) if isinstance(reply, int) else ""


def _number(reply: Reply) -> int:
    if isinstance(reply, ServerError):
        raise reply
    return reply if isinstance(reply, int) else 0

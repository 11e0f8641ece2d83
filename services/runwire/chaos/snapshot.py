"""Everything the broker holds at the end, read once nothing writes any more."""

import re
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from runwire.broker.connection import Link
from runwire_schemas.keys import Keys, spec_of

from .history import LogEntry, RawEntry, Stored

PAGE: Final = 2000
_EVENT_RUN: Final = re.compile(rb'"run":\s*"([^"]+)"')
_Entries = list[tuple[bytes, list[bytes]]]


async def read_stored(link: Link, keys: Keys, partitions: int) -> Stored:
    """Raw streams, run logs, partition logs, TTLs of all keys and the runs that still wait for a deadline."""
    expiry = await _expiry(link)
    raw: dict[int, Sequence[RawEntry]] = {}
    partition_logs: dict[str, list[bytes]] = defaultdict(list)
    still_open: set[str] = set()
    for number in range(partitions):
        names = keys.partition(number)
        raw[number] = [_raw(entry_id, fields) async for entry_id, fields in entries_of(link, names.raw)]
        async for _, fields in entries_of(link, names.chunks):
            named = dict(zip(fields[::2], fields[1::2], strict=True))
            # The server packs what it calls strings; they are the chunks' UTF-8.
            packed = msgspec.msgpack.decode(named[b"d"], type=list[str])
            partition_logs[named[b"run"].decode()] += [chunk.encode() for chunk in packed]
        still_open |= {bytes(run).decode() for run in cast("list[bytes]", await link.call("ZRANGE", names.open, 0, -1))}
    logs, announced = await _logs(link, keys, expiry), await _announced(link, keys)
    return Stored(raw, logs, partition_logs, expiry, frozenset(still_open), announced)


async def _announced(link: Link, keys: Keys) -> frozenset[str]:
    """Runs whose end is in the events stream. Messages are JSON inside FastStream's own format."""
    found: set[str] = set()
    async for _, fields in entries_of(link, keys.events):
        for value in fields:
            if b"run.ended" in value and (run := _EVENT_RUN.search(value)):
                found.add(run[1].decode())
    return frozenset(found)


async def entries_of(link: Link, stream: str) -> AsyncIterator[tuple[bytes, list[bytes]]]:
    """All entries of a stream, page by page."""
    start = "-"
    while page := cast("_Entries", await link.call("XRANGE", stream, start, "+", "COUNT", PAGE)):
        for entry in page:
            yield entry[0], entry[1]
        start = f"({page[-1][0].decode()}"


def _raw(entry_id: bytes, fields: list[bytes]) -> RawEntry:
    named = dict(zip(fields[::2], fields[1::2], strict=True))
    call = named.get(b"call")
    return RawEntry(
        id=entry_id.decode(),
        run=named.get(b"run", b"").decode(),
        call=call.decode() if call is not None else None,
        body=named.get(b"body", b""),
        fields=fields,
    )


async def _logs(link: Link, keys: Keys, expiry: dict[str, int]) -> dict[str, list[LogEntry]]:
    logs: dict[str, list[LogEntry]] = {}
    for key in expiry:
        spec = spec_of(key, keys.prefix)
        if spec is not None and spec.name == "run log":
            run = key.split(":run:", 1)[1].rpartition(":")[0]
            logs[run] = [LogEntry(i.decode(), fields[1]) async for i, fields in entries_of(link, key)]
    return logs


async def _expiry(link: Link) -> dict[str, int]:
    expiry: dict[str, int] = {}
    cursor = b"0"
    while True:
        reply = cast("list[Any]", await link.call("SCAN", cursor, "COUNT", PAGE))
        cursor, found = cast("bytes", reply[0]), cast("list[bytes]", reply[1])
        for key, left in zip(found, await link.call_many([("PTTL", key) for key in found]), strict=True):
            expiry[key.decode()] = cast("int", left)
        if cursor == b"0":
            return expiry


class Waiting(NamedTuple):
    """What has not come to its end: raw records that no commit covered, and runs that still wait for a deadline."""

    records: int
    runs: int


async def waiting(link: Link, keys: Keys, partitions: int, group: str) -> Waiting:
    """Over all partitions. Records are looked for behind the position, not counted: counters may be wrong too."""
    places = [keys.partition(number) for number in range(partitions)]
    positions = await link.call_many([("HGET", place.pos_raw, group) for place in places])
    commands: list[tuple[str, ...]] = []
    for place, position in zip(places, positions, strict=True):
        after = position.decode() if isinstance(position, bytes) else "0-0"
        commands += [("XRANGE", place.raw, f"({after}", "+", "COUNT", "100"), ("ZCARD", place.open)]
    replies = await link.call_many(commands)
    records = sum(len(cast("list[Any]", found)) for found in replies[::2])
    return Waiting(records, sum(cast("list[int]", replies[1::2])))

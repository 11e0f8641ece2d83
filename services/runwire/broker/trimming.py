"""What an owner does for the streams of its partition beside the records: trimming, progress, the mirrored group.

The streams hold what some group has not read, what a hold keeps, and what is younger than the horizon. A mirrored
consumer group shows every Redis tool how far a group is; it is never read back.
"""

from typing import ClassVar, Final

from runwire.broker.connection import Command, Link, Reply, ServerError
from runwire.broker.functions import Stream, trim
from runwire.broker.outcomes import GroupProgress, Trimmed
from runwire_schemas.errors import RunwireError
from runwire_schemas.keys import PartitionKeys

# Chunks have no holds and the same life as raw: a sink that is behind still finds them.
STREAMS: Final[tuple[Stream, ...]] = ("raw", "chunks")


class GroupInUse(RunwireError):
    """The group still has a living owner. Stop its processes before you drop it."""

    code: ClassVar[str] = "group-in-use"


async def trim_partition(link: Link, keys: PartitionKeys, horizon_ms: int, keep_ms: int) -> dict[Stream, Trimmed]:
    """Trim both streams of a partition once; call it about once a second. Tells exactly how far every group is."""
    return {stream: await trim(link, keys, stream, horizon_ms, keep_ms=keep_ms) for stream in STREAMS}


async def progress(link: Link, keys: PartitionKeys, stream: Stream) -> list[GroupProgress]:
    """How far each group of a stream is, without trimming. The lag is exact on every server version."""
    source, position = (keys.raw, keys.pos_raw) if stream == "raw" else (keys.chunks, keys.pos_chunks)
    *_, answer = await link.call_many([("MULTI",), ("HGETALL", position), ("XINFO", "STREAM", source), ("EXEC",)])
    if isinstance(answer, ServerError):
        raise answer
    if not isinstance(answer, list):
        raise ServerError(f"EXEC answered {answer!r:.100}")
    fields = _pairs(answer[0])
    info = _pairs(answer[1])
    added, length = int(info.get("entries-added", 0)), int(info.get("length", 0))
    groups = [name for name in fields if f"{name}:n" in fields]
    return [
        GroupProgress(g, fields[g], n := int(fields[f"{g}:n"]), added - n, max(0, added - length - n)) for g in groups
    ]


def mirror_command(keys: PartitionKeys, stream: Stream, group: str, position: str, count: int) -> Command:
    """Move the mirrored consumer group to the committed position: for `call_many`, at most once a second.

    An error reply that `mirror_missing` recognizes means that the group must be made first, with `mirror_create`.
    """
    source = keys.raw if stream == "raw" else keys.chunks
    return ("XGROUP", "SETID", source, group, position, "ENTRIESREAD", count)


def mirror_create(keys: PartitionKeys, stream: Stream, group: str, position: str, count: int) -> Command:
    """Make the mirrored consumer group, and the stream where it is missing."""
    source = keys.raw if stream == "raw" else keys.chunks
    return ("XGROUP", "CREATE", source, group, position, "MKSTREAM", "ENTRIESREAD", count)


def mirror_missing(reply: Reply) -> bool:
    """Whether a mirrored group could not be moved because it, or its stream, does not exist."""
    return isinstance(reply, ServerError) and (reply.code == "NOGROUP" or "requires the key to exist" in reply.text)


async def mirror(link: Link, keys: PartitionKeys, stream: Stream, group: str, position: str, count: int) -> bool:
    """Show the committed position as a consumer group. Best effort: False when the server refused."""
    (reply,) = await link.call_many([mirror_command(keys, stream, group, position, count)])
    if mirror_missing(reply):
        (reply,) = await link.call_many([mirror_create(keys, stream, group, position, count)])
    return not isinstance(reply, ServerError)


async def drop_group(link: Link, keys: PartitionKeys, stream: Stream, group: str) -> None:
    """Forget a group that will never read again, so that it no longer stops trimming. Raises GroupInUse.

    Its lease stays, freed: an epoch must never repeat.
    """
    source, position = (keys.raw, keys.pos_raw) if stream == "raw" else (keys.chunks, keys.pos_chunks)
    now, lease = await link.call_many([("TIME",), ("HMGET", keys.lease(group), "o", "x")])
    if _left_ms(now, lease) > 0:
        raise GroupInUse(f"group {group} still has an owner on {source}: stop its processes first")
    await link.call("HDEL", position, group, f"{group}:n")
    await link.call_many([("XGROUP", "DESTROY", source, group)])


def _left_ms(now: Reply, lease: Reply) -> int:
    match now, lease:
        case [bytes(seconds), bytes(micros)], [bytes(owner), bytes(expires)] if owner:
            return int(expires) - int(seconds) * 1000 - int(micros) // 1000
        case _:
            return 0


def _pairs(reply: Reply) -> dict[str, str]:
    """The short values of a flat list of names and values; entries (lists) are left out."""
    if not isinstance(reply, list):
        return {}
    pairs = zip(reply[::2], reply[1::2], strict=True)
    return {_word(name): _word(value) for name, value in pairs if not isinstance(value, list)}


def _word(reply: Reply) -> str:
    return reply.decode() if isinstance(reply, bytes) else str(reply)

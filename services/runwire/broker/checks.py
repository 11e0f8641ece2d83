"""Start-up checks: what was wrong, where, and what to do about it, before the first record is touched.

Every process runs them. INFO answers all questions about the server, so that managed servers, which forbid CONFIG,
are checked like any other.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from runwire.broker.connection import Link, Reply, ServerError
from runwire.broker.library import load_library
from runwire.errors import (
    EvictionEnabled,
    PartitionMismatch,
    PersistenceDisabled,
    ServerTooOld,
    ServerUnfit,
    WireMismatch,
)
from runwire_schemas.keys import Keys
from runwire_schemas.record import WIRE_VERSION

Flavour = Literal["redis", "valkey"]
# Functions and XGROUP's ENTRIESREAD came with Redis 7.0; Valkey 8 is the oldest that is still maintained.
OLDEST: Final[Mapping[Flavour, tuple[int, int]]] = {"redis": (7, 0), "valkey": (8, 0)}


class ServerFacts(NamedTuple):
    """What the checks found. `unchecked` names what the server would not tell; `partitions` is the stored count."""

    flavour: Flavour
    version: str
    partitions: int
    unchecked: tuple[str, ...]


async def check_server(
    link: Link,
    keys: Keys,
    partitions: int,
    *,
    allow_no_persistence: bool = False,
    functions: bool = True,
) -> ServerFacts:
    """Check the server, fix or compare the partition count, and load the function library (unless a client asks).

    Raises ServerTooOld, EvictionEnabled, PersistenceDisabled, PartitionMismatch, WireMismatch, LibraryMismatch or
    another ServerUnfit; LinkLost; ServerError for a state that passes.
    """
    at = link.address
    info = await _info(link)
    flavour, version = _version(info, at)
    unchecked: list[str] = []
    _check_eviction(info, at, unchecked)
    if not allow_no_persistence:
        _check_persistence(info, at, unchecked)
    await _check_meta(link, keys, partitions)
    if functions:
        await load_library(link)
    return ServerFacts(flavour, version, partitions, tuple(unchecked))


async def _info(link: Link) -> dict[str, str]:
    sections = [("INFO", section) for section in ("server", "memory", "persistence")]
    found: dict[str, str] = {}
    for reply in await link.call_many(sections):
        if isinstance(reply, ServerError):
            if reply.outcome == "refused":
                raise reply
            raise ServerUnfit(f"{link.address} does not answer INFO, so it cannot be checked: {reply.text}")
        if isinstance(reply, bytes):
            found |= dict(line.split(":", 1) for line in reply.decode().splitlines() if ":" in line)
    if found.get("loading", "0") != "0":
        # INFO is answered meanwhile, but not truly: Valkey 9.1 says aof_enabled:0 until its data is read.
        raise ServerError(f"LOADING {link.address} is still reading its data")
    return found


def _version(info: Mapping[str, str], at: str) -> tuple[Flavour, str]:
    flavour: Flavour = "valkey" if "valkey_version" in info else "redis"
    version = info.get(f"{flavour}_version", "")
    major, minor = OLDEST[flavour]
    try:
        found = tuple(int(part) for part in version.split(".")[:2])
    except ValueError:
        found = ()
    if found < (major, minor):
        wanted = "Redis 7.0 or later, or Valkey 8 or later"
        raise ServerTooOld(f"{at} is {flavour} {version or 'of an unknown version'}: Runwire needs {wanted}")
    return flavour, version


def _check_eviction(info: Mapping[str, str], at: str, unchecked: list[str]) -> None:
    policy = info.get("maxmemory_policy")
    if policy is None:
        unchecked.append("maxmemory-policy")
    elif policy != "noeviction":
        raise EvictionEnabled(
            f"{at} has maxmemory-policy {policy}: when its memory is full it would drop parts of runs. "
            "Set maxmemory-policy noeviction (CONFIG SET maxmemory-policy noeviction, and in its configuration file)"
        )


def _check_persistence(info: Mapping[str, str], at: str, unchecked: list[str]) -> None:
    enabled = info.get("aof_enabled")
    if enabled is None:
        unchecked.append("appendonly")
    elif enabled != "1":
        raise PersistenceDisabled(
            f"{at} keeps no append-only file: what was acknowledged would be lost with the process. Set appendonly "
            "yes, or allow it with RUNWIRE_ALLOW_NO_PERSISTENCE=1"
        )


async def _check_meta(link: Link, keys: Keys, partitions: int) -> None:
    """The first process fixes the numbers for all; HSETNX lets exactly one be first."""
    read = ("HMGET", keys.meta, "partitions", "wire")
    (stored,) = await link.call_many([read])
    replies = [stored]
    if isinstance(stored, list) and None in stored:
        # Only then: a full server refuses what may need memory, also where it would write nothing.
        replies = await link.call_many(
            [
                ("HSETNX", keys.meta, "partitions", partitions),
                ("HSETNX", keys.meta, "wire", WIRE_VERSION),
                read,
            ]
        )
    for reply in replies:
        if isinstance(reply, ServerError):
            raise reply
    stored = replies[-1]
    count, wire = _numbers(stored)
    if count != partitions:
        raise PartitionMismatch(
            f"{keys.meta} on {link.address} says {count} partitions, this process is set to {partitions}. A run's "
            f"place depends on the count: set RUNWIRE_PARTITIONS={count}, or choose another RUNWIRE_PREFIX"
        )
    if wire != WIRE_VERSION:
        raise WireMismatch(
            f"{keys.meta} on {link.address} says wire version {wire}, this process speaks {WIRE_VERSION}: "
            "run processes of one release, the newest of them"
        )


def _numbers(reply: Reply) -> tuple[int, int]:
    match reply:
        case [bytes(count), bytes(wire)] if count.isdigit() and wire.isdigit():
            return int(count), int(wire)
        case _:
            raise ServerUnfit(f"the meta key holds {reply!r:.100}, which no release of Runwire wrote")

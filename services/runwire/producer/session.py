"""One connection of a producer: opened, recognized, and asked whether it still leads to the same server."""

from typing import Final, NamedTuple, assert_never

from runwire.broker.batches import Full, Refused, Stored, Unusable, judge
from runwire.broker.connection import Link, Reply, ServerError
from runwire.errors import DeploymentMissing, LinkLost, PartitionMismatch, PublishRefused, WireMismatch
from runwire.producer.options import ProducerOptions
from runwire_schemas.keys import Keys
from runwire_schemas.record import WIRE_VERSION

ASK_IDENTITY: Final = ("INFO", "server", "replication")
# A restarted server has a new run id; one that was demoted or promoted has another role and replication id.
_MARKS: Final = frozenset({b"run_id", b"role", b"master_replid"})


class ServerIdentity(NamedTuple):
    """Which server answers, in which role. None in a field that the server does not tell."""

    run_id: str | None
    role: str | None
    replication_id: str | None


class Session(NamedTuple):
    """A usable connection, the deployment's partition count and who answered."""

    link: Link
    partitions: int
    server: ServerIdentity | None


async def open_session(url: str, name: str, keys: Keys, options: ProducerOptions) -> Session:
    """Connect and read what the deployment is.

    Raises LinkLost for what may pass, DeploymentMissing if nothing was ever started, WireMismatch, and ServerUnfit or
    PublishRefused for what an operator must change.
    """
    link = Link(url, name, limit=options.command_timeout, connect_limit=options.connect_timeout)
    try:
        await link.connect()
        meta, info = await link.call_many((("HMGET", keys.meta, "partitions", "wire"), ASK_IDENTITY))
        return Session(link, _partitions(_usable(meta, link.address), keys, link.address), identity_of(info))
    except BaseException:
        await link.close()
        raise


def refusal(text: str, address: str) -> LinkLost | PublishRefused:
    """The error for an error reply outside a batch."""
    outcome = judge(text)
    match outcome:
        case Refused(reason):
            return PublishRefused(f"The server at {address} answered: {reason}. Nothing was published since.")
        case Full(reason) | Unusable(reason):
            return LinkLost(f"the server at {address} cannot be used now: {reason}")
        case Stored():
            raise AssertionError(text)
        case _:
            assert_never(outcome)


def identity_of(info: Reply) -> ServerIdentity | None:
    """The identity in an INFO reply; None where the server does not let this user ask."""
    if not isinstance(info, bytes):
        return None
    told = (line.partition(b":") for line in info.splitlines())
    found = {name.decode(): value.decode(errors="replace") for name, _, value in told if name in _MARKS}
    return ServerIdentity(found.get("run_id"), found.get("role"), found.get("master_replid"))


def check_partitions(given: int | None, stored: int, keys: Keys) -> None:
    """Raises PartitionMismatch if the caller expects another number than the deployment has."""
    if given is not None and given != stored:
        raise PartitionMismatch(
            f"This deployment (prefix {keys.prefix}) has {stored} partitions, not {given}: "
            f"leave partitions out, or give {stored}, or use the prefix that you meant."
        )


def _usable(reply: Reply, address: str) -> list[Reply]:
    if isinstance(reply, ServerError):
        raise refusal(reply.text, address)
    assert isinstance(reply, list)
    return reply


def _partitions(meta: list[Reply], keys: Keys, address: str) -> int:
    partitions, wire = meta
    if not isinstance(partitions, bytes) or not partitions.isdigit():
        raise DeploymentMissing(
            f"Nothing was ever started under the prefix {keys.prefix} on {address}. "
            "Start `runwire up` or `runwire enforcer` first, or check url and prefix."
        )
    if isinstance(wire, bytes) and wire != str(WIRE_VERSION).encode():
        raise WireMismatch(
            f"The deployment speaks wire version {wire.decode(errors='replace')}, this library {WIRE_VERSION}. "
            "Upgrade the older of the two."
        )
    return int(partitions)

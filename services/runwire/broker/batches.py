"""What the broker's answer to a batch means. One judge; the sender only acts on it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from runwire.broker.connection import Reply, ServerError

# The server's state passes, but not on this connection: a demoted master answers READONLY until clients go elsewhere.
_RECONNECT: Final = frozenset(
    {"READONLY", "LOADING", "MISCONF", "NOREPLICAS", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "UNBLOCKED"}
)
_FULL: Final = "OOM"


class Stored(NamedTuple):
    """All records of the batch are in the broker."""


class Full(NamedTuple):
    """The server's memory is full and nothing was stored: wait, the readers make room."""

    reason: str


class Unusable(NamedTuple):
    """Nothing was stored, and this server cannot take records now: try again on a new connection."""

    reason: str


class Refused(NamedTuple):
    """The broker will not take these records, now or later: an operator has to act."""

    reason: str


Outcome = Stored | Full | Unusable | Refused


def outcome_of(replies: Sequence[Reply], records: int) -> Outcome:
    """The outcome of MULTI, `records` XADD, EXEC.

    A server that cannot write says so either when a command is queued (EXEC then answers EXECABORT) or at EXEC
    (which then names the cause itself): in both cases nothing was stored.
    """
    last = replies[-1]
    if isinstance(last, list):
        error = next((reply for reply in last if isinstance(reply, ServerError)), None)
        if error is None and len(last) == records:
            return Stored()
        # Only errors that no check before EXEC can see come here, such as WRONGTYPE; all records meet the same one.
        return Refused(error.text if error else f"EXEC answered {len(last)} of {records} commands")
    error = next((reply for reply in replies if isinstance(reply, ServerError)), None)
    return Refused(f"EXEC answered {last!r}") if error is None else judge(error.text)


def judge(text: str) -> Outcome:
    """What an error reply means for records that were not stored."""
    code = text.partition(" ")[0]
    if code == "EXECABORT":
        cause = text.rpartition("because of: ")[2]
        return judge(cause) if cause != text else Unusable(text)
    if code == _FULL:
        return Full(text)
    return Unusable(text) if code in _RECONNECT or "max number of clients" in text else Refused(text)

"""What a server function may answer, as types. Every union is closed: a match over one ends in assert_never."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)  # a tuple has a method `count` already
class Taken:
    """The partition is ours under this epoch.

    `position` is the last committed id and `count` the records up to it. `attempts`: owners that vanished since the
    last commit. `lost`: records that somebody removed before this group read them; it stays so until the group advances
    over them. `reset`: the stream had been deleted and made anew, so the position was set to its start; an alarm that
    says so stands in the evidence.
    """

    epoch: int
    position: str
    count: int
    attempts: int
    lost: int
    reset: bool = False


class Held(NamedTuple):
    """A living owner has it for `left_ms` more; our wish is noted in its lease."""

    owner: str
    epoch: int
    left_ms: int


class Renewed(NamedTuple):
    """Still ours. `wanted_by` is who asked for it lately, or ''."""

    wanted_by: str


class Fenced(NamedTuple):
    """The lease is another's, or a later one of our own. Nothing was written: forget everything of this partition."""

    owner: str
    epoch: int


class Released(NamedTuple):
    """The partition is free, or its heir's."""


class Committed(NamedTuple):
    """All of it is written; `chunks` went to the logs."""

    chunks: int


class Moved(NamedTuple):
    """The stored position is another one ('' where the group is not registered). Nothing was written."""

    position: str


class Skip(NamedTuple):
    """The batch does not begin at the first record after the position. Nothing was written. '' : there is no record."""

    first_unread: str


class Gone(NamedTuple):
    """The batch's last record is not in the stream. Nothing was written."""

    id: str


class StateConflict(NamedTuple):
    """A run's stored sequence is not the base of the batch, or it has a log and no state. Nothing was written."""

    key: str
    stored: str


class BadArguments(NamedTuple):
    """The arguments do not fit together: a bug of the caller. Nothing was written."""

    key: str


class Advanced(NamedTuple):
    """The position is moved."""


class Written(NamedTuple):
    """`records` control records were written; runs that were no longer due are not among them."""

    records: int


class Noted(NamedTuple):
    """The lease says which record is tried next."""


class Quarantined(NamedTuple):
    """It is on record that the record is set aside."""


class Kept(NamedTuple):
    """`copied` entries were new."""

    copied: int


class Members(NamedTuple):
    """`stale`: our own last heartbeat was too old to judge others. `names`: who lives, ourselves included."""

    stale: bool
    names: list[str]


@dataclass(frozen=True, slots=True)
class GroupProgress:
    """How far a group is: its last committed id, the records up to it, and exactly how many it has not read.

    `lost` of these can never be read: somebody else removed them.
    """

    group: str
    position: str
    count: int
    lag: int
    lost: int


class Trimmed(NamedTuple):
    """`removed` entries went now; `added` were ever written, `length` are there; one entry for each group."""

    removed: int
    added: int
    length: int
    groups: list[GroupProgress]


class Expired(NamedTuple):
    """How many runs left the lists, and how many entries the evidence."""

    runs: int
    evidence: int


CommitOutcome = Committed | Fenced | Moved | Skip | Gone | StateConflict | BadArguments

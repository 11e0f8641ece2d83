"""One partition as this worker holds it: its lease, what waits unread, what is on its way to the server."""

from runwire.broker.leases import Event, Lease, State
from runwire.broker.reading import Backlog, Entry
from runwire_schemas.keys import PartitionKeys

IN_FLIGHT: int = 2  # one commit is applied while the next is made; more only lengthens the way back after a refusal
ISOLATE_AT: int = 2  # vanished owners in a row until records are tried one by one
# How far ahead of the position a vanished owner may have been: two commits of 2,000 records.
ISOLATED_RECORDS: int = 4000
QUARANTINE_AT: int = 4  # until the record that all of them died on is set aside


class Partition:
    """Mutable, and valid for one `generation`: whatever was begun under an older one is void."""

    __slots__ = (
        "backlog",
        "condemned",
        "defect",
        "generation",
        "in_flight",
        "isolated_records",
        "keys",
        "lag",
        "lease",
        "number",
        "prev",
        "suspect",
    )

    def __init__(self, number: int, keys: PartitionKeys) -> None:
        self.number = number
        self.keys = keys
        self.lease = Lease(number)
        self.backlog = Backlog(b"0-0")
        self.generation = 0
        self.in_flight = 0
        self.lag = 0  # unread records, when last measured
        self.prev = "0-0"  # where the next commit begins: ahead of the lease's position by what is in flight
        self.isolated_records = 0  # so many more go one by one, each alone with the process
        self.suspect = ""  # the record that a former owner was alone with when it vanished
        self.condemned = ""  # the record that must be set aside
        self.defect = ""  # why the server cannot even give its lease

    @property
    def halted_because(self) -> str:
        """Why nothing moves here although it should; empty when all is well."""
        return self.lease.halted_because if self.lease.state is State.HALTED else self.defect

    @property
    def flowing(self) -> bool:
        """Whether records are read and handled."""
        return self.lease.state is State.OWNED

    @property
    def isolated(self) -> bool:
        """Whether records go one by one, each alone with the process: one of the next kills it."""
        return self.isolated_records > 0

    @property
    def ready(self) -> bool:
        """Whether a batch can be cut now."""
        if not self.flowing or not len(self.backlog):
            return False
        return self.in_flight == 0 if self.isolated else self.in_flight < IN_FLIGHT

    @property
    def idle(self) -> bool:
        """Whether nothing of this partition is in memory or on its way."""
        return not self.in_flight and not len(self.backlog)

    def taken(self) -> None:
        """The lease was just taken: begin at its position."""
        self.defect = ""
        if self.lease.attempts >= ISOLATE_AT:
            self.isolated_records = ISOLATED_RECORDS
        self.prev = self.lease.position
        self.backlog = Backlog(self.prev.encode())

    def void(self, event: Event) -> None:
        """Everything in memory and on its way is void."""
        self.lease.on(event)
        self.generation += 1
        self.in_flight = 0
        self.backlog = Backlog(self.lease.position.encode())

    def cut(self, records: int, size: int) -> list[Entry]:
        """The next batch's entries."""
        return self.backlog.cut(1 if self.isolated else records, size)

    def committed(self, last: str, records: int, now: float) -> None:
        """A commit took effect."""
        self.lease.committed(last, records, now)
        self.isolated_records = max(0, self.isolated_records - records)

    def absolved(self) -> None:
        """Nothing waits unread, so no record is to blame."""
        self.lease.attempts = self.isolated_records = 0

    def condemns(self, first: str) -> bool:
        """Whether the record `first`, the next one, must be set aside unread.

        The count alone would not do: a process that dies on one partition's record vanishes from all its others too.
        """
        return first == self.condemned or (self.lease.attempts >= QUARANTINE_AT and first == self.suspect)

"""What the parts of the runtime share: settings, who this worker is, its partitions, and how they wake each other."""

import asyncio
from collections.abc import Iterable
from typing import Any, Literal, Protocol

from runwire.broker.alarms import alarm
from runwire.broker.commit import Lifetimes
from runwire.broker.handling import Handler, Ledger
from runwire.broker.leases import Event, State
from runwire.broker.partition import Partition
from runwire.settings import Settings
from runwire_schemas.evidence import Evidence
from runwire_schemas.keys import Keys, PartitionKeys

StreamName = Literal["raw", "chunks"]


class Observer(Protocol):
    """Hears what the runtime does: for logs and metrics. Called in the event loop, so it must be quick.

    `commit` is what the node's own handler made.
    """

    def committed(self, partition: int, commit: Any, seconds: float) -> None: ...
    def say(self, event: str, partition: int | None = None, **facts: object) -> None: ...


class Silent:
    """An observer that does nothing."""

    def committed(self, partition: int, commit: Any, seconds: float) -> None:
        """Ignored."""

    def say(self, event: str, partition: int | None = None, **facts: object) -> None:
        """Ignored."""


class Desk:
    """Shared by keeper, intake, worker and chores of one node; lives as long as the node."""

    def __init__(
        self,
        settings: Settings,
        handler: Handler[Any, Any, Any],
        ledger: Ledger[Any, Any, Any],
        me: str,
        group: str,
        stream: StreamName,
        observer: Observer,
    ) -> None:
        self.settings = settings
        self.handler = handler
        self.ledger = ledger
        self.me = me
        self.group = group
        self.stream: StreamName = stream
        self.observer = observer
        self.keys = Keys(settings.prefix)
        self.partitions = [Partition(n, self.keys.partition(n)) for n in range(settings.partitions)]
        self.lifetimes = Lifetimes(
            lease_ms=round(settings.lease_ttl_s * 1000),
            log_ms=round(settings.log_ttl_s * 1000),
            tombstone_ms=round(settings.tombstone_ttl_s * 1000),
            keep_ms=round(settings.keep_wait_s * 1000),
            evidence_max=settings.evidence_max,
        )
        self.draining = False
        self.turned_at = 0.0  # when the keeper's loop last turned
        self.progress_at = 0.0  # when a commit last took effect
        self.to_take: set[int] = set()  # lost for a reason that taking again cures
        self.alarms: list[tuple[int, Evidence]] = []  # by partition, not yet written
        self.keeper_wake = asyncio.Event()
        self.worker_wake = asyncio.Event()
        self.intake_wake = asyncio.Event()

    def source(self, keys: PartitionKeys) -> str:
        """The stream this node reads."""
        return keys.raw if self.stream == "raw" else keys.chunks

    def flowing(self) -> list[Partition]:
        """Partitions that are read and handled here."""
        return [p for p in self.partitions if p.lease.state is State.OWNED]

    def held(self) -> Iterable[Partition]:
        """Partitions whose lease this worker believes to have."""
        return (p for p in self.partitions if p.lease.held)

    def lose(self, partition: Partition, event: Event) -> None:
        """Forget everything of a partition."""
        partition.void(event)
        self.handler.drop(partition.number)
        self.keeper_wake.set()

    def again(self, partition: Partition) -> None:
        """My picture of the partition is wrong: forget it and take the lease again, which tells how things are."""
        self.lose(partition, Event.REFUSED)
        if partition.lease.state is State.AWAY:
            self.to_take.add(partition.number)

    def refused(self, partition: Partition, reason: str) -> None:
        """My picture of the partition is wrong: take it again and look. Thrice at one place is not a race any more."""
        self.observer.say("commit-refused", partition.number, reason=reason, position=partition.lease.position)
        if partition.lease.strike() and partition.lease.state is State.OWNED:
            self.halt(partition, f"refused again and again: {reason}")
            return
        self.again(partition)

    def halt(self, partition: Partition, reason: str) -> None:
        """Stop a partition until somebody looks: what comes next could only make it worse."""
        partition.generation += 1
        partition.in_flight = 0
        partition.lease.halt(reason)
        self.handler.drop(partition.number)
        position = partition.lease.position
        self.alarms.append((partition.number, alarm("partition-halted", reason, position)))
        self.observer.say("partition-halted", partition.number, reason=reason, position=position)
        self.keeper_wake.set()

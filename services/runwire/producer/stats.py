"""What a producer counts."""

from typing import NamedTuple

from runwire.producer.sender import Sender


class ProducerStats(NamedTuple):
    """Counters since the start. `replayed` counts records that were sent again after their acknowledgement."""

    accepted: int
    acknowledged: int
    given_up: int
    replayed: int
    reconnects: int


def stats_of(sender: Sender | None) -> ProducerStats:
    """The counters of a producer; all 0 before its start."""
    queues = [lane.queue for lane in sender.lanes.values()] if sender else []
    return ProducerStats(
        accepted=sum(q.accepted for q in queues),
        acknowledged=sum(q.acknowledged for q in queues),
        given_up=sum(q.given_up for q in queues),
        replayed=sender.replayed if sender else 0,
        reconnects=sender.reconnects if sender else 0,
    )

"""Why a wait took too long, said to who waited."""

from runwire.errors import BackPressure, PublishError, PublishTimeout
from runwire.producer.lane import Lane
from runwire.producer.options import ProducerOptions
from runwire.producer.sender import Sender


def why_stuck(lane: Lane, sender: Sender, options: ProducerOptions) -> PublishError:
    """The error of a wait at this lane that was longer than the timeout: what is wrong, and what helps."""
    kept = f"{lane.queue.pending} accepted records are kept and still tried"
    trouble = (sender.trouble or "the server is slow").rstrip(".")
    if lane.queue.paused:
        return BackPressure(
            f"Partition {lane.number} has {lane.lag} unread records, more than {options.max_lag_records}, for "
            f"{options.timeout:g} s: start enforcers, or publish more slowly. {kept}.",
            partition=lane.number,
            lag=lane.lag,
        )
    if sender.memory_full:
        return BackPressure(
            f"The server has had no memory for partition {lane.number} for {options.timeout:g} s "
            f"({trouble}): start enforcers, or give it more memory. {kept}.",
            partition=lane.number,
        )
    return PublishTimeout(f"Nothing was acknowledged within {options.timeout:g} s: {trouble}. {kept}.")

"""Which runs are overdue, asked for all partitions in one write: an idle worker asks four times a second."""

from collections.abc import Sequence

from runwire.broker.connection import Link, Reply, ServerError
from runwire.broker.replies import texts
from runwire_schemas.keys import PartitionKeys


async def due_everywhere(link: Link, partitions: Sequence[PartitionKeys], limit: int) -> list[list[str] | ServerError]:
    """For each partition at most `limit` runs whose deadline has passed, the longest due first, or the error."""
    replies = await link.call_many([("FCALL_RO", "rw_due_1", 1, keys.open, limit) for keys in partitions])
    return [_runs(reply) for reply in replies]


def _runs(reply: Reply) -> list[str] | ServerError:
    return reply if isinstance(reply, ServerError) else texts(reply)

"""Evidence of the runtime itself: what no handler sees and an operator must."""

from typing import Final

from runwire_schemas.evidence import Evidence

MESSAGES: Final = {
    "records-trimmed-unread": "Records were removed from the stream before this group had read them",
    "kept-incomplete": "Trimming did not wait any longer, so the copy of this run's raw records is not complete",
    "partition-halted": "This partition is stopped: going on could only make it worse",
}


def alarm(code: str, detail: str, record: str, count: int = 1, run: str | None = None) -> Evidence:
    """An alarm about a partition at position `record`, concerning `count` records."""
    return Evidence(code=code, cls="alarm", message=f"{MESSAGES[code]}: {detail}", record=record, count=count, run=run)

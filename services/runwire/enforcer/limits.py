"""The grammar's limits as the settings want them."""

from runwire.grammar.limits import Limits
from runwire.settings import Settings


def limits_of(settings: Settings) -> Limits:
    """Every setting that has a limit of its own name, and the few that are named for the whole deployment."""
    return Limits(
        chunk_bytes=settings.max_chunk_bytes,
        agent_chunk_bytes=settings.max_agent_chunk_bytes,
        parked_records=settings.gap_records,
        parked_bytes=settings.gap_bytes,
        gap_ms=settings.gap_ms,
        ending_ms=settings.ending_ms,
        suspend_mark_ms=settings.suspend_mark_ms,
        idle_call_ms=settings.idle_call_ms,
        idle_tools_ms=settings.idle_tools_ms,
        idle_ms=settings.idle_ms,
        suspended_ms=settings.idle_suspended_ms,
        task_ms=settings.idle_task_ms,
        task_suspended_ms=settings.idle_task_suspended_ms,
    )

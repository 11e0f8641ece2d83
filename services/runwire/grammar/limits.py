"""Every number of the grammar, with its default. Times are in milliseconds, sizes in bytes."""

import msgspec

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
MIB = 1024 * 1024


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one run may use. All of them bound memory or waiting; none of them changes what a legal run becomes."""

    chunk_bytes: int = MIB
    """A raw or control body: the largest part that real providers sent is a base64 image well below it."""
    agent_chunk_bytes: int = 8 * MIB
    """An agent chunk may carry a whole message history."""
    cut_chunk_bytes: int = 32 * MIB
    """A larger agent chunk is not even read to see whether it keeps its limit without its message history."""
    depth: int = 128
    """Levels of JSON: below what any common decoder stops at."""

    blocks: int = 1024
    """Blocks of one call, open or closed."""
    open_blocks: int = 256
    finished_calls: int = 64
    """Ids of finished calls that are remembered, to tell `chunk-after-finish` from a new call."""
    waiting_bytes: int = 64 * 1024
    """Argument deltas of one tool call that wait for its name."""
    argument_bytes: int = MIB
    """Argument text of a run's tool calls that is remembered for its `tool-error`."""
    unanswered_calls: int = 4096
    answered_calls: int = 1024
    """Answered tool calls that are remembered, to see ids used again and answers given twice."""
    tool_bytes: int = MIB
    """Ids, names, metadata and waiting arguments of unanswered tool calls together: 4,096 huge ones would be a lot."""
    live_tasks: int = 1024
    ended_tasks: int = 1024
    """Ended background tasks that are remembered, to swallow what still comes of them."""
    twins: int = 256
    """Outputs of live tasks that were seen on one side only, on each side."""
    sources: int = 256

    parked_records: int = 1000
    parked_bytes: int = MIB
    """What one source may have waiting behind a gap."""

    evidence_entries: int = 100
    """Refusals of one run that are kept one by one; the rest is counted."""
    evidence_bytes: int = 16 * MIB
    """Raw bytes kept in the evidence of one run."""

    gap_ms: int = 10_000
    """Longer than a producer needs to reconnect after a failover and replay its tail."""
    ending_ms: int = 5_000
    suspend_mark_ms: int = 2_000
    idle_call_ms: int = 2 * MINUTE_MS
    """Real providers send something at least every minute; the slowest reasoning models send comments."""
    idle_tools_ms: int = HOUR_MS
    idle_ms: int = 5 * MINUTE_MS
    suspended_ms: int = 7 * DAY_MS
    task_ms: int = DAY_MS
    task_suspended_ms: int = 30 * DAY_MS

"""The numbers of a producer. All may be changed; the reason for each default stands beside it."""

from typing import Self

import msgspec

from runwire.errors import SettingInvalid
from runwire.settings import Settings

_KIB = 1024
_MIB = 1024 * _KIB


class ProducerOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times in seconds, sizes in bytes. Raises SettingInvalid for numbers that contradict each other."""

    # One MULTI/EXEC. More records in one do not make it faster; a larger one would hold up the server's other clients.
    batch_records: int = 500
    batch_bytes: int = _MIB
    # All batches that are on their way together, at least one: what a reply waits for has to be sent first.
    flight_bytes: int = 4 * _MIB
    # How long a record may wait for others. A record that follows no other one within this time does not wait at all.
    linger: float = 0.002

    # What may wait for its acknowledgement, over all partitions. Each partition has an equal share, so that one that
    # is far behind cannot take the room of the others.
    pending_records: int = 32_000
    pending_bytes: int = 32 * _MIB
    # How long send, flush and close wait for room or for an acknowledgement before they raise.
    timeout: float = 30.0

    # What everysec persistence or a replica may lose is about a second or two: twice that, counted back from the last
    # good reply, is sent again on every new connection.
    replay_window: float = 5.0
    # Over all partitions: 2 s at 100,000 records of 300 B a second, the whole window at 40,000.
    replay_bytes: int = 64 * _MIB
    # How long `close` stays after the last acknowledgement, ready to replay. Nothing by default: a script should end
    # when it is done, and only a server that loses its last moments in that very second would need it.
    close_linger: float = 0.0
    # How often a producer that has something to replay makes sure that the server is still the same.
    check_every: float = 1.0
    # Nobody may send again what is older: the broker must still know that it has seen it (a tombstone lives 7 days).
    retry_limit: float = 3600.0

    # A partition with more unread records than this takes no more; it goes on when half of them have been read.
    max_lag_records: int = 100_000
    resume_lag: float = 0.5
    lag_every: float = 0.1

    # After any failure: 50 ms, doubled up to 1 s, with jitter.
    backoff_min: float = 0.05
    backoff_max: float = 1.0
    connect_timeout: float = 2.0
    # A reply that takes longer is taken for lost. The slowest batch measured took 0.3 s. Bytes that are on their way
    # are given time to travel on a line as slow as this; else a slow line would lose every reply and never get on.
    command_timeout: float = 2.0
    slowest_line: int = _MIB
    # How long a start waits for a deployment that is being started at the same moment.
    start_timeout: float = 5.0

    # The enforcer's limits, checked before anything is sent.
    max_chunk_bytes: int = _MIB
    max_agent_chunk_bytes: int = 8 * _MIB
    # Run ids a producer remembers the next sequence numbers of, after their contexts were left.
    remembered_runs: int = 10_000

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) < 0:
                raise SettingInvalid(f"{name} is below 0")
        if (
            min(self.batch_records, self.batch_bytes, self.slowest_line, self.command_timeout, self.connect_timeout)
            <= 0
        ):
            raise SettingInvalid("batch_records, batch_bytes, slowest_line and the timeouts must be above 0")
        if self.backoff_min > self.backoff_max:
            raise SettingInvalid("backoff_min is above backoff_max")

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """What the settings of a process say about its producers; the rest keeps its default."""
        return cls(
            batch_records=settings.batch_records,
            batch_bytes=settings.batch_bytes,
            linger=settings.linger_ms / 1000,
            pending_bytes=settings.buffer_bytes,
            timeout=settings.publish_timeout_s,
            replay_window=settings.replay_window_s,
            max_lag_records=settings.max_lag_records,
            backoff_min=settings.backoff_min_s,
            backoff_max=settings.backoff_max_s,
            connect_timeout=settings.connect_timeout_s,
            command_timeout=settings.command_timeout_s,
            max_chunk_bytes=settings.max_chunk_bytes,
            max_agent_chunk_bytes=settings.max_agent_chunk_bytes,
        )

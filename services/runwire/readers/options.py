"""The numbers of a reader. All may be changed; the reason for each default stands beside it."""

import msgspec

from runwire.errors import SettingInvalid

_MIB = 1024 * 1024


class ReaderOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times in seconds, sizes in bytes. Raises SettingInvalid for numbers that cannot be."""

    # A run that is added waits for the read in progress to end, and an idle reader makes ten reads a second (0.2 % of
    # a core). A wake key would save the wait, but then a reader would have to write: like this it needs no right to,
    # and may read from a replica.
    block: float = 0.1
    # The same while a slow consumer may ask for more at any moment.
    block_while_full: float = 0.01
    # What is read ahead for one run. A consumer that is slower than its run stops the reading of that run only.
    queue_chunks: int = 1000
    queue_bytes: int = 4 * _MIB
    # One page of catching up, and one live read over all runs.
    page_chunks: int = 500
    page_bytes: int = _MIB
    # After a lost connection so many chunks, and at most page_bytes, are compared with what was handed out. A power
    # loss takes a second or two; models write some hundred chunks in that time.
    recheck_chunks: int = 512
    # A run that says nothing is looked at this often: its log may be gone, and a read would wait for it for ever.
    check_every: float = 5.0
    # How often a run that is not there yet is looked for. Its first chunk wakes the read anyway.
    poll: float = 0.25
    # How long a lost server may stay away.
    reconnect_limit: float = 60.0
    backoff_min: float = 0.05
    backoff_max: float = 1.0
    connect_timeout: float = 2.0
    # A reply that takes longer is taken for lost; a page may have to travel on a slow line.
    command_timeout: float = 2.0
    page_timeout: float = 10.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) <= 0:
                raise SettingInvalid(f"{name} must be above 0")
        if self.block >= self.command_timeout:
            raise SettingInvalid("block is not below command_timeout: an idle read would look like a lost connection")

"""Exit codes: the one table that every command uses and docs/cli.md repeats (a test compares them)."""

from enum import IntEnum
from typing import Final


class Exit(IntEnum):
    """How a command ended. The docstring under each member is its line in the documentation."""

    OK = 0
    """Done, and nothing to complain about."""
    FAILED = 1
    """A file is not ok, the run that was shown broke the grammar, a step of the demo failed, or the disk is full."""
    USAGE = 2
    """The command line, a setting or an input file cannot be used as given."""
    UNREACHABLE = 3
    """The broker does not answer, or it was lost and did not come back in time."""
    NO_RUN = 4
    """The run is unknown, its log has expired, or the cursor is ahead of it."""
    UNFIT = 5
    """Broker or installation do not fit: server too old, eviction on, another partition count, a part is missing."""
    IN_USE = 6
    """The data folder or the port is in use by another process."""
    INTERNAL = 70
    """A bug in Runwire: the traceback is printed, please report it."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C, `demo` also by SIGTERM."""
    BROKEN_PIPE = 141
    """The program that read the output went away."""


# The `code` of an error class decides. What is not listed ends with UNFIT: it is expected, and nothing was wrong with
# the command line.
BY_ERROR_CODE: Final[dict[str, Exit]] = {
    "usage": Exit.USAGE,
    "setting-invalid": Exit.USAGE,
    "setting-unknown": Exit.USAGE,
    "unknown-provider": Exit.USAGE,
    "file-unreadable": Exit.USAGE,
    "not-json": Exit.USAGE,
    "not-a-stream": Exit.USAGE,
    "provider-unclear": Exit.USAGE,
    "record-invalid": Exit.USAGE,
    "chunk-too-large": Exit.USAGE,
    "link-lost": Exit.UNREACHABLE,
    "publish-timeout": Exit.UNREACHABLE,
    "back-pressure": Exit.UNREACHABLE,
    "reader-disconnected": Exit.UNREACHABLE,
    "unreachable": Exit.UNREACHABLE,
    "run-unknown": Exit.NO_RUN,
    "superseded": Exit.NO_RUN,
    "log-expired": Exit.NO_RUN,
    "cursor-ahead": Exit.NO_RUN,
    "cursor-invalid": Exit.USAGE,
    "in-use": Exit.IN_USE,
}

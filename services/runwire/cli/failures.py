"""From errors to one clear line on stderr and an exit code. Bugs keep their traceback."""

import errno
import os
import sys
import traceback
from typing import ClassVar

from runwire.cli.exits import BY_ERROR_CODE, Exit
from runwire_schemas.errors import RunwireError


class CommandError(RunwireError):
    """An error of the command line itself. `code` selects the exit code, `hint` says what to do next."""

    code: ClassVar[str] = "usage"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class FileUnreadable(CommandError):
    """The file cannot be opened or read."""

    code = "file-unreadable"


class NotJson(CommandError):
    """A line of an NDJSON file is not the JSON it should be."""

    code = "not-json"


class NotAStream(CommandError):
    """The file holds no event of any kind."""

    code = "not-a-stream"


class ProviderUnclear(CommandError):
    """The provider of a file cannot be told from its first events."""

    code = "provider-unclear"


class MissingPart(CommandError):
    """Something this command needs is not installed."""

    code = "missing-part"


def exit_of(error: BaseException) -> Exit:
    """The exit code of an error that ended a command."""
    if isinstance(error, KeyboardInterrupt):
        return Exit.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return Exit.BROKEN_PIPE
    if isinstance(error, RunwireError):
        return BY_ERROR_CODE.get(str(getattr(error, "code", "")), Exit.UNFIT)
    if isinstance(error, ConnectionError):
        return Exit.UNREACHABLE
    if is_full(error):
        return Exit.FAILED
    return Exit.INTERNAL


def report(error: BaseException) -> Exit:
    """Print what happened, where, and what to do; return the exit code."""
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("runwire"):
        error = MissingPart(f"{error.name} is not installed", "pip install 'runwire[all]'")
    code = exit_of(error)
    if is_full(error):
        error = CommandError(f"cannot write the output: {os.strerror(getattr(error, 'errno', 0))}")
        _give_up_stdout()
    match code:
        case Exit.INTERRUPTED:
            pass
        case Exit.BROKEN_PIPE:
            _give_up_stdout()
        case Exit.INTERNAL:
            traceback.print_exception(error)
            say(f"runwire: this is a bug: {error!r}")
        case _:
            say(f"runwire: {_sentence(error)}")
            if hint := getattr(error, "hint", None):
                say(f"         {hint}")
    return code


def is_full(error: BaseException) -> bool:
    """Only output is written by the commands themselves: the server answers for the data folder."""
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def _give_up_stdout() -> None:
    # Python would complain again when it flushes stdout at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(line: str) -> None:
    """One line on stderr."""
    print(line, file=sys.stderr, flush=True)


def _sentence(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__

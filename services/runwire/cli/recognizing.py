"""Which provider a file is of: as its user says, or as `runwire.adapters.auto` judges."""

import io
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from runwire.cli.failures import CommandError, FileUnreadable, NotAStream, ProviderUnclear, say
from runwire.cli.sources import RAW, RECORD, Options, named, opened, read_some
from runwire.errors import ExtraMissing

if TYPE_CHECKING:
    from runwire.adapters.auto import Head

AUTO: Final = "auto"


class Body(NamedTuple):
    """A body to be read from its start, whose it is, and how it is framed if that had to be found out.

    `reason` is what it was told by, "" if its user has named the provider.
    """

    stream: BinaryIO
    provider: str
    options: Options
    reason: str = ""


def known(provider: str) -> None:
    """Raises UnknownProvider, which lists what there is."""
    from runwire.adapters import UnknownProvider

    if provider not in (*_names(), AUTO):
        raise UnknownProvider(f"unknown provider {provider!r}; known are {', '.join((*_names(), AUTO))}")


@contextmanager
def recognized(file: str, provider: str | None, think: bool | None = None) -> Generator[Body]:
    """Open a file and say whose it is; `provider` None and `auto`: from its first events, also of a pipe.

    Raises FileUnreadable, NotAStream, ProviderUnclear.
    """
    with opened(file) as stream:
        if provider is not None and provider != AUTO:
            yield Body(stream, provider, Options(think=think))
            return
        head, begun = _head_of(stream)
        guess = head.guess
        if guess is None:
            raise _unclear(file, head)
        whole = io.BufferedReader(_Continued(begun, stream))
        yield Body(whole, guess.provider, Options(head.framing, think), guess.reason)


def is_stream(file: str) -> bool:
    """Whether a file holds events of any kind. One that cannot be read, or not here, is left to its reader."""
    try:
        return _look(file).objects > 0
    except (FileUnreadable, ExtraMissing):
        return True


def remark(file: str, provider: str) -> None:
    """Say so if a file looks like another provider's: the wrong adapter finds nothing in it, which is no violation."""
    # A pipe can be read only once.
    if not Path(file).is_file():
        return
    guess = None
    with suppress(ExtraMissing):
        guess = _look(file).guess
    if guess is not None and guess.alone and guess.provider != provider and provider not in _GUESTS:
        say(f"runwire: {named(file)} looks like {guess.provider}, and is read as {provider}")


# InvokeModel carries the events of whichever model was asked.
_GUESTS: Final = frozenset({"bedrock-invoke"})


def _names() -> tuple[str, ...]:
    from runwire.adapters import PROVIDERS

    return (*PROVIDERS, RAW, RECORD)


def _look(file: str) -> "Head":
    with opened(file) as stream:
        return _head_of(stream)[0]


def _head_of(stream: BinaryIO) -> "tuple[Head, bytes]":
    """Read as far as it takes, and what was read."""
    from runwire.adapters.auto import Head

    head, begun = Head(), bytearray()
    while not head.over and (data := read_some(stream)):
        begun += data
        head.feed(data)
    head.close()
    return head, bytes(begun)


def _unclear(file: str, head: "Head") -> CommandError:
    if not head.objects:
        return NotAStream(f"{named(file)} is not a stream: {head.seen}")
    text = f"cannot tell the provider of {named(file)}: no event has a mark of a known protocol; seen: {head.seen}"
    return ProviderUnclear(text, f"say which with --provider: {', '.join(_names())}")


class _Continued(io.RawIOBase):
    """A stream again from its start, although its beginning was read."""

    def __init__(self, begun: bytes, stream: BinaryIO) -> None:
        self._begun = memoryview(begun)
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed wants every buffer; this gets one
        data = self._begun or read_some(self._stream)
        part = data[: len(buffer)]
        buffer[: len(part)] = part
        self._begun = memoryview(data)[len(part) :]
        return len(part)

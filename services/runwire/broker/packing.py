"""Commands as the bytes that Redis reads: packed once, when they are made, and sent as often as needed."""

from collections.abc import Iterable
from typing import Final

MULTI: Final = b"*1\r\n$5\r\nMULTI\r\n"
EXEC: Final = b"*1\r\n$4\r\nEXEC\r\n"


def bulk(value: bytes | str | int) -> bytes:
    """One argument in RESP."""
    data = value if isinstance(value, bytes) else str(value).encode()
    return b"$%d\r\n%b\r\n" % (len(data), data)


def pack(*arguments: bytes | str | int) -> bytes:
    """One command in RESP."""
    return b"*%d\r\n" % len(arguments) + b"".join(map(bulk, arguments))


def pack_head(words: int, *arguments: bytes | str | int) -> bytes:
    """The beginning of a command of so many words: the rest follows, packed by itself."""
    return b"*%d\r\n" % words + b"".join(map(bulk, arguments))


def transaction(commands: Iterable[bytes]) -> bytes:
    """All of these or none: a plain pipeline could lose one in the middle when the server's memory is full."""
    return b"".join((MULTI, *commands, EXEC))

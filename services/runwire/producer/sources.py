"""Every shape in which people hold a provider's response, as one async iterator."""

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from typing import Any, Final, cast

from runwire.errors import RecordInvalid

_READ: Final = 64 * 1024
_END: Final = object()


async def pieces(source: object) -> AsyncIterator[bytes]:
    """The bytes of a response: bytes, a file, an httpx response, or an async or plain iterable of bytes or text.

    Plain iterables and files are read in a thread, because they may wait for the network. Raises RecordInvalid for
    anything else.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        yield bytes(cast("bytes", source))
        return
    async for piece in each(_opened(source)):
        if isinstance(piece, (bytes, bytearray, memoryview)):
            yield bytes(cast("bytes", piece))
        elif isinstance(piece, str):
            yield piece.encode()
        else:
            raise RecordInvalid(
                f"The source gave {type(piece).__name__}, not bytes. For SDK events use publish_stream."
            )


async def each(source: object) -> AsyncIterator[object]:
    """The items of any iterable."""
    if isinstance(source, AsyncIterable):
        async for item in cast("AsyncIterable[object]", source):
            yield item
    elif isinstance(source, (list, tuple)):
        for item in cast("list[object]", source):
            yield item
    elif isinstance(source, Iterable):
        iterator = iter(cast("Iterable[object]", source))
        # A StopIteration cannot pass through a future, so the end is a value.
        while (item := await asyncio.to_thread(next, iterator, _END)) is not _END:
            yield item
    else:
        raise RecordInvalid(f"{type(source).__name__} is no iterable, file or response that could be published.")


def _opened(source: object) -> object:
    """The iterable behind a response or file; anything else as it is."""
    for name in ("aiter_bytes", "iter_bytes"):
        method = getattr(source, name, None)
        if callable(method):
            return cast("Callable[[], object]", method)()
    if isinstance(source, AsyncIterable):
        return cast("object", source)
    # read1 gives what is there; read waits for all of it, which would hold back a live stream.
    read = getattr(source, "read1", None) or getattr(source, "read", None)
    return _read(cast("Callable[[int], Any]", read)) if callable(read) else source


async def _read(read: Callable[[int], Any]) -> AsyncIterator[object]:
    while True:
        piece = await read(_READ) if inspect.iscoroutinefunction(read) else await asyncio.to_thread(read, _READ)
        if not piece:
            return
        yield piece

"""A TCP proxy in front of a server, for faults between a client and its server that no kill can produce.

It passes bytes both ways until told otherwise: it can swallow replies whose commands still run, hold everything back,
and cut connections at once. A client must then find out by itself what became of its commands.
"""

import asyncio
import contextlib
from typing import Final, Self, cast, final

HOST: Final = "127.0.0.1"
# Above this much unsent, the other side is not read: a proxy must not hide back-pressure.
BUFFER: Final = 1024 * 1024
CONNECT_LIMIT_S: Final = 5.0


@final
class Proxy:
    """Listens on `port` and forwards to `target_port` of the loopback interface. `url` is what clients use.

    Counters: `connections` so far, `requests_bytes` and `replies_bytes` passed, `dropped_bytes` of replies swallowed.
    """

    def __init__(self, target_port: int, port: int = 0) -> None:
        """`port` 0 takes a free one."""
        self.target_port = target_port
        self.port = port
        self.connections = self.requests_bytes = self.replies_bytes = self.dropped_bytes = 0
        self.dropping = self.paused = self.refusing = False
        self._pairs: set[_Pair] = set()
        self._server: asyncio.Server | None = None
        self._connecting: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    @property
    def open(self) -> int:
        """How many connections are open now."""
        return len(self._pairs)

    async def start(self) -> None:
        """Listen."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Side(_Pair(self)), HOST, self.port)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop listening and cut what is open. Safe to call twice."""
        self.refusing = True
        self.cut()
        server, self._server = self._server, None
        if server is not None:
            server.close()
            await server.wait_closed()
        for task in list(self._connecting):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def drop_replies(self) -> None:
        """From now on commands still reach the server and run, and their replies are lost."""
        self.dropping = True

    def pass_replies(self) -> None:
        """Let replies through again. Connections that lost some are cut: a reply would be taken for another's."""
        self.dropping = False
        for pair in [pair for pair in self._pairs if pair.lost_replies]:
            pair.cut()

    def cut(self) -> int:
        """Reset every open connection, as a network device does; returns how many. What is on its way may get lost."""
        pairs = list(self._pairs)
        for pair in pairs:
            pair.cut()
        return len(pairs)

    def pause(self) -> None:
        """Hold back everything, both ways; connections stay open."""
        self.paused = True
        for pair in self._pairs:
            pair.hold()

    def resume(self) -> None:
        """Let everything through again, in order."""
        self.paused = False
        for pair in self._pairs:
            pair.let_go()

    def opened(self, pair: "_Pair") -> None:
        self.connections += 1
        self._pairs.add(pair)
        task = asyncio.ensure_future(pair.reach(self.target_port))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    def closed(self, pair: "_Pair") -> None:
        self._pairs.discard(pair)


class _Pair:
    """One client's connection and the proxy's own to the server."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.client: asyncio.Transport | None = None
        self.server: asyncio.Transport | None = None
        self.lost_replies = False
        self._early = bytearray()
        self._done = False

    def accepted(self, transport: asyncio.Transport) -> None:
        self.client = transport
        if self.proxy.refusing:
            transport.abort()
        else:
            self.proxy.opened(self)
            if self.proxy.paused:
                self.hold()

    async def reach(self, port: int) -> None:
        try:
            async with asyncio.timeout(CONNECT_LIMIT_S):
                await asyncio.get_running_loop().create_connection(lambda: _Side(self, to_server=True), HOST, port)
        except (OSError, TimeoutError):
            self.cut()

    def reached(self, transport: asyncio.Transport) -> None:
        self.server = transport
        if self._done:
            transport.abort()
            return
        if self._early:
            transport.write(bytes(self._early))
            self._early.clear()
        if self.proxy.paused:
            self.hold()

    def request(self, data: bytes) -> None:
        self.proxy.requests_bytes += len(data)
        if self.server is None:
            self._early += data
        else:
            self.server.write(data)

    def reply(self, data: bytes) -> None:
        if self.proxy.dropping:
            self.proxy.dropped_bytes += len(data)
            self.lost_replies = True
        elif self.client is not None and not self.lost_replies:
            self.proxy.replies_bytes += len(data)
            self.client.write(data)

    def hold(self) -> None:
        for transport in (self.client, self.server):
            if transport is not None and transport.is_reading():
                transport.pause_reading()

    def let_go(self) -> None:
        for transport in (self.client, self.server):
            if transport is not None and not transport.is_closing():
                transport.resume_reading()

    def full(self, writer: asyncio.Transport | None, *, is_full: bool) -> None:
        """One side takes no more for now, so the other is not read; or it does again."""
        reader = self.client if writer is self.server else self.server
        if reader is None or reader.is_closing():
            return
        if is_full:
            reader.pause_reading()
        elif not self.proxy.paused:
            reader.resume_reading()

    def cut(self) -> None:
        self._done = True
        for transport in (self.client, self.server):
            if transport is not None:
                transport.abort()
        self.proxy.closed(self)

    def ended(self, transport: asyncio.Transport | None) -> None:
        """One side closed: what it sent before is still delivered, then the other closes too."""
        if self._done:
            return
        self._done = True
        other = self.server if transport is self.client else self.client
        if other is not None:
            other.close()
        self.proxy.closed(self)


class _Side(asyncio.Protocol):
    """One end of a pair."""

    def __init__(self, pair: _Pair, *, to_server: bool = False) -> None:
        self._pair = pair
        self._to_server = to_server
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=BUFFER)
        if self._to_server:
            self._pair.reached(self._transport)
        else:
            self._pair.accepted(self._transport)

    def data_received(self, data: bytes) -> None:
        if self._to_server:
            self._pair.reply(data)
        else:
            self._pair.request(data)

    def pause_writing(self) -> None:
        self._pair.full(self._transport, is_full=True)

    def resume_writing(self) -> None:
        self._pair.full(self._transport, is_full=False)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why it ended does not matter here
        self._pair.ended(self._transport)

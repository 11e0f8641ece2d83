"""One connection to a server, with nothing between a caller and the truth about what happened to a command.

No retries, no pool, no reply callbacks: replies are the raw bytes, numbers and lists that the server sent. A lost
connection means that the outcome of every unanswered command is unknown, and is said so. Address parsing and TLS
options are redis-py's; the wire is hiredis on an asyncio protocol, because a stream reader and a task for each reply
cost more than the commands themselves.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias, cast, final

import hiredis
from redis.asyncio.connection import SSLConnection, parse_url

from runwire.errors import LinkLost, ServerUnfit, SettingInvalid

__all__ = ["Arg", "Command", "Link", "LinkLost", "Outcome", "Reply", "ServerError", "open_link", "outcome_of"]

Arg: TypeAlias = str | bytes | int | float
Command: TypeAlias = Sequence[Arg]
Outcome = Literal["unknown", "refused", "bug"]

# As in Settings: longer than every BLOCK and the slowest commit, shorter than a lease.
REPLY_TIMEOUT_S: Final = 2.0
CONNECT_TIMEOUT_S: Final = 2.0
READ_BUFFER: Final = 256 * 1024
_NOT_YET: Final = object()
# hiredis leaves the result untyped.
_pack = cast("Callable[[Command], bytes]", hiredis.pack_command)  # pyright: ignore[reportUnknownMemberType]

# The server refused before it ran anything: nothing was written. Its state passes; try again later.
_PASSING: Final = frozenset(
    {"READONLY", "LOADING", "OOM", "NOREPLICAS", "MISCONF", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY",
     "EXECABORT", "UNBLOCKED", "MOVED", "ASK", "NOSCRIPT", "NOTREADY"}
)  # fmt: skip


class ServerError(Exception):
    """An error reply. `code` is its first word, for example READONLY; `outcome` says what it means for the command.

    `refused`: nothing was written, the cause passes. `bug`: do not repeat it; what it wrote before it failed is not
    known.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.code = text.split(" ", 1)[0]
        self.text = text

    @property
    def missing_function(self) -> bool:
        """The library is not loaded on this server (a flushed or newly promoted one)."""
        return self.code == "ERR" and "Function not found" in self.text

    @property
    def outcome(self) -> Outcome:
        # An error inside a function names the line; the same code then says nothing about what was written before.
        if "script: " in self.text or "@user_function" in self.text:
            return "bug"
        return "refused" if self.code in _PASSING or self.missing_function else "bug"


Reply: TypeAlias = "bytes | int | ServerError | list[Reply] | None"


def outcome_of(error: LinkLost | ServerError) -> Outcome:
    """What is known about a command that ended in this error: `unknown`, `refused` whole, or a `bug`."""
    return "unknown" if isinstance(error, LinkLost) else error.outcome


class _Waiting(NamedTuple):
    future: "asyncio.Future[list[Reply]]"
    wanted: int
    replies: list[Reply]
    deadline: float


@final
class Link:
    """A connection that answers in order.

    Several callers may have commands in flight at once: each `send_many` is one write and gets its own future, resolved
    in the order of the writes. Cancelling a caller does not disturb the others: its replies are read and dropped.
    A command that is not answered in time, like every other failure, ends the link for all of them with LinkLost.
    """

    def __init__(
        self,
        url: str,
        name: str = "runwire",
        *,
        limit: float = REPLY_TIMEOUT_S,
        connect_limit: float = CONNECT_TIMEOUT_S,
    ) -> None:
        """Times in seconds; `limit` is for each reply. Raises SettingInvalid."""
        try:
            self._address: dict[str, Any] = dict(parse_url(url))
        except ValueError as error:
            raise SettingInvalid(f"{url!r} is no server address: {error}") from None
        self.name = name
        self.limit = limit
        self.connect_limit = connect_limit
        self.on_message: Callable[[bytes, bytes], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[_Waiting] = deque()
        self._reader = _new_reader()
        self._timer: asyncio.TimerHandle | None = None
        self._wire: _Wire | None = None

    @property
    def connected(self) -> bool:
        return self._transport is not None

    @property
    def address(self) -> str:
        """Where the link goes, without credentials: for messages."""
        at = self._address
        return str(at["path"]) if "path" in at else f"{at.get('host', 'localhost')}:{at.get('port', 6379)}"

    async def connect(self) -> Self:
        """Connect, log in, select the database, set the name. Raises LinkLost, or ServerUnfit for a refused login."""
        loop = self._loop = asyncio.get_running_loop()
        self._reader = _new_reader()
        wire = self._wire = _Wire(self)
        at = self._address
        try:
            async with asyncio.timeout(self.connect_limit):
                if "path" in at:
                    await loop.create_unix_connection(lambda: wire, at["path"])
                else:
                    await loop.create_connection(
                        lambda: wire, at.get("host", "localhost"), at.get("port", 6379), ssl=self._tls()
                    )
        except (OSError, TimeoutError) as error:
            raise LinkLost(f"cannot connect to {self.address}: {str(error) or 'no answer in time'}") from None
        await self._greet()
        return self

    async def close(self) -> None:
        """Close; commands in flight end with LinkLost. Safe to call twice."""
        self.lose("closed by its owner")
        if self._wire is not None and self._wire.opened:
            await asyncio.wait((self._wire.gone,), timeout=1.0)

    async def __aenter__(self) -> Self:
        return self if self.connected else await self.connect()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def call(self, *args: Arg, limit: float | None = None) -> Reply:
        """One command. `limit` in seconds instead of the link's (a blocking read). Raises LinkLost or ServerError."""
        reply = (await self.send_many((args,), limit=limit))[0]
        if isinstance(reply, ServerError):
            raise reply
        return reply

    async def call_many(self, commands: Sequence[Command], *, limit: float | None = None) -> list[Reply]:
        """Several commands in one write. An error reply stands in its place as a ServerError. Raises LinkLost."""
        return await self.send_many(commands, limit=limit)

    def send_many(self, commands: Sequence[Command], *, limit: float | None = None) -> "asyncio.Future[list[Reply]]":
        """Write now, without waiting; the future has the replies in order, or LinkLost."""
        pack = _pack
        wire = [pack(tuple(command)) for command in commands]
        return self.send_packed(wire[0] if len(wire) == 1 else b"".join(wire), len(wire), limit=limit)

    def send_packed(self, wire: bytes, replies: int, *, limit: float | None = None) -> "asyncio.Future[list[Reply]]":
        """Write commands that were packed before and get `replies` replies; otherwise like `send_many`."""
        if self._transport is None or self._loop is None:
            raise LinkLost(f"not connected to {self.address}")
        future: asyncio.Future[list[Reply]] = self._loop.create_future()
        if not replies:
            future.set_result([])
            return future
        self._transport.write(wire)
        deadline = self._loop.time() + (limit or self.limit)
        self._waiting.append(_Waiting(future, replies, [], deadline))
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._check_deadline)
        return future

    async def subscribe(self, channel: str, on_message: Callable[[bytes, bytes], None]) -> None:
        """Give this link to published messages: `on_message(channel, data)` is called for each, in the event loop."""
        self.on_message = on_message
        await self.call("SUBSCRIBE", channel)

    def lose(self, reason: str) -> None:
        """End the link; everything in flight has an unknown outcome."""
        transport, self._transport = self._transport, None
        if transport is not None:
            # abort drops what was not sent yet: a command of a link given up must not arrive later.
            transport.abort()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            future = self._waiting.popleft().future
            if not future.done():
                future.set_exception(LinkLost(f"connection to {self.address} lost: {reason}"))

    def made(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def received(self, buffer: bytearray, size: int) -> None:
        if self._transport is None:
            return  # given up: what still comes answers nobody
        reader = self._reader
        reader.feed(cast("bytes", buffer), 0, size)
        try:
            while (reply := reader.gets()) is not _NOT_YET:
                self._answered(reply)
        except hiredis.ProtocolError as error:
            self.lose(f"the server broke the protocol: {error}")

    def ended(self, wire: "_Wire", error: Exception | None) -> None:
        if wire is self._wire:  # not one given up before, whose end is only now known
            self.lose("closed by the server" if error is None else str(error))

    def _answered(self, reply: Reply) -> None:
        if self.on_message is not None and isinstance(reply, list) and reply[:1] == [b"message"]:
            self.on_message(cast("bytes", reply[1]), cast("bytes", reply[2]))
            return
        if not self._waiting:
            self.lose(f"an answer that nobody asked for: {type(reply).__name__}")
            return
        head = self._waiting[0]
        head.replies.append(reply)
        if len(head.replies) == head.wanted:
            self._waiting.popleft()
            if not head.future.done():
                head.future.set_result(head.replies)

    def _check_deadline(self) -> None:
        self._timer = None
        if not self._waiting or self._loop is None:
            return
        deadline = self._waiting[0].deadline
        if deadline <= self._loop.time():
            self.lose("no answer in time")
        else:
            self._timer = self._loop.call_at(deadline, self._check_deadline)

    def _tls(self) -> ssl.SSLContext | None:
        if self._address.get("connection_class") is not SSLConnection:
            return None
        options = {name: value for name, value in self._address.items() if name.startswith("ssl_")}
        # redis-py leaves the type of what it makes unsaid.
        context: ssl.SSLContext = cast("Any", SSLConnection(**options).ssl_context).get()
        return context

    async def _greet(self) -> None:
        at = self._address
        commands: list[tuple[str, ...]] = []
        if at.get("password") or at.get("username"):
            user = [at["username"]] if at.get("username") else []
            commands.append(("AUTH", *user, at.get("password", "")))
        if at.get("db"):
            commands.append(("SELECT", str(at["db"])))
        commands.append(("CLIENT", "SETNAME", self.name))
        for command, reply in zip(commands, await self.call_many(commands), strict=True):
            if isinstance(reply, ServerError):
                await self.close()
                text = f"{self.address} refused {command[0]}: {reply.text}{self._login(reply.code)}"
                # It has no code of its own; others leave, so it passes.
                passes = reply.outcome == "refused" or "max number of clients" in reply.text
                raise LinkLost(text) if passes else ServerUnfit(text)

    def _login(self, code: str) -> str:
        """What to do where the password is missing or wrong."""
        scheme = "unix" if "path" in self._address else "rediss" if self._tls() is not None else "redis"
        match code:
            case "NOAUTH":
                urls = f"{scheme}://:PASSWORD@{self.address}, or {scheme}://USER:PASSWORD@{self.address}"
                return f" It wants a password: {urls}."
            case "WRONGPASS":
                return " The user name and password in its URL are not right."
            case _:
                return ""


class _Wire(asyncio.BufferedProtocol):
    """Hands bytes to its link. One buffer for all reads: a large read is not copied twice."""

    def __init__(self, link: Link) -> None:
        self.opened = False
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._link = link
        self._buffer = bytearray(READ_BUFFER)
        # asyncio's TLS slices what it gets: a slice of a bytearray would be a copy, and the bytes read into it lost.
        self._view = memoryview(self._buffer)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.opened = True
        self._link.made(cast("asyncio.Transport", transport))

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - one size serves every read
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        self._link.received(self._buffer, nbytes)

    def connection_lost(self, exc: Exception | None) -> None:
        self._link.ended(self, exc)
        if not self.gone.done():
            self.gone.set_result(None)


def _new_reader() -> hiredis.Reader:
    return hiredis.Reader(replyError=ServerError, notEnoughData=_NOT_YET)


async def open_link(
    url: str, name: str = "runwire", *, limit: float = REPLY_TIMEOUT_S, connect_limit: float = CONNECT_TIMEOUT_S
) -> Link:
    """A connected link. Raises SettingInvalid, LinkLost, or ServerUnfit for a refused login."""
    return await Link(url, name, limit=limit, connect_limit=connect_limit).connect()

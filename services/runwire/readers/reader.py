"""The reader: follow runs, list them, and look at evidence."""

from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Self

import msgspec

from runwire.broker.connection import Link, ServerError
from runwire.broker.overview import Overview, RunView, list_runs, newest_findings, overview
from runwire.errors import (
    DeploymentMissing,
    LinkLost,
    PartitionMismatch,
    ReaderClosed,
    ServerUnfit,
    SettingInvalid,
    WireMismatch,
)
from runwire.readers.chunks import Chunk
from runwire.readers.cursors import parse_cursor
from runwire.readers.feed import Feed
from runwire.readers.hub import Hub, Opened
from runwire.readers.lineage import Lineage
from runwire.readers.options import ReaderOptions
from runwire.readers.trees import RunNode
from runwire_schemas.evidence import Evidence
from runwire_schemas.keys import DEFAULT_PREFIX, Keys
from runwire_schemas.record import WIRE_VERSION

DEFAULT_URL = "redis://127.0.0.1:6379/0"
_decode_evidence = msgspec.json.Decoder(Evidence).decode


class Reader:
    """Reads runs. Any number of them share one connection, which is open while runs are followed.

    `async with Reader(url) as reader:` keeps the connection between runs; without it the last run that is left closes
    it. A reader writes nothing. Not safe for use from several threads or event loops.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        prefix: str = DEFAULT_PREFIX,
        partitions: int | None = None,
        options: ReaderOptions | None = None,
    ) -> None:
        """`partitions` is checked against the deployment's number; it need not be given. Raises SettingInvalid."""
        self.options = options or ReaderOptions()
        self.keys = Keys(prefix)
        self._url = url
        self._given_partitions = partitions
        self._closed = False
        self._hub = Hub(self._connect, self.keys, self.options)

    def run(self, run_id: str, after: str | int | None = None, wait: float = 10.0) -> AsyncGenerator[Chunk, None]:
        """The chunks of a run, from its start or after a cursor, each once and in order; ends when the run ends.

        `wait` is how long to wait for the run, the deployment and the server to appear, in seconds. Raises
        CursorInvalid at once; while iterating: RunUnknown after `wait`, CursorAhead when you have seen more than Redis
        kept, LogExpired when it no longer keeps what you have not seen, ReaderDisconnected when the server stays away
        longer than `options.reconnect_limit`, DeploymentMissing, PartitionMismatch, WireMismatch, ServerUnfit,
        ReaderClosed. After any error the cursor of the last chunk resumes where it stopped.
        """
        if wait < 0:
            raise SettingInvalid("wait is below 0")
        return self._follow(Feed(run_id, parse_cursor(after), self.options), wait)

    async def runs(self, limit: int = 100, since_ms: int = 0) -> list[RunView]:
        """The runs that began last, not before `since_ms` (since 1970), newest first, at most `limit`.

        Raises LinkLost, DeploymentMissing, PartitionMismatch, WireMismatch and ServerUnfit, as `evidence` and `status`.
        """
        opened = await self._connect()
        async with opened.link as link:
            found = await list_runs(link, self.keys, opened.partitions, limit)
        return [run for run in found if run.started_ms >= since_ms]

    async def evidence(self, run_id: str | None = None, limit: int = 100) -> list[Evidence]:
        """The newest evidence, oldest of it first; of one run if it is named."""
        opened = await self._connect()
        async with opened.link as link:
            found = await newest_findings(link, self.keys, opened.partitions, run_id, limit)
        return [_decode_evidence(finding.data) for finding in found]

    async def status(self) -> Overview:
        """Owners, positions and lag of every partition."""
        opened = await self._connect()
        async with opened.link as link:
            return await overview(link, self.keys, opened.partitions)

    @property
    def lineage(self) -> Lineage:
        """Runs in runs: parents, children and trees."""
        return Lineage(self._connect, self.keys)

    async def tree(self, run_id: str, limit: int = 1000) -> RunNode:
        """A run and the runs in it, at most `limit`, with what each and all of them used. Raises as `lineage` does."""
        return await self.lineage.tree(run_id, limit)

    async def close(self) -> None:
        """End every iteration with ReaderClosed and disconnect. Idempotent."""
        self._closed = True
        self._hub.held = False
        self._hub.fail(lambda feed: ReaderClosed(f"The reader was closed. Resume after cursor {feed.cursor}."))
        await self._hub.stop()

    async def aclose(self) -> None:
        """`close()`, by the name that contextlib.aclosing knows."""
        await self.close()

    async def __aenter__(self) -> Self:
        self._hub.held = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _follow(self, feed: Feed, wait: float) -> AsyncGenerator[Chunk, None]:
        if self._closed:
            raise ReaderClosed
        hub = self._hub
        subscription = hub.add(feed, wait)
        try:
            while True:
                while (chunk := feed.pop()) is not None:
                    if subscription.full and feed.drained:
                        hub.drained(subscription)
                    yield chunk
                if feed.error is not None:
                    raise feed.error
                if feed.ended:
                    return
                await subscription.wait()
        finally:
            await hub.remove(subscription)

    async def _connect(self) -> Opened:
        options = self.options
        link = Link(self._url, "runwire-reader", limit=options.command_timeout, connect_limit=options.connect_timeout)
        try:
            await link.connect()
            return Opened(link, await self._partitions(link))
        except BaseException:
            await link.close()
            raise

    async def _partitions(self, link: Link) -> int:
        try:
            reply = await link.call("HMGET", self.keys.meta, "partitions", "wire")
        except ServerError as error:
            if error.outcome == "refused":
                raise LinkLost(f"the server at {link.address} cannot be read now: {error.text}") from None
            raise ServerUnfit(f"The server at {link.address} answered: {error.text}.") from None
        assert isinstance(reply, list)
        partitions, wire = reply
        if not isinstance(partitions, bytes) or not partitions.isdigit():
            raise DeploymentMissing(
                f"Nothing was ever started under the prefix {self.keys.prefix} on {link.address}. "
                "Start `runwire up` or `runwire enforcer` first, or check url and prefix."
            )
        if isinstance(wire, bytes) and wire != str(WIRE_VERSION).encode():
            raise WireMismatch(
                f"The deployment speaks wire version {wire.decode(errors='replace')}, this library {WIRE_VERSION}."
            )
        if self._given_partitions not in (None, int(partitions)):
            raise PartitionMismatch(
                f"This deployment (prefix {self.keys.prefix}) has {int(partitions)} partitions, "
                f"not {self._given_partitions}."
            )
        return int(partitions)

"""Real servers for tests: one of each kind per test session, one key prefix per test, and no key left behind.

A test that takes `server`, `link` or `prefix` runs once on every kind of server. A kind that this machine lacks is left
out with its reason, and fails where RUNWIRE_REQUIRE_ALL=1. Every pytest-xdist worker has servers of its own.
"""

import itertools
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import redis

from helpers import left_out
from runwire.broker.connection import Link, open_link
from runwire.embedded.server import KINDS, Kind, Server, find_server
from runwire_schemas.keys import Keys, PartitionKeys, spec_of

_numbers = itertools.count(1)


def _required(kind: Kind) -> None:
    found = find_server(kind)
    if found.path is None:
        left_out(f"{kind} is missing: {found.reason}")


@pytest.fixture(scope="session", params=KINDS)
def server_kind(request: pytest.FixtureRequest) -> Kind:
    """The kind of server that the test runs on."""
    kind: Kind = request.param
    _required(kind)
    return kind


@pytest.fixture(scope="session")
def server(server_kind: Kind) -> Iterator[Server]:
    """A server that tests share: use keys under `prefix` only, and never stop, flush or configure it."""
    with tempfile.TemporaryDirectory(prefix="runwire-") as folder, Server.start(server_kind, folder) as shared:
        yield shared


@pytest.fixture
def own_server(server_kind: Kind, tmp_path: Path) -> Iterator[Server]:
    """A server of the test's own, to kill, pause and configure."""
    with Server.start(server_kind, tmp_path / "server") as own:
        yield own


@pytest.fixture
def start_server(server_kind: Kind, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts further servers of the same kind: `start_server(appendfsync="always", extra=(...))`."""
    started: list[Server] = []

    def start(**options: object) -> Server:
        folder = tmp_path / f"server-{len(started)}"
        started.append(Server.start(server_kind, folder, **options))  # type: ignore[arg-type]  # passed through as they are
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(autouse=True)
def shared_server_is_left_empty(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test writes to the shared server lies under its `prefix`, whose keys are checked and removed."""
    if "server" not in request.fixturenames:
        yield
        return
    shared: Server = request.getfixturevalue("server")
    yield
    with redis.Redis(port=shared.port) as client:
        strays = sorted(client.scan_iter(count=1000))
        client.flushall()
    assert strays == [], f"these keys lie outside the test's prefix: {strays}"


@pytest.fixture
def prefix(server: Server) -> Iterator[str]:
    """A key prefix of the test's own. After the test every key under it must have an owner, and a TTL where due."""
    name = f"t{os.environ.get('PYTEST_XDIST_WORKER', '')}{os.getpid()}n{next(_numbers)}"
    yield name
    with redis.Redis(port=server.port) as client:
        leaks = leaked_keys(client, name)
        for key in keys_under(client, name):
            client.unlink(key)
    assert leaks == [], f"these keys would stay in Redis for ever: {leaks}"


@pytest.fixture
def keys(prefix: str) -> Keys:
    return Keys(prefix)


@pytest.fixture
def partition(keys: Keys) -> PartitionKeys:
    """The keys of partition 0 under the test's prefix."""
    return keys.partition(0)


@pytest.fixture
async def link(server: Server) -> AsyncIterator[Link]:
    async with await open_link(server.url, "test") as one:
        yield one


def keys_under(client: "redis.Redis", prefix: str) -> list[str]:
    """All keys of a prefix, those of partitions included."""
    patterns = (f"{prefix}:*", f"{{{prefix}:*")
    return sorted({key.decode() for pattern in patterns for key in client.scan_iter(pattern, count=1000)})


def leaked_keys(client: "redis.Redis", prefix: str) -> list[str]:
    """Keys that nobody owns, and keys of finished runs that would never expire."""
    leaks: list[str] = []
    for key in keys_under(client, prefix):
        spec = spec_of(key, prefix)
        if spec is None:
            leaks.append(f"{key} (not in the keys module)")
        elif spec.expires and client.pttl(key) == -1 and not _is_open(client, key, spec.name):
            leaks.append(f"{key} (no TTL)")
    return leaks


def _is_open(client: "redis.Redis", key: str, kind: str) -> bool:
    tag, _, rest = key.partition("}:")
    name = rest.split(":", 1)[1]
    run = name.rpartition(":")[0] if kind == "run log" else name
    return kind != "kept" and client.zscore(f"{tag}}}:open", run) is not None

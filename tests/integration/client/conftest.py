"""Deployments without nodes, for the client alone."""

from collections.abc import Callable, Iterator

import pytest

from integration.client.bare import Bare
from runwire.embedded.server import Server


@pytest.fixture
def bare(server: Server, prefix: str) -> Iterator[Bare]:
    """On the shared server."""
    one = Bare(server, prefix)
    yield one
    one.client.close()


@pytest.fixture
def own(own_server: Server) -> Iterator[Bare]:
    """On a server of the test's own, to be killed, paused and cut."""
    one = Bare(own_server, "rw")
    yield one
    one.client.close()


@pytest.fixture
def start_bare(start_server: Callable[..., Server]) -> Iterator[Callable[..., Bare]]:
    """Further servers with options of their own."""
    started: list[Bare] = []

    def start(**options: object) -> Bare:
        started.append(Bare(start_server(**options), "rw"))
        return started[-1]

    yield start
    for one in started:
        one.client.close()

"""A partition with the library loaded, taken by `me-1`."""

import pytest

from integration.broker.world import World
from runwire.broker.connection import Link
from runwire.broker.library import load_library


@pytest.fixture
async def world(link: Link, prefix: str) -> World:
    await load_library(link)
    one = World(link, prefix)
    await one.take()
    return one

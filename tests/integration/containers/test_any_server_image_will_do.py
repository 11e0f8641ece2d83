"""The whole way, from a producer to a reader, on a server in a container: whatever image RUNWIRE_TEST_IMAGE names.

The three servers that the other tests run on come as binaries. This one answers for the image that a team deploys:
`RUNWIRE_TEST_IMAGE=valkey/valkey:9.1 make test ARGS=tests/integration/containers`.
"""

import os
import shlex
import time
from collections.abc import Iterator

import pytest
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from helpers.enforcing import bodies_of_run, expected_log, quick_settings, running
from runwire import Producer, Reader
from runwire.broker.checks import check_server
from runwire.broker.connection import open_link
from runwire.enforcer.handler import RunHandler
from runwire.enforcer.limits import limits_of
from runwire_schemas.keys import Keys

IMAGE = os.environ.get("RUNWIRE_TEST_IMAGE", "")
# Official images have redis-server as a name of both servers; an image of another kind names its own command.
COMMAND = os.environ.get("RUNWIRE_TEST_IMAGE_COMMAND", "redis-server")
OPTIONS = "--appendonly yes --bind 0.0.0.0 --protected-mode no --maxmemory-policy noeviction"
PORT = 6379


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if not IMAGE:
        pytest.skip("no container was asked for: RUNWIRE_TEST_IMAGE names the image of a server")
    container = DockerContainer(IMAGE).with_command([*shlex.split(COMMAND), *OPTIONS.split()]).with_exposed_ports(PORT)
    ready = LogMessageWaitStrategy("eady to accept connections").with_startup_timeout(60)
    with container.waiting_for(ready) as server:
        yield f"redis://{server.get_container_host_ip()}:{server.get_exposed_port(PORT)}/0"


@pytest.mark.timeout(120)
async def test_records_of_a_producer_reach_a_reader(url: str) -> None:
    settings = quick_settings(url, "contained")
    handler = RunHandler(limits_of(settings), settings.partitions, clock=time.monotonic)
    async with await open_link(url, "test") as link:
        await check_server(link, Keys(settings.prefix), settings.partitions)
        async with running(settings, handler), Producer(url, prefix=settings.prefix) as producer:
            async with producer.run("contained-run") as run:
                for body in bodies_of_run(50):
                    await run.send(body)
            await producer.flush()
            async with Reader(url, prefix=settings.prefix) as reader:
                seen = [chunk.data async for chunk in reader.run("contained-run")]

        assert len(seen) > 50
        assert seen == await expected_log(link, settings, "contained-run")

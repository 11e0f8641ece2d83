"""Real processes are killed, paused, drained and poisoned; what readers see is what one undisturbed worker makes."""

import signal
import time

import pytest

from helpers import wait_until
from helpers.enforcing import bodies_of_run, evidence_of, expected_log, log_of, quick_settings, write
from helpers.processes import Process
from integration.enforcer.conftest import Start
from runwire.broker.connection import Link
from runwire.embedded.server import Server
from runwire.settings import Settings
from runwire_schemas.keys import ENFORCER_GROUP, Keys

pytestmark = pytest.mark.timeout(90)
RUN = "run"


def alone(server: Server, prefix: str) -> Settings:
    return quick_settings(server.url, prefix, partitions=1)


async def length(link: Link, settings: Settings, run: str, wanted: int) -> bool:
    return len(await log_of(link, settings, run)) >= wanted


async def finished(link: Link, settings: Settings, run: str) -> bool:
    log = await log_of(link, settings, run)
    return bool(log) and b'"type":"finish"' in log[-1]


async def owner(link: Link, prefix: str) -> str:
    found = await link.call("HGET", Keys(prefix).partition(0).lease(ENFORCER_GROUP), "o")
    return found.decode() if isinstance(found, bytes) else ""


async def test_sigkill_in_the_middle_of_a_run(server: Server, prefix: str, link: Link, start: Start) -> None:
    settings, bodies = alone(server, prefix), bodies_of_run(400)
    doomed = start(settings).wait_ready()
    await write(link, settings, RUN, bodies[:200])
    await wait_until(lambda: length(link, settings, RUN, 50), "under way")
    doomed.send(signal.SIGKILL)
    killed = time.monotonic()
    heir = start(settings).wait_ready()
    await write(link, settings, RUN, bodies[200:], first=201)
    await wait_until(lambda: finished(link, settings, RUN), "finished by the heir")
    assert time.monotonic() - killed < settings.lease_ttl_s + 0.5 + STARTING_S
    assert await log_of(link, settings, RUN) == await expected_log(link, settings, RUN)
    assert await owner(link, prefix) == heir.name


# A fresh interpreter on a busy machine; the heir of a deployment is running already.
STARTING_S = 5.0


async def test_a_paused_process_is_fenced_when_it_wakes(server: Server, prefix: str, link: Link, start: Start) -> None:
    settings, bodies = alone(server, prefix), bodies_of_run(300)
    zombie = start(settings, health=True).wait_ready()
    await write(link, settings, RUN, bodies[:100])
    await wait_until(lambda: length(link, settings, RUN, 20), "under way")
    zombie.send(signal.SIGSTOP)
    heir = start(settings).wait_ready()
    await write(link, settings, RUN, bodies[100:200], first=101)
    await wait_until(lambda: length(link, settings, RUN, 190), "the heir works")
    zombie.send(signal.SIGCONT)
    await write(link, settings, RUN, bodies[200:], first=201)
    await wait_until(lambda: finished(link, settings, RUN), "finished")
    assert await log_of(link, settings, RUN) == await expected_log(link, settings, RUN)
    # The zombie lives on as an ordinary member: nothing is red.
    await wait_until(lambda: zombie.get("/readyz")[0] == 200, "the zombie has recovered")
    assert {await owner(link, prefix)} <= {heir.name, zombie.name}


async def test_sigterm_drains_at_once(server: Server, prefix: str, link: Link, start: Start) -> None:
    # A lease so long that any wait for it would show.
    settings = quick_settings(server.url, prefix, partitions=4, lease_ttl_s=20.0, renew_s=1.0)
    runs = [f"run-{n}" for n in range(12)]
    first, second = start(settings).wait_ready(), start(settings).wait_ready()
    lease = [Keys(prefix).partition(p).lease(ENFORCER_GROUP) for p in range(4)]

    async def owners() -> set[str]:
        return {str(await link.call("HGET", key, "o"), "utf-8") for key in lease}  # type: ignore[arg-type]

    async def shared() -> bool:
        return await owners() == {first.name, second.name}

    await wait_until(shared, "shared")
    bodies = bodies_of_run(20)
    for run in runs:
        await write(link, settings, run, bodies[:10])
    first.send(signal.SIGTERM)
    began = time.monotonic()
    assert first.wait() == 0
    assert time.monotonic() - began < 3.0
    assert await owners() == {second.name}
    for run in runs:
        await write(link, settings, run, bodies[10:], first=11)
    for run in runs:
        await wait_until(lambda run=run: finished(link, settings, run), f"{run} is finished by the other")  # type: ignore[misc]
        assert await log_of(link, settings, run) == await expected_log(link, settings, run)


async def test_a_record_that_kills_its_process_is_set_aside(
    server: Server, prefix: str, link: Link, start: Start
) -> None:
    """Each start dies of it, until it is known which record it is. Every other run of all partitions goes on."""
    settings = quick_settings(server.url, prefix, partitions=2, lease_ttl_s=0.6, command_timeout_s=0.5)
    sound = ["sound-1", "sound-2", "sound-3", "sound-4"]
    poisoned = "poisoned"
    bodies = bodies_of_run(10)
    await write(link, settings, "sound-1", bodies[:5])
    await write(link, settings, poisoned, [*bodies[:3], b'{"type":"text-delta","index":0,"text":"poison"}'])
    for run in sound[1:]:
        await write(link, settings, run, bodies)
    starts = 0
    process: Process | None = None

    async def through() -> bool:
        nonlocal starts, process
        if process is None or process.ended:
            process = start(settings, script="poison.py")
            starts += 1
        return await finished(link, settings, poisoned) and all([await finished(link, settings, r) for r in sound[1:]])

    await wait_until(through, "the poison is set aside", 60.0)
    await write(link, settings, "sound-1", bodies[5:], first=6)
    await wait_until(lambda: finished(link, settings, "sound-1"), "the run before it goes on, too")
    # Twice to suspect something, once to walk up to the record, four times alone with it.
    assert starts <= 8
    for run in sound:
        assert await log_of(link, settings, run) == await expected_log(link, settings, run)
    found = [e for p in range(2) for e in await evidence_of(link, settings, p)]
    assert [e["code"] for e in found] == ["enforcer-crash"]
    assert found[0]["run"] == poisoned
    assert any(b"enforcer-crash" in chunk for chunk in await log_of(link, settings, poisoned))

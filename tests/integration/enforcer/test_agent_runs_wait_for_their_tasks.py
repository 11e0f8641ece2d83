"""Agent runs on a real server: stopped, suspended and finished ones get what time owes them, and tasks keep a run."""

import json
import time
from typing import Any

from helpers import wait_until
from helpers.enforcing import expected_log, log_of, quick_settings, running
from runwire.broker.connection import Link
from runwire.embedded.server import Server
from runwire.enforcer.handler import RunHandler
from runwire.enforcer.limits import limits_of
from runwire.enforcer.timeouts import Timeouts
from runwire.grammar.invariants import broken_invariants
from runwire.settings import Settings
from runwire_schemas.keys import Keys

RUN = "run"
STOP = {"stepResult": {"reason": "stop"}}
CALL: tuple[str, dict[str, Any]] = ("tool-call", {"toolCallId": "t", "toolName": "f"})
STEP: tuple[str, dict[str, Any]] = ("step-start", {})


def node_of(settings: Settings) -> Any:
    handler = RunHandler(limits_of(settings), settings.partitions, clock=time.monotonic)
    return running(settings, handler, chores=[Timeouts(handler)])


async def say(link: Link, settings: Settings, *chunks: tuple[str, dict[str, Any]], first: int = 1) -> None:
    raw = Keys(settings.prefix).partition(0).raw
    fields = ("run", RUN, "src", "test", "epoch", 0, "kind", "agent", "seq")
    for seq, (kind, payload) in enumerate(chunks, first):
        await link.call("XADD", raw, "*", *fields, seq, "body", json.dumps({"type": kind, "payload": payload}))


async def log_with(link: Link, settings: Settings, kind: str) -> list[bytes]:
    log = await log_of(link, settings, RUN)
    return log if any(json.loads(chunk)["type"] == kind for chunk in log) else []


async def judged(link: Link, settings: Settings, log: list[bytes]) -> None:
    assert broken_invariants(RUN, log) == []
    assert log == await expected_log(link, settings, RUN)


async def ttls(link: Link, settings: Settings) -> list[bool]:
    """Whether the run's state and its log will expire."""
    keys = Keys(settings.prefix).partition(0)
    found = [await link.call("PTTL", key) for key in (keys.state(RUN), keys.log(RUN))]
    return [isinstance(ttl, int) and ttl > 0 for ttl in found]


async def test_silence_after_a_tripwire_completes_its_ending(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1, ending_ms=400)
    async with node_of(settings):
        await say(link, settings, STEP, ("text-start", {"id": "a"}), ("tripwire", {"reason": "blocked"}))
        log = await wait_until(lambda: log_with(link, settings, "finish"), "ended by silence")
        assert [json.loads(chunk)["type"] for chunk in log[-4:]] == ["text-end", "tripwire", "step-finish", "finish"]
        await judged(link, settings, log)


async def test_silence_marks_a_suspension_and_an_answer_resumes_it(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1, suspend_mark_ms=300)
    async with node_of(settings):
        await say(link, settings, STEP, CALL, ("tool-call-approval", {"toolCallId": "t"}))
        await wait_until(lambda: log_with(link, settings, "data-run-suspended"), "marked by silence")
    async with node_of(settings):
        rest = (("tool-result", {"toolCallId": "t"}), ("step-finish", STOP), ("finish", STOP))
        await say(link, settings, *rest, first=4)
        log = await wait_until(lambda: log_with(link, settings, "finish"), "finished in its second leg")
        await judged(link, settings, log)


async def test_a_live_task_keeps_a_finished_run_until_it_is_sealed(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1, idle_task_ms=1500)
    task = {"taskId": "k", "toolCallId": "t"}
    async with node_of(settings):
        chunks = (STEP, CALL, ("background-task-running", task), ("tool-result", {"toolCallId": "t"}))
        await say(link, settings, *chunks, ("step-finish", STOP), ("finish", STOP))
        await wait_until(lambda: log_with(link, settings, "finish"), "finished")
        assert await ttls(link, settings) == [False, False]
    async with node_of(settings):
        await say(link, settings, ("background-task-resumed", task), first=7)
        await wait_until(lambda: log_with(link, settings, "background-task-resumed"), "the task is heard")
        log = await wait_until(lambda: log_with(link, settings, "background-task-failed"), "failed by silence")
        assert json.loads(log[-1])["payload"]["error"]["code"] == "task-timeout"
        assert await ttls(link, settings) == [True, True]
        assert await link.call("ZSCORE", Keys(prefix).partition(0).open, RUN) is None
        await judged(link, settings, log)

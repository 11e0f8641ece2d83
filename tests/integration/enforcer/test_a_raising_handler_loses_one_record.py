"""A record that makes the grammar raise, which is a bug of ours, costs its own run and nothing else."""

import json
import time
from typing import Any

from helpers import wait_until
from helpers.enforcing import Heard, bodies_of_run, evidence_of, expected_log, log_of, quick_settings, running, write
from runwire.broker.connection import Link
from runwire.embedded.server import Server
from runwire.enforcer.handler import RunHandler
from runwire.enforcer.limits import limits_of
from runwire.grammar.machine import RunMachine
from runwire.settings import Settings
from runwire_schemas.keys import Keys
from runwire_schemas.record import Malformed, Record

MARK = b"raises"


class RaisingMachine(RunMachine):
    def feed(self, record: Record | Malformed) -> None:
        if MARK in record.body:
            raise RuntimeError("a bug of the grammar, put in by this test")
        super().feed(record)


class RaisingHandler(RunHandler):
    machine = RaisingMachine


class HopelessMachine(RaisingMachine):
    def quarantine(self, record: Record, code: str = "enforcer-crash") -> None:
        raise RuntimeError("not even that")


class HopelessHandler(RunHandler):
    machine = HopelessMachine


def handler_of(kind: type[RunHandler], settings: Settings) -> RunHandler:
    return kind(limits_of(settings), settings.partitions, clock=time.monotonic)


async def finished(link: Link, settings: Settings, run: str) -> bool:
    log = await log_of(link, settings, run)
    return bool(log) and b'"type":"finish"' in log[-1]


async def test_the_record_is_set_aside_and_the_others_go_on(server: Server, prefix: str, link: Link) -> None:
    settings, heard = quick_settings(server.url, prefix, partitions=1), Heard()
    bodies = bodies_of_run(30)
    bad = b'{"type":"text-delta","index":0,"text":"raises"}'
    async with running(settings, handler_of(RaisingHandler, settings), observer=heard) as node:
        await write(link, settings, "before", bodies[:20])
        ids = await write(link, settings, "bad", [*bodies[:5], bad, *bodies[5:10]])
        await write(link, settings, "after", bodies)
        await write(link, settings, "before", bodies[20:], first=21)
        for run in ("before", "bad", "after"):
            await wait_until(lambda run=run: finished(link, settings, run), f"{run} is finished")  # type: ignore[misc]
        assert node.status().halted == {}
    for run in ("before", "after"):
        assert await log_of(link, settings, run) == await expected_log(link, settings, run)
    assert len(heard.heard("handler-crashed")) <= 3
    crashed = [e for e in await evidence_of(link, settings, 0) if e["code"] == "enforcer-crash"]
    assert [(e["run"], e["record"]) for e in crashed] == [("bad", ids[5])]
    raw: Any = await link.call("XRANGE", Keys(prefix).partition(0).raw, "-", "+")
    notes = [dict(zip(fields[::2], fields[1::2], strict=True)) for _, fields in raw if b"~enforcer" in fields]
    assert [(n[b"run"], json.loads(n[b"body"])) for n in notes] == [(b"bad", {"type": "quarantine", "record": ids[5]})]


async def test_what_cannot_even_be_set_aside_halts_the_partition(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, partitions=1)
    async with running(settings, handler_of(HopelessHandler, settings)) as node:
        await write(link, settings, "bad", [*bodies_of_run(3)[:2], b'{"type":"text-delta","index":0,"text":"raises"}'])
        await wait_until(lambda: node.status().halted, "halted")
        assert "crashes even when it is set aside" in node.status().halted[0]

"""What type checkers must see of the public API. Never executed: mypy and pyright read it."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, assert_type

from runwire import Call, Chunk, Producer, Published, Reader, Run
from runwire.adapters import Adapter, Auto, Emitted, Guess, adapter
from runwire.errors import CursorAhead, RunwireError
from runwire.readers import ChildRun, RunNode
from runwire.settings import Settings, load
from runwire_schemas import chunks, control, keys
from runwire_schemas.chunks.flow import FinishPayload
from runwire_schemas.errors import RunwireError as Root
from runwire_schemas.evidence import Evidence
from runwire_schemas.lineage import Account
from runwire_schemas.record import Malformed, Record, fields_of, parse


def the_edges(entry_id: bytes, fields: list[bytes], body: bytes) -> None:
    parsed = parse(entry_id, fields)
    assert_type(parsed, Record | Malformed)
    if isinstance(parsed, Record):
        assert_type(parsed.call, str | None)
        assert_type(fields_of(parsed), list[bytes | str | int])
    assert_type(chunks.decode(body), chunks.AnyChunk)
    assert_type(control.decode(body), control.AnyControl)
    assert_type(keys.Keys().partition(0).log("run"), str)
    assert_type(keys.partition_of("run", 16), int)


def a_chunk_is_narrowed_by_its_type(body: bytes) -> str:
    match chunks.decode(body):
        case chunks.TextDelta(payload=payload):
            assert_type(payload.text, str)
            return payload.text
        case chunks.Finish(payload=payload):
            assert_type(payload, FinishPayload)
            return ""
        case chunks.Data(type=name):
            assert_type(name, str)
            return name
        case _:
            return ""


def settings_and_errors(environ: dict[str, str], evidence: Evidence, error: CursorAhead) -> None:
    assert_type(load(environ), Settings)
    assert_type(evidence.body, bytes | None)
    assert_type(error.code, str)
    root: type[Root] = RunwireError
    assert_type(root.code, str)


def adapters(provider: str) -> None:
    assert_type(adapter(provider), Adapter)
    assert_type(adapter("auto"), Auto[Emitted])
    assert_type(adapter("auto").guess, Guess | None)
    assert_type(adapter(provider).feed(b""), list[Emitted])


async def publishing(url: str, wire: AsyncIterator[bytes]) -> None:
    async with Producer(url) as producer:
        assert_type(producer, Producer)
        async with producer.run("run", mode="agent-loop", agent_id="a", thread_id="t") as run:
            assert_type(run, Run)
            assert_type(await run.send({"type": "finish", "reason": {"kind": "stop"}}, call="c1"), None)
            assert_type(await run.agent(b"{}", call="c1"), None)
            assert_type(await run.heartbeat(), None)
            async with run.call("c2", usage="optional") as call:
                assert_type(call, Call)
                assert_type(await call.send(b"{}"), None)
        assert_type(await producer.publish_bytes("other", "anthropic", wire), Published)
        assert_type(await producer.publish_bytes("other", "auto", wire, choice="all"), list[Published])
        assert_type(await producer.publish_stream("other", "auto", wire, choice=1), Published)
        assert_type(await producer.flush(), None)


async def reading(url: str) -> None:
    async with Reader(url) as reader:
        chunks_of_run = reader.run("run", after="2.7", wait=1.0)
        assert_type(chunks_of_run, AsyncGenerator[Chunk, None])
        async for chunk in chunks_of_run:
            assert_type(chunk.cursor, str)
            assert_type(chunk.seq, int)
            assert_type(chunk.attempt, int)
            assert_type(chunk.data, bytes)
            assert_type(chunk.type, str)
            assert_type(chunk.json(), Any)


async def runs_in_runs(reader: Reader, run: str) -> None:
    tree = await reader.tree(run)
    assert_type(tree.children, tuple[RunNode, ...])
    assert_type(tree.subtree, dict[str, int])
    assert_type(await reader.lineage.children(run, after=100), list[ChildRun])
    assert_type(await reader.lineage.parent(run), control.Parent | None)
    assert_type(await reader.lineage.account(run), Account)

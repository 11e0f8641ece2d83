"""Through real servers: producers, enforcer and unwrapper; what comes out is what the same makes without a server."""

import re
from typing import Any

import pytest

from helpers import PROJECT, wait_until
from helpers.enforcing import log_of, quick_settings
from helpers.nesting import agent, around, chunk
from helpers.unwrapping import assert_exact, enforcing, expected, families, publish, settled, unwrapping, wait_for_runs
from runwire import Reader, RunUnknown
from runwire.broker.connection import Link, Reply, ServerError
from runwire.embedded.server import Server
from runwire.errors import SettingInvalid
from runwire_schemas.keys import UNWRAPPER_GROUP, Keys, partition_of


async def test_runs_in_runs_come_out_whole(server: Server, prefix: str, link: Link) -> None:
    settings, story = quick_settings(server.url, prefix), families(6)
    want = expected(story)
    async with enforcing(settings), unwrapping(settings):
        for run, chunks in story.items():
            await publish(link, settings, run, chunks)
        await wait_for_runs(link, settings, want)
        await settled(link, settings)
    await assert_exact(link, settings, want)
    assert len(want.logs) == 6 * 4


async def test_chunks_of_several_mebibytes_go_through(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix, command_timeout_s=2.0, lease_ttl_s=3.0)
    start, step, *_, end, last = agent("sub", "hi")
    files = [chunk("file", "sub", {"data": letter * (3 * 2**20), "mimeType": "text/plain"}) for letter in "abc"]
    story = {"top": around("top", "c1", [start, step, *files, end, last])}
    want = expected(story)
    async with enforcing(settings), unwrapping(settings):
        for number, body in enumerate(story["top"], 1):
            await publish(link, settings, "top", [body], first=number)
        await wait_for_runs(link, settings, want)
        await settled(link, settings)
    await assert_exact(link, settings, want)


async def test_lineage_is_known_in_both_directions(server: Server, prefix: str, link: Link) -> None:
    settings, story = quick_settings(server.url, prefix), families(1, words=2)
    async with enforcing(settings), unwrapping(settings), Reader(server.url, prefix=prefix) as reader:
        await publish(link, settings, "top-0", story["top-0"])
        await wait_for_runs(link, settings, expected(story))
        await settled(link, settings)
        lineage = reader.lineage
        assert await lineage.parent("top-0") is None
        parent = await lineage.parent("three-0")
        assert parent is not None
        assert (parent.run_id, parent.wrapper, parent.key) == ("two-0", "tool-output", "c2")
        assert [up.run_id for up in await lineage.path("three-0")] == ["top-0", "two-0"]
        children = await lineage.children("top-0")
        assert [(child.number, child.link.run_id, child.confirmed) for child in children] == [
            (1, "one-0", True),
            (2, "two-0", True),
        ]
        assert [child.link.run_id for child in await lineage.children("top-0", after=1, limit=1)] == ["two-0"]
        assert await lineage.children("one-0") == []
        tree = await reader.tree("top-0")
        assert (tree.subtree["totalTokens"], tree.own, tree.complete) == (10, {}, True)
        assert [child.run_id for child in tree.children[1].children] == ["three-0"]
        assert not (await reader.tree("top-0", limit=2)).complete
        assert (await lineage.account("three-0")).end == "stop"
        with pytest.raises(RunUnknown, match="seen nothing of run 'nobody'"):
            await lineage.parent("nobody")
        for wrong in ({"limit": 0}, {"limit": 1001}, {"after": -1}):
            with pytest.raises(SettingInvalid):
                await lineage.children("top-0", **wrong)


async def test_the_example_of_the_page_about_clients(server: Server, prefix: str, link: Link) -> None:
    """The page has the default prefix; here the test's own is put in its place."""
    text = (PROJECT / "docs" / "clients.md").read_text(encoding="utf-8")
    (example,) = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "def family" in block]
    names: dict[str, Any] = {}
    exec(example.replace("Reader(url)", f"Reader(url, prefix={prefix!r})"), names)
    settings, story = quick_settings(server.url, prefix), families(1, words=2)
    async with enforcing(settings), unwrapping(settings):
        await publish(link, settings, "top-0", story["top-0"])
        await wait_for_runs(link, settings, expected(story))
        await settled(link, settings)
        assert await names["family"](server.url, "top-0") == (["one-0", "two-0"], 10)


async def test_a_run_of_somebody_else_is_listed_and_is_no_child(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix)
    async with enforcing(settings), unwrapping(settings), Reader(server.url, prefix=prefix) as reader:
        await publish(link, settings, "other", agent("other", "mine"))
        await settled(link, settings)
        await publish(link, settings, "top", around("top", "c1", agent("other", "yours")))

        async def read() -> bool:
            children = await reader.lineage.children("top")
            return [child.confirmed for child in children] == [False]

        await wait_until(read, "the run is listed", ignoring=RunUnknown)
        assert (await reader.tree("top")).children == ()
        assert b"yours" not in b"".join(await log_of(link, settings, "other"))
        assert {found.code for found in await reader.evidence("other")} == {"run-author"}


async def test_claims_go_once_their_runs_are_seen(server: Server, prefix: str, link: Link) -> None:
    settings = quick_settings(server.url, prefix)
    claim = Keys(prefix).partition(partition_of("sub", settings.partitions)).claim("sub")
    story = {"top": around("top", "c1", agent("sub", "hi"))}
    async with enforcing(settings):
        await publish(link, settings, "top", story["top"])

        async def whole() -> bool:
            return len(await log_of(link, settings, "top")) == len(story["top"])

        await wait_until(whole, "the parent is enforced")

    async def claimed() -> bool:
        return await link.call("HLEN", claim) == 1

    async with unwrapping(settings):
        # Nobody enforces: the child's records and the claim are all there is of it.
        await wait_until(claimed, "the child is claimed")
        left = await link.call("PTTL", claim)
        assert isinstance(left, int)
        assert 0 < left <= settings.tombstone_ttl_s * 1000
        async with enforcing(settings):
            await wait_for_runs(link, settings, expected(story))
            await settled(link, settings)
            assert not await claimed()


async def test_the_group_is_on_the_partitions_log(server: Server, prefix: str, link: Link) -> None:
    """So trimming waits for it, and every Redis tool shows how far it is."""
    settings = quick_settings(server.url, prefix, partitions=1)
    keys = Keys(prefix).partition(0)
    async with enforcing(settings), unwrapping(settings):
        await publish(link, settings, "top", agent("top", "hi"))
        await settled(link, settings)

        async def shown() -> bool:
            groups = await link.call("XINFO", "GROUPS", keys.chunks)
            return isinstance(groups, list) and UNWRAPPER_GROUP.encode() in [
                word for g in groups for word in list_of(g)
            ]

        await wait_until(shown, "the mirrored group", ignoring=ServerError)
        assert await link.call("HGET", keys.pos_chunks, UNWRAPPER_GROUP) is not None


def list_of(reply: Reply) -> list[Reply]:
    return reply if isinstance(reply, list) else []

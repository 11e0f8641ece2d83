"""`publish_bytes` and `publish_stream`: the provider may be told from the response, and each choice may be a run."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from integration.client.bare import Bare
from runwire import Producer, ProviderUnclear, Published, RecordInvalid, UnknownProvider

Json = dict[str, Any]

ANTHROPIC: list[Json] = [
    {"type": "message_start", "message": {"id": "m", "model": "c", "usage": {"input_tokens": 3, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]


def chunk(choice: int, delta: Json, finish: str | None = None) -> Json:
    return {"id": "x", "model": "m", "choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}


def call(choice: int) -> Json:
    part = {"index": 0, "id": "call-1", "function": {"name": "f", "arguments": f"[{choice}]"}}
    return chunk(choice, {"tool_calls": [part]}, "tool_calls")


SEVERAL = [chunk(0, {"content": "A"}), chunk(1, {"content": "B"}), call(1), call(0)]


def sse(events: list[Json]) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)


def text_of(bare: Bare, run: str) -> str:
    bodies = [json.loads(body) for body in bare.bodies(run)]
    return "".join(body["text"] for body in bodies if body["type"] == "text-delta")


class OnePass:
    """A source that can be read once, as a connection can."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.reads = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.reads += 1
        for at in range(0, len(self.body), 5):
            yield self.body[at : at + 5]


async def test_the_provider_is_told_and_usage_is_declared_by_it(bare: Bare) -> None:
    async with Producer(bare.url, prefix=bare.prefix) as producer:
        told = await producer.publish_bytes("claude", "auto", OnePass(sse(ANTHROPIC)))
        named = await producer.publish_bytes("named", "anthropic", sse(ANTHROPIC))
        other = await producer.publish_stream("gpt", "auto", [chunk(0, {"content": "A"}), chunk(0, {}, "stop")])

    assert told == Published("claude", "1", named.records, "anthropic")
    assert other.provider == "openai-chat"
    assert bare.bodies("claude") == bare.bodies("named")
    rules = {run: [record.usage for record in records] for run, records in bare.records().items()}
    assert set(rules["claude"]) == {None}
    assert rules["gpt"] == ["optional", *[None] * (len(rules["gpt"]) - 1)]


async def test_what_nobody_can_tell_fails_for_readers_and_for_the_caller(bare: Bare) -> None:
    async with Producer(bare.url, prefix=bare.prefix) as producer:
        with pytest.raises(ProviderUnclear, match=r"seen: an event with a; known are openai-chat, .*raw"):
            await producer.publish_bytes("r", "auto", b'{"a":1}\n')
    (finish,) = [json.loads(body) for body in bare.bodies("r")]
    assert finish["reason"]["failure"]["code"] == "provider-unclear"


async def test_an_unknown_provider_publishes_nothing(bare: Bare) -> None:
    async with Producer(bare.url, prefix=bare.prefix) as producer:
        with pytest.raises(UnknownProvider, match="auto"):
            await producer.publish_bytes("r", "nope", b"", mode="single-call")
    assert bare.records() == {}


@pytest.mark.parametrize("provider", ["openai-chat", "auto"])
async def test_every_choice_is_a_run_from_one_reading(bare: Bare, provider: str) -> None:
    source = OnePass(sse(SEVERAL) + b"data: [DONE]\n\n")
    async with Producer(bare.url, prefix=bare.prefix) as producer:
        done = await producer.publish_bytes("r", provider, source, choice="all", agent_id="a")
        streamed = await producer.publish_stream("s", provider, [*SEVERAL, b"[DONE]"], choice="all", agent_id="a")
        alone = await producer.publish_bytes("one", "openai-chat", sse(SEVERAL), choice=1, agent_id="a")

    assert source.reads == 1
    assert [one[:2] for one in done] == [("r", "1"), ("r.1", "1")]
    assert [one.run_id for one in streamed] == ["s", "s.1"]
    assert {one.provider for one in done} == {"openai-chat"}
    assert (text_of(bare, "r"), text_of(bare, "r.1")) == ("A", "B")
    assert bare.bodies("r.1") == bare.bodies("s.1") == bare.bodies("one")
    assert [one.records for one in done] == [len(bare.bodies(run)) - 1 for run in ("r", "r.1")]
    assert done[1].records == alone.records
    for choice, run in enumerate(("r", "r.1")):
        first, second, *_ = bare.records()[run]
        assert (first.kind, json.loads(first.body)["agentId"]) == ("control", "a")
        assert (second.usage, second.call) == ("optional", "1")
        ended = [
            json.loads(body)["block"] for body in bare.bodies(run) if b'"tool_use"' in body and b"block-end" in body
        ]
        assert [(block["id"], block["arguments"]) for block in ended] == [("call-1", f"[{choice}]")]


async def test_a_source_that_breaks_ends_every_choice_as_aborted(bare: Bare) -> None:
    async def response() -> AsyncIterator[bytes]:
        yield sse(SEVERAL[:2])
        raise ConnectionResetError("the provider went away")

    async with Producer(bare.url, prefix=bare.prefix) as producer:
        with pytest.raises(ConnectionResetError):
            await producer.publish_bytes("r", "openai-chat", response(), choice="all")
    for run in ("r", "r.1"):
        finish = json.loads(next(body for body in bare.bodies(run) if b'"finish"' in body))
        assert finish["reason"]["kind"] == "aborted"


async def test_a_run_id_without_room_for_a_choice_is_refused(bare: Bare) -> None:
    async with Producer(bare.url, prefix=bare.prefix) as producer:
        with pytest.raises(RecordInvalid):
            await producer.publish_bytes("r" * 256, "openai-chat", sse(SEVERAL), choice="all")

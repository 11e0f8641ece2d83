"""The examples of docs/clients.md are run as they stand."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import runwire
from helpers import PROJECT
from integration.client.bare import FINISH, Bare

PAGE = PROJECT / "docs" / "clients.md"


def examples() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), names)
    return names


async def test_the_examples_publish_and_read(own: Bare) -> None:
    page = examples()

    async def source() -> AsyncIterator[bytes]:
        yield b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

    await page["publish_call"](own.url)
    await page["publish_response"](own.url, source())
    await page["publish_loop"](own.url)
    types = {run: [json.loads(r.body)["type"] for r in records] for run, records in own.records().items()}
    assert types["hello-1"] == ["block-start", "text-delta", "block-end", "usage", "finish"]
    assert types["hello-2"][-1] == "finish"
    assert types["hello-3"] == ["run-start", "finish", "finish", "run-end"]
    own.log("hello-1", b'{"type":"text-delta","runId":"hello-1","payload":{"text":"Hi"}}', FINISH)
    own.log("hello-2", FINISH)
    assert await page["read"](own.url) == ("Hi", "2")
    assert await page["read_several"](own.url, ["hello-1", "hello-2"]) == [2, 1]


def test_every_error_it_names_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Z][a-z]+[A-Z][A-Za-z]+)`", text))
    assert named
    assert [name for name in sorted(named) if not hasattr(runwire, name)] == []

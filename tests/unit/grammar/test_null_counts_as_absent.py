"""Encoders of other languages write null for what they leave out: it means the same, and only there."""

import json
from typing import Any

import pytest

from unit.grammar.story import USAGE, Body, Story, end, finish, result, start, text, tool, tool_end


def without_nulls(body: Body) -> Body:
    def kept(members: list[tuple[str, Any]]) -> Body:
        return {name: value for name, value in members if value is not None}

    found: Body = json.loads(json.dumps(body), object_pairs_hook=kept)
    return found


STREAM: list[Body] = [
    start(0, "tool_use"),
    tool("{}", name="f", gemini=None, providerWireName=None, providerExecuted=None),
    tool("", name=None),
    tool_end("{}", providerWireName=None, providerExecuted=None),
    *result(content={}, isError=None, toolName=None),
    start(2, "thinking"),
    end(2, "thinking", text="x", signature=None, redacted=None),
    start(3, "image"),
    end(3, "image", mediaType="i", data=None, url="u", sha256=None),
    start(4),
    text("", 4, gemini=None),
    end(4, text=""),
    {"type": "usage", "usage": {**USAGE["usage"], "cacheReadTokens": None, "reasoningTokens": None}},
    finish(raw=None),
]


def test_a_raw_stream_with_nulls_is_the_stream_without_them() -> None:
    given, plain = Story(), Story()
    given.all(STREAM)
    plain.all(without_nulls(body) for body in STREAM)
    assert (given.codes, given.reason) == ([], "stop")
    assert given.raw == plain.raw


def test_a_failure_with_nulls() -> None:
    story = Story()
    failure = {"message": "m", "code": None, "status": None, "retryable": None}
    story.write({"type": "finish", "reason": {"kind": "error", "raw": None, "failure": failure}})
    assert story.of("error") == [{"error": {"message": "m"}}]


def test_control_bodies_with_nulls() -> None:
    story = Story()
    names = ("mode", "agentId", "threadId", "resourceId", "parent", "continues", "usage")
    story.control({"type": "run-start", **dict.fromkeys(names)})
    story.control({"type": "run-end", "reason": "error", "failure": None})
    assert (story.codes, story.of("start"), story.reason) == ([], [{}], "error")


@pytest.mark.parametrize(
    ("body", "payload"),
    [
        ({"type": "raw", "payload": None}, {}),
        (
            {"type": "source", "payload": None, "runId": None, "from": None, "id": "s", "sourceType": "url"},
            {"id": "s", "sourceType": "url", "title": ""},
        ),
    ],
)
def test_an_agent_chunk_with_nulls_in_its_envelope(body: Body, payload: Body) -> None:
    story = Story()
    story.agent(body)
    assert story.codes == []
    assert story.chunks[-1] == {"type": body["type"], "runId": "r", "from": "AGENT", "payload": payload}


def test_a_result_may_be_null() -> None:
    story = Story()
    story.all(result(content=None))
    assert (story.codes, story.of("tool-result")[0]["result"]) == ([], None)


@pytest.mark.parametrize("body", [text(""), start(), tool("")])
def test_a_required_field_may_not_be_null(body: Body) -> None:
    for name in body:
        story = Story()
        story.write({**body, name: None})
        assert story.codes == ["undecodable" if name == "type" else "fields-invalid"]

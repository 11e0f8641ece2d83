"""What becomes of an agent chunk's members: envelope, required and filled fields, dates, all else as it was."""

import json
from typing import Any

import pytest

from helpers import chunk_samples as samples
from runwire.grammar import Limits
from runwire.grammar.agent.types import TYPES, type_of
from runwire_schemas import chunks
from runwire_schemas.record import Kind
from unit.grammar.story import Story, loop, said, start

# Neither their ids nor what they say of steps and usage is as they came.
REWRITTEN = {"start", "step-start", "step-finish", "finish", "data-run-suspended"}
BLOCKS = {name for name in samples.SEED_FIELDS if name.startswith(("text-", "reasoning-")) and "signature" not in name}
PLAIN = sorted(set(samples.TAGGED | samples.UNTAGGED) - REWRITTEN - BLOCKS)


def before(story: Story, name: str) -> None:
    """What a chunk of this type stands on."""
    story.say("step-start")
    known = samples.TAGGED.get(name, {}).get("payload", {})
    if "toolCallId" in known and name not in ("tool-call", "tool-call-input-streaming-start"):
        story.say("tool-call-input-streaming-start", toolCallId=known["toolCallId"], toolName="toolName-1")
    if name in ("tool-result", "tool-error", "tool-output-denied", "tool-call-approval", "tool-call-suspended"):
        story.say("tool-call", toolCallId=known["toolCallId"], toolName="toolName-1")
    story.evidence.clear()


def test_every_type_of_seed_and_contract_is_in_the_table() -> None:
    assert set(TYPES) >= chunks.KNOWN_TYPES
    assert all(type_of(name).role != "unknown" for name in samples.TAGGED | samples.UNTAGGED)
    assert type_of("workflow-step-what").role == type_of(None).role == "unknown"
    required = {
        name: {field.name for field in kind.required} for name, kind in TYPES.items() if name in samples.REQUIRED
    }
    assert required == {name: set(fields.split()) for name, fields in samples.REQUIRED.items()}


@pytest.mark.parametrize("name", PLAIN)
def test_every_field_is_passed_on(name: str) -> None:
    sent = (samples.TAGGED | samples.UNTAGGED)[name] | {"runId": "r", "extra": {"kept": [1.0, None]}}
    if name.startswith("background-task-") and "runId" in sent["payload"]:
        sent = sent | {"payload": sent["payload"] | {"runId": "r"}}
    story = Story()
    before(story, name)
    [chunk, *_] = [one for one in story.agent(sent, call=None) if one["type"] == name]
    assert story.codes == []
    assert chunk == sent
    chunks.decode(story.raw[story.chunks.index(chunk)])


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_every_field_of_a_block_but_its_id_is_passed_on(name: str) -> None:
    sent = samples.TAGGED[name] | {"runId": "r", "from": "SYSTEM", "extra": 1}
    story = Story()
    story.say("step-start")
    if not name.endswith("-start"):
        story.say(f"{name.partition('-')[0]}-start", id="id-1")
    [chunk] = story.agent(sent, call=None)
    assert chunk == sent | {"payload": sent["payload"] | {"id": "1:id-1"}}


@pytest.mark.parametrize("name", ["step-start", "step-finish", "finish"])
def test_every_field_of_a_frame_is_passed_on(name: str) -> None:
    sent = samples.TAGGED[name]["payload"] | {"other": 1.50, "providerMetadata": {"a": {}}, "inputMessages": [1]}
    story = said()
    if name == "step-finish":
        story.say("step-start")
    story.say(name, **sent)
    [got] = story.of(name)
    for field, value in sent.items():
        assert field in got
        if field not in ("totalUsage", "stepResult", "output"):
            assert got[field] == value


def test_a_missing_envelope_is_filled() -> None:
    story = Story()
    story.agent(b'{ "type" : "tripwire" , "payload" : { "retry" : false } }', call=None)
    assert story.raw[-1] == b'{"type":"tripwire","runId":"r","from":"AGENT","payload":{"retry":false,"reason":""}}'
    story = Story()
    story.agent({"type": "step-start", "request": {"body": 1}, "metadata": 2, "payload": None}, call=None)
    assert story.of("step-start") == [{"request": {"body": 1}, "metadata": 2, "messageId": "r:1"}]
    assert list(story.chunks[-1]) == ["type", "runId", "from", "payload"]


@pytest.mark.parametrize(
    ("name", "payload", "filled"),
    [
        ("step-start", {}, {"messageId": "r:1", "request": {}}),
        ("tool-error", {"toolCallId": "t"}, {"error": {}, "toolName": "f"}),
        ("tool-result", {"toolCallId": "t"}, {"result": None, "toolName": "f"}),
        ("tool-result", {"toolCallId": "t", "toolName": ""}, {"result": None, "toolName": "f"}),
        ("tool-output-denied", {"toolCallId": "t"}, {"toolName": "f"}),
        ("tool-call-approval", {"toolCallId": "t"}, {"toolName": "f"}),
        ("tool-call", {"toolCallId": "new", "toolName": "g"}, {"args": {}}),
        ("source", {"id": "s", "sourceType": "url"}, {"title": ""}),
        ("error", {}, {"error": {}}),
        ("tripwire", {}, {"reason": ""}),
    ],
)
def test_what_is_absent_is_filled_in(name: str, payload: dict[str, Any], filled: dict[str, Any]) -> None:
    story = Story()
    if name != "step-start":
        story.say("step-start")
        story.say("tool-call", toolCallId="t", toolName="f")
    story.say(name, **payload)
    assert story.of(name)[-1] == payload | filled
    assert story.codes == []


def test_step_finish_and_finish_are_filled_in() -> None:
    story = Story()
    story.say("step-start")
    story.say("step-finish", stepResult={"reason": "stop"})
    story.say("finish", stepResult={"reason": "stop", "isContinued": True})
    usage: dict[str, Any] = {}
    assert story.of("step-finish") == [
        {
            "stepResult": {"reason": "stop", "isContinued": False},
            "output": {"usage": usage},
            "metadata": {},
            "messageId": "r:1",
            "totalUsage": usage,
        }
    ]
    assert story.of("finish") == [
        {
            "stepResult": {"reason": "stop", "isContinued": False},
            "output": {"usage": usage},
            "metadata": {},
            "messages": {"all": [], "user": [], "nonUser": []},
        }
    ]


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (1796071283645, "2026-11-30T20:41:23.645Z"),
        (0, "1970-01-01T00:00:00.000Z"),
        ("2026-11-30T22:41:23.645+02:00", "2026-11-30T20:41:23.645Z"),
        ("2026-11-30T20:41:23", "2026-11-30T20:41:23.000Z"),
        ("2026-11-30T20:41:23Z", "2026-11-30T20:41:23Z"),
        ("yesterday", "yesterday"),
        (-1, -1),
        (10**30, 10**30),
        (None, None),
    ],
)
def test_dates_of_tasks_become_iso_8601_in_utc(sent: Any, shown: Any) -> None:
    story = said()
    story.say("background-task-suspended", taskId="k", toolCallId="t", suspendedAt=sent, startedAt=sent)
    [payload] = story.of("background-task-suspended")
    assert (payload["suspendedAt"], payload["startedAt"]) == (shown, shown)


@pytest.mark.parametrize("name", ["background-task-suspended", "tool-call-suspended", "workflow-step-suspended"])
def test_a_suspend_payload_is_said_in_the_seeds_word_too(name: str) -> None:
    story = said()
    story.say(name, taskId="k", toolCallId="t", suspendPayload={"need": 1.0})
    assert story.of(name)[0]["suspendData"] == {"need": 1.0}
    assert b'"suspendPayload":{"need":1.0},"suspendData":{"need":1.0}' in story.raw[-1]


def test_an_unknown_type_becomes_raw() -> None:
    story = Story()
    story.agent(b'{"type":"odd","from":"MARS","payload":{"a":1.0} }', call=None)
    assert story.raw[-1] == (
        b'{"type":"raw","runId":"r","from":"AGENT","payload":{"type":"odd","chunk":'
        b'{"type":"odd","from":"MARS","payload":{"a":1.0}}}}'
    )


def test_opaque_json_and_odd_names_keep_their_spelling() -> None:
    story = Story()
    story.agent(b'{"type":"data-\\"x\\u00e9","data":{"n":1e400,"m":-0,"s":"\\u00e9 \\/"},"id":"d"}', call=None)
    assert story.raw[-1] == (
        b'{"type":"data-\\"x\xc3\xa9","runId":"r","from":"AGENT","data":{"n":1e400,"m":-0,"s":"\\u00e9 \\/"},"id":"d"}'
    )


def test_bodies_that_fit_only_without_their_history_are_cut() -> None:
    story = Story(Limits(agent_chunk_bytes=500, cut_chunk_bytes=2000))
    long = "x" * 400
    story.say("step-start", request={"body": long}, inputMessages=[long], kept=1)
    assert story.of("step-start") == [{"kept": 1, "request": {}, "messageId": "r:1"}]
    story.say("step-finish", stepResult={"reason": "stop"}, output={"steps": [long], "text": "t"}, messages=[long])
    assert story.of("step-finish")[0]["output"] == {"text": "t", "usage": {}}
    assert "messages" not in story.of("step-finish")[0]
    assert (story.codes, story.machine.state.repairs) == (["fields-cut"] * 2, {"fields-cut": 2})
    story.agent({"type": "finish", "stepResult": {"reason": "stop"}, "messages": [long, long]}, call=None)
    assert story.reason == "stop"


@pytest.mark.parametrize("payload", [{"x": "x" * 600}, {"messages": "x" * 3000}])
def test_what_does_not_fit_even_so_is_too_large(payload: dict[str, Any]) -> None:
    story = Story(Limits(agent_chunk_bytes=500, cut_chunk_bytes=2000))
    story.say("start", **payload)
    assert story.codes == ["chunk-too-large"]
    assert story.evidence[0].body == story.records[0].body


@pytest.mark.parametrize("kind", ["agent", "provider"])
def test_what_is_too_large_is_not_read(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(Limits(chunk_bytes=100, agent_chunk_bytes=100, cut_chunk_bytes=200))
    monkeypatch.setattr("runwire.grammar.input.parse", lambda *_: pytest.fail("the body was read"))
    story.write(b'{"type":"text-start"}' + b" " * 300, kind=kind)
    assert story.codes == ["chunk-too-large"]


def test_an_agents_start_is_taken_if_it_comes_first() -> None:
    story = loop(threadId="th", agentId="a")
    story.say("start", id="x", agentId="b")
    assert story.of("start") == [{"id": "x", "agentId": "b", "threadId": "th"}]
    late = loop(agentId="a")
    late.write(start())
    late.say("start", id="x")
    assert (late.of("start"), late.codes) == ([{"agentId": "a"}], ["start-repeated"])


@pytest.mark.parametrize(
    "name",
    ["background-task-running", "tool-result", "tool-error", "tool-output-denied", "step-finish", "finish"],
)
def test_what_only_answers_or_ends_opens_no_run(name: str) -> None:
    story = Story()
    story.say(name, taskId="k", toolCallId="t", providerExecuted=True, stepResult={"reason": "stop"})
    assert (story.codes, story.machine.exists, story.chunks) == (["run-unknown"], False, [])


@pytest.mark.parametrize("name", ["text-start", "tool-call", "workflow-start", "data-x", "what", "error", "step-start"])
def test_anything_else_does(name: str) -> None:
    story = Story()
    body = {"type": name, "data": 1, "payload": {"id": "a", "toolCallId": "t", "toolName": "f"}}
    story.agent(body, call=None)
    assert story.types[0] == "start"
    assert "run-unknown" not in story.codes
    assert json.loads(story.raw[0])["payload"] == {}

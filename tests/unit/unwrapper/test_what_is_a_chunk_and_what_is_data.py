"""A value in a wrapper is a chunk of another run, or plain data that stays with its parent."""

import json
from typing import Any

import msgspec
import pytest

from runwire.unwrapper.core.looking import Role, look, type_of
from runwire.unwrapper.core.wrappers import Inner, Output, inner_of, read, wrapper_of
from runwire_schemas.chunks import KNOWN_TYPES
from runwire_schemas.chunks.base import Raw


def inner(value: Any) -> Inner | None:
    return inner_of(Raw(json.dumps(value).encode()))


def output(type_: str, payload: Any, run: str = "P", **beside: Any) -> Output:
    seen = look(1, json.dumps({"type": type_, "runId": run, "from": "USER", "payload": payload, **beside}))
    assert seen is not None
    assert seen.role is Role.OUTPUT
    assert seen.output is not None
    return seen.output


@pytest.mark.parametrize("sender", ["AGENT", "USER", "SYSTEM", "WORKFLOW", "NETWORK"])
@pytest.mark.parametrize("type_", ["text-delta", "data-tick", "tool-output", "of-nobody"])
def test_type_run_and_sender_make_a_chunk_of_that_run(sender: str, type_: str) -> None:
    found = inner({"type": type_, "runId": "S", "from": sender})
    assert found is not None
    assert (found.type, found.run_id, found.addressed) == (type_, "S", True)


@pytest.mark.parametrize("type_", sorted(KNOWN_TYPES))
def test_a_known_type_alone_is_for_the_last_child(type_: str) -> None:
    found = inner({"type": type_, "payload": {}})
    assert found is not None
    assert not found.addressed


@pytest.mark.parametrize(
    "value",
    [
        {"type": "tick"},
        {"type": "tick", "runId": "S"},
        {"type": "tick", "runId": "S", "from": "MODEL"},
        {"type": "data-tick", "data": 1},
        {"type": "data-tick", "data": 1, "runId": "S"},
        {"type": 5, "runId": "S", "from": "AGENT"},
        {"type": "of-nobody", "runId": 5, "from": "AGENT"},
        {"runId": "S", "from": "AGENT"},
        {"type": None},
        {},
        [],
        [{"type": "finish"}],
        "finish",
        7,
        1.5,
        None,
        True,
    ],
)
def test_everything_else_is_plain_data(value: Any) -> None:
    assert inner(value) is None


def test_the_inner_bytes_are_taken_as_they_are_spelled() -> None:
    spelled = '{ "type":"text-delta","runId":"S" , "from":"AGENT","payload":{"n":1.50,"u":"\\u00e9"}}'
    seen = look(3, '{"type":"tool-output","payload":{"output":' + spelled + ',"toolCallId":"c"}}')
    assert seen is not None
    assert seen.output is not None
    assert seen.output.inner is not None
    assert seen.output.inner.body == spelled.encode()


EXECUTION = "execution:workflow-execution"
TASK = "background-task-output"
S: dict[str, Any] = {"type": "text-delta", "runId": "S", "from": "AGENT", "payload": {"id": "1", "text": "x"}}


@pytest.mark.parametrize(
    ("type_", "payload", "wrapper", "key", "channel"),
    [
        ("tool-output", {"output": S, "toolCallId": "c1"}, "tool-output", "c1", "call:c1"),
        ("tool-output", {"output": S}, "tool-output", "tool-output", "call:tool-output"),
        ("tool-output", {"output": S, "toolCallId": 7}, "tool-output", "tool-output", "call:tool-output"),
        ("step-output", {"output": S, "stepName": "s"}, "step-output", "s", "step:s"),
        ("workflow-step-output", {"output": S, "stepName": "s", "runId": "P"}, "workflow-step-output", "s", "step:s"),
        ("agent-execution-event-x", S, "agent-execution-event", "agent-execution", "execution:agent-execution"),
        ("workflow-execution-event-x", S, "workflow-execution-event", "workflow-execution", EXECUTION),
        ("background-task-output", {"taskId": "t", "toolCallId": "c", "payload": S}, TASK, "t", "call:c"),
    ],
)  # fmt: skip
def test_every_wrapper_says_where_its_chunk_came_from(
    type_: str, payload: Any, wrapper: str, key: str, channel: str
) -> None:
    found = output(type_, payload)
    assert (found.wrapper, found.key, found.channel) == (wrapper, key, channel)
    assert found.inner is not None
    assert json.loads(found.inner.body) == S


def task_output(value: Any) -> Output:
    return output("background-task-output", {"taskId": "t", "toolCallId": "c", "payload": value, "runId": "P"})


@pytest.mark.parametrize("envelope", [{}, {"runId": "P", "from": "USER"}])
def test_a_tools_output_in_a_tasks_output_is_opened_with_it(envelope: dict[str, str]) -> None:
    found = task_output({"type": "tool-output", **envelope, "payload": {"output": S, "toolCallId": "c"}})
    assert found.inner is not None
    assert json.loads(found.inner.body) == S
    assert (found.wrapper, found.key, found.channel) == ("background-task-output", "t", "call:c")


def test_a_tools_output_of_another_run_is_a_chunk_of_that_run() -> None:
    found = task_output({"type": "tool-output", "runId": "S", "from": "USER", "payload": {"output": S}})
    assert found.inner is not None
    assert (found.inner.type, found.inner.run_id) == ("tool-output", "S")


@pytest.mark.parametrize(
    "value", [{"type": "data-x", "data": 1}, {"type": "data-x", "runId": "P", "from": "USER", "data": 1}]
)
def test_what_a_task_says_of_its_own_run_stays_there(value: Any) -> None:
    assert task_output(value).inner is None
    assert task_output({"type": "tool-output", "payload": {"output": {"type": "tick"}}}).inner is None


@pytest.mark.parametrize(
    ("metadata", "twin"),
    [
        ({"twinOf": 3}, True),
        ({}, False),
        ({"twinOf": None}, False),
        ({"other": "twinOf"}, False),
        (None, False),
        (7, False),
    ],
)
def test_a_twin_is_marked_by_the_enforcer(metadata: Any, twin: bool) -> None:
    assert output("tool-output", {"output": S, "toolCallId": "c"}, metadata=metadata).twin is twin


@pytest.mark.parametrize(
    "type_", ["text-delta", "data-tool-output", "tool-execution-event-x", "agent-execution-start", "raw", "object", ""]
)
def test_other_types_wrap_nothing(type_: str) -> None:
    assert wrapper_of(type_) is None
    assert look(1, json.dumps({"type": type_, "payload": {"output": S}})) is None


@pytest.mark.parametrize(
    "text", ['{"type":"finish"}', '{"a":1,"type":"finish"}', '{ "type": "finish"}', '{"type":"f\\u0069nish"}']
)
def test_a_type_is_found_however_it_is_spelled(text: str) -> None:
    assert type_of(text) == "finish"


@pytest.mark.parametrize("text", ["", "{", '{"type":', '{"type":"', "[]", "7", '{"type":7}', "\x00", '{"type":"x"'])
def test_what_is_no_chunk_is_no_error(text: str) -> None:
    assert type_of(text) in ("", "x")
    assert look(1, text) is None


def test_what_is_nested_beyond_reason_is_no_error() -> None:
    deep = "[" * 10_000 + "]" * 10_000
    seen = look(1, '{"type":"tool-output","payload":{"output":' + deep + "}}")
    assert seen is not None
    assert seen.output is None or seen.output.inner is None


def test_reading_never_raises() -> None:
    decoder = msgspec.json.Decoder(int)
    assert read(decoder, "[") is None
    assert read(decoder, b"\xff") is None
    assert read(decoder, '"x"') is None
    assert read(decoder, "7") == 7

"""Whose a child is: by its name, by who opened it first, and never a run of somebody else."""

import json
from base64 import b32encode
from hashlib import sha256
from typing import Any

import pytest

from helpers.nesting import Pipeline, agent, around, chunk, records_of, tool_call, tool_output
from runwire.unwrapper.core.names import made_name, renamed, unfit


def test_a_made_name_is_what_the_contract_says() -> None:
    digits = b32encode(sha256(b"top\0tool-output\0c1").digest()).decode()[:26]
    assert made_name("top", "tool-output", "c1") == "~" + digits
    assert len(made_name("top", "tool-output", "c1")) == 27


@pytest.mark.parametrize("above", ["a", "b"])
def test_a_child_that_names_a_run_above_gets_a_name_of_its_own(above: str) -> None:
    p = Pipeline()
    p.publish("a", *around("a", "c1", around("b", "c2", agent(above, "round"))))
    p.run_dry()
    made = made_name("b", "tool-output", "c2")
    assert p.children("b") == [made]
    assert {c["runId"] for c in p.log(made)} == {made}
    assert p.types(made) == [c["type"] for c in agent("x", "round")]
    assert p.types("a")[-1] == "finish"
    assert p.codes() == []


def test_a_run_that_names_itself_is_no_loop() -> None:
    """Each level gets a name of its own, and the sixteenth is the last."""
    p = Pipeline()
    inner: Any = chunk("start", "a", {})
    for _ in range(40):
        inner = tool_output("a", "c", inner)
    p.publish("a", chunk("start", "a", {}), chunk("step-start", "a", {}), tool_call("a", "c"), inner)
    p.run_dry()
    assert max(p.lineage(run).depth for run in p.logs) == 16
    assert p.codes().count("nesting-too-deep") == 1
    assert len(p.logs) == 16


def test_a_renamed_chunk_keeps_everything_else_as_it_was_spelled() -> None:
    body = b'{"type":"text-delta","runId":"a","from":"AGENT","payload":{"id":"1","n":1.50,"runId":"a"},"x":[1.0]}'
    assert renamed("text-delta", body, "~X") == body.replace(b'"runId":"a","from"', b'"runId":"~X","from"')
    task = b'{"type":"background-task-running","runId":"a","payload":{"taskId":"t","runId":"a","v":1.0}}'
    assert renamed("background-task-running", task, "~X") == task.replace(b'"a"', b'"~X"')
    for odd in (b'{"type":"background-task-running","payload":null}', b'{"type":"background-task-running"}'):
        assert json.loads(renamed("background-task-running", odd, "~X")) == {**json.loads(odd), "runId": "~X"}


@pytest.mark.parametrize("name", ["", "~", "~enforcer", "~" + "A" * 26, "a\nb", "\x7f", "x" * 257, "é" * 129])
def test_a_name_that_nobody_may_use_makes_no_run(name: str) -> None:
    assert unfit(name) is not None
    p = Pipeline()
    p.publish("top", *around("top", "c1", agent(name, "hi")))
    p.run_dry()
    assert set(p.logs) == {"top"}
    assert set(p.codes()) == {"child-invalid"}
    assert p.types("top")[-1] == "finish"


@pytest.mark.parametrize("name", ["a", "é" * 128, "x" * 256, "\u00ad", "a b", "{x}", "a:b"])
def test_every_legal_name_makes_one(name: str) -> None:
    assert unfit(name) is None
    p = Pipeline()
    p.publish("top", *around("top", "c1", agent(name, "hi")))
    p.run_dry()
    assert p.types(name)[-1] == "finish"


# --- other people's runs ---------------------------------------------------------------------------------------------


def test_a_run_of_somebody_else_is_not_touched() -> None:
    p = Pipeline()
    p.publish("other", *agent("other", "mine"))
    p.run_dry()
    before = p.logs["other"]
    p.publish("top", *around("top", "c1", [*agent("other", "yours"), *agent("sub", "hi")]))
    p.run_dry()
    assert p.logs["other"] == before
    assert set(p.codes()) == {"run-author"}
    assert p.lineage("other").path == ()
    assert p.types("sub")[-1] == "finish"


def test_a_run_that_a_producer_opened_at_the_same_moment_is_no_child() -> None:
    """The claim is there before anybody has read either; the first record decides."""
    p = Pipeline()
    p.publish("top", *around("top", "c1", agent("other", "yours")))
    p.enforce()
    p.publish("other", *agent("other", "mine"))
    p.unwrap()
    p.run_dry()
    assert p.lineage("other").path == ()
    assert [c["payload"]["text"] for c in p.log("other") if c["type"] == "text-delta"] == ["mine"]


def test_the_first_of_two_parents_has_the_child() -> None:
    p = Pipeline()
    p.publish("one", *around("one", "c1", agent("sub", "first")))
    p.run_dry()
    p.publish("two", *around("two", "c2", agent("sub", "second")))
    p.run_dry()
    parent = p.lineage("sub").parent
    assert parent is not None
    assert (parent.run_id, parent.key) == ("one", "c1")
    assert [c["payload"]["text"] for c in p.log("sub") if c["type"] == "text-delta"] == ["first"]
    assert set(p.codes()) == {"run-author"}
    assert p.types("two")[-1] == "finish"


def test_of_two_claims_the_one_that_was_let_in_counts() -> None:
    p = Pipeline()
    p.publish("one", *around("one", "c1", agent("sub", "first")))
    p.publish("two", *around("two", "c2", agent("sub", "second")))
    p.run_dry()
    parent = p.lineage("sub").parent
    assert parent is not None
    told = {record.src for record in records_of(p, "sub")}
    assert told == {"~unwrap:one", "~unwrap:two"}
    assert "~unwrap:" + parent.run_id == records_of(p, "sub")[0].src

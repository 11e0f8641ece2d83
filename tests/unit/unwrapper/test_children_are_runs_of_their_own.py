"""The inner chunk is the next record of its own run: named, numbered and placed as the contract says."""

import json
from typing import Any

import pytest

from helpers.nesting import (
    Pipeline,
    agent,
    around,
    chunk,
    finish,
    records_of,
    step_finish,
    text,
    tool_call,
    tool_output,
    tool_result,
)
from runwire.grammar.invariants import broken_invariants
from runwire.unwrapper.core.names import made_name
from runwire.unwrapper.core.state import Limits


def nested(run: str, *names: str) -> list[dict[str, Any]]:
    """An agent in an agent in an agent …, the outermost first."""
    if not names:
        return agent(run, "leaf ")
    return around(run, f"c-{run}", nested(*names))


def test_a_child_has_the_whole_of_what_was_wrapped_and_its_parent_too() -> None:
    p = Pipeline()
    p.publish("top", *around("top", "c1", [*agent("sub", "hi ", "there"), {"type": "tick"}]))
    p.run_dry()
    alone = Pipeline()
    alone.publish("sub", *agent("sub", "hi ", "there"))
    alone.run_dry()
    assert p.logs["sub"] == alone.logs["sub"]
    assert p.types("top").count("tool-output") == len(agent("sub", "hi ", "there")) + 1
    assert p.codes() == []
    for run, log in p.logs.items():
        assert broken_invariants(run, log) == []


def test_a_childs_records_are_numbered_from_its_announcement() -> None:
    p = Pipeline()
    p.publish("top", *around("top", "c1", agent("sub", "hi")))
    p.run_dry()
    records = records_of(p, "sub")
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert {(record.src, record.epoch) for record in records} == {("~unwrap:top", 1)}
    assert [record.kind for record in records] == ["control", *["agent"] * (len(records) - 1)]
    parent = {"runId": "top", "wrapper": "tool-output", "key": "c1"}
    assert json.loads(records[0].body) == {"type": "run-start", "mode": "agent-loop", "parent": parent}


def test_one_level_is_taken_off_at_a_time() -> None:
    p = Pipeline()
    p.publish("a", *nested("a", "b", "c", "d"))
    p.run_dry()
    assert [p.lineage(run).depth for run in "abcd"] == [1, 2, 3, 4]
    assert [step.run_id for step in p.lineage("d").path] == ["a", "b", "c"]
    assert [step.key for step in p.lineage("d").path] == ["c-a", "c-b", "c-c"]
    assert [p.children(run) for run in "abcd"] == [["b"], ["c"], ["d"], []]
    assert p.types("d")[-1] == "finish"


def test_children_that_take_turns_keep_their_order() -> None:
    p = Pipeline()
    first, second = agent("one", "a", "b"), agent("two", "c", "d")
    mixed = [
        tool_output("top", f"c{n % 2}", value)
        for pair in zip(first, second, strict=True)
        for n, value in enumerate(pair)
    ]
    p.publish(
        "top", chunk("start", "top", {}), chunk("step-start", "top", {}), tool_call("top", "c0"), tool_call("top", "c1")
    )
    p.publish("top", *mixed, tool_result("top", "c0"), tool_result("top", "c1"), step_finish("top"), finish("top"))
    p.run_dry()
    assert p.children("top") == ["one", "two"]
    assert "".join(c["payload"]["text"] for c in p.log("one") if c["type"] == "text-delta") == "ab"
    assert "".join(c["payload"]["text"] for c in p.log("two") if c["type"] == "text-delta") == "cd"


# --- chunks without an address ---------------------------------------------------------------------------------------


def test_a_chunk_without_a_run_is_for_the_child_its_key_last_opened() -> None:
    p = Pipeline()
    tripwire = {"type": "tripwire", "payload": {"reason": "no"}}
    inner = [*agent("one", "a"), chunk("start", "two", {}), tripwire]
    p.publish("top", *around("top", "c1", inner))
    p.run_dry()
    assert "tripwire" in p.types("two")
    assert "tripwire" not in p.types("one")


def test_a_chunk_without_a_run_stays_where_nothing_was_opened() -> None:
    p = Pipeline()
    other = [tool_call("top", "c1"), tool_call("top", "c2"), tool_output("top", "c1", chunk("start", "sub", {}))]
    p.publish("top", chunk("start", "top", {}), chunk("step-start", "top", {}), *other)
    p.publish("top", tool_output("top", "c2", {"type": "error", "payload": {"error": "mine"}}))
    p.run_dry()
    assert p.types("sub") == ["start"]
    assert p.codes() == []


@pytest.mark.parametrize("named", ["sub", "else"])
def test_a_chunk_without_a_sender_must_not_name_another_run(named: str) -> None:
    p = Pipeline()
    p.publish("top", chunk("start", "top", {}), chunk("step-start", "top", {}), tool_call("top", "c1"))
    delta = {"type": "step-start", "runId": named, "payload": {}}
    p.publish("top", tool_output("top", "c1", chunk("start", "sub", {})), tool_output("top", "c1", delta))
    p.run_dry()
    assert p.types("sub") == (["start", "step-start"] if named == "sub" else ["start"])
    assert "else" not in p.logs


def test_a_renamed_child_gets_chunks_that_still_name_the_run_above() -> None:
    p = Pipeline()
    p.publish("top", chunk("start", "top", {}), chunk("step-start", "top", {}), tool_call("top", "c1"))
    inner = [chunk("start", "top", {}), {"type": "step-start", "runId": "top", "payload": {}}, {"type": "abort"}]
    p.publish("top", *(tool_output("top", "c1", value) for value in inner))
    p.run_dry()
    made = made_name("top", "tool-output", "c1")
    assert p.types(made)[:3] == ["start", "step-start", "abort"]
    assert {c["runId"] for c in p.log(made)} == {made}


# --- twins, attempts, bounds -----------------------------------------------------------------------------------------


def task(run: str, event: str, **more: Any) -> dict[str, Any]:
    payload = {"taskId": "t1", "toolCallId": "c1", "toolName": "slow", "runId": run, **more}
    return chunk(f"background-task-{event}", run, payload)


def test_what_comes_bare_and_from_its_task_is_one_child() -> None:
    p = Pipeline()
    p.publish("top", chunk("start", "top", {}), chunk("step-start", "top", {}), tool_call("top", "c1"))
    p.publish("top", task("top", "started"), task("top", "running"))
    for value in agent("sub", "a", "a", "b"):
        bare = tool_output("top", "c1", value)
        pair = [bare, task("top", "output", payload=bare)]
        p.publish("top", *(reversed(pair) if value["type"] == "text-end" else pair))
    p.publish("top", task("top", "completed", result=1), tool_result("top", "c1"), step_finish("top"), finish("top"))
    p.run_dry()
    assert p.codes() == []
    assert p.types("sub") == [c["type"] for c in agent("sub", "a", "a", "b")]
    assert sum("metadata" in c for c in p.log("top")) == len(agent("sub", "a", "a", "b"))


def test_children_follow_their_parents_attempt() -> None:
    p = Pipeline()
    p.enter("top", *around("top", "c1", agent("sub", "one")))
    p.run_dry()
    p.enter("top", *around("top", "c1", agent("sub", "two")), attempt=2, base=0)
    p.run_dry()
    records = [record for record in records_of(p, "sub") if record.epoch == 2]
    assert [record.seq for record in records] == list(range(1, len(agent("sub", "two")) + 2))
    assert p.account("top").attempt == 2
    assert p.children("top") == ["sub"]


def test_what_an_older_attempt_had_is_no_child_of_a_newer_one() -> None:
    """Its children are still stored while the first commit of the newer attempt is on its way."""
    p = Pipeline(partitions=1, page=1000)
    one, two, three = (agent(name, "x") for name in ("one", "two", "three"))
    p.enter("top", *around("top", "c1", [*three, *two, *one]))
    p.run_dry()
    outputs = [tool_output("top", "c1", value) for value in [*one, *two, *three]]
    p.enter("top", chunk("start", "top", {}), *outputs[: len(one) + 1], attempt=2, base=0)
    p.enter("top", *outputs[len(one) + 1 :], attempt=2, base=len(one) + 2)
    p.run_dry(batch=1)
    for run in ("one", "two", "three"):
        seqs = [record.seq for record in records_of(p, run) if record.epoch == 2]
        assert seqs == list(range(1, len(one) + 2))
    assert p.children("top") == ["one", "two", "three"]


def test_children_that_are_done_make_room_for_others() -> None:
    p = Pipeline(limits=Limits(open_children=2))
    both = [chunk("start", "a", {}), chunk("start", "b", {}), finish("a")]
    p.enter("top", *around("top", "c1", [*both, *agent("c", "x"), *agent("d", "x"), *agent("e", "x")]))
    p.run_dry()
    assert p.children("top") == ["a", "b", "c", "d", "e"]
    assert p.codes() == []


def test_a_child_that_is_done_is_still_known_by_its_name() -> None:
    """Its own background tasks may go on after its end, and its numbers go on with them, whoever unwraps then."""
    p = Pipeline()
    p.enter("top", *around("top", "c1", [*agent("sub", "x"), *agent("next", "x")])[:-2])
    p.run_dry()
    done = len(records_of(p, "sub"))
    p.restart()
    late = chunk("background-task-running", "sub", {"taskId": "t", "toolCallId": "c", "runId": "sub"})
    p.enter("top", tool_output("top", "c1", late))
    p.run_dry()
    assert [record.seq for record in records_of(p, "sub")] == list(range(1, done + 2))
    assert p.children("top") == ["sub", "next"]


def test_an_older_attempt_is_over() -> None:
    p = Pipeline()
    p.enter("top", *around("top", "c1", agent("sub", "two")), attempt=2)
    p.run_dry()
    posted = p.posted
    p.enter("top", *around("top", "c1", agent("late", "one")), attempt=1, base=0)
    p.run_dry()
    assert p.posted == posted


def test_nesting_ends_at_its_limit_with_evidence() -> None:
    p = Pipeline()
    names = [f"r{n}" for n in range(1, 20)]
    p.publish(names[0], *nested(*names))
    p.run_dry()
    assert set(p.logs) == set(names[:16])
    assert p.types("r16").count("tool-output") == len(nested(*names[16:]))
    (code,) = {item["code"] for item in p.evidence}
    assert code == "nesting-too-deep"
    assert {item["run"] for item in p.evidence} == {"r16"}
    # Told when they are 1, 2, 4, 8 … and each telling says for how many it stands.
    told = [item.get("count", 1) for item in p.evidence]
    assert told == [1, 1, 2, 4, 8][: len(told)]
    assert sum(told) <= len(nested(*names[16:])) < 2 * sum(told)


def levels(count: int) -> bytes:
    """A chunk in a chunk in a chunk …, each of another run."""
    head = b"".join(
        b'{"type":"tool-output","runId":"r%d","from":"USER","payload":{"toolCallId":"c","output":' % n
        for n in range(count)
    )
    return head + b"1" + b"}}" * count


@pytest.mark.parametrize("count", [40, 60, 10_000])
def test_levels_cost_sixteen_runs_however_many_there_are(count: int) -> None:
    p = Pipeline()
    p.publish("r0", chunk("start", "r0", {}), chunk("step-start", "r0", {}), tool_call("r0", "c"), levels(count))
    p.run_dry()
    if count < 64:
        assert set(p.logs) == {f"r{n}" for n in range(16)}
        assert p.codes() == ["nesting-too-deep"]
    else:
        # JSON of more than 128 levels is no chunk.
        assert set(p.logs) == {"r0"}
        assert p.codes() == ["undecodable"]


def test_levels_that_no_enforcer_lets_through_crash_nobody() -> None:
    p = Pipeline()
    p.enter("r0", chunk("start", "r0", {}), levels(10_000), tool_output("r0", "c", chunk("start", "sub", {})))
    p.run_dry()
    assert p.codes() == ["wrapper-unreadable"]
    assert p.types("sub") == ["start"]


def test_children_of_a_run_are_bounded() -> None:
    p = Pipeline(limits=Limits(children=5))
    p.publish("top", *around("top", "c1", [value for n in range(9) for value in agent(f"s{n}", "x")]))
    p.run_dry()
    assert p.children("top") == ["s0", "s1", "s2", "s3", "s4"]
    assert {"s5", "s8"}.isdisjoint(p.logs)
    assert set(p.codes()) == {"too-many-children"}


def test_open_children_of_a_run_are_bounded() -> None:
    p = Pipeline(limits=Limits(open_children=3))
    starts = [chunk("start", f"s{n}", {}) for n in range(5)]
    p.publish("top", *around("top", "c1", starts))
    p.run_dry()
    assert p.children("top") == ["s0", "s1", "s2"]
    assert set(p.codes()) == {"too-many-children"}
    assert all(p.types(f"s{n}")[-1] == "finish" for n in range(3)), "the call's answer ends them"


def test_a_key_without_end_makes_no_child() -> None:
    p = Pipeline()
    p.publish("top", *around("top", "c" * 1025, agent("sub", "x")))
    p.run_dry()
    assert set(p.logs) == {"top"}
    assert set(p.codes()) == {"child-invalid"}


def test_a_chunk_that_grows_over_the_limit_by_its_new_name_stays_wrapped() -> None:
    p = Pipeline(limits=Limits(chunk_bytes=300))
    p.enter("a", chunk("start", "a", {}), tool_output("a", "c", chunk("start", "a", {})))
    p.enter("a", tool_output("a", "c", chunk("data-x", "a", data="x" * 250)))
    p.run_dry()
    assert p.codes() == ["chunk-too-large"]
    assert p.types(made_name("a", "tool-output", "c")) == ["start"]


def test_a_stream_that_was_made_anew_opens_nothing_twice() -> None:
    p = Pipeline()
    p.enter("top", *around("top", "c1", agent("sub", "x")))
    p.run_dry()
    posted = p.posted
    p.enter("top", *around("top", "c1", agent("sub", "x")), base=0)
    p.run_dry()
    assert p.posted == posted


def test_text_is_helped_by_nobody() -> None:
    """The unwrapper judges nothing: what breaks the grammar breaks it in the child alone."""
    p = Pipeline()
    p.publish("top", *around("top", "c1", [*agent("sub", "x"), *text("sub", "after the end")]))
    p.run_dry()
    assert set(p.codes()) == {"chunk-after-terminal"}
    assert {item["run"] for item in p.evidence} == {"sub"}
    assert p.types("top")[-1] == "finish"

"""What a tree of runs used: own and subtree, nothing of it twice."""

from typing import Any

import pytest

from helpers.nesting import Pipeline, agent, around, chunk, finish
from helpers.trees import grown, nodes, total


def test_children_are_added_to_their_parents() -> None:
    p = Pipeline()
    p.publish("top", *around("top", "c1", [*agent("one", "x"), *agent("two", "x")]))
    p.run_dry()
    tree = grown(p, "top")
    assert (tree.own, total(tree), tree.complete) == ({}, 10, True)
    assert [(child.run_id, child.wrapper, child.key, total(child)) for child in tree.children] == [
        ("one", "tool-output", "c1", 5),
        ("two", "tool-output", "c1", 5),
    ]


def workflow(run: str, steps: list[Any], tokens: int) -> list[Any]:
    usage = {"output": {"usage": {"totalTokens": tokens}}, "workflowStatus": "success"}
    outputs = [chunk("workflow-step-output", run, {"output": value, "stepName": "s"}) for value in steps]
    return [chunk("start", run, {}), chunk("workflow-start", run, {}), *outputs, chunk("workflow-finish", run, usage)]


def test_a_workflows_sum_counts_only_where_no_child_is_known() -> None:
    p = Pipeline()
    p.enter("bare", *workflow("bare", [{"type": "tick"}], 7), finish("bare"))
    p.enter("full", *workflow("full", agent("sub", "x"), 5), finish("full"))
    p.run_dry()
    assert total(grown(p, "bare")) == 7
    assert (grown(p, "full").own, total(grown(p, "full"))) == ({}, 5)


def test_a_run_of_somebody_else_is_no_part_of_the_tree() -> None:
    p = Pipeline()
    p.publish("other", *agent("other", "x"))
    p.run_dry()
    p.publish("top", *around("top", "c1", agent("other", "x")))
    p.run_dry()
    tree = grown(p, "top")
    assert (tree.children, total(tree), tree.complete) == ((), 0, True)
    assert p.children("top") == ["other"]


def test_a_workflow_that_names_somebody_elses_run_has_no_child() -> None:
    p = Pipeline()
    p.publish("other", *agent("other", "x"))
    p.run_dry()
    p.enter("wf", *workflow("wf", agent("other", "x"), 7), finish("wf"))
    p.run_dry()
    assert (grown(p, "wf").children, total(grown(p, "wf"))) == ((), 7)


def test_a_child_that_was_not_seen_yet_is_there_and_incomplete() -> None:
    p = Pipeline()
    p.publish("top", *around("top", "c1", agent("sub", "x")))
    p.enforce()
    while p.unwrap():
        pass
    tree = grown(p, "top")
    assert [(child.run_id, child.account, child.complete) for child in tree.children] == [("sub", None, False)]
    assert not tree.complete


@pytest.mark.parametrize("limit", [1, 2, 5, 7])
def test_a_tree_is_no_larger_than_asked(limit: int) -> None:
    p = Pipeline()
    p.publish("top", *around("top", "c1", [value for n in range(6) for value in agent(f"s{n}", "x")]))
    p.run_dry()
    tree = grown(p, "top", limit)
    assert len(list(nodes(tree))) == limit
    assert tree.complete is (limit == 7)


def test_a_tree_in_the_middle_knows_how_deep_it_is() -> None:
    p = Pipeline()
    p.publish("a", *around("a", "c", around("b", "c", agent("c", "x"))))
    p.run_dry()
    assert [node.depth for node in nodes(grown(p, "b"))] == [2, 3]


def test_links_that_somebody_deleted_end_nothing() -> None:
    p = Pipeline()
    p.publish("top", *around("top", "c1", [*agent("one", "x"), *agent("two", "x")]))
    p.run_dry()
    del p.nest("top")["1"]
    assert [child.run_id for child in grown(p, "top").children] == ["two"]

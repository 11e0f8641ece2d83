"""Own usage is what a run's steps reported, else its finish; a workflow has none."""

from typing import Any

import pytest

from helpers.nesting import Pipeline, agent, chunk, finish, step_finish

FIVE = {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}
TEN = {"inputTokens": 6, "outputTokens": 4, "totalTokens": 10, "reasoningTokens": 1}


def own(*chunks: Any) -> dict[str, int]:
    p = Pipeline()
    p.enter("r", chunk("start", "r", {}), *chunks)
    p.run_dry()
    return p.account("r").usage


def test_steps_are_added_field_by_field() -> None:
    total = {"inputTokens": 9, "outputTokens": 6, "totalTokens": 15, "reasoningTokens": 1}
    assert own(step_finish("r", usage=FIVE), step_finish("r", usage=TEN)) == total


def test_a_finish_that_repeats_its_steps_is_not_added() -> None:
    assert own(step_finish("r", usage=FIVE), finish("r", usage=FIVE)) == FIVE
    assert own(step_finish("r", usage=FIVE), finish("r", usage=TEN)) == FIVE


def test_a_finish_counts_where_no_step_reported_any() -> None:
    assert own(step_finish("r"), finish("r", usage=FIVE)) == FIVE


@pytest.mark.parametrize("usage", [{}, {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}])
def test_a_finish_of_zeros_says_nothing(usage: dict[str, int]) -> None:
    assert own(step_finish("r"), finish("r", usage=usage)) == {}


@pytest.mark.parametrize(
    "usage", [None, 7, [], {"inputTokens": "3"}, {"inputTokens": -1}, {"inputTokens": True}, {"x": 3}]
)
def test_what_is_no_usage_is_none(usage: Any) -> None:
    assert own(chunk("step-finish", "r", {"output": {"usage": usage}}), chunk("finish", "r", None)) == {}


def test_sums_beyond_64_bits_are_kept() -> None:
    large = {"inputTokens": 2**62}
    assert own(*[step_finish("r", usage=large)] * 5) == {"inputTokens": 5 * 2**62}


def test_a_workflow_has_none_of_its_own() -> None:
    p = Pipeline()
    p.enter("wf", chunk("start", "wf", {}), chunk("workflow-start", "wf", {"workflowId": "w"}))
    p.enter("wf", chunk("workflow-finish", "wf", {"workflowStatus": "success", "output": {"usage": TEN}}))
    p.enter("wf", finish("wf", usage=TEN))
    p.run_dry()
    account = p.account("wf")
    assert (account.usage, account.workflow_usage, account.workflow_id) == ({}, TEN, "w")


def test_a_childs_usage_is_not_its_parents() -> None:
    p = Pipeline()
    p.publish("top", *agent("top", "x"))
    p.publish("other", *agent("other", "x", usage=TEN))
    p.run_dry()
    assert p.account("top").usage == FIVE
    assert p.account("other").usage == TEN

"""Whoever dies between writing to other partitions and committing: the same children come out, each record once.

Random trees of runs: calls in parallel, tasks, plain data, suspensions, cycles, whatever a run may leave open.
"""

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.nesting import (
    Pipeline,
    agent,
    chunk,
    finish,
    step_finish,
    text,
    tool_call,
    tool_output,
    tool_result,
)
from runwire.grammar.invariants import broken_invariants
from runwire.unwrapper.core.state import Limits

# Small, so that random trees reach every bound.
LIMITS = Limits(depth=4, children=5, open_children=3, key_bytes=12)


def merged(draw: st.DrawFn, streams: list[list[Any]]) -> list[Any]:
    """Several streams in one, each in its order."""
    left = [list(stream) for stream in streams if stream]
    out: list[Any] = []
    while left:
        stream = left[draw(st.integers(0, len(left) - 1))]
        out.append(stream.pop(0))
        left = [stream for stream in left if stream]
    return out


def task(run: str, call: str, event: str, **more: Any) -> dict[str, Any]:
    payload = {"taskId": f"t-{call}", "toolCallId": call, "toolName": "slow", "runId": run, **more}
    return chunk(f"background-task-{event}", run, payload)


@st.composite
def called(draw: st.DrawFn, run: str, call: str, depth: int, names: Iterator[str]) -> list[Any]:
    """A tool call of `run`, and all that it puts out."""
    if depth and draw(st.booleans()):
        inner = draw(stories(draw(st.sampled_from([next(names), next(names), run, "r0"])), depth - 1, names))
    else:
        inner = draw(
            st.lists(
                st.sampled_from([{"type": "tick"}, 7, {"type": "error"}, *agent(next(names), "x")[:3]]), max_size=4
            )
        )
    inner = inner[: draw(st.integers(0, len(inner)))] if draw(st.booleans()) else inner
    failed = draw(st.booleans())
    if draw(st.booleans()):
        outputs = [task(run, call, "output", payload=tool_output(run, call, value)) for value in inner]
        last = task(run, call, draw(st.sampled_from(["completed", "failed", "cancelled"])))
        return [tool_call(run, call), task(run, call, "started"), tool_result(run, call), *outputs, last]
    answer = tool_result(run, call, isError=failed)
    end = draw(st.sampled_from([[answer], [answer], []]))
    return [tool_call(run, call), *(tool_output(run, call, value) for value in inner), *end]


@st.composite
def stories(draw: st.DrawFn, run: str, depth: int, names: Iterator[str]) -> list[Any]:
    """One run from its start to whatever end it comes to."""
    calls = [
        draw(called(run, f"c{n}-{run}"[: draw(st.sampled_from([8, 40]))], depth, names))
        for n in range(draw(st.integers(0, 2)))
    ]
    body = merged(draw, [*calls, text(run, "a", "b")])
    ends = [[step_finish(run), finish(run)], [chunk("abort", run, {}), finish(run)], []]
    asks = [chunk("tool-call-approval", run, {"toolCallId": "ask", "toolName": "pay", "args": {}})]
    end = draw(st.sampled_from([*ends, [tool_call(run, "ask"), *asks]]))
    return [chunk("start", run, {"id": run}), chunk("step-start", run, {}), *body, *end]


def names() -> Iterator[str]:
    return iter(f"r{n}" for n in range(1, 1000))


roots = st.builds(lambda: None).flatmap(lambda _: stories("r0", 3, names()))


def played(
    story: list[Any], page: int, batch: int, crash: Callable[[], int | None] = lambda: None, cache: int = 1000
) -> Pipeline:
    p = Pipeline(3, limits=LIMITS, page=page, cache=cache)
    p.publish("r0", *story)
    p.run_dry(crash, batch)
    return p


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(roots, st.integers(1, 9), st.integers(1, 60), st.sampled_from([0, 1, 1000]), st.data())
def test_crashes_between_writing_and_committing_give_the_same_children(
    story: list[Any], page: int, batch: int, cache: int, data: st.DataObject
) -> None:
    expected = played(story, page=1000, batch=1000)
    deaths = iter(data.draw(st.lists(st.none() | st.integers(0, 30), max_size=12)))
    p = played(story, page, batch, lambda: next(deaths, None), cache)
    assert p.logs == expected.logs
    for run in p.logs:
        assert (p.account(run), p.lineage(run), p.children(run)) == (
            expected.account(run),
            expected.lineage(run),
            expected.children(run),
        )
        assert broken_invariants(run, p.logs[run]) == []
    # Of what was refused or repaired nothing is told twice, and nothing is missing.
    assert sorted((e["code"], e.get("run", ""), e.get("count", 1)) for e in p.evidence) == sorted(
        (e["code"], e.get("run", ""), e.get("count", 1)) for e in expected.evidence
    )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(roots, st.integers(1, 9))
def test_bounds_hold_for_every_tree(story: list[Any], page: int) -> None:
    p = played(story, page, batch=50)
    for run in p.logs:
        assert p.lineage(run).depth <= LIMITS.depth
        assert p.account(run).children <= LIMITS.children
        for name in p.children(run):
            parent = p.lineage(name).parent
            assert parent is not None
            assert parent.run_id == run

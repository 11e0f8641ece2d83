import json
from collections import Counter

import pytest

from runwire.chaos.content import TOKEN, Role, plan, run_id

WRITERS: list[tuple[Role, int]] = [("start", 0), ("replace", 1), ("join", 2)]

RUNS = [run_id(7, slot, number) for slot in range(3) for number in range(80)]


def test_the_same_run_has_the_same_records_in_every_process() -> None:
    for run in RUNS:
        assert plan(run, 2, "start") == plan(run, 2, "start")
    assert plan(RUNS[0], 0, "start") != plan(RUNS[1], 0, "start")
    assert plan(RUNS[0], 0, "start").records != plan(RUNS[0], 1, "start").records


def test_a_foreign_run_is_refused() -> None:
    with pytest.raises(ValueError, match="not a run of chaos"):
        plan("other", 0, "start")


def test_records_are_told_apart_by_call_and_body() -> None:
    """The checker finds a record in the raw stream by these two."""
    for run in RUNS:
        written = [
            (record.call, record.body)
            for role, generation in WRITERS
            for record in plan(run, generation, role).records
            if record.call
        ]
        assert max(Counter(written).values()) == 1


def test_every_delta_carries_the_token_of_its_place() -> None:
    for run in RUNS:
        for n, record in enumerate(plan(run, 3, "start").records):
            assert ("-delta" in json.loads(record.body)["type"]) == (record.token is not None)
            if record.token:
                found = TOKEN.search(record.text or "")
                assert found is not None
                assert (int(found[1]), int(found[2])) == (3, n)


def test_the_content_is_varied() -> None:
    plans = [plan(run, 0, "start") for run in RUNS]
    bodies = b"".join(record.body for p in plans for record in p.records)
    for kind in (b"thinking", b"tool_use", b"tool_result", b"image", b'"kind":"error"', b"run-start", b"run-end"):
        assert kind in bodies
    assert {p.mode for p in plans} == {"single-call", "agent-loop"}
    assert any(p.silent_after for p in plans)


@pytest.mark.parametrize("role", ["replace", "join", "abort"])
def test_a_successor_ends_the_run(role: Role) -> None:
    assert json.loads(plan(RUNS[0], 1, role).records[-1].body)["type"] == "run-end"

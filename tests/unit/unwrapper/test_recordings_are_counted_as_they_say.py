"""Every recorded agent stream: nested runs come out whole, and what they used is counted once."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from helpers import PROJECT, left_out
from helpers.nesting import Pipeline
from helpers.trees import grown, nodes, total
from runwire.grammar.invariants import broken_invariants

FOLDER = Path(os.environ.get("RUNWIRE_CORPUS") or PROJECT.parent / "shared" / "corpus") / "mastra-agent"
PATHS = sorted(FOLDER.glob("*.jsonl")) or left_out(f"no recorded agent streams in {FOLDER} (RUNWIRE_CORPUS)")
# Legs whose first one is another file: alone they open no run.
LEGS = ("m2-09", "m2-10")


def played(chunks: list[Any]) -> Pipeline:
    """A stream that spans turns has background chunks of earlier ones in it, which name their run in the payload."""
    p, turn = Pipeline(), ""
    for one in chunks:
        turn = one.get("runId", turn)
        task = one["type"].startswith("background-task-")
        p.publish(one["payload"].get("runId", turn) if task else turn, one)
    p.run_dry()
    return p


def wrapped(chunks: list[Any]) -> dict[str, list[Any]]:
    """The chunks of every run of a recording, however deep they are wrapped."""
    found: dict[str, list[Any]] = {}

    def visit(value: Any) -> None:
        if isinstance(value, dict) and isinstance(value.get("runId"), str) and "from" in value:
            found.setdefault(value["runId"], []).append(value)
            if value["type"] in ("tool-output", "workflow-step-output"):
                visit(value["payload"]["output"])

    for one in chunks:
        visit(one)
    return found


def reported(chunks: list[Any]) -> int:
    """What the steps of one run used."""
    steps = [one["payload"]["output"].get("usage") or {} for one in chunks if one["type"] == "step-finish"]
    return sum(usage.get("totalTokens") or 0 for usage in steps)


@pytest.mark.parametrize("path", [path for path in PATHS if not path.name.startswith(LEGS)], ids=lambda path: path.stem)
def test_a_recording_becomes_the_runs_in_it(path: Path) -> None:
    chunks = [json.loads(line) for line in path.read_bytes().splitlines()]
    p = played(chunks)
    expected = wrapped(chunks)
    assert expected.keys() <= p.logs.keys()
    roots = [run for run in p.logs if not p.lineage(run).path]
    found = {node.run_id: node for root in roots for node in nodes(grown(p, root))}
    assert found.keys() == p.logs.keys()
    for run, theirs in expected.items():
        assert broken_invariants(run, p.logs[run]) == []
        assert found[run].own.get("totalTokens", 0) == reported(theirs)
        assert said(p.log(run)) == said(theirs)
    assert sum(total(found[root]) for root in roots) == sum(map(reported, expected.values()))
    assert not {code for code in p.codes() if code.startswith(("run-", "chunk-", "nesting", "child", "too-many"))}


def said(chunks: list[Any]) -> str:
    """All text of a run."""
    return "".join(one["payload"]["text"] for one in chunks if one["type"] == "text-delta")


def test_the_recordings_hold_what_this_is_about() -> None:
    """Otherwise the test above proves nothing."""
    depths = {}
    for path in PATHS:
        if not path.name.startswith(LEGS):
            p = played([json.loads(line) for line in path.read_bytes().splitlines()])
            depths[path.name] = max(p.lineage(run).depth for run in p.logs)
    assert sorted(depths.values())[-3:] == [2, 2, 3]

"""Recorded agent streams go through the grammar: legal, whole, repaired only where a reviewed table says so."""

import json
from collections.abc import Iterator

import pytest

from conformance.mastra.accounts import contents_of, figures_of, sum_of, text_of
from conformance.mastra.reviewed import reviewed, row_of
from conformance.mastra.traces import Chunk, Told, names, runs, tell
from runwire.grammar.invariants import broken_invariants
from runwire_schemas import chunks

Legs = list[list[bytes]]
RUNS = [(trace, number, run, legs) for trace in names() for number, (run, legs) in enumerate(runs(trace).items(), 1)]
every_run = pytest.mark.parametrize(
    ("trace", "number", "run", "legs"), RUNS, ids=[f"{trace}-{number}" for trace, number, _, _ in RUNS]
)


@every_run
def test_the_log_keeps_its_invariants_and_its_bytes(trace: str, number: int, run: str, legs: Legs) -> None:
    told = tell(run, legs)
    assert broken_invariants(run, told.log) == []
    assert told.log == tell(run, legs, reload=True).log
    for chunk in told.log:
        chunks.decode(chunk)


@every_run
def test_no_text_result_or_data_is_lost(trace: str, number: int, run: str, legs: Legs) -> None:
    told = tell(run, legs)
    sent = [json.loads(body) for leg in legs for body in leg]
    assert text_of(told.chunks) == text_of(sent)
    assert contents_of(sent) - contents_of(told.chunks) == {}
    made = {json.loads(content)["type"] for content in contents_of(told.chunks) - contents_of(sent)}
    assert made <= {"text-start", "step-finish", "finish", "error", "data-run-suspended"}


@every_run
def test_the_figures_are_the_sums_of_the_steps(trace: str, number: int, run: str, legs: Legs) -> None:
    told = tell(run, legs)
    total = sum_of(json.loads(body) for leg in legs for body in leg)
    assert sum_of(told.chunks) == total
    finish = [chunk for chunk in told.chunks if chunk["type"] == "finish"]
    assert [figures_of(chunk["payload"]) for chunk in finish] == [total] * len(finish)


@every_run
def test_it_becomes_what_the_table_says(trace: str, number: int, run: str, legs: Legs) -> None:
    assert row_of(trace, number, legs, tell(run, legs)) == reviewed()[trace, number]


def test_the_table_has_no_other_runs() -> None:
    assert reviewed().keys() == {(trace, number) for trace, number, _, _ in RUNS}


# --- nested runs -----------------------------------------------------------------------------------------------------


def inside(bodies: Iterator[bytes]) -> Iterator[Chunk]:
    """The chunks that wrappers carry, one level down."""
    for body in bodies:
        payload = json.loads(body).get("payload")
        inner = payload.get("output", payload.get("payload")) if isinstance(payload, dict) else None
        if isinstance(inner, dict) and {"type", "runId", "from"} <= inner.keys():
            yield inner


def nested(bodies: Iterator[bytes]) -> dict[str, list[bytes]]:
    """The runs inside of a stream, at any depth, each with its own chunks."""
    found: dict[str, list[bytes]] = {}
    for inner in inside(bodies):
        found.setdefault(inner["runId"], []).append(
            json.dumps(inner, ensure_ascii=False, separators=(",", ":")).encode()
        )
    for stream in list(found.values()):
        for run, deeper in nested(iter(stream)).items():
            found.setdefault(run, []).extend(deeper)
    return found


CHILDREN = [
    (trace, run, stream)
    for trace, _, parent, legs in RUNS
    for run, stream in nested(body for leg in legs for body in leg).items()
    if run != parent
]


@pytest.mark.parametrize(("trace", "run", "stream"), CHILDREN, ids=[f"{trace}-{run[:4]}" for trace, run, _ in CHILDREN])
def test_what_a_stream_nests_is_a_legal_run_of_its_own(trace: str, run: str, stream: list[bytes]) -> None:
    told: Told = tell(run, [stream])
    assert broken_invariants(run, told.log) == []
    assert told.evidence == []
    assert told.machine.state.end == "stop"
    sent = [json.loads(body) for body in stream]
    assert text_of(told.chunks) == text_of(sent)
    assert contents_of(sent) - contents_of(told.chunks) == {}


def test_there_are_nested_runs() -> None:
    assert len(CHILDREN) >= 7


# --- legs that come alone --------------------------------------------------------------------------------------------


def test_a_resumed_leg_without_the_leg_before_opens_no_run() -> None:
    [(run, legs)] = runs("m2-10-declined-resumed-leg").items()
    told = tell(run, legs[1:])
    assert [found.code for found in told.evidence][:1] == ["run-unknown"]
    assert not told.machine.exists or told.log

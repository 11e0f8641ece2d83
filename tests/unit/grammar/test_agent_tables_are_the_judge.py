"""Agent blocks, tool calls, steps, tasks and runs: every state, every input; the machine does what the table says."""

from itertools import product
from typing import Any, get_args

import pytest

from runwire.grammar import lifecycle, steps
from runwire.grammar.agent import closing, inputs, tasks
from runwire.grammar.agent.tables import (
    BLOCKS,
    STEPS,
    TASKS,
    TOOLS,
    BlockInput,
    BlockState,
    StepInput,
    StepState,
    TaskEvent,
    TaskStates,
    ToolInput,
    ToolState,
)
from runwire.grammar.lifecycle import RUNS, RunInput, RunState
from unit.grammar.story import USAGE, Story, finish, loop, start, tool_block

STOP = {"stepResult": {"reason": "stop"}}
ID: dict[str, Any] = {"toolCallId": "t"}
NAMED = {**ID, "toolName": "f"}
DELTA = {**ID, "argsTextDelta": "{}"}


def test_the_tables_are_complete() -> None:
    for table, states, given in (
        (BLOCKS, BlockState, BlockInput),
        (TOOLS, ToolState, ToolInput),
        (STEPS, StepState, StepInput),
        (TASKS, TaskStates, TaskEvent),
        (RUNS, RunState, RunInput),
    ):
        assert set(table) == set(get_args(states))
        assert all(set(moves) == set(get_args(given)) for moves in table.values())


# --- blocks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stem", ["text", "reasoning"])
@pytest.mark.parametrize(("state", "given"), list(product(get_args(BlockState), get_args(BlockInput))))
def test_blocks(stem: closing.Stem, state: BlockState, given: BlockInput) -> None:
    story = Story()
    story.say("step-start")
    if state == "open":
        story.say(f"{stem}-start", id="a")
    told = len(story.chunks)
    match given:
        case "step-finish":
            story.say("step-finish", **STOP)
        case "leg or run ends":
            story.control({"type": "run-end", "reason": "suspended"})
        case _:
            story.say(f"{stem}-{given}", id="a", **({"text": "x"} if given == "delta" else {}))
    move = BLOCKS[state][given]
    assert story.codes == ([] if move.repair is None else [move.repair])
    assert (closing.block_key(stem, "a") in story.machine.state.agent_blocks) == (move.then == "open")
    said = [kind.removeprefix(f"{stem}-") for kind in story.types[told:] if kind.startswith(stem)]
    made = {"begin": "start", "close": "end", "emit": given}
    assert said == [made[do] for do in move.do]


# --- tool calls ------------------------------------------------------------------------------------------------------


def with_tool(state: ToolState) -> Story:
    story = loop()
    if state == "raw":
        story.all([*tool_block(id="t"), USAGE, finish("tool_calls")])
        return story
    story.say("step-start")
    match state:
        case "old":
            story.say("tool-call", **NAMED)
            story.say("step-finish", stepResult={"reason": "tool-calls"})
            story.say("step-start")
        case "streaming" | "ended" | "made":
            story.say("tool-call-input-streaming-start", **NAMED)
            story.say("tool-call-delta", **DELTA)
            if state != "streaming":
                story.say("tool-call-input-streaming-end", **ID)
            if state == "made":
                story.say("tool-call-approval", **ID)
        case "complete":
            story.say("tool-call", **NAMED)
        case "bad":
            story.say("tool-call-input-streaming-start", **NAMED)
            story.say("tool-call-input-streaming-end", **ID)
            story.machine.state.tools["t"].state = "bad"
        case "new":
            pass
    story.evidence.clear()
    story.machine.state.repairs.clear()
    return story


SAYING: dict[str, tuple[str, dict[str, Any]]] = {
    "input-start": ("tool-call-input-streaming-start", NAMED),
    "input-delta": ("tool-call-delta", {**DELTA, "toolName": "f"}),
    "input-end": ("tool-call-input-streaming-end", ID),
    "call": ("tool-call", {**NAMED, "args": {}}),
    "question": ("tool-call-approval", ID),
    "answer": ("tool-result", {**ID, "providerExecuted": True}),
    "step-finish": ("step-finish", STOP),
}
MADE = {"begin": "tool-call-input-streaming-start", "close": "tool-call-input-streaming-end", "make": "tool-call"}


# Streamed input in a step with raw output is model-output-mixed, unless it has the call.
TOOL_PAIRS = [
    (state, given)
    for state, given in product(get_args(ToolState), get_args(ToolInput))
    if not (state == "raw" and given in ("input-start", "input-delta", "input-end"))
]


@pytest.mark.parametrize(("state", "given"), TOOL_PAIRS)
def test_tool_calls(state: ToolState, given: ToolInput) -> None:
    story = with_tool(state)
    assert inputs.situation(story.machine.state, "t") == state
    told = len(story.chunks)
    if given == "leg ends":
        story.control({"type": "run-end", "reason": "suspended"})
    else:
        kind, payload = SAYING[given]
        story.say(kind, **payload)
    move = TOOLS[state][given]
    renamed = ["tool-call-id-renamed"] if state == "old" and "name" in move.do else []
    assert sorted(story.codes) == sorted([*([] if move.repair is None else [move.repair]), *renamed])
    said = [kind for kind in story.types[told:] if kind in MADE.values()]
    own = [SAYING[given][0]] if "emit" in move.do and SAYING[given][0] in MADE.values() else []
    assert said == [MADE[do] for do in move.do if do in MADE] + own
    if given not in ("answer", "step-finish"):
        assert inputs.situation(story.machine.state, "t") == move.then


# --- steps -----------------------------------------------------------------------------------------------------------


def in_step(state: StepState) -> Story:
    story = loop()
    if state == "open":
        story.say("step-start")
    elif state != "none":
        story.write(start())
        story.write({"type": "block-end", "index": 0, "block": {"kind": "text", "text": ""}})
    if state == "held":
        story.all([USAGE, finish()])
    return story


# A part without a call is model-output-mixed in a call's step, one with it is of the call.
STEP_PAIRS = [
    (state, given)
    for state, given in product(get_args(StepState), get_args(StepInput))
    if not (given == "part" and state in ("call", "held"))
]


@pytest.mark.parametrize(("state", "given"), STEP_PAIRS)
def test_steps(state: StepState, given: StepInput) -> None:
    story = in_step(state)
    assert steps.state_of(story.machine.state) == state
    told = len(story.chunks)
    chunks: dict[str, tuple[str, dict[str, Any]]] = {
        "step-start": ("step-start", {}),
        "part": ("text-start", {"id": "a"}),
        "step-finish": ("step-finish", STOP),
    }
    kind, payload = chunks[given]
    story.say(kind, **payload)
    move = STEPS[state][given]
    assert story.codes == ([] if move.repair is None else [move.repair])
    assert steps.state_of(story.machine.state) == move.then
    said = [name for name in story.types[told:] if name != "start"]
    made = {"open": ["step-start"], "close": ["step-finish"], "cut": [], "emit": [kind]}
    assert said == [name for do in move.do for name in made[do]]


# --- background tasks ------------------------------------------------------------------------------------------------


def task(event: str) -> tuple[str, dict[str, Any]]:
    more = {"payload": {"type": "data-x", "data": 1}} if event == "output" else {}
    return f"background-task-{event}", {"taskId": "k", **ID, "toolName": "f", **more}


@pytest.mark.parametrize(("state", "event"), list(product(get_args(TaskStates), get_args(TaskEvent))))
def test_tasks(state: TaskStates, event: TaskEvent) -> None:
    story = Story()
    story.say("tool-call", **NAMED)
    before = {"queued": "started", "running": "running", "suspended": "suspended", "ended": "failed"}.get(state)
    if before is not None:
        kind, payload = task(before)
        story.say(kind, **payload)
    story.evidence.clear()
    assert tasks.state_of(story.machine.state, "k") == state
    kind, payload = task(event)
    new = story.say(kind, **payload)
    move = TASKS[state][event]
    assert story.codes == ([] if move.repair is None else [move.repair])
    assert [chunk["type"] for chunk in new] == ([] if move.repair is not None else [kind])
    assert tasks.state_of(story.machine.state, "k") == move.then


# --- runs ------------------------------------------------------------------------------------------------------------


def in_run(state: RunState) -> Story:
    story = Story()
    story.say("step-start")
    kind, payload = task("running")
    if state != "sealed":
        story.say(kind, **payload)
    match state:
        case "suspended":
            story.control({"type": "run-end", "reason": "suspended"})
        case "ending":
            story.say("error")
        case "finished" | "sealed":
            story.say("finish", **STOP)
        case "open":
            pass
    return story


@pytest.mark.parametrize(("state", "given"), list(product(get_args(RunState), get_args(RunInput))))
def test_runs(state: RunState, given: RunInput) -> None:
    story = in_run(state)
    assert lifecycle.state_of(story.machine.state) == state
    leg, told = story.machine.state.leg, len(story.chunks)
    kind, payload = {
        "chunk": ("watch", {}),
        "step-finish": ("step-finish", STOP),
        "finish": ("finish", STOP),
        "task": ("background-task-running", {"taskId": "other", **ID}),
        "known task": task("running"),
    }[given]
    story.say(kind, **payload)
    taken = RUNS[state][given]
    assert story.codes == (["chunk-after-terminal"] if taken == "refused" else [])
    assert (len(story.chunks) > told) == (taken != "refused")
    assert (story.machine.state.leg > leg) == (taken == "next leg" and not story.machine.finished)
    if taken == "complete":
        assert story.machine.finished

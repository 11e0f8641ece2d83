"""The states of a run, and what it still takes in each: one table, which the rule `chunk-after-terminal` asks."""

from collections.abc import Mapping
from typing import Final, Literal, assert_never

from runwire.grammar.agent.types import type_of
from runwire.grammar.input import Input
from runwire.grammar.state import State
from runwire.grammar.tools import key

RunState = Literal["open", "suspended", "ending", "finished", "sealed"]
RunInput = Literal["chunk", "step-finish", "finish", "task", "known task"]
# `next leg`: the chunk begins it first. `complete`: it completes the ending.
Taken = Literal["taken", "next leg", "complete", "refused"]

_ALL: Final[tuple[RunInput, ...]] = ("chunk", "step-finish", "finish", "task", "known task")


def _all(of: Taken, **other: Taken) -> Mapping[RunInput, Taken]:
    named: Mapping[str, Taken] = {name.replace("_", " "): taken for name, taken in other.items()}
    return {given: named.get(given, named.get(given.replace("-", " "), of)) for given in _ALL}


# In an ending run `step-finish` means the one of the step that is still open.
RUNS: Final[Mapping[RunState, Mapping[RunInput, Taken]]] = {
    "open": _all("taken"),
    "suspended": _all("next leg", task="taken", known_task="taken"),
    "ending": _all("refused", step_finish="taken", finish="complete", task="taken", known_task="taken"),
    "finished": _all("refused", known_task="taken"),
    "sealed": _all("refused"),
}


def state_of(state: State) -> RunState:
    if state.end:
        return "finished" if state.tasks else "sealed"
    if state.ending is not None:
        return "ending"
    return "suspended" if state.suspended else "open"


def given(state: State, x: Input) -> RunInput:
    """What a record's chunk is to its run."""
    if x.record.kind != "agent":
        return "chunk"
    role = type_of(x.type).role
    match role:
        case "task":
            return "known task" if _knows(state, x) else "task"
        case "finish":
            return "finish"
        case "step-finish":
            return "step-finish" if state.step_open else "chunk"
        case (
            "start" | "step-start" | "stop" | "block" | "signature" | "input-start" | "input-delta" | "input-end"
            | "call" | "content" | "question" | "answer" | "pause" | "mark" | "workflow-finish" | "workflow-canceled"
            | "network-finish" | "plain" | "unknown"
        ):  # fmt: skip
            return "chunk"
        case _:
            assert_never(role)


def takes(state: State, x: Input) -> bool:
    return RUNS[state_of(state)][given(state, x)] != "refused"


def _knows(state: State, x: Input) -> bool:
    """Whether a background chunk is of a task of the run; a snapshot counts every task of its agent."""
    if x.type == "background-task-progress":
        return True
    task = x.text("taskId")
    return task in state.tasks or key(task) in state.ended_tasks

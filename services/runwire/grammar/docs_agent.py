"""The part of docs/grammar.md about agent chunks, generated from the tables that the machine asks."""

from collections.abc import Mapping
from typing import Any, Final, get_args

from runwire.grammar.agent.frames import WORKFLOWS
from runwire.grammar.agent.tables import (
    BLOCKS,
    STEPS,
    TASKS,
    TOOLS,
    BlockInput,
    StepInput,
    TaskEvent,
    TaskMove,
    ToolInput,
)
from runwire.grammar.agent.types import TYPES, ChunkType
from runwire.grammar.lifecycle import RUNS, RunInput
from runwire.grammar.markdown import table
from runwire.grammar.repairs import REPAIRS

_TYPES: Final = """\
## Agent chunks

What an agent's runtime publishes: all types of the seed, and those that real runtimes send beside them. A missing
envelope (`runId`, `from`, a flat payload) is filled, extra fields are kept, and what a chunk *does* decides where it
may stand. Types that are not listed here are passed on, also all `data-*` (with `data`) and the families
`routing-agent-*`, `agent-execution-*`, `workflow-execution-*`, `tool-execution-*` and `network-*`. Any other type
becomes `raw`.
"""

_BLOCKS: Final = """\
### Text and reasoning

An agent's block by its family and its id, which becomes `<n>:<its id>`; n counts the run's blocks. Each cell says what
the block is then; *begin* and *close* make a start and an end that did not come, *emit* passes the chunk on; a code is
a repair.
"""

_TOOLS: Final = """\
### Tool calls

A tool call by its id. `old`: an answered call or another step has the id; `raw`: a call of the step's raw output that
is not bad; `made`: made from its deltas, the real one is awaited. *name* remembers a new call, *begin* makes its
streaming-start, *close* the -end, *make* the `tool-call` from the deltas (if they are no object the call is bad), *cut*
gives the call up. An answer needs a call that was named, or `providerExecuted` (then it has `metadata.orphan`).
"""

_STEPS: Final = """\
### Steps

`call`: a raw call is open in the step; `held`: it has finished. A `part` is a block or a tool call.
"""

_TASKS: Final = """\
### Background tasks

A task in its run's log. A finished run takes chunks of the tasks that it knows, and is sealed when none is live. A task
that gives no sign of life for too long is failed, a suspended one cancelled. While a task of a call is live, output
that comes both bare and in `background-task-output` is recognized: the second has `metadata.twinOf`.
"""

_RUNS: Final = """\
### Runs

What a run still takes. After an agent's `error`, `abort` or `tripwire` it is *ending*: its step-finish and finish, a
`run-end` or silence complete it. It is *suspended* after `run-end` {suspended}; or by silence after
`tool-call-approval`, `tool-call-suspended`, `workflow-paused`, `workflow-step-suspended`, a network's `…-approval` and
`…-suspended`, or a `workflow-finish` that says so, once every other call is answered. `data-run-suspended` {leg,
toolCallIds} marks it.
"""

_WORKFLOWS: Final = """\
### Workflows and networks

`workflow-finish` ends its run (any other status: reason `other`), and so does `network-execution-event-finish`. After
`workflow-canceled` the run is aborted, whatever ends it.
"""

_REPAIRS: Final = """\
## Repairs

Each code is evidence once per run, then counted.
"""


def parts() -> list[str]:
    """The sections, in order."""
    return [
        _TYPES,
        table(
            ("type", "required", "filled", "does"), (_type(name, kind) for name, kind in TYPES.items() if _told(kind))
        ),
        _BLOCKS,
        _moves("block", BLOCKS, get_args(BlockInput)),
        _TOOLS,
        _moves("call", TOOLS, get_args(ToolInput)),
        _STEPS,
        _moves("step", STEPS, get_args(StepInput)),
        _TASKS,
        table(
            ("task →", *TASKS),
            ((f"`{event}`", *(_task(moves[event]) for moves in TASKS.values())) for event in get_args(TaskEvent)),
        ),
        _RUNS,
        table(
            ("run →", *RUNS),
            ((f"`{given}`", *(moves[given] for moves in RUNS.values())) for given in get_args(RunInput)),
        ),
        _WORKFLOWS,
        table(
            ("workflowStatus", "its run"), ((f"`{status}`", cause or "waits") for status, cause in WORKFLOWS.items())
        ),
        _REPAIRS,
        table(("code", "what"), ((f"`{code}`", what) for code, what in REPAIRS.items())),
    ]


def _told(kind: ChunkType) -> bool:
    return kind.role != "plain" or bool(kind.required)


def _type(name: str, kind: ChunkType) -> tuple[str, str, str, str]:
    required = ", ".join(f"`{field.name}`" for field in kind.required)
    filled = ", ".join(f"`{field}`" for field, _ in kind.filled)
    return f"`{name}`", required or "–", filled or "–", kind.role


def _moves(name: str, moves: Mapping[Any, Mapping[Any, Any]], inputs: tuple[str, ...]) -> str:
    cells = ([f"`{given}`", *(_move(move[given]) for move in moves.values())] for given in inputs)
    return table((f"{name} →", *moves), cells)


def _move(move: Any) -> str:
    said = f"**{move.then}**"
    if move.do:
        said += f": {', '.join(move.do)}"
    return said if move.repair is None else f"{said} (`{move.repair}`)"


def _task(move: TaskMove) -> str:
    return f"**{move.then}**" if move.repair is None else f"`{move.repair}`"

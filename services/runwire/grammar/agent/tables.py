"""What agent chunks do to blocks, tool calls, tasks and steps: every state and every input. Code asks these tables."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from runwire.grammar.repairs import RepairCode

# --- text and reasoning, by family and id ----------------------------------------------------------------------------

BlockState = Literal["closed", "open"]
BlockInput = Literal["start", "delta", "end", "step-finish", "leg or run ends"]
# `begin` and `close` make a start and an end that did not come; `emit` passes the chunk itself on.
BlockDo = Literal["begin", "close", "emit"]


class BlockMove(NamedTuple):
    then: BlockState
    do: tuple[BlockDo, ...]
    repair: RepairCode | None = None


BLOCKS: Final[Mapping[BlockState, Mapping[BlockInput, BlockMove]]] = {
    "closed": {
        "start": BlockMove("open", ("emit",)),
        "delta": BlockMove("open", ("begin", "emit"), "block-opened"),
        "end": BlockMove("closed", (), "block-end-unopened"),
        "step-finish": BlockMove("closed", ()),
        "leg or run ends": BlockMove("closed", ()),
    },
    "open": {
        "start": BlockMove("open", ("close", "emit"), "block-restarted"),
        "delta": BlockMove("open", ("emit",)),
        "end": BlockMove("closed", ("emit",)),
        "step-finish": BlockMove("closed", ("close",), "block-closed"),
        "leg or run ends": BlockMove("closed", ("close",)),
    },
}

# --- tool calls, by id -----------------------------------------------------------------------------------------------

# `old` is an id that an answered call or another step used: a chunk that names a call anew is a new call. `raw` is a
# call of the open step's raw output, as far as it is not bad. `made` was made from the deltas, and still awaits the
# real one.
ToolState = Literal["new", "old", "streaming", "ended", "made", "complete", "bad", "raw"]
ToolInput = Literal["input-start", "input-delta", "input-end", "call", "question", "answer", "step-finish", "leg ends"]
# `name` remembers a new call, `begin` makes its streaming-start, `close` the -end, `make` the tool-call, `cut` gives
# the call up; `emit` passes the chunk itself on.
ToolDo = Literal["name", "begin", "close", "make", "cut", "emit"]


class ToolMove(NamedTuple):
    """`then` is what the call is afterwards, if its arguments are an object; made of others it is bad."""

    then: ToolState
    do: tuple[ToolDo, ...] = ()
    repair: RepairCode | None = None


_NEW: Final[Mapping[ToolInput, ToolMove]] = {
    "input-start": ToolMove("streaming", ("name", "emit")),
    "input-delta": ToolMove("streaming", ("name", "begin", "emit"), "tool-input-opened"),
    "input-end": ToolMove("new", (), "tool-input-unopened"),
    "call": ToolMove("complete", ("name", "emit")),
    "question": ToolMove("new", ("emit",)),
    "answer": ToolMove("old", ("emit",)),
    "step-finish": ToolMove("new"),
    "leg ends": ToolMove("new"),
}


def _over(
    state: ToolState, call: ToolMove, ask: tuple[ToolDo, ...] = (), code: RepairCode | None = None
) -> Mapping[ToolInput, ToolMove]:
    """A call whose input is over: more of it is swallowed."""
    swallowed = ToolMove(state, (), "tool-input-repeated")
    asked: ToolState = "made" if ask else state
    return {
        "input-start": swallowed,
        "input-delta": swallowed,
        "input-end": swallowed,
        "call": call,
        "question": ToolMove(asked, (*ask, "emit"), code),
        "answer": ToolMove("old", (*ask, "emit"), code),
        "step-finish": ToolMove(asked, ask, code),
        "leg ends": ToolMove(state),
    }


TOOLS: Final[Mapping[ToolState, Mapping[ToolInput, ToolMove]]] = {
    "new": _NEW,
    "old": {
        **_NEW,
        "input-end": ToolMove("old", (), "tool-input-unopened"),
        "question": ToolMove("old", ("emit",)),
        "step-finish": ToolMove("old"),
        "leg ends": ToolMove("old"),
    },
    "streaming": {
        "input-start": ToolMove("streaming", (), "tool-input-repeated"),
        "input-delta": ToolMove("streaming", ("emit",)),
        "input-end": ToolMove("ended", ("emit",)),
        "call": ToolMove("complete", ("close", "emit"), "tool-input-closed"),
        "question": ToolMove("made", ("close", "make", "emit"), "tool-input-closed"),
        "answer": ToolMove("old", ("close", "make", "emit"), "tool-input-closed"),
        "step-finish": ToolMove("bad", ("close", "cut"), "tool-input-cut"),
        "leg ends": ToolMove("ended", ("close",)),
    },
    "ended": _over("ended", ToolMove("complete", ("emit",)), ("make",), "tool-call-made"),
    "made": _over("made", ToolMove("complete")),
    "complete": _over("complete", ToolMove("complete", (), "tool-call-repeated")),
    "bad": _over("bad", ToolMove("complete", ("emit",))),
    "raw": _over("raw", ToolMove("raw")),
}

# --- steps -----------------------------------------------------------------------------------------------------------

# `call`: a raw call is open in the step; `held`: it has finished.
StepState = Literal["none", "open", "call", "held"]
StepInput = Literal["step-start", "part", "step-finish"]
# `open` makes a step-start, `close` closes the step as its call or an `other` says; `cut` ends the call first.
StepDo = Literal["open", "close", "cut", "emit"]


class StepMove(NamedTuple):
    then: StepState
    do: tuple[StepDo, ...] = ()
    repair: RepairCode | None = None


# A `part` is a block or a tool call: the model's output of a step.
STEPS: Final[Mapping[StepState, Mapping[StepInput, StepMove]]] = {
    "none": {
        "step-start": StepMove("open", ("emit",)),
        "part": StepMove("open", ("open", "emit"), "step-opened"),
        "step-finish": StepMove("none", ("open", "emit"), "step-opened"),
    },
    "open": {
        "step-start": StepMove("open", ("close", "emit"), "step-closed"),
        "part": StepMove("open", ("emit",)),
        "step-finish": StepMove("none", ("emit",)),
    },
    "call": {
        "step-start": StepMove("call", (), "step-start-late"),
        "part": StepMove("call", ("emit",)),
        "step-finish": StepMove("none", ("cut", "emit"), "call-cut"),
    },
    "held": {
        "step-start": StepMove("open", ("close", "emit")),
        "part": StepMove("held", ("emit",)),
        "step-finish": StepMove("none", ("emit",)),
    },
}

# --- background tasks ------------------------------------------------------------------------------------------------

TaskStates = Literal["new", "queued", "running", "suspended", "ended"]
TaskEvent = Literal["started", "running", "resumed", "suspended", "completed", "failed", "cancelled", "output"]


class TaskMove(NamedTuple):
    then: TaskStates
    repair: RepairCode | None = None


def _live(state: TaskStates, **other: TaskStates) -> Mapping[TaskEvent, TaskMove]:
    ends = dict.fromkeys(("completed", "failed", "cancelled"), TaskMove("ended"))
    return {
        "started": TaskMove(other.get("started", state)),
        "running": TaskMove("running"),
        "resumed": TaskMove("running"),
        "suspended": TaskMove("suspended"),
        "output": TaskMove(state),
        **ends,  # type: ignore[dict-item]
    }


_GONE: Final = TaskMove("ended", "task-ended")
TASKS: Final[Mapping[TaskStates, Mapping[TaskEvent, TaskMove]]] = {
    "new": _live("new", started="queued"),
    "queued": _live("queued"),
    "running": _live("running"),
    "suspended": _live("suspended"),
    "ended": {
        "started": TaskMove("ended"),
        "running": _GONE,
        "resumed": _GONE,
        "suspended": _GONE,
        "completed": _GONE,
        "failed": _GONE,
        "cancelled": _GONE,
        "output": TaskMove("ended"),
    },
}

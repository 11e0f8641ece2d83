"""Which chunks of a log matter here. Nearly all do not, and are told by their first bytes."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

import msgspec

from runwire.unwrapper.core.wrappers import Output, opened, read, wrapper_of

_HEAD: Final = '{"type":"'
_EXECUTIONS: Final = ("agent-execution-", "workflow-execution-")


class Role(Enum):
    """What a chunk means for the runs in its log."""

    OUTPUT = "output"  # it wraps something
    START = "start"
    ANSWER = "answer"  # of a tool call
    TASK_LIVES = "task-lives"
    TASK_ENDS = "task-ends"
    STEP_START = "step-start"
    STEP_END = "step-end"
    EXECUTION_END = "execution-end"
    STEP_FINISH = "step-finish"
    WORKFLOW_FINISH = "workflow-finish"
    FINISH = "finish"


_ROLES: Final[Mapping[str, Role]] = {
    "start": Role.START,
    "workflow-start": Role.START,
    "tool-output": Role.OUTPUT,
    "step-output": Role.OUTPUT,
    "workflow-step-output": Role.OUTPUT,
    "background-task-output": Role.OUTPUT,
    "tool-result": Role.ANSWER,
    "tool-error": Role.ANSWER,
    "tool-output-denied": Role.ANSWER,
    "background-task-started": Role.TASK_LIVES,
    "background-task-running": Role.TASK_LIVES,
    "background-task-suspended": Role.TASK_LIVES,
    "background-task-resumed": Role.TASK_LIVES,
    "background-task-completed": Role.TASK_ENDS,
    "background-task-failed": Role.TASK_ENDS,
    "background-task-cancelled": Role.TASK_ENDS,
    "workflow-step-start": Role.STEP_START,
    "workflow-step-result": Role.STEP_END,
    "workflow-step-finish": Role.STEP_END,
    "agent-execution-end": Role.EXECUTION_END,
    "agent-execution-abort": Role.EXECUTION_END,
    "workflow-execution-end": Role.EXECUTION_END,
    "workflow-execution-abort": Role.EXECUTION_END,
    "step-finish": Role.STEP_FINISH,
    "workflow-finish": Role.WORKFLOW_FINISH,
    "finish": Role.FINISH,
}


class Look(NamedTuple):
    """Chunk `seq` of a log, and why it matters. `output` is None for what wraps nothing or cannot be read."""

    seq: int
    type: str
    role: Role
    chunk: str
    output: Output | None


class _Typed(msgspec.Struct):
    type: Any = None


_typed: Final = msgspec.json.Decoder(_Typed)


def look(seq: int, chunk: str) -> Look | None:
    """None for a chunk that changes nothing."""
    chunk_type = type_of(chunk)
    role = _ROLES.get(chunk_type)
    if role is not None and role is not Role.OUTPUT:
        return Look(seq, chunk_type, role, chunk, None)
    if role is None and not chunk_type.startswith(_EXECUTIONS):
        return None
    wrapper = wrapper_of(chunk_type)
    return None if wrapper is None else Look(seq, chunk_type, Role.OUTPUT, chunk, opened(wrapper, chunk))


def type_of(chunk: str) -> str:
    """The type; "" for what has none. Logs begin every chunk with it."""
    if chunk.startswith(_HEAD):
        end = chunk.find('"', len(_HEAD))
        name = chunk[len(_HEAD) : end]
        if "\\" not in name:
            return name
    found = read(_typed, chunk)
    return found.type if found is not None and isinstance(found.type, str) else ""

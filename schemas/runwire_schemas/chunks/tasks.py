"""Background tasks: tool calls that outlive the step, and often the run, that started them.

Times are ISO 8601 in UTC, whatever the runtime wrote.
"""

from runwire_schemas.chunks.base import UNSET, Chunk, Flag, Number, Opaque, Payload, Raw, Text


class TaskPayload(Payload, frozen=True, kw_only=True):
    task_id: str
    tool_call_id: str
    tool_name: Text = UNSET


class TaskOfRunPayload(TaskPayload, frozen=True, kw_only=True):
    """`run_id` and `agent_id` are those of the agent that dispatched the task."""

    run_id: Text = UNSET
    agent_id: Text = UNSET


class TaskRunningPayload(TaskOfRunPayload, frozen=True, kw_only=True):
    started_at: Text = UNSET
    args: Opaque = UNSET


class TaskProgressPayload(Payload, frozen=True, kw_only=True):
    """A snapshot over all tasks of an agent. `elapsed_ms` counts from the agent's start."""

    task_ids: list[str]
    running_count: int
    elapsed_ms: Number = UNSET


class TaskOutputPayload(TaskOfRunPayload, frozen=True, kw_only=True):
    """`payload` is the inner chunk: `tool-output`, or `data-<name>`."""

    payload: Raw


class TaskCompletedPayload(TaskOfRunPayload, frozen=True, kw_only=True):
    """`is_error` tells that the tool returned an error instead of raising one."""

    result: Opaque = UNSET
    completed_at: Text = UNSET
    is_error: Flag = UNSET


class TaskFailedPayload(TaskOfRunPayload, frozen=True, kw_only=True):
    """`error` is {message, …}."""

    error: Opaque = UNSET
    completed_at: Text = UNSET


class TaskSuspendedPayload(TaskOfRunPayload, frozen=True, kw_only=True):
    suspend_data: Opaque = UNSET
    suspended_at: Text = UNSET
    args: Opaque = UNSET


class TaskCancelledPayload(TaskOfRunPayload, frozen=True, kw_only=True):
    completed_at: Text = UNSET


class BackgroundTaskStarted(Chunk, frozen=True, kw_only=True, tag="background-task-started"):
    """The task is queued."""

    payload: TaskOfRunPayload


class BackgroundTaskRunning(Chunk, frozen=True, kw_only=True, tag="background-task-running"):
    payload: TaskRunningPayload


class BackgroundTaskProgress(Chunk, frozen=True, kw_only=True, tag="background-task-progress"):
    payload: TaskProgressPayload


class BackgroundTaskOutput(Chunk, frozen=True, kw_only=True, tag="background-task-output"):
    payload: TaskOutputPayload


class BackgroundTaskCompleted(Chunk, frozen=True, kw_only=True, tag="background-task-completed"):
    payload: TaskCompletedPayload


class BackgroundTaskFailed(Chunk, frozen=True, kw_only=True, tag="background-task-failed"):
    """The task raised an error or took too long."""

    payload: TaskFailedPayload


class BackgroundTaskSuspended(Chunk, frozen=True, kw_only=True, tag="background-task-suspended"):
    payload: TaskSuspendedPayload


class BackgroundTaskResumed(Chunk, frozen=True, kw_only=True, tag="background-task-resumed"):
    payload: TaskRunningPayload


class BackgroundTaskCancelled(Chunk, frozen=True, kw_only=True, tag="background-task-cancelled"):
    payload: TaskCancelledPayload

"""Background tasks as far as their run's log goes: transitions by the table, dates, and silence that ends a task."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, get_args

from runwire.grammar import endings, normalize, tools
from runwire.grammar.agent import twins
from runwire.grammar.agent.draft import Draft
from runwire.grammar.agent.tables import TASKS, TaskEvent, TaskMove, TaskStates
from runwire.grammar.agent.types import BACKGROUND
from runwire.grammar.input import Input
from runwire.grammar.jsontext import Json
from runwire.grammar.normalize import text
from runwire.grammar.run import Run, shown
from runwire.grammar.state import State, Task

_DATES: Final = ("startedAt", "completedAt", "suspendedAt")
_EVENTS: Final = {f"{BACKGROUND}{event}": event for event in get_args(TaskEvent)}


def state_of(state: State, task_id: str) -> TaskStates:
    task = state.tasks.get(task_id)
    if task is not None:
        return task.state
    return "ended" if tools.key(task_id) in state.ended_tasks else "new"


def apply(run: Run, x: Input, draft: Draft) -> None:
    """A background chunk of the run takes effect."""
    for name in _DATES:
        _date(x.payload.get(name), name, draft)
    event = _EVENTS.get(draft.type)
    if event is None:
        _progress(run, x, draft)
        return
    task_id = x.text("taskId")
    move = TASKS[state_of(run.state, task_id)][event]
    if move.repair is not None:
        run.repair(move.repair, f"{draft.type} of task {shown(task_id)}, which has ended")
        return
    call = _call_of(run.state, x)
    draft.put("toolCallId", text(call))
    if event == "output":
        twins.wrapped(run, x, draft, call)
    run.append(draft.encode(run.run_id))
    _move(run, x, move, call)


def _progress(run: Run, x: Input, draft: Draft) -> None:
    """A snapshot: a sign of life of every task that it names."""
    listed = x.payload.get("taskIds")
    for name in listed if isinstance(listed, list) else ():
        task = run.state.tasks.get(name) if isinstance(name, str) else None
        if task is not None:
            task.last = x.record.id
    run.append(draft.encode(run.run_id))


def _call_of(state: State, x: Input) -> str:
    task = state.tasks.get(x.text("taskId"))
    return task.call if task is not None else tools.current(state, x.text("toolCallId"))


def _move(run: Run, x: Input, move: TaskMove, call: str) -> None:
    state, task_id = run.state, x.text("taskId")
    task = state.tasks.get(task_id)
    match move.then:
        case "new":
            return
        case "ended":
            end(run, task_id)
        case "queued" | "running" | "suspended":
            if task is None:
                named = tools.named(state, call)
                task = state.tasks[task_id] = Task(call, x.text("toolName"), move.then, x.record.id, named)
                state.task_size += _size(task_id, task)
            task.state, task.last = move.then, x.record.id
    known = state.tools.get(call) or state.answered.get(call)
    if known is not None:
        known.task = True


def _size(task_id: str, task: Task) -> int:
    return len(task_id) + len(task.call) + len(task.name)


def end(run: Run, task_id: str) -> None:
    """The task is over; with the last one a finished run is sealed."""
    state = run.state
    task = state.tasks.pop(task_id, None)
    if task is not None:
        state.task_size -= _size(task_id, task)
        twins.forget(state, task.call)
    name = tools.key(task_id)
    if name not in state.ended_tasks:
        state.ended_tasks.append(name)
        del state.ended_tasks[: -run.limits.ended_tasks]
    if run.sealed:
        endings.seal(run)


def expire(run: Run, silent: Callable[[Task], bool], record_id: str) -> None:
    """Tasks that were silent for too long: failed, or cancelled if they were suspended."""
    for task_id, task in list(run.state.tasks.items()):
        if silent(task):
            how = "cancelled" if task.state == "suspended" else "failed"
            message = "the background task gave no sign of life for too long"
            error = normalize.obj(("code", text("task-timeout")), ("message", text(message)))
            payload = normalize.obj(
                ("taskId", text(task_id)),
                ("toolName", text(task.name) if task.name else None),
                ("toolCallId", text(task.call)),
                ("runId", text(run.run_id)),
                ("error", error if how == "failed" else None),
                ("completedAt", text(_iso(int(record_id.partition("-")[0] or 0)))),
            )
            run.emit_own(f"{BACKGROUND}{how}", payload)
            end(run, task_id)


# --- dates -----------------------------------------------------------------------------------------------------------

_LATEST_MS: Final = 253_402_300_799_999  # the end of the year 9999


def _date(given: Json, name: str, draft: Draft) -> None:
    """Epoch milliseconds and dates of other zones become ISO 8601 in UTC; what is no date stays as it is."""
    if isinstance(given, str):
        moment = _parsed(given)
    elif isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= _LATEST_MS:
        moment = _iso(int(given))
    else:
        return
    if moment is not None:
        draft.put(name, text(moment))


def _parsed(given: str) -> str | None:
    """None where the date is UTC already, or no date."""
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        return None
    if given.endswith("Z"):
        return None
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return _formatted(zoned.astimezone(UTC))


def _iso(ms: int) -> str:
    return _formatted(datetime.fromtimestamp(min(ms, _LATEST_MS) / 1000, UTC))


def _formatted(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""One run's log as the unwrapper reads it: what each chunk means for the runs in it, and for the run's account."""

from typing import Any, Final, assert_never

import msgspec

from runwire.unwrapper.core.looking import Look, Role
from runwire.unwrapper.core.nest import Nesting
from runwire.unwrapper.core.usage import added, closing
from runwire.unwrapper.core.wrappers import channel, read, text_of
from runwire_schemas.control import Parent
from runwire_schemas.lineage import Account, Ancestry

_FAILED: Final = frozenset({"error", "abort", "tripwire"})
# The enforcer tells a model off with these; the call itself may still be answered.
_TOLD_OFF: Final = frozenset({"truncated", "tool-arguments-invalid"})
_ENDED_BADLY: Final = frozenset({"background-task-failed", "background-task-cancelled"})
_STEP_FAILED: Final = frozenset({"failed", "error", "tripwire"})
_COUNTS: Final = dict[str, int]


class _Payload(msgspec.Struct, rename="camel"):
    id: Any = None
    agent_id: Any = None
    workflow_id: Any = None
    task_id: Any = None
    tool_call_id: Any = None
    step_name: Any = None
    status: Any = None
    is_error: Any = None
    error: msgspec.Raw = msgspec.Raw(b"null")


class _Chunk(msgspec.Struct):
    payload: _Payload | None = None


class _Error(msgspec.Struct):
    code: Any = None


_chunk: Final = msgspec.json.Decoder(_Chunk)
_error: Final = msgspec.json.Decoder(_Error)
_encode: Final = msgspec.json.Encoder().encode


class RunLog(Nesting):
    """The log of one attempt of a run."""

    def feed(self, look: Look) -> None:
        """Take the next chunk that matters. One that was taken before changes nothing."""
        if look.seq <= self.state.seq:
            return
        match look.role:
            case Role.OUTPUT:
                self.output(look)
            case Role.START | Role.STEP_FINISH | Role.WORKFLOW_FINISH:
                self._note(look)
            case Role.ANSWER:
                self._answer(look)
            case Role.TASK_LIVES | Role.TASK_ENDS:
                self._task(look)
            case Role.STEP_START | Role.STEP_END:
                self._step(look)
            case Role.EXECUTION_END:
                family, _, how = look.type.rpartition("-")
                self._over(look, channel("execution", family), failed=how == "abort")
            case Role.FINISH:
                self._finish(look)
            case _:
                assert_never(look.role)

    @property
    def sealed(self) -> bool:
        """Nothing more comes of this log."""
        return self.state.end != "" and not self.state.tasks

    def lineage(self) -> Ancestry:
        """Where the run came from."""
        path = (Parent(run_id=up.run_id, wrapper=up.wrapper, key=up.key) for up in self.state.path)
        return Ancestry(path=tuple(path))

    def account(self) -> Account:
        """What the run says of itself."""
        state = self.state
        return Account(
            attempt=state.attempt,
            agent_id=state.agent_id,
            workflow_id=state.workflow_id,
            usage={} if state.workflow else _sums(state.usage),
            workflow_usage=_sums(state.workflow_usage),
            children=state.children,
            end=state.end or None,
        )

    # --- who is over -------------------------------------------------------------------------------------------------

    def _answer(self, look: Look) -> None:
        payload = _payload_of(look)
        if look.type == "tool-error" and _code(payload.error) in _TOLD_OFF:
            return
        failed = look.type == "tool-error" or payload.is_error is True
        self._over(look, channel("call", text_of(payload.tool_call_id)), failed=failed)

    def _task(self, look: Look) -> None:
        payload, tasks = _payload_of(look), self.state.tasks
        task = text_of(payload.task_id)
        if look.role is Role.TASK_LIVES:
            if task not in tasks and len(tasks) < self.limits.live_tasks:
                self.touch(look)
                tasks[task] = channel("call", text_of(payload.tool_call_id) or task)
        elif task in tasks:
            self.touch(look)
            # The answer that its call's placeholder was not.
            self._over(look, tasks.pop(task), failed=look.type in _ENDED_BADLY)

    def _step(self, look: Look) -> None:
        payload, steps = _payload_of(look), self.state.steps
        step = text_of(payload.id) or text_of(payload.step_name)
        if look.role is Role.STEP_START:
            if step not in steps and len(steps) < self.limits.running_steps:
                self.touch(look)
                steps.append(step)
        elif payload.status != "suspended":
            if step in steps:
                self.touch(look)
                steps.remove(step)
            # Steps of a workflow in a workflow are called `<outer>.<inner>`, their outputs name the inner alone.
            running = {name for other in steps for name in (other, _bare(other))}
            for name in {step, _bare(step)} - running:
                self._over(look, channel("step", name), failed=payload.status in _STEP_FAILED)

    def _over(self, look: Look, carrier: str, *, failed: bool) -> None:
        """A call, step or execution is answered. The first answer of one that has a live task is a placeholder."""
        state = self.state
        if carrier in state.tasks.values():
            return
        names = [name for name, child in state.open.items() if child.channel == carrier]
        if carrier in state.channels or names:
            self.touch(look)
            state.channels.pop(carrier, None)
            self._end_all(names, failed=failed)

    def _finish(self, look: Look) -> None:
        state = self.state
        self.touch(look)
        said = closing(look.chunk)
        state.end = said.reason or "stop"
        if not state.reported and any(said.usage.values()):
            state.usage = _encode(said.usage)
        # What a live task carries goes on: its chunks still come, and its end is told.
        carried = set(state.tasks.values())
        names = [name for name, child in state.open.items() if child.channel not in carried]
        state.channels = {carrier: name for carrier, name in state.channels.items() if carrier in carried}
        self._end_all(names, failed=state.end in _FAILED)

    def _end_all(self, names: list[str], *, failed: bool) -> None:
        for name in names:
            self.end(name, failed=failed)
            if self.state.open[name].finished:
                self.close(name)

    # --- the account -------------------------------------------------------------------------------------------------

    def _note(self, look: Look) -> None:
        payload, state = _payload_of(look), self.state
        if look.role is Role.STEP_FINISH:
            self._used(look)
            return
        self.touch(look)
        if look.role is Role.WORKFLOW_FINISH:
            state.workflow = True
            if usage := closing(look.chunk).usage:
                state.workflow_usage = _encode(usage)
        elif look.type == "workflow-start":
            state.workflow, state.workflow_id = True, text_of(payload.workflow_id) or None
        else:
            # Runtimes call their own id `id`.
            state.agent_id = text_of(payload.agent_id) or text_of(payload.id) or None

    def _used(self, look: Look) -> None:
        state, said = self.state, closing(look.chunk)
        if said.usage:
            self.touch(look)
            state.reported = True
            state.usage = _encode(added(_sums(state.usage), said.usage))


def _sums(data: bytes) -> dict[str, int]:
    return msgspec.json.decode(data, type=_COUNTS)


def _payload_of(look: Look) -> _Payload:
    found = read(_chunk, look.chunk)
    return (found.payload if found is not None else None) or _Payload()


def _code(error: msgspec.Raw) -> str:
    found = read(_error, error)
    return text_of(found.code) if found is not None else ""


def _bare(step: str) -> str:
    return step.rpartition(".")[2]

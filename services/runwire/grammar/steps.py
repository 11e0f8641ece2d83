"""Steps: a call and the tool results that answer it. A held call's step is closed by what follows it."""

from typing import Literal

from runwire.grammar import normalize, tools, usage
from runwire.grammar.agent import closing, stepresult
from runwire.grammar.agent.draft import Draft
from runwire.grammar.agent.tables import STEPS, StepState
from runwire.grammar.normalize import text
from runwire.grammar.run import Run
from runwire.grammar.state import Block, State, Tool, Word
from runwire_schemas.raw import Failure

_INVALID = ("tool-arguments-invalid", "the arguments of the tool call are no JSON object")
_TRUNCATED = ("truncated", "the model was cut off before the tool call was complete")
_UNSAFE = ("truncated", "the model was cut off after the tool call: it may not be all that was meant")


def message_id(run: Run) -> str:
    return f"{run.run_id}:{run.state.steps}"


def state_of(state: State) -> StepState:
    if state.call is not None:
        return "call"
    if not state.step_open:
        return "none"
    return "open" if state.held is None else "held"


def open_step(run: Run) -> None:
    """Begin a step; the one before is closed first."""
    if run.state.step_open:
        close_step(run, continued=True)
    begin_step(run)
    run.emit("step-start", normalize.step_start(message_id(run)))


def begin_step(run: Run) -> None:
    state = run.state
    state.steps += 1
    state.step_open, state.step_output = True, ""


def need_step(run: Run, what: str) -> None:
    """A block or tool call of an agent lies in a step."""
    state = run.state
    move = STEPS[state_of(state)]["part"]
    if move.repair is not None:
        run.repair(move.repair, f"{what} came with no step open")
    if "open" in move.do:
        open_step(run)
    if not state.step_output:
        state.step_output = "agent"


def close_step(run: Run, *, continued: bool) -> None:
    """Close a step in the contract's order, as its call says; one without a call, with reason `other`."""
    held = run.state.held
    close_parts(run, "step-finish", mend=True)
    tell_bad_calls(run)
    if held is None:
        finish_step(run, "other", None, continued=continued)
    elif held.failure is not None and continued:
        finish_step(run, "retry", held.raw, continued=True, failure=held.failure)
    else:
        finish_step(run, held.reason, held.raw, continued=continued)


def finish_step(
    run: Run,
    reason: Word,
    raw: str | None,
    *,
    continued: bool,
    failure: Failure | None = None,
    sent: Draft | None = None,
) -> None:
    """Say `step-finish`, an agent's own or a made one: the usage of the step's call, and the sums of the run so far."""
    state = run.state
    source = state.held if state.held is not None else state.call
    spent = usage.reported(source.usage if source is not None else None)
    if not spent and sent is not None:
        spent = usage.flattened(stepresult.usage_of(sent))
    if spent:
        state.totals = usage.dump(usage.added(usage.load(state.totals), spent))
    result = stepresult.Result(reason, raw, continued=continued)
    if sent is None:
        payload = normalize.step_finish(
            message_id(run), reason, raw, continued=continued, usage=usage.dump(spent), total=state.totals,
            failure=failure,
        )  # fmt: skip
        chunk = None
    else:
        stepresult.fill_step(sent, message_id(run), result, usage.dump(spent), state.totals, failure)
        payload, chunk = b"", sent.encode(run.run_id)
    state.step_open, state.held, state.call = False, None, None
    state.last_reason, state.last_raw = reason, raw
    if chunk is None:
        run.emit("step-finish", payload)
    else:
        run.append(chunk)


def leave_call(run: Run) -> None:
    """The open call is over: what still comes of it is refused."""
    state = run.state
    assert state.call is not None, "only an open call is left"
    state.finished_calls.append(state.call.id)
    del state.finished_calls[: -run.limits.finished_calls]
    state.call = None


def close_parts(run: Run, how: Literal["step-finish", "leg or run ends"], *, mend: bool) -> None:
    """End what is open: raw blocks, an agent's blocks and tool inputs."""
    close_raw_blocks(run)
    closing.close_blocks(run, how)
    closing.close_inputs(run, "step-finish", mend=mend)


def close_leg(run: Run) -> None:
    """At a suspension nothing is given up: a call whose input is over may still get its `tool-call`."""
    closing.close_blocks(run, "leg or run ends")
    closing.close_inputs(run, "leg ends", mend=True)


def close_raw_blocks(run: Run) -> None:
    """End what is open in the call; a tool call that readers know of is cut."""
    call = run.state.call
    if call is None:
        return
    for block in call.blocks.values():
        _cut(run, block)
    call.blocks.clear()


def _cut(run: Run, block: Block) -> None:
    state = run.state
    match block.kind:
        case "text":
            run.emit("text-end", normalize.obj(("id", text(str(block.number)))))
        case "thinking":
            run.emit("reasoning-end", normalize.reasoning_end(text(str(block.number)), None, None))
        case "tool_use" if block.started:
            run.emit("tool-call-input-streaming-end", normalize.tool_end(block.out))
            state.args_size -= block.parts_size
            tool = state.tools.get(block.out)
            if tool is not None:
                tool.state = "cut"
                tools.remember_args(state, run.limits, tool, block.parts)
        case "tool_use":
            state.args_size -= block.parts_size
        case "tool_result" | "image":
            pass


def tell_bad_calls(run: Run) -> None:
    """Say `tool-error` for each bad call, and after max_tokens for each complete one of the step: none may be run."""
    state = run.state
    cut = state.held is not None and state.held.cut
    for out, tool in state.tools.items():
        if tool.state in ("bad", "cut") and not tool.told:
            code, message = _TRUNCATED if cut or tool.state == "cut" else _INVALID
            tell(run, out, tool, code, message)
    for out, tool in state.tools.items():
        if cut and tool.state == "complete" and tool.step == state.steps and not tool.told:
            tell(run, out, tool, *_UNSAFE)
        elif tool.args is not None:
            tools.forget_args(state, tool)


def tell(run: Run, out: str, tool: Tool, code: str, message: str) -> None:
    """The enforcer's own `tool-error`, once per call. It is no answer: a real one may follow."""
    run.emit("tool-error", normalize.tool_error(out, tool.name, code, message, tool.args))
    tools.forget_args(run.state, tool)
    tool.told = True

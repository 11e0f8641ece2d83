"""Steps: a call and the tool results that answer it. A held call's step is closed by what follows it."""

from runwire.grammar import normalize, tools, usage
from runwire.grammar.normalize import text
from runwire.grammar.run import Run
from runwire.grammar.state import Block, Tool, Word
from runwire_schemas.raw import Failure

_INVALID = ("tool-arguments-invalid", "the arguments of the tool call are no JSON object")
_TRUNCATED = ("truncated", "the model was cut off before the tool call was complete")
_UNSAFE = ("truncated", "the model was cut off after the tool call: it may not be all that was meant")


def message_id(run: Run) -> str:
    return f"{run.run_id}:{run.state.steps}"


def open_step(run: Run) -> None:
    """Begin a step. A held call's step is closed first, and a suspended run begins its next leg."""
    state = run.state
    if state.step_open:
        close_step(run, continued=True)
    if state.suspended:
        state.suspended = False
        state.leg += 1
    state.steps += 1
    state.step_open = True
    run.emit("step-start", normalize.step_start(message_id(run)))


def close_step(run: Run, *, continued: bool) -> None:
    """Close the step of a call that has finished, in the contract's order."""
    held = run.state.held
    assert held is not None, "a step is closed here only after its call"
    tell_bad_calls(run)
    failed = held.failure is not None
    if failed and continued:
        finish_step(run, "retry", held.raw, continued=True, failure=held.failure)
    else:
        finish_step(run, held.reason, held.raw, continued=continued)


def finish_step(run: Run, reason: Word, raw: str | None, *, continued: bool, failure: Failure | None = None) -> None:
    """Say `step-finish`: the usage of the step's call, and the sums of the run so far."""
    state = run.state
    source = state.held if state.held is not None else state.call
    spent = usage.reported(source.usage if source is not None else None)
    if spent:
        state.totals = usage.dump(usage.added(usage.load(state.totals), spent))
    payload = normalize.step_finish(
        message_id(run),
        reason,
        raw,
        continued=continued,
        usage=usage.dump(spent),
        total=state.totals,
        failure=failure,
    )
    state.step_open, state.held, state.call = False, None, None
    state.last_reason, state.last_raw = reason, raw
    run.emit("step-finish", payload)


def close_blocks(run: Run) -> None:
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

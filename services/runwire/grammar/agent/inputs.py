"""Tool calls of an agent: their streamed input, the calls themselves, questions and answers."""

from typing import assert_never

from runwire.grammar import normalize, steps, tools
from runwire.grammar.agent import closing
from runwire.grammar.agent.draft import Draft
from runwire.grammar.agent.tables import TOOLS, ToolDo, ToolInput, ToolState
from runwire.grammar.input import Input
from runwire.grammar.jsontext import arguments
from runwire.grammar.normalize import text
from runwire.grammar.run import Run, shown
from runwire.grammar.state import Answered, State, Tool


def situation(state: State, raw_id: str) -> ToolState:
    """What a tool call id means to a chunk that comes now."""
    out = tools.current(state, raw_id)
    known = state.tools.get(out) or state.answered.get(out)
    if known is None:
        return "new"
    if known.made:
        return "made"
    raw = state.step_output == "raw"
    if known.step != state.steps or (isinstance(known, Answered) and not raw):
        return "old"
    return "raw" if isinstance(known, Answered) else _now(known, raw=raw)


def _now(tool: Tool, *, raw: bool) -> ToolState:
    """A call of the open step without an answer."""
    match tool.state:
        case "streaming" | "ended":
            return tool.state
        case "bad" | "cut":
            return "bad"
        case "input":
            return "raw"
        case "complete":
            return "raw" if raw else "complete"
        case _:
            assert_never(tool.state)


def apply(run: Run, x: Input, draft: Draft, given: ToolInput) -> None:
    raw_id = x.text("toolCallId")
    if given == "input-delta" and not x.text("argsTextDelta") and not draft.has_metadata():
        return
    now = situation(run.state, raw_id)
    move = TOOLS[now][given]
    if now == "bad" and given == "call" and x.payload.get("args") is None:
        return
    if move.repair is not None:
        run.repair(move.repair, f"{draft.type} of tool call {shown(raw_id)}, which is {now}")
    if not move.do and given == "call":
        _merged(run.state, raw_id)
    for do in move.do:
        _do(run, x, draft, given, do)


def _merged(state: State, raw_id: str) -> None:
    """The real `tool-call` came: it is awaited no more."""
    out = tools.current(state, raw_id)
    known = state.tools.get(out) or state.answered.get(out)
    if known is not None:
        known.made = False


def _do(run: Run, x: Input, draft: Draft, given: ToolInput, do: ToolDo) -> None:
    raw_id = x.text("toolCallId")
    match do:
        case "name":
            _name(run, raw_id, x.text("toolName") or "unknown")
        case "begin":
            out = tools.current(run.state, raw_id)
            run.emit("tool-call-input-streaming-start", normalize.tool_start(out, _tool(run, out).name, None, None))
        case "close" | "make" | "cut":
            out = tools.current(run.state, raw_id)
            closing.close_input(run, out, _tool(run, out), do)
        case "emit":
            _emit(run, x, draft, given)
        case _:
            assert_never(do)


def _tool(run: Run, out: str) -> Tool:
    return run.state.tools[out]


def _name(run: Run, raw_id: str, name: str) -> None:
    """A call that readers are about to hear of."""
    steps.need_step(run, f"the tool call {shown(raw_id)}")
    out = tools.remember(run.state, raw_id, name, "streaming")
    if out != raw_id:
        run.repair("tool-call-id-renamed", f"the tool call id {shown(raw_id)} was used before: {shown(out)}")


def _emit(run: Run, x: Input, draft: Draft, given: ToolInput) -> None:
    state = run.state
    out = tools.current(state, x.text("toolCallId"))
    tool = state.tools.get(out)
    draft.put("toolCallId", text(out))
    match given:
        case "input-delta":
            assert tool is not None, "a delta that is passed on has its call"
            draft.fill("toolName", text(tool.name))
            _keep(run, tool, x.text("argsTextDelta"))
        case "input-end":
            assert tool is not None, "an end that is passed on has its call"
            tool.state = "ended"
        case "call":
            assert tool is not None, "a call that is passed on is remembered"
            _complete(run, tool, draft)
        case "question":
            _fill_name(state, out, draft)
            if tool is None:
                state.pausing = True
            else:
                tool.waiting = True
        case "answer":
            _answer(run, out, x, draft)
        case "input-start" | "step-finish" | "leg ends":
            pass
    run.append(draft.encode(run.run_id))


def _keep(run: Run, tool: Tool, delta: str) -> None:
    """Argument text is remembered for a `tool-call` that may have to be made, as far as there is room."""
    state, size = run.state, len(delta.encode())
    if tool.parts is None:
        return
    if state.args_size + size > run.limits.argument_bytes:
        state.args_size -= tool.parts_size
        tool.parts, tool.parts_size = None, 0
        return
    tool.parts.append(delta)
    tool.parts_size += size
    state.args_size += size


def _complete(run: Run, tool: Tool, draft: Draft) -> None:
    """The real call: without arguments it has those of its deltas."""
    known = None if tool.parts is None else arguments("".join(tool.parts), run.limits.depth)
    draft.fill("args", known or b"{}")
    run.state.args_size -= tool.parts_size
    tool.parts, tool.parts_size = [], 0
    tools.forget_args(run.state, tool)
    tool.state, tool.made, tool.told = "complete", False, False


def _fill_name(state: State, out: str, draft: Draft, otherwise: str | None = None) -> None:
    known = state.tools.get(out) or state.answered.get(out)
    name = otherwise if known is None else known.name
    if draft.payload is not None and draft.payload.get("toolName") == b'""':
        del draft.payload["toolName"]
    draft.fill("toolName", None if name is None else text(name))


def _answer(run: Run, out: str, x: Input, draft: Draft) -> None:
    state = run.state
    orphan = not tools.named(state, out)
    _fill_name(state, out, draft, "unknown")
    if orphan:
        draft.note("orphan", b"true", within=True)
    tools.answer(state, run.limits, out, x.text("toolCallId"), x.text("toolName") or "unknown")

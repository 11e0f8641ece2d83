"""How an agent's blocks and tool inputs are ended, by the agent or for it."""

from typing import Literal, assert_never

from runwire.grammar import normalize, tools
from runwire.grammar.agent.tables import BLOCKS, TOOLS, BlockInput, ToolInput, ToolState
from runwire.grammar.jsontext import arguments
from runwire.grammar.normalize import text
from runwire.grammar.run import Run, shown
from runwire.grammar.state import AgentBlock, Tool

Stem = Literal["text", "reasoning"]


def stem_of(key: str) -> Stem:
    return "text" if key.startswith("t") else "reasoning"


def block_key(stem: Stem, own: str) -> str:
    """What an open block is found by: text and reasoning ids are apart."""
    return stem[0] + tools.key(own)


def block_id(block: AgentBlock) -> bytes:
    return text(f"{block.number}:{block.id}")


def end_block(run: Run, key: str) -> None:
    """Make the end of an open block."""
    block = forget_block(run, key)
    run.emit(f"{stem_of(key)}-end", normalize.obj(("id", block_id(block))))


def forget_block(run: Run, key: str) -> AgentBlock:
    block = run.state.agent_blocks.pop(key)
    run.state.agent_block_size -= len(block.id)
    return block


def close_blocks(run: Run, how: BlockInput) -> None:
    """End all open blocks."""
    move = BLOCKS["open"][how]
    for key, block in list(run.state.agent_blocks.items()):
        if move.repair is not None:
            run.repair(move.repair, f"{stem_of(key)} block {shown(block.id)} had no end")
        end_block(run, key)


def close_inputs(run: Run, how: ToolInput, *, mend: bool) -> None:
    """End all tool input; at a step's end calls that still await their `tool-call` get it."""
    for out, tool in run.state.tools.items():
        state = streamed(tool)
        if state is not None:
            move = TOOLS[state][how]
            if move.repair is not None and mend:
                run.repair(move.repair, f"tool call {shown(tool.id)} was {state}")
            for do in move.do:
                close_input(run, out, tool, do)


def streamed(tool: Tool) -> ToolState | None:
    """Whether a call's agent has streamed its input and has not yet sent its `tool-call`."""
    match tool.state:
        case "streaming" | "ended":
            return tool.state
        case "input" | "complete" | "bad" | "cut":
            return None
        case _:
            assert_never(tool.state)


def close_input(run: Run, out: str, tool: Tool, do: str) -> None:
    """One of the deeds that end a tool's input."""
    match do:
        case "close":
            run.emit("tool-call-input-streaming-end", normalize.tool_end(out))
            tool.state = "ended"
        case "make":
            _make(run, out, tool)
        case "cut":
            tool.state = "cut"
            _join(run, tool)
        case _:
            raise AssertionError(f"{do} ends no input")


def _make(run: Run, out: str, tool: Tool) -> None:
    """The `tool-call` from the deltas; if they are no object, or were too long to be remembered, the call is bad."""
    args = None if tool.parts is None else arguments("".join(tool.parts), run.limits.depth)
    _join(run, tool)
    if args is None:
        tool.state = "bad"
        return
    run.emit("tool-call", normalize.tool_call(out, tool.name, args, None, None))
    tools.forget_args(run.state, tool)
    tool.state, tool.made = "complete", True


def _join(run: Run, tool: Tool) -> None:
    """The argument text so far becomes the text that a `tool-error` quotes."""
    parts, tool.parts = tool.parts, []
    run.state.args_size -= tool.parts_size
    tool.parts_size = 0
    tools.remember_args(run.state, run.limits, tool, parts)

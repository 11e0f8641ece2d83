"""Text and reasoning of an agent: a block's id becomes `<n>:<its id>`, n counted over the run."""

from runwire.grammar import normalize, steps
from runwire.grammar.agent import closing
from runwire.grammar.agent.closing import Stem
from runwire.grammar.agent.draft import Draft
from runwire.grammar.agent.tables import BLOCKS, BlockInput
from runwire.grammar.input import Input
from runwire.grammar.run import Run, shown
from runwire.grammar.state import AgentBlock


def place_of(x: Input) -> tuple[Stem, BlockInput]:
    """The family of a block's chunk, and what it does."""
    stem: Stem = "text" if (x.type or "").startswith("text") else "reasoning"
    match (x.type or "").rpartition("-")[2]:
        case "start":
            return stem, "start"
        case "delta":
            return stem, "delta"
        case _:
            return stem, "end"


def apply(run: Run, x: Input, draft: Draft) -> None:
    stem, given = place_of(x)
    if given == "delta" and not x.text("text") and not draft.has_metadata():
        return
    own = x.text("id")
    key = closing.block_key(stem, own)
    move = BLOCKS["open" if key in run.state.agent_blocks else "closed"][given]
    if move.repair is not None:
        run.repair(move.repair, f"{draft.type} of block {shown(own)}")
    for do in move.do:
        match do:
            case "begin":
                block = _open(run, key, own)
                run.emit(f"{stem}-start", normalize.obj(("id", closing.block_id(block))))
            case "close":
                closing.end_block(run, key)
            case "emit":
                _emit(run, key, own, given, draft)


def _open(run: Run, key: str, own: str) -> AgentBlock:
    state = run.state
    steps.need_step(run, f"a block {shown(own)}")
    state.blocks += 1
    state.agent_blocks[key] = block = AgentBlock(own, state.blocks)
    state.agent_block_size += len(own)
    return block


def _emit(run: Run, key: str, own: str, given: BlockInput, draft: Draft) -> None:
    if given == "start":
        block = _open(run, key, own)
    elif given == "end":
        block = closing.forget_block(run, key)
    else:
        block = run.state.agent_blocks[key]
    draft.put("id", closing.block_id(block))
    run.append(draft.encode(run.run_id))


def sign(run: Run, x: Input, draft: Draft) -> None:
    """A signature names its block as readers know it, as long as that is open."""
    block = run.state.agent_blocks.get(closing.block_key("reasoning", x.text("id")))
    if block is not None:
        draft.put("id", closing.block_id(block))
    run.append(draft.encode(run.run_id))

"""What an agent chunk does to its run, once the rules let it pass, and the chunk that readers get for it."""

from typing import Literal, assert_never

from runwire.grammar import call, endings, suspension, tools
from runwire.grammar.agent import blocks, frames, inputs, tasks, twins
from runwire.grammar.agent.draft import Draft, wrapped_unknown
from runwire.grammar.agent.types import FRAME, ChunkType, type_of
from runwire.grammar.input import Input
from runwire.grammar.normalize import text
from runwire.grammar.run import Run, shown
from runwire_schemas.record import Record


def apply(run: Run, x: Input) -> None:
    """A legal agent chunk takes effect."""
    kind = type_of(x.type)
    # A mark of somebody else says what the log says already.
    resumed = run.state.suspended and kind.role not in ("task", "mark")
    if resumed:
        suspension.resume(run)
    if x.record.call is not None and kind.role not in FRAME and not run.ending:
        call.begin(run, x.record)
    _apply(run, x, kind, Draft(x), resumed=resumed)


def _apply(run: Run, x: Input, kind: ChunkType, draft: Draft, *, resumed: bool) -> None:
    role = kind.role
    match role:
        case "start" | "step-start" | "step-finish" | "finish" | "stop":
            _frame(run, x, role, draft, resumed=resumed)
        case "workflow-finish" | "workflow-canceled" | "network-finish" | "pause" | "mark":
            _workflow(run, x, role, draft)
        case "block":
            blocks.apply(run, x, draft)
        case "input-start" | "input-delta" | "input-end" | "call" | "question" | "answer":
            inputs.apply(run, x, draft, role)
        case "task":
            tasks.apply(run, x, draft)
        case "signature" | "content" | "plain" | "unknown":
            _single(run, x, role, draft)
        case _:
            assert_never(role)


def _frame(
    run: Run,
    x: Input,
    role: Literal["start", "step-start", "step-finish", "finish", "stop"],
    draft: Draft,
    *,
    resumed: bool,
) -> None:
    match role:
        case "start":
            frames.start(run, draft, resumed=resumed)
        case "step-start":
            frames.step_start(run, draft)
        case "step-finish":
            frames.step_finish(run, x, draft)
        case "finish":
            frames.finish(run, x, draft)
        case "stop":
            frames.stop(run, draft)
        case _:
            assert_never(role)


def _workflow(
    run: Run,
    x: Input,
    role: Literal["workflow-finish", "workflow-canceled", "network-finish", "pause", "mark"],
    draft: Draft,
) -> None:
    match role:
        case "workflow-finish":
            frames.workflow_finish(run, x, draft)
        case "workflow-canceled":
            frames.workflow_canceled(run, draft)
        case "network-finish":
            frames.network_finish(run, x, draft)
        case "pause":
            run.state.pausing = True
            _pass_on(run, x, draft)
        case "mark":
            _mark(run, x.record)
        case _:
            assert_never(role)


def _single(run: Run, x: Input, role: Literal["signature", "content", "plain", "unknown"], draft: Draft) -> None:
    """Chunks that stand alone."""
    match role:
        case "signature":
            blocks.sign(run, x, draft)
        case "content":
            _content(run, x, draft)
        case "plain":
            twins.bare(run, x, draft)
            _pass_on(run, x, draft)
        case "unknown":
            run.repair("unknown-type", f"{shown(x.type or '')} is no known type")
            run.append(wrapped_unknown(x, run.run_id))
        case _:
            assert_never(role)


def _content(run: Run, x: Input, draft: Draft) -> None:
    """Sources and files are output of the step that is open, if one is; they need none."""
    state = run.state
    if state.step_open and not state.step_output:
        state.step_output = "agent"
    _pass_on(run, x, draft)


def _pass_on(run: Run, x: Input, draft: Draft) -> None:
    """As it is, but a tool call has the id that readers know it by."""
    raw_id = x.text("toolCallId")
    if draft.payload is not None and raw_id:
        out = tools.current(run.state, raw_id)
        if out != raw_id:
            draft.put("toolCallId", text(out))
    run.append(draft.encode(run.run_id))


def _mark(run: Run, record: Record) -> None:
    """A producer that passes on somebody's mark of a suspension asks for one; in an open call nobody can."""
    run.repair("suspend-mark-foreign", "the mark of a suspension is the enforcer's")
    if run.state.call is not None:
        endings.end(run, "not-terminated", record.id)
    else:
        suspension.suspend(run)

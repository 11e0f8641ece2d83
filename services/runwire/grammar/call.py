"""What a raw chunk does to its call, once the rules let it pass, and the chunks that readers get for it."""

from collections.abc import Mapping
from typing import Final, assert_never
from zlib import crc32

from runwire.grammar import endings, normalize, steps, tools
from runwire.grammar.input import Input
from runwire.grammar.jsontext import arguments
from runwire.grammar.normalize import text
from runwire.grammar.run import Run
from runwire.grammar.state import Block, Call, Held, Waiting, Word
from runwire_schemas.raw import (
    Aborted,
    BlockEnd,
    BlockStart,
    ContentFilter,
    Failed,
    Failure,
    Finish,
    FinishReason,
    ImageBlock,
    MaxTokens,
    Stop,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolCallDelta,
    ToolCalls,
    ToolResultBlock,
    ToolUseBlock,
    UsageReport,
)
from runwire_schemas.record import Record

REASONS: Final[Mapping[type[FinishReason], Word]] = {
    Stop: "stop",
    ToolCalls: "tool-calls",
    MaxTokens: "length",
    ContentFilter: "content-filter",
    Failed: "error",
    Aborted: "abort",
}


def apply(run: Run, x: Input) -> None:
    """A legal raw chunk takes effect."""
    call = begin(run, x.record)
    chunk = x.chunk
    match chunk:
        case BlockStart():
            _start(run, call, chunk)
        case TextDelta() | ThinkingDelta():
            _delta(run, call.blocks[chunk.index], chunk)
        case ToolCallDelta():
            _tool_delta(run, call, chunk)
        case BlockEnd():
            _end(run, call, chunk)
        case UsageReport():
            call.usage = chunk.usage
        case Finish():
            finish(run, chunk.reason, x.record.id)
        case _:
            assert_never(chunk)


def begin(run: Run, record: Record) -> Call:
    """The open call, or the one that the record begins: in the step that an agent has opened, or in a new one."""
    state = run.state
    if state.call is None:
        usage_optional = run.usage_optional(record)
        if not state.step_open or state.held is not None:
            steps.open_step(run)
        state.call = Call(record.call or "", record.src, usage_optional)
        state.step_output = "raw"
    return state.call


def finish(run: Run, reason: FinishReason, record_id: str) -> None:
    """The call is over. Its step can be closed, and in a single call the run ends."""
    state = run.state
    call = state.call
    assert call is not None, "only an open call finishes"
    steps.close_raw_blocks(run)
    failure = reason.failure if isinstance(reason, (Failed, Aborted)) else None
    state.held = Held(REASONS[type(reason)], reason.raw, isinstance(reason, MaxTokens), call.usage, failure)
    steps.leave_call(run)
    if state.mode == "single-call":
        endings.end(run, "done" if failure is None else "failed", record_id, failure=failure)


def replace_producer(run: Run, src: str, record_id: str) -> None:
    """A new epoch of a source ends its open call: nobody is left to finish it."""
    call = run.state.call
    if call is not None and call.src == src:
        failure = Failure(message="a new epoch replaced the call's producer", code="producer-replaced")
        finish(run, Failed(failure=failure), record_id)


# --- text and thinking -----------------------------------------------------------------------------------------------


def _start(run: Run, call: Call, chunk: BlockStart) -> None:
    block = Block(chunk.index, chunk.block_kind)
    call.blocks[chunk.index] = block
    if block.kind in ("text", "thinking"):
        run.state.blocks += 1
        block.number = run.state.blocks
        run.emit(f"{_stem(block)}-start", normalize.obj(("id", _id(block))))


def _delta(run: Run, block: Block, chunk: TextDelta | ThinkingDelta) -> None:
    _count(block, chunk.text)
    _emit_delta(run, block, chunk.text, normalize.metadata(normalize.opaque(chunk.gemini), None))


def _emit_delta(run: Run, block: Block, delta: str, meta: bytes | None) -> None:
    if delta or meta is not None:
        payload = normalize.obj(("id", _id(block)), ("text", text(delta)), ("providerMetadata", meta))
        run.emit(f"{_stem(block)}-delta", payload)


def _count(block: Block, delta: str) -> None:
    if delta:
        data = delta.encode()
        block.fed = True
        block.size += len(data)
        block.crc = crc32(data, block.crc)


def _id(block: Block) -> bytes:
    return text(str(block.number))


def _stem(block: Block) -> str:
    return "text" if block.kind == "text" else "reasoning"


# --- ends ------------------------------------------------------------------------------------------------------------


def _end(run: Run, call: Call, chunk: BlockEnd) -> None:
    block = call.blocks.pop(chunk.index)
    call.closed.append(chunk.index)
    whole = chunk.block
    match whole:
        case TextBlock():
            _emit_missing(run, block, whole.text)
            run.emit("text-end", normalize.obj(("id", _id(block))))
        case ThinkingBlock():
            _emit_missing(run, block, whole.text)
            run.emit("reasoning-end", normalize.reasoning_end(_id(block), whole.signature, whole.redacted))
        case ToolUseBlock():
            _end_tool(run, call, block, whole)
        case ToolResultBlock():
            _result(run, whole)
        case ImageBlock():
            run.emit("file", normalize.file(whole))
        case _:
            assert_never(whole)


def _emit_missing(run: Run, block: Block, whole: str) -> None:
    if not block.fed:
        _emit_delta(run, block, whole, None)


def _result(run: Run, whole: ToolResultBlock) -> None:
    state = run.state
    out = tools.current(state, whole.tool_call_id)
    known = state.tools.get(out) or state.answered.get(out)
    name = (known.name if known is not None else None) or whole.tool_name or "unknown"
    run.emit("tool-result", normalize.tool_result(out, name, whole, orphan=not tools.named(state, out)))
    tools.answer(state, run.limits, out, whole.tool_call_id, name)


# --- tool calls ------------------------------------------------------------------------------------------------------


def _tool_delta(run: Run, call: Call, chunk: ToolCallDelta) -> None:
    block = call.blocks[chunk.index]
    _identify(call, block, chunk.id)
    block.name = block.name or chunk.name or ""
    if chunk.provider_executed is not None:
        block.executed = chunk.provider_executed
    google = normalize.opaque(chunk.gemini)
    block.google = google or block.google
    block.wire = chunk.provider_wire_name or block.wire
    _count(block, chunk.arguments_delta)
    _keep_argument(run, block, chunk.arguments_delta)
    meta = normalize.metadata(google, normalize.wire_name(chunk.provider_wire_name))
    said = chunk.arguments_delta or google is not None
    if not block.name:
        if said:
            block.waiting.append(Waiting(chunk.arguments_delta, meta))
            block.waiting_size += tools.waiting_size(chunk)
        return
    _announce(run, block, meta)
    if said:
        run.emit("tool-call-delta", normalize.tool_delta(chunk.arguments_delta, block.out, block.name, meta))


def _identify(call: Call, block: Block, raw_id: str) -> None:
    if not block.id:
        block.id = raw_id
        call.tool_ids.append(tools.key(raw_id))


def _announce(run: Run, block: Block, meta: bytes | None) -> None:
    """Readers hear of a tool call as soon as its id and name are known; what waited for that follows."""
    if block.started:
        return
    block.started = True
    block.out = tools.register(run.state, block)
    if block.out != block.id:
        run.repair("tool-call-id-renamed", f"the tool call id {block.id} was used before: {block.out}")
    run.emit("tool-call-input-streaming-start", normalize.tool_start(block.out, block.name, block.executed, meta))
    for waited in block.waiting:
        run.emit("tool-call-delta", normalize.tool_delta(waited.text, block.out, block.name, waited.metadata))
    block.waiting, block.waiting_size = [], 0


def _keep_argument(run: Run, block: Block, delta: str) -> None:
    """Argument text is remembered only for the `tool-error` of a call that is cut."""
    size = len(delta.encode())
    if block.parts is None or not size:
        return
    if run.state.args_size + size > run.limits.argument_bytes:
        run.state.args_size -= block.parts_size
        block.parts, block.parts_size = None, 0
        return
    block.parts.append(delta)
    block.parts_size += size
    run.state.args_size += size


def _end_tool(run: Run, call: Call, block: Block, whole: ToolUseBlock) -> None:
    state = run.state
    _identify(call, block, whole.id)
    block.name = block.name or whole.name
    block.wire = whole.provider_wire_name or block.wire
    if whole.provider_executed is not None:
        block.executed = whole.provider_executed
    meta = normalize.metadata(block.google, normalize.wire_name(block.wire))
    _announce(run, block, meta)
    if not block.fed and whole.arguments:
        run.emit("tool-call-delta", normalize.tool_delta(whole.arguments, block.out, block.name, None))
    run.emit("tool-call-input-streaming-end", normalize.tool_end(block.out))
    state.args_size -= block.parts_size
    args = arguments(whole.arguments, run.limits.depth)
    if args is not None:
        run.emit("tool-call", normalize.tool_call(block.out, block.name, args, block.executed, meta))
    # The provider may have answered its own call before it ended the block.
    tool = state.tools.get(block.out)
    if tool is not None:
        tool.state = "bad" if args is None else "complete"
        tools.remember_args(state, run.limits, tool, [whole.arguments])

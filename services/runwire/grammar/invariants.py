"""The five invariants of every log (contract, "Every ending is explicit"), judged from the log alone. Pure.

This is a second judge beside the grammar, written against the contract only: it shares no code with the machine that
made the log, so a fault in the machine cannot hide itself. A log that still grows is judged as far as it goes.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

_BLOCKS: Final = frozenset(f"{family}-{part}" for family in ("text", "reasoning") for part in ("start", "delta", "end"))
_ANSWERS: Final = frozenset({"tool-result", "tool-error", "tool-output-denied"})
_TERMINALS: Final = frozenset({"error", "abort", "tripwire"})
_NOTHING_OPEN: Final = frozenset({"step-finish", "data-run-suspended", "error", "abort", "tripwire", "finish"})
_AFTER_TERMINAL: Final = frozenset({"step-finish", "finish"})
_TOOL_INPUT: Final = frozenset(
    {"tool-call-input-streaming-start", "tool-call-delta", "tool-call-input-streaming-end", "tool-call"}
)


class _Chunk(msgspec.Struct, rename="camel"):
    type: str
    run_id: str
    payload: msgspec.Raw = msgspec.Raw(b"{}")


class _Block(msgspec.Struct):
    id: str


class _Metadata(msgspec.Struct):
    orphan: bool = False


class _Tool(msgspec.Struct, rename="camel"):
    tool_call_id: str
    metadata: _Metadata | None = None


class _Result(msgspec.Struct):
    reason: str | None = None


class _Finish(msgspec.Struct, rename="camel"):
    step_result: _Result | None = None


def broken_invariants(run_id: str, log: Iterable[bytes]) -> list[str]:
    """One sentence per broken rule, each with the number of the chunk that broke it. Empty: the log is legal."""
    judge = Judge(run_id)
    for data in log:
        judge.see(data)
    return judge.broken


class Judge:
    """Sees a log chunk by chunk; `broken` tells what is wrong with it so far."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.broken: list[str] = []
        self.seq = 0
        self.started = self.finished = self.in_step = False
        self.terminal: str | None = None
        self.blocks: dict[str, str] = {}  # block id -> its family while it is open, then ""
        self.inputs: dict[str, bool] = {}  # tool call id -> its input is still streaming
        self.named: set[str] = set()
        self.called: set[str] = set()

    def must(self, holds: bool | None, sentence: str) -> None:  # noqa: FBT001  an assertion reads condition first
        if not holds:
            self.broken.append(f"chunk {self.seq}: {sentence}")

    def see(self, data: bytes) -> None:
        self.seq += 1
        try:
            chunk = _chunk(data)
            self.must(chunk.run_id == self.run_id, f"{chunk.type} is of run {chunk.run_id!r}")
            self._judge(chunk.type, chunk.payload)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self.broken.append(f"chunk {self.seq}: is no chunk ({error})")

    def _judge(self, kind: str, payload: msgspec.Raw) -> None:
        self._order(kind)
        if kind in _NOTHING_OPEN:
            still = [f"{family} {block}" for block, family in self.blocks.items() if family]
            self.must(not still, f"{', '.join(still)} open at {kind}")
        if kind in ("step-start", "step-finish"):
            self._step(kind)
        elif kind in _BLOCKS:
            self._block(kind, _block(payload).id)
        elif kind in _TOOL_INPUT:
            self._tool(kind, _tool(payload).tool_call_id)
        elif kind in _ANSWERS:
            answer = _tool(payload)
            known = answer.tool_call_id in self.named or (answer.metadata is not None and answer.metadata.orphan)
            self.must(known, f"{kind} answers a call nobody named: {answer.tool_call_id!r}")
        elif kind == "finish":
            self._finish(_finish(payload))
        if kind in _TERMINALS:
            self.terminal = kind

    def _order(self, kind: str) -> None:
        """Invariants 1 and 5 as far as the order of types goes."""
        background = kind.startswith("background-task-")
        if kind == "start":
            self.must(self.seq == 1, "start is not the first")
            self.started = True
        self.must(self.started, f"{kind} comes before start")
        self.must(not self.finished or background, f"{kind} follows finish")
        if self.terminal:
            self.must(kind in _AFTER_TERMINAL or background, f"{kind} follows {self.terminal}")

    def _step(self, kind: str) -> None:
        """Invariant 3: steps do not nest."""
        starts = kind == "step-start"
        self.must(self.in_step != starts, f"{kind} while a step is {'' if self.in_step else 'not '}open")
        self.in_step = starts

    def _block(self, kind: str, block: str) -> None:
        """Invariants 2 and 3 for text and reasoning."""
        family, _, event = kind.partition("-")
        self.must(self.in_step, f"{kind} outside a step")
        if event == "start":
            self.must(block not in self.blocks, f"block id {block} starts twice")
            self.blocks[block] = family
            return
        self.must(self.blocks.get(block) == family, f"{kind} of block {block}, which is not open")
        if event == "end":
            self.blocks[block] = ""

    def _tool(self, kind: str, call: str) -> None:
        """Invariants 3 and 4 for tool inputs."""
        self.must(self.in_step, f"{kind} outside a step")
        self.named.add(call)
        streaming = self.inputs.get(call, False)
        match kind:
            case "tool-call-input-streaming-start":
                self.must(call not in self.inputs and call not in self.called, f"input of {call} starts twice")
                self.inputs[call] = True
            case "tool-call":
                self.must(not streaming, f"tool-call {call} before its input ended")
                self.must(call not in self.called, f"tool-call {call} twice")
                self.called.add(call)
            case _:
                self.must(streaming, f"{kind} of {call}, whose input is not open")
                self.inputs[call] = kind == "tool-call-delta"

    def _finish(self, finish: _Finish) -> None:
        self.finished = True
        self.must(not self.in_step, "finish inside a step")
        self.must(not any(self.inputs.values()), "finish while a tool input is streaming")
        reason = finish.step_result.reason if finish.step_result else None
        failed = reason if reason in _TERMINALS else None
        self.must(failed == self.terminal, f"finish says {reason!r}, but the log's ending chunk is {self.terminal!r}")


_chunk: Final = msgspec.json.Decoder(_Chunk).decode
_block: Final = msgspec.json.Decoder(_Block).decode
_tool: Final = msgspec.json.Decoder(_Tool).decode
_finish: Final = msgspec.json.Decoder(_Finish).decode

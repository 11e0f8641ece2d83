"""The five invariants of every log (contract, "Every ending is explicit"), judged from the log alone. Pure.

This is a second judge beside the grammar, written against the contract only: it shares no code with the machine that
made the log, so a fault in the machine cannot hide itself.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

_ANSWERS: Final = frozenset({"tool-result", "tool-error", "tool-output-denied"})
_TERMINALS: Final = frozenset({"error", "abort", "tripwire"})
_NOTHING_OPEN: Final = frozenset({"step-finish", "data-run-suspended", "error", "abort", "tripwire", "finish"})
_AFTER_TERMINAL: Final = frozenset({"step-finish", "finish"})
_TOOL_INPUT: Final = frozenset(
    {"tool-call-input-streaming-start", "tool-call-delta", "tool-call-input-streaming-end", "tool-call"}
)


class _Result(msgspec.Struct):
    reason: str | None = None


class _Metadata(msgspec.Struct):
    orphan: Any = None


class _Payload(msgspec.Struct, rename="camel"):
    """What the invariants look at; everything else in a payload is passed over."""

    id: str | None = None
    tool_call_id: str | None = None
    step_result: _Result | None = None
    metadata: _Metadata | None = None


class _Chunk(msgspec.Struct, rename="camel"):
    type: str
    run_id: str
    payload: _Payload = msgspec.field(default_factory=_Payload)


def broken_invariants(run_id: str, log: Iterable[bytes]) -> list[str]:
    """One sentence per broken rule, each with the number of the chunk that broke it. Empty: the log is legal."""
    judge = _Judge(run_id)
    for data in log:
        judge.see(data)
    return judge.broken


class _Judge:
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
            chunk = _decode(data)
        except msgspec.MsgspecError as error:
            self.broken.append(f"chunk {self.seq}: is no chunk ({error})")
            return
        kind, payload = chunk.type, chunk.payload
        self.must(chunk.run_id == self.run_id, f"{kind} is of run {chunk.run_id!r}")
        self.order(kind)
        if kind in _NOTHING_OPEN:
            still = [f"{family} {block}" for block, family in self.blocks.items() if family]
            self.must(not still, f"{', '.join(still)} open at {kind}")
        if kind in ("step-start", "step-finish"):
            self.step(kind)
        elif kind.startswith(("text-", "reasoning-")):
            self.block(kind, str(payload.id))
        elif kind in _TOOL_INPUT:
            self.tool(kind, str(payload.tool_call_id))
        elif kind in _ANSWERS:
            orphan = payload.metadata is not None and payload.metadata.orphan is not None
            known = orphan or payload.tool_call_id in self.named
            self.must(known, f"{kind} answers a call nobody named: {payload.tool_call_id!r}")
        elif kind == "finish":
            self.finish(payload)
        if kind in _TERMINALS:
            self.terminal = kind

    def order(self, kind: str) -> None:
        """Invariants 1 and 5 as far as the order of types goes."""
        background = kind.startswith("background-task-")
        if kind == "start":
            self.must(self.seq == 1, "start is not the first")
            self.started = True
        self.must(self.started, f"{kind} comes before start")
        self.must(not self.finished or background, f"{kind} follows finish")
        if self.terminal:
            self.must(kind in _AFTER_TERMINAL or background, f"{kind} follows {self.terminal}")

    def step(self, kind: str) -> None:
        """Invariant 3: steps do not nest."""
        starts = kind == "step-start"
        self.must(self.in_step != starts, f"{kind} while a step is {'' if self.in_step else 'not '}open")
        self.in_step = starts

    def block(self, kind: str, block: str) -> None:
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

    def tool(self, kind: str, call: str) -> None:
        """Invariants 3 and 4 for tool inputs."""
        self.must(self.in_step, f"{kind} outside a step")
        self.named.add(call)
        streaming = self.inputs.get(call, False)
        match kind:
            case "tool-call-input-streaming-start":
                self.must(call not in self.inputs, f"input of {call} starts twice")
                self.inputs[call] = True
            case "tool-call":
                self.must(not streaming, f"tool-call {call} before its input ended")
                self.must(call not in self.called, f"tool-call {call} twice")
                self.called.add(call)
            case _:
                self.must(streaming, f"{kind} of {call}, whose input is not open")
                self.inputs[call] = kind == "tool-call-delta"

    def finish(self, payload: _Payload) -> None:
        self.finished = True
        self.must(not self.in_step, "finish inside a step")
        self.must(not any(self.inputs.values()), "finish while a tool input is streaming")
        reason = payload.step_result.reason if payload.step_result else None
        failed = reason if reason in _TERMINALS else None
        self.must(failed == self.terminal, f"finish says {reason!r}, but the log's ending chunk is {self.terminal!r}")


_decode = msgspec.json.Decoder(_Chunk).decode

"""What the chaos producers write: content that anybody can recompute from a run's id. Pure.

A run id says who wrote it: `c<seed>-<slot>-<number>`. `plan` gives the provider and control records that one producer
process of one generation writes into it, so the checker needs no copy of what was sent. Every delta carries a token
`#<generation>.<n>#`, `n` being the record's place in its plan: a token found in a log names the record it came from.
"""

import json
import random
import re
from typing import Any, Final, Literal, NamedTuple

Role = Literal["start", "replace", "join", "abort"]
Mode = Literal["single-call", "agent-loop"]

TOKEN: Final = re.compile(r"#(\d+)\.(\d+)#")
RUN_ID: Final = re.compile(r"c(\d+)-(\d+)-(\d+)")
# Shares of runs and calls: enough of each sort in a run of 20 s.
SINGLE_CALLS: Final = 0.6
ENDED_LOOPS: Final = 0.7  # the others end by their idle limit
SILENT_RUNS: Final = 0.03  # longer silent than any idle limit, so what comes after is late
FAILED_CALLS: Final = 0.08
_WORDS: Final = ("the", "stream", "went", "on", "déjà vu", "and", "nobody", "saw", "a gap", "in it", "流れ", "quietly")


class Planned(NamedTuple):
    """One record to write. `call` is None on control records; `token` is set on deltas, which logs show whole."""

    body: bytes
    call: str | None = None
    token: str | None = None
    text: str | None = None


class Plan(NamedTuple):
    """What one process writes into one run. After record `silent_after` (0: never) it says nothing for a while."""

    run_id: str
    mode: Mode
    records: tuple[Planned, ...]
    silent_after: int = 0


def run_id(seed: int, slot: int, number: int) -> str:
    return f"c{seed}-{slot}-{number}"


def plan(run: str, generation: int, role: Role) -> Plan:
    """The records that the slot's process of this generation writes into the run, in this role.

    start: opens the run. replace: goes on in place of a killed process, same source, raised epoch, new call ids.
    join: goes on as a source of its own. abort: only ends the run.
    """
    if not RUN_ID.fullmatch(run):
        raise ValueError(f"not a run of chaos: {run!r}")
    rng = random.Random(f"{run}/{generation}/{role}")
    mode_rng = random.Random(run)
    mode: Mode = "single-call" if mode_rng.random() < SINGLE_CALLS else "agent-loop"
    writer = _Writer(rng, generation)
    match role:
        case "start" if mode == "single-call":
            writer.call(1, last=True)
        case "start":
            writer.control({"type": "run-start", "mode": "agent-loop", "agentId": "chaos"})
            writer.loop(rng.randint(2, 4), ends=rng.random() < ENDED_LOOPS)
        case "replace" | "join":
            writer.loop(rng.randint(1, 2), ends=True)
        case "abort":
            writer.control({"type": "run-end", "reason": "aborted"})
    silent = rng.randint(1, len(writer.records)) if role == "start" and rng.random() < SILENT_RUNS else 0
    return Plan(run, mode, tuple(writer.records), silent)


class _Writer:
    def __init__(self, rng: random.Random, generation: int) -> None:
        self.rng, self.generation = rng, generation
        self.records: list[Planned] = []
        self.call_id = ""

    def loop(self, calls: int, *, ends: bool) -> None:
        for number in range(1, calls + 1):
            self.call(number, last=number == calls)
        if ends:
            self.control({"type": "run-end", "reason": "stop"})

    def call(self, number: int, *, last: bool) -> None:
        """One model response: blocks, usage, finish. A failed one may leave its last block open."""
        self.call_id = f"c{number}g{self.generation}"
        kinds = (self.text, self.thinking, self.tool, self.server_tool, self.image)
        for index, block in enumerate([self.text, *self.rng.choices(kinds, k=self.rng.randint(0, 3))]):
            block(index * 2)
        if self.rng.random() < FAILED_CALLS:
            self.provider({"type": "finish", "reason": {"kind": "error", "failure": {"message": "overloaded"}}})
            return
        usage = {"inputTokens": 100 + number, "outputTokens": self.rng.randint(1, 99)}
        self.provider({"type": "usage", "usage": usage})
        kind = self.rng.choice(("stop", "max_tokens")) if last else "tool_calls"
        self.provider({"type": "finish", "reason": {"kind": kind, "raw": kind}})

    def text(self, index: int) -> None:
        self.block(index, "text", "text-delta")

    def thinking(self, index: int) -> None:
        self.block(index, "thinking", "thinking-delta")

    def block(self, index: int, kind: str, delta: str) -> None:
        self.provider({"type": "block-start", "index": index, "blockKind": kind})
        texts = [self.delta(delta, index) for _ in range(self.rng.randint(1, 40))]
        self.provider({"type": "block-end", "index": index, "block": {"kind": kind, "text": "".join(texts)}})

    def delta(self, delta: str, index: int) -> str:
        token = f"#{self.generation}.{len(self.records)}#"
        text = " ".join([token, *self.rng.choices(_WORDS, k=self.rng.randint(3, 20))]) + " "
        self.provider({"type": delta, "index": index, "text": text}, token, text)
        return text

    def tool(self, index: int, *, executed: bool = False) -> str:
        """A tool call whose arguments come in pieces; each piece carries its token inside a JSON string."""
        use: dict[str, Any] = {"id": f"{self.call_id}.t{index}", "name": self.rng.choice(("search", "read_file"))}
        if executed:
            use["providerExecuted"] = True
        self.provider({"type": "block-start", "index": index, "blockKind": "tool_use"})
        arguments = self.piece(index, use, '{"query":"')
        for _ in range(self.rng.randint(0, 6)):
            arguments += self.piece(index, use, "")
        arguments += self.piece(index, use, '","limit":1.50}')
        block = {"kind": "tool_use", **use, "arguments": arguments}
        self.provider({"type": "block-end", "index": index, "block": block})
        return str(use["id"])

    def piece(self, index: int, use: dict[str, Any], piece: str) -> str:
        token = f"#{self.generation}.{len(self.records)}#"
        text = piece + token if piece.startswith("{") else token + piece
        self.provider({"type": "tool-call-delta", "index": index, **use, "argumentsDelta": text}, token, text)
        return text

    def server_tool(self, index: int) -> None:
        call = self.tool(index, executed=True)
        self.provider({"type": "block-start", "index": index + 1, "blockKind": "tool_result"})
        block = {"kind": "tool_result", "toolCallId": call, "content": [{"hits": 3, "score": 0.10}]}
        self.provider({"type": "block-end", "index": index + 1, "block": block})

    def image(self, index: int) -> None:
        self.provider({"type": "block-start", "index": index, "blockKind": "image"})
        block = {"kind": "image", "mediaType": "image/png", "url": f"https://example.com/{self.call_id}/{index}.png"}
        self.provider({"type": "block-end", "index": index, "block": block})

    def provider(self, chunk: dict[str, Any], token: str | None = None, text: str | None = None) -> None:
        self.records.append(Planned(_json(chunk), self.call_id, token, text))

    def control(self, body: dict[str, Any]) -> None:
        self.records.append(Planned(_json(body)))


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

"""A writer of random streams: agent chunks, raw calls, control records and time, in any order, of several sources."""

import json
from typing import Any

import msgspec
from hypothesis import strategies as st

from runwire.grammar import Limits
from runwire_schemas.record import Kind, Record
from unit.grammar.story import USAGE, Body, encoded, end, finish, start, text, tool, tool_end

# Small, so that random streams reach every bound.
LIMITS = Limits(
    agent_chunk_bytes=4000,
    cut_chunk_bytes=8000,
    open_blocks=5,
    blocks=8,
    finished_calls=3,
    argument_bytes=60,
    unanswered_calls=6,
    answered_calls=4,
    tool_bytes=600,
    live_tasks=3,
    ended_tasks=3,
    twins=2,
    sources=4,
    evidence_entries=5,
    evidence_bytes=3000,
    parked_records=3,
    parked_bytes=500,
)

REASONS = ("stop", "tool-calls", "length", "retry", "error", "abort", "tripwire", "odd", None)
TASK_EVENTS = ("started", "running", "resumed", "suspended", "completed", "failed", "cancelled", "output", "progress")
PLAIN = ("goal", "watch", "object", "data-x", "raw", "workflow-start", "network-validation-end", "what", "custom")
PAUSES = ("workflow-paused", "workflow-step-suspended", "tool-execution-approval")
ENDS = ("success", "failed", "canceled", "tripwire", "suspended", "odd")


class Writer:
    """Builds streams that are mostly legal, so that random choices get far. Each text and result is said once."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.seqs: dict[str, int] = {}
        self.words = 0
        self.call = 0
        self.raw: dict[int, str] = {}
        self.now = 1_000

    def word(self) -> str:
        self.words += 1
        return f"w{self.words:03}"

    def write(self, body: Body | bytes, kind: Kind = "agent", src: str = "p", *, call: bool = False) -> None:
        self.now += 1
        own = src == "~enforcer"
        seq = 0 if own else self.seqs.get(src, 0) + 1
        self.seqs[src] = seq
        named = f"c{self.call}" if call or kind == "provider" else None
        self.records.append(Record(f"{self.now}-0", "r", kind, src, 0, seq, encoded(body), named, "optional"))

    def act(self, name: str, dice: int) -> None:
        getattr(self, f"do_{name}")(dice)

    def say(self, type_: str, dice: int, /, **payload: Any) -> None:
        self.write({"type": type_, "payload": payload}, src="p" if dice % 5 else "q", call=dice % 17 == 0)

    def do_block(self, dice: int) -> None:
        stem = ("text", "reasoning")[dice // 3 % 2]
        part = ("start", "delta", "delta", "delta", "end")[dice // 7 % 5]
        more = {"text": self.word()} if part == "delta" else {}
        self.say(f"{stem}-{part}", dice, id=f"b{dice % 3}", **more)

    def do_input(self, dice: int) -> None:
        part = ("input-streaming-start", "delta", "delta", "input-streaming-end")[dice // 5 % 4]
        more = {"argsTextDelta": ('{"a":', "1", "}", "x" * 40)[dice // 11 % 4]} if part == "delta" else {}
        self.say(f"tool-call-{part}", dice, toolCallId=f"t{dice % 4}", toolName="f", **more)

    def do_call(self, dice: int) -> None:
        self.say("tool-call", dice, toolCallId=f"t{dice % 4}", toolName="f", **({"args": {}} if dice % 3 else {}))

    def do_ask(self, dice: int) -> None:
        self.say(("tool-call-approval", "tool-call-suspended")[dice % 2], dice, toolCallId=f"t{dice // 2 % 4}")

    def do_answer(self, dice: int) -> None:
        kind = ("tool-result", "tool-result", "tool-error", "tool-output-denied")[dice // 4 % 4]
        self.say(kind, dice, toolCallId=f"t{dice % 4}", result=self.word(), providerExecuted=dice % 4 != 3)

    def do_step(self, dice: int) -> None:
        if dice % 2:
            self.say("step-start", dice)
        else:
            reason = REASONS[0] if dice % 3 else REASONS[dice // 6 % len(REASONS)]
            figures = {"inputTokens": dice, "outputTokens": 1}
            self.say("step-finish", dice, stepResult={"reason": reason}, output={"usage": figures})

    def do_end(self, dice: int) -> None:
        reason = REASONS[dice // 3 % len(REASONS)]
        kind = ("finish", "error", "abort", "tripwire", "workflow-finish", "workflow-canceled")[dice % 6]
        more: Body = {"stepResult": {"reason": reason}} if kind == "finish" else {}
        more |= {"workflowStatus": ENDS[dice // 7 % len(ENDS)]} if kind == "workflow-finish" else {}
        self.say(kind, dice, **more)

    def do_task(self, dice: int) -> None:
        event = TASK_EVENTS[dice // 4 % len(TASK_EVENTS)]
        named = {"taskIds": ["k0", "k1"], "runningCount": 2} if event == "progress" else {"taskId": f"k{dice % 4}"}
        inner = ({"type": "tool-output", "payload": {"output": dice % 2}}, {"type": "data-x", "data": dice % 2})
        more = {"payload": inner[dice // 9 % 2]} if event == "output" else {"result": self.word()}
        self.say(f"background-task-{event}", dice, toolCallId=f"t{dice // 5 % 4}", **named, **more)

    def do_output(self, dice: int) -> None:
        if dice % 2:
            self.say("tool-output", dice, toolCallId=f"t{dice // 5 % 4}", output=dice // 3 % 2)
        else:
            self.write({"type": "data-x", "data": dice // 3 % 2})

    def do_plain(self, dice: int) -> None:
        kind = PLAIN[dice % len(PLAIN)]
        beside: Body = {"object": {"o": self.word()}} if kind == "object" else {}
        beside |= {"data": self.word()} if kind == "data-x" else {}
        fields = {"objective": "o", "status": "active"} if kind == "goal" else {"x": self.word()}
        self.write(
            {"type": kind, "from": "USER", "payload": fields, **beside} if not beside else {"type": kind, **beside}
        )

    def do_content(self, dice: int) -> None:
        if dice % 2:
            self.say("source", dice, id=self.word(), sourceType="url")
        else:
            self.say("file", dice, data=self.word(), mimeType="a/b")

    def do_pause(self, dice: int) -> None:
        self.say(PAUSES[dice % 3], dice)

    def do_start(self, dice: int) -> None:
        self.say("start", dice, id="a")

    def do_raw(self, dice: int) -> None:
        """A chunk of a raw call: text, a tool call whose id an agent may use too, or its finish."""
        which = dice % 6
        if which == 0 and self.raw:
            index, said = self.raw.popitem()
            ends = tool_end(said, index, f"t{index % 4}") if index % 2 else end(index, text=said)
            self.write(ends, "provider")
        elif which == 1:
            while self.raw:
                self.do_raw(0)
            self.write(USAGE, "provider")
            self.write(finish(("stop", "tool_calls", "max_tokens", "error", "aborted")[dice // 6 % 5]), "provider")
            self.call += 1
        elif which == 2 or not self.raw:
            index = len(self.raw) + self.words * 2 % 1000 * 2 + dice % 2
            self.raw[index] = ""
            self.write(start(index, "tool_use" if index % 2 else "text"), "provider")
        else:
            index = next(reversed(self.raw))
            word = '{"a":1}' if index % 2 else self.word()
            self.raw[index] += word
            body = tool(word, index, f"t{index % 4}", name="f") if index % 2 else text(word, index)
            self.write(body, "provider")

    def do_control(self, dice: int) -> None:
        bodies: list[Body] = [
            {"type": "heartbeat"},
            {"type": "run-start", "agentId": "a"},
            {"type": "run-end", "reason": "suspended"},
            {"type": "run-end", "reason": ("stop", "error", "aborted")[dice // 5 % 3]},
            {"type": "heartbeat"},
        ]
        self.write(bodies[dice % 5], "control")

    def do_time(self, dice: int) -> None:
        phases = ("ending", "suspend-mark", "call", "tools", "idle", "suspended", "task", "task-suspended", "gap")
        after = self.records[-1].id if self.records else "1-0"
        phase = phases[dice % (2 if dice % 3 else len(phases))]
        self.write({"type": "timeout", "phase": phase, "after": after}, "control", "~enforcer")

    def do_wild(self, dice: int) -> None:
        bodies: list[Body | bytes] = [
            b"{",
            {"type": "text-delta", "payload": {}},
            {"type": "tool-result", "payload": {"toolCallId": "nobody"}},
            {"type": "text-start", "runId": "other", "payload": {"id": "b0"}},
            {"type": "step-start", "payload": {"request": "x" * 5000}},
            {"type": "goal", "payload": {"x": "x" * 5000}},
        ]
        self.write(bodies[dice % len(bodies)])

    def do_skip(self, dice: int) -> None:
        self.seqs["p"] = max(0, self.seqs.get("p", 0) + dice % 4 - 2)
        self.write({"type": "heartbeat"}, "control")


OFTEN = ("block", "block", "input", "call", "answer", "step", "task", "output")
SELDOM = ("ask", "plain", "content", "pause", "start", "raw", "raw", "control", "time", "time", "end")
RARE = ("wild", "skip")
ACTIONS = st.one_of(*[st.sampled_from(OFTEN)] * 4, *[st.sampled_from(SELDOM)] * 3, st.sampled_from(RARE))


@st.composite
def streams(draw: st.DrawFn, actions: st.SearchStrategy[str] = ACTIONS, size: int = 50) -> list[Record]:
    writer = Writer()
    if draw(st.booleans()):
        writer.write({"type": "run-start", "mode": "agent-loop"}, "control")
    else:
        writer.write({"type": "start", "payload": {}})
    for name, dice in draw(st.lists(st.tuples(actions, st.integers(0, 999)), max_size=size)):
        writer.act(name, dice)
    return writer.records


def words_of(log: list[bytes]) -> set[str]:
    """Every word that the log says somewhere."""
    found: set[str] = set()
    for chunk in log:
        found.update(_words(json.loads(chunk)))
    return found


def _words(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set().union(*map(_words, value.values()))
    if isinstance(value, list):
        return set().union(*map(_words, value))
    return {value} if isinstance(value, str) and value.startswith("w") and value[1:].isdecimal() else set()


def words_in(record: Record) -> set[str]:
    try:
        return _words(msgspec.json.decode(record.body))
    except msgspec.MsgspecError:
        return set()

"""What is remembered of a run between two records, and its bytes.

Small and bounded however long the run is: counters, open blocks with the length and checksum of their text (never the
text), tool calls that may still be answered. `Limits` bounds each part. The same struct is the tombstone of a finished
run: `Run.entomb` empties what a finished run no longer needs.
"""

from typing import Final, Literal

import msgspec

from runwire_schemas.errors import RunwireError
from runwire_schemas.raw import BlockKind, Failure, Usage

STATE_VERSION: Final = 2
# Fields are only ever added at the end of a struct, with defaults: older states are read as they are.
OLDEST_VERSION: Final = 1

Mode = Literal["single-call", "agent-loop"]
UsageDefault = Literal["required", "optional"]
Word = Literal["stop", "tool-calls", "length", "content-filter", "error", "abort", "retry", "other", "tripwire"]


class StateUnreadable(RunwireError):
    """A run's stored state was written by another version of Runwire: upgrade this process, or stop the newer one."""


class Parked(msgspec.Struct, array_like=True):
    """A record that waits behind a gap. A refused one only waits to use up its seq: nobody needs its body."""

    id: str
    size: int
    refused: bool = False


class Source(msgspec.Struct, array_like=True):
    """One producer instance. `parked` is by seq, in order of arrival."""

    epoch: int
    last: int = 0
    parked: dict[int, Parked] = msgspec.field(default_factory=dict[int, Parked])


class Waiting(msgspec.Struct, array_like=True):
    """An argument delta that came before its call's name."""

    text: str
    metadata: bytes | None


class Block(msgspec.Struct, array_like=True):
    """An open block. `size` and `crc` are of the UTF-8 of its deltas, `fed` tells whether any was not empty.

    Text and thinking have a `number`; a tool call the rest. `id` is the raw id, `out` the one that readers see, `parts`
    the argument text so far, None once it is too much to remember.
    """

    index: int
    kind: BlockKind
    number: int = 0
    size: int = 0
    crc: int = 0
    fed: bool = False
    id: str = ""
    out: str = ""
    name: str = ""
    wire: str | None = None
    executed: bool | None = None
    google: bytes | None = None
    started: bool = False
    waiting: list[Waiting] = msgspec.field(default_factory=list[Waiting])
    waiting_size: int = 0
    parts: list[str] | None = msgspec.field(default_factory=list[str])
    parts_size: int = 0


class Call(msgspec.Struct, array_like=True):
    """The open call. `tool_ids` are the keys of its tool calls' raw ids, `closed` the indexes of its closed blocks.

    They are lists, not sets: the bytes of a state depend on its records alone, not on a process's hash seed.
    """

    id: str
    src: str
    usage_optional: bool
    usage: Usage | None = None
    blocks: dict[int, Block] = msgspec.field(default_factory=dict[int, Block])
    closed: list[int] = msgspec.field(default_factory=list[int])
    tool_ids: list[str] = msgspec.field(default_factory=list[str])


class Held(msgspec.Struct, array_like=True):
    """A finished call whose step is still open."""

    reason: Word
    raw: str | None
    cut: bool
    usage: Usage | None
    failure: Failure | None = None


# `input`: its raw block is open; `streaming`, `ended`: an agent streams its input, or has done so.
ToolState = Literal["input", "complete", "bad", "cut", "streaming", "ended"]


class Tool(msgspec.Struct, array_like=True):
    """A tool call without an answer. `told`: the enforcer has sent its `tool-error`, which is no answer.

    `parts` is the argument text of an agent's stream so far, None once it is too much to remember. `waiting`: it asked
    for approval or suspended itself in this leg. `made`: its `tool-call` was made from the stream. `task`: it runs, or
    ran, as a background task.
    """

    id: str
    name: str
    step: int
    state: ToolState
    args: str | None = None
    told: bool = False
    parts: list[str] | None = msgspec.field(default_factory=list[str])
    parts_size: int = 0
    waiting: bool = False
    made: bool = False
    task: bool = False


class Answered(msgspec.Struct, array_like=True):
    """A tool call with its answer; `twice`: also with the real one that followed a task's placeholder."""

    id: str
    name: str
    step: int = 0
    made: bool = False
    task: bool = False
    twice: bool = False


class AgentBlock(msgspec.Struct, array_like=True):
    """An agent's open text or reasoning block: its own id, and its number in the run."""

    id: str
    number: int


TaskState = Literal["queued", "running", "suspended"]


class Task(msgspec.Struct, array_like=True):
    """A live background task: the tool call that readers know it by, and its last sign of life.

    `named`: the run has named that call, so a late answer is known even when the call is forgotten.
    """

    call: str
    name: str
    state: TaskState
    last: str
    named: bool


class Shown(msgspec.Struct, array_like=True):
    """What one side has shown and the other has not: digest, number of the chunk, its tool call ("" for data)."""

    digest: str
    seq: int
    call: str


class Parent(msgspec.Struct, array_like=True):
    """The run that this one is nested in."""

    run_id: str
    wrapper: str
    key: str


Ending = Literal["error", "abort", "tripwire"]


class State(msgspec.Struct, array_like=True):
    """One run. `end` is the reason of its `finish`, "" before; `uses` counts how often a raw tool call id was used.

    `agent_blocks` is by family and id, `step_output` tells whose model output the open step has. `pausing`: something
    without a tool call has suspended itself. `ending`: the agent's stop that its `finish` must follow. `bare` and
    `wrapped` are what twins are recognized by. `now` is the enforcer's last `timeout` for a task.
    """

    version: int = STATE_VERSION
    end: str = ""
    attempt: int = 1
    seq: int = 0
    first: str = ""
    last: str = ""
    author: str = ""
    sources: dict[str, Source] = msgspec.field(default_factory=dict[str, Source])
    finished_calls: list[str] = msgspec.field(default_factory=list[str])
    refused: int = 0
    counted_first: str = ""
    repairs: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    repairs_first: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    kept_bytes: int = 0

    mode: Mode = "agent-loop"
    agent_id: str | None = None
    thread_id: str | None = None
    resource_id: str | None = None
    usage_default: UsageDefault = "required"
    started: bool = False
    suspended: bool = False
    leg: int = 1
    steps: int = 0
    step_open: bool = False
    blocks: int = 0
    call: Call | None = None
    held: Held | None = None
    last_reason: Word | None = None
    last_raw: str | None = None
    # JSON text, for a sum of many steps may pass what msgpack's integers hold.
    totals: bytes = b"{}"
    tools: dict[str, Tool] = msgspec.field(default_factory=dict[str, Tool])
    answered: dict[str, Answered] = msgspec.field(default_factory=dict[str, Answered])
    uses: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    args_size: int = 0
    tool_size: int = 0
    answered_size: int = 0

    # Since version 2: what agent chunks need.
    parent: Parent | None = None
    continues: str | None = None
    agent_blocks: dict[str, AgentBlock] = msgspec.field(default_factory=dict[str, AgentBlock])
    agent_block_size: int = 0
    step_output: Literal["", "raw", "agent"] = ""
    pausing: bool = False
    canceled: bool = False
    ending: Ending | None = None
    tasks: dict[str, Task] = msgspec.field(default_factory=dict[str, Task])
    task_size: int = 0
    ended_tasks: list[str] = msgspec.field(default_factory=list[str])
    bare: list[Shown] = msgspec.field(default_factory=list[Shown])
    wrapped: list[Shown] = msgspec.field(default_factory=list[Shown])
    now: str = ""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(State).decode
_version = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


def dump(state: State) -> bytes:
    """The state as versioned msgpack. Long argument text is joined first, so that it is written as one string."""
    if state.call is not None:
        for block in state.call.blocks.values():
            if block.parts and len(block.parts) > 1:
                block.parts = ["".join(block.parts)]
    for tool in state.tools.values():
        if tool.parts and len(tool.parts) > 1:
            tool.parts = ["".join(tool.parts)]
    return _encode(state)


def load(blob: bytes) -> State:
    """Raises StateUnreadable for a state of another version, msgspec.DecodeError for one that is damaged."""
    version = msgspec.msgpack.decode(_version(blob)[0], type=int)
    if not OLDEST_VERSION <= version <= STATE_VERSION:
        raise StateUnreadable(
            f"run state of version {version}; this process reads versions {OLDEST_VERSION} to {STATE_VERSION}"
        )
    state = _decode(blob)
    state.version = STATE_VERSION
    return state

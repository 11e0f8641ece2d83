"""The types of agent chunks: what each one is for, what it must have and what is filled in. Code asks this table."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from runwire.grammar.fields import Field
from runwire_schemas.chunks import DATA_PREFIX, EXTENSION_TYPES, NETWORK_PREFIXES, SEED_TYPES

SENDERS: Final = ("AGENT", "USER", "SYSTEM", "WORKFLOW", "NETWORK")
BACKGROUND: Final = "background-task-"

# What a chunk does in its run. `plain` is passed on.
Role = Literal[
    "start", "step-start", "step-finish", "finish", "stop",
    "block", "signature", "input-start", "input-delta", "input-end", "call", "content",
    "question", "answer", "task", "pause", "mark",
    "workflow-finish", "workflow-canceled", "network-finish",
    "plain", "unknown",
]  # fmt: skip

# Where the content is: in `payload`, beside it under this name, or (`open`) wherever it was put.
Place = Literal["payload", "object", "data", "open"]


class ChunkType(NamedTuple):
    """`required` are fields of the content, `filled` those that get a value where they are absent or null."""

    role: Role
    required: tuple[Field, ...] = ()
    filled: tuple[tuple[str, bytes], ...] = ()
    place: Place = "payload"


def _fields(names: str) -> tuple[Field, ...]:
    return tuple(Field(name, _JSON_TYPES.get(name, "string"), words=_WORDS.get(name, ())) for name in names.split())


_JSON_TYPES: Final[Mapping[str, Literal["name", "integer", "array", "any"]]] = {
    "toolCallId": "name",
    "toolName": "name",
    "taskId": "name",
    "taskIds": "array",
    "runningCount": "integer",
}
_WORDS: Final = {"sourceType": ("url", "document"), "status": ("active", "paused", "done")}
# Bytes arrive as an array or an object of numbers, so only absence is wrong; null is no data.
_FILE: Final = (Field("data", "present"), Field("mimeType", "string"))

_BLOCK: Final = ChunkType("block", _fields("id"))
_DELTA: Final = ChunkType("block", _fields("id text"))
_CALL: Final = _fields("toolCallId")
_STOP_ERROR: Final = (("error", b"{}"),)
_TASK: Final = ChunkType("task", _fields("taskId toolCallId"))
MESSAGES: Final = b'{"all":[],"user":[],"nonUser":[]}'

# Everything that is not listed here, but known, is passed on.
_LISTED: Final[Mapping[str, ChunkType]] = {
    "start": ChunkType("start"),
    "step-start": ChunkType("step-start", filled=(("request", b"{}"),)),
    "step-finish": ChunkType("step-finish", filled=(("output", b"{}"), ("metadata", b"{}"))),
    "finish": ChunkType("finish", filled=(("output", b"{}"), ("metadata", b"{}"), ("messages", MESSAGES))),
    "error": ChunkType("stop", filled=_STOP_ERROR),
    "abort": ChunkType("stop"),
    "tripwire": ChunkType("stop", filled=(("reason", b'""'),)),
    "text-start": _BLOCK,
    "text-delta": _DELTA,
    "text-end": _BLOCK,
    "reasoning-start": _BLOCK,
    "reasoning-delta": _DELTA,
    "reasoning-end": _BLOCK,
    "reasoning-signature": ChunkType("signature", _fields("id")),
    "redacted-reasoning": ChunkType("content", _fields("id")),
    "source": ChunkType("content", _fields("id sourceType"), (("title", b'""'),)),
    "file": ChunkType("content", _FILE),
    "reasoning-file": ChunkType("content", _FILE),
    "tool-call": ChunkType("call", _fields("toolCallId toolName")),
    "tool-call-input-streaming-start": ChunkType("input-start", _fields("toolCallId toolName")),
    "tool-call-delta": ChunkType("input-delta", _fields("toolCallId argsTextDelta")),
    "tool-call-input-streaming-end": ChunkType("input-end", _CALL),
    "tool-call-approval": ChunkType("question", _CALL),
    "tool-call-suspended": ChunkType("question", _CALL),
    "tool-result": ChunkType("answer", _CALL, (("result", b"null"),)),
    "tool-error": ChunkType("answer", _CALL, _STOP_ERROR),
    "tool-output-denied": ChunkType("answer", _CALL),
    "object": ChunkType("plain", (Field("object", "any"),), place="object"),
    "object-result": ChunkType("plain", (Field("object", "any"),), place="object"),
    "goal": ChunkType("plain", _fields("objective status")),
    "workflow-finish": ChunkType("workflow-finish", _fields("workflowStatus")),
    "workflow-canceled": ChunkType("workflow-canceled"),
    "workflow-paused": ChunkType("pause"),
    "workflow-step-suspended": ChunkType("pause"),
    "background-task-started": _TASK,
    "background-task-running": _TASK,
    "background-task-resumed": _TASK,
    "background-task-suspended": _TASK,
    "background-task-completed": _TASK,
    "background-task-failed": _TASK,
    "background-task-cancelled": _TASK,
    "background-task-output": ChunkType("task", (*_fields("taskId toolCallId"), Field("payload", "any"))),
    "background-task-progress": ChunkType("task", _fields("taskIds runningCount")),
    "data-run-suspended": ChunkType("mark", (Field("data", "any"),), place="data"),
    # The network family's own words for what an agent says with tool-call-approval and -suspended.
    "agent-execution-approval": ChunkType("pause", place="open"),
    "agent-execution-suspended": ChunkType("pause", place="open"),
    "tool-execution-approval": ChunkType("pause", place="open"),
    "tool-execution-suspended": ChunkType("pause", place="open"),
    "workflow-execution-suspended": ChunkType("pause", place="open"),
    "network-execution-event-finish": ChunkType("network-finish", place="open"),
}
TYPES: Final[Mapping[str, ChunkType]] = {
    **dict.fromkeys(sorted(SEED_TYPES | EXTENSION_TYPES), ChunkType("plain")),
    **_LISTED,
}

_DATA: Final = ChunkType("plain", (Field("data", "any"),), place="data")
_NETWORK: Final = ChunkType("plain", place="open")
UNKNOWN: Final = ChunkType("unknown", place="open")


def type_of(name: str | None) -> ChunkType:
    """What a chunk of this type is; every name has an answer."""
    if name is None:
        return UNKNOWN
    known = TYPES.get(name)
    if known is not None:
        return known
    if name.startswith(DATA_PREFIX):
        return _DATA
    return _NETWORK if name.startswith(NETWORK_PREFIXES) else UNKNOWN


# What a model says. In a step with raw output it comes as raw chunks, or with the `call` that it belongs to.
MODEL_OUTPUT: Final[frozenset[Role]] = frozenset(
    ("block", "signature", "input-start", "input-delta", "input-end", "call", "content")
)
# What frames a run, or comes from outside of its model: the `call` of such a chunk begins no call.
FRAME: Final[frozenset[Role]] = frozenset(
    ("start", "step-start", "step-finish", "finish", "stop", "answer", "task", "mark", "workflow-finish")
)
# A run is not opened by what only answers or ends something.
NO_OPENERS: Final[frozenset[Role]] = frozenset(("answer", "task", "step-finish", "finish"))

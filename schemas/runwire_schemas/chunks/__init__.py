"""The normalized protocol: every type of chunk that a reader may meet, as the seed and the contract list them.

These structs are views for code that looks into chunks. What travels is the chunk's bytes, which also keep fields that
are not listed here; so decode a chunk to read it, and pass on its bytes.
"""

from typing import Final, get_args

import msgspec

from runwire_schemas.chunks.base import UNSET, Chunk, ChunkFrom, Opaque
from runwire_schemas.chunks.content import Custom, Data, File, Object, ObjectResult, ReasoningFile, Source
from runwire_schemas.chunks.flow import (
    Abort,
    Error,
    Finish,
    Goal,
    IsTaskComplete,
    RawData,
    Reason,
    ResponseMetadata,
    Start,
    StepFinish,
    StepOutput,
    StepStart,
    ToolOutput,
    Tripwire,
    Usage,
    Watch,
)
from runwire_schemas.chunks.tasks import (
    BackgroundTaskCancelled,
    BackgroundTaskCompleted,
    BackgroundTaskFailed,
    BackgroundTaskOutput,
    BackgroundTaskProgress,
    BackgroundTaskResumed,
    BackgroundTaskRunning,
    BackgroundTaskStarted,
    BackgroundTaskSuspended,
)
from runwire_schemas.chunks.text import (
    ReasoningDelta,
    ReasoningEnd,
    ReasoningSignature,
    ReasoningStart,
    RedactedReasoning,
    TextDelta,
    TextEnd,
    TextStart,
)
from runwire_schemas.chunks.tools import (
    ToolCall,
    ToolCallApproval,
    ToolCallDelta,
    ToolCallSuspended,
    ToolError,
    ToolInputEnd,
    ToolInputStart,
    ToolOutputDenied,
    ToolResult,
)
from runwire_schemas.chunks.workflow import (
    NETWORK_PREFIXES,
    Network,
    WorkflowCanceled,
    WorkflowFinish,
    WorkflowPaused,
    WorkflowStart,
    WorkflowStepFinish,
    WorkflowStepOutput,
    WorkflowStepProgress,
    WorkflowStepResult,
    WorkflowStepStart,
    WorkflowStepSuspended,
    WorkflowStepWaiting,
)

SeedChunk = (
    TextStart
    | TextDelta
    | TextEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | ReasoningSignature
    | ToolCall
    | ToolResult
    | ToolInputStart
    | ToolCallDelta
    | ToolInputEnd
    | ToolError
    | Source
    | File
    | Start
    | StepStart
    | StepFinish
    | RawData
    | Finish
    | Error
    | Abort
    | Object
    | ToolOutput
    | StepOutput
    | BackgroundTaskStarted
    | BackgroundTaskRunning
    | BackgroundTaskProgress
    | BackgroundTaskOutput
    | BackgroundTaskCompleted
    | BackgroundTaskFailed
    | BackgroundTaskSuspended
    | BackgroundTaskResumed
    | BackgroundTaskCancelled
    | ResponseMetadata
    | Watch
    | Goal
    | Tripwire
)

ExtensionChunk = (
    RedactedReasoning
    | ReasoningFile
    | Custom
    | ToolCallApproval
    | ToolCallSuspended
    | ToolOutputDenied
    | ObjectResult
    | IsTaskComplete
    | WorkflowStart
    | WorkflowFinish
    | WorkflowCanceled
    | WorkflowPaused
    | WorkflowStepStart
    | WorkflowStepOutput
    | WorkflowStepProgress
    | WorkflowStepResult
    | WorkflowStepSuspended
    | WorkflowStepWaiting
    | WorkflowStepFinish
)

TaggedChunk = SeedChunk | ExtensionChunk


class Unknown(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A type that this version does not know; the enforcer that wrote it was newer."""

    type: str
    run_id: str
    from_: str = msgspec.field(name="from")
    payload: Opaque = UNSET


AnyChunk = TaggedChunk | Data | Network | Unknown

DATA_PREFIX: Final = "data-"


def _tag(struct: type[Chunk]) -> str:
    # A tag may be an int in msgspec; ours are all text.
    return str(struct.__struct_config__.tag)


SEED_TYPES: Final[frozenset[str]] = frozenset(_tag(struct) for struct in get_args(SeedChunk))
EXTENSION_TYPES: Final[frozenset[str]] = frozenset(_tag(struct) for struct in get_args(ExtensionChunk))
KNOWN_TYPES: Final[frozenset[str]] = SEED_TYPES | EXTENSION_TYPES


def is_known(chunk_type: str) -> bool:
    """Whether a chunk of this type is of the contract: listed, `data-<name>`, or of the network family."""
    return chunk_type in KNOWN_TYPES or chunk_type.startswith((DATA_PREFIX, *NETWORK_PREFIXES))


class _Head(msgspec.Struct):
    type: str


_head = msgspec.json.Decoder(_Head)
_tagged = msgspec.json.Decoder(TaggedChunk)
_data = msgspec.json.Decoder(Data)
_network = msgspec.json.Decoder(Network)
_unknown = msgspec.json.Decoder(Unknown)


def decode(body: bytes) -> AnyChunk:
    """Read one chunk. Raises msgspec.DecodeError if it is no JSON, and its child ValidationError if it is no chunk."""
    chunk_type = _head.decode(body).type
    if chunk_type in KNOWN_TYPES:
        return _tagged.decode(body)
    if chunk_type.startswith(DATA_PREFIX):
        return _data.decode(body)
    if chunk_type.startswith(NETWORK_PREFIXES):
        return _network.decode(body)
    return _unknown.decode(body)


__all__ = [
    "DATA_PREFIX",
    "EXTENSION_TYPES",
    "KNOWN_TYPES",
    "NETWORK_PREFIXES",
    "SEED_TYPES",
    "Abort",
    "AnyChunk",
    "BackgroundTaskCancelled",
    "BackgroundTaskCompleted",
    "BackgroundTaskFailed",
    "BackgroundTaskOutput",
    "BackgroundTaskProgress",
    "BackgroundTaskResumed",
    "BackgroundTaskRunning",
    "BackgroundTaskStarted",
    "BackgroundTaskSuspended",
    "ChunkFrom",
    "Custom",
    "Data",
    "Error",
    "ExtensionChunk",
    "File",
    "Finish",
    "Goal",
    "IsTaskComplete",
    "Network",
    "Object",
    "ObjectResult",
    "RawData",
    "Reason",
    "ReasoningDelta",
    "ReasoningEnd",
    "ReasoningFile",
    "ReasoningSignature",
    "ReasoningStart",
    "RedactedReasoning",
    "ResponseMetadata",
    "SeedChunk",
    "Source",
    "Start",
    "StepFinish",
    "StepOutput",
    "StepStart",
    "TaggedChunk",
    "TextDelta",
    "TextEnd",
    "TextStart",
    "ToolCall",
    "ToolCallApproval",
    "ToolCallDelta",
    "ToolCallSuspended",
    "ToolError",
    "ToolInputEnd",
    "ToolInputStart",
    "ToolOutput",
    "ToolOutputDenied",
    "ToolResult",
    "Tripwire",
    "Unknown",
    "Usage",
    "Watch",
    "WorkflowCanceled",
    "WorkflowFinish",
    "WorkflowPaused",
    "WorkflowStart",
    "WorkflowStepFinish",
    "WorkflowStepOutput",
    "WorkflowStepProgress",
    "WorkflowStepResult",
    "WorkflowStepStart",
    "WorkflowStepSuspended",
    "WorkflowStepWaiting",
    "decode",
    "is_known",
]

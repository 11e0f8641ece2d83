"""Tool calls, their streamed input, their answers, and the questions a tool may ask before it runs."""

from runwire_schemas.chunks.base import UNSET, Chunk, Flag, Opaque, Payload, ProviderPayload, Text, UnsetType


class ToolCallPayload(ProviderPayload, frozen=True, kw_only=True):
    """`args` is a JSON object."""

    tool_call_id: str
    tool_name: str
    args: Opaque = UNSET
    provider_executed: Flag = UNSET
    output: Opaque = UNSET


class ToolResultPayload(ProviderPayload, frozen=True, kw_only=True):
    """`metadata.orphan`: no tool call of the run has this id."""

    tool_call_id: str
    tool_name: Text = UNSET
    result: Opaque = UNSET
    is_error: Flag = UNSET
    provider_executed: Flag = UNSET
    args: Opaque = UNSET
    metadata: Opaque = UNSET


class ToolInputStartPayload(ProviderPayload, frozen=True, kw_only=True):
    tool_call_id: str
    tool_name: str
    provider_executed: Flag = UNSET
    dynamic: Flag = UNSET


class ToolCallDeltaPayload(ProviderPayload, frozen=True, kw_only=True):
    """`args_text_delta` is a piece of the arguments' JSON text, of any length."""

    args_text_delta: str
    tool_call_id: str
    tool_name: Text = UNSET


class ToolInputEndPayload(ProviderPayload, frozen=True, kw_only=True):
    tool_call_id: str


class ToolErrorPayload(ProviderPayload, frozen=True, kw_only=True):
    """`error` is opaque; the enforcer's own is {code, message, argsText}."""

    id: Text = UNSET
    tool_call_id: str
    tool_name: Text = UNSET
    args: Opaque = UNSET
    error: Opaque = UNSET
    provider_executed: Flag = UNSET


class ToolQuestionPayload(ProviderPayload, frozen=True, kw_only=True):
    """`resume_schema` describes what an answer must look like."""

    tool_call_id: str
    tool_name: Text = UNSET
    args: Opaque = UNSET
    resume_schema: Opaque = UNSET


class ToolSuspendedPayload(ToolQuestionPayload, frozen=True, kw_only=True):
    suspend_data: Opaque = UNSET


class Approval(Payload, frozen=True, kw_only=True):
    id: Text = UNSET
    approved: Flag = UNSET
    reason: Text = UNSET


class ToolDeniedPayload(ProviderPayload, frozen=True, kw_only=True):
    tool_call_id: str
    tool_name: Text = UNSET
    args: Opaque = UNSET
    approval: Approval | UnsetType | None = UNSET


class ToolCall(Chunk, frozen=True, kw_only=True, tag="tool-call"):
    payload: ToolCallPayload


class ToolResult(Chunk, frozen=True, kw_only=True, tag="tool-result"):
    payload: ToolResultPayload


class ToolInputStart(Chunk, frozen=True, kw_only=True, tag="tool-call-input-streaming-start"):
    payload: ToolInputStartPayload


class ToolCallDelta(Chunk, frozen=True, kw_only=True, tag="tool-call-delta"):
    payload: ToolCallDeltaPayload


class ToolInputEnd(Chunk, frozen=True, kw_only=True, tag="tool-call-input-streaming-end"):
    payload: ToolInputEndPayload


class ToolError(Chunk, frozen=True, kw_only=True, tag="tool-error"):
    payload: ToolErrorPayload


class ToolCallApproval(Chunk, frozen=True, kw_only=True, tag="tool-call-approval"):
    """The call waits for somebody's consent."""

    payload: ToolQuestionPayload


class ToolCallSuspended(Chunk, frozen=True, kw_only=True, tag="tool-call-suspended"):
    """The tool stopped itself and waits to be resumed."""

    payload: ToolSuspendedPayload


class ToolOutputDenied(Chunk, frozen=True, kw_only=True, tag="tool-output-denied"):
    """An answer: consent was refused."""

    payload: ToolDeniedPayload

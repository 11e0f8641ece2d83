"""What a run is made of: its start, its steps, its one end, and what is told beside them."""

from typing import Literal

from runwire_schemas.chunks.base import (
    UNSET,
    Chunk,
    Flag,
    Number,
    Opaque,
    Payload,
    ProviderPayload,
    Raw,
    Text,
    UnsetType,
    Whole,
)

Reason = Literal["stop", "tool-calls", "length", "content-filter", "error", "abort", "other", "retry", "tripwire"]


class StartPayload(Payload, frozen=True, kw_only=True):
    """Whatever else a runtime says at the start is in the chunk's bytes."""

    agent_id: Text = UNSET
    thread_id: Text = UNSET
    resource_id: Text = UNSET


class StepStartPayload(Payload, frozen=True, kw_only=True):
    message_id: Text = UNSET
    request: Opaque = UNSET
    warnings: Opaque = UNSET


class Usage(Payload, frozen=True, kw_only=True):
    """Tokens. `input_tokens` includes cached ones, `total_tokens` is in + out; what was not reported is absent."""

    input_tokens: Whole = UNSET
    cached_input_tokens: Whole = UNSET
    cache_creation_input_tokens: Whole = UNSET
    output_tokens: Whole = UNSET
    reasoning_tokens: Whole = UNSET
    total_tokens: Whole = UNSET


class StepResult(Payload, frozen=True, kw_only=True):
    """`raw_reason` is the provider's or runtime's own word."""

    reason: Reason
    raw_reason: Text = UNSET
    is_continued: Flag = UNSET
    warnings: Opaque = UNSET


class Output(Payload, frozen=True, kw_only=True):
    usage: Usage | UnsetType | None = UNSET
    steps: Opaque = UNSET


class StepFinishPayload(ProviderPayload, frozen=True, kw_only=True):
    id: Text = UNSET
    message_id: Text = UNSET
    step_result: StepResult | UnsetType = UNSET
    output: Output | UnsetType = UNSET
    metadata: Opaque = UNSET
    total_usage: Usage | UnsetType | None = UNSET
    response: Opaque = UNSET


class FinishPayload(ProviderPayload, frozen=True, kw_only=True):
    """`output.usage` is the sum over the steps of all legs, never of sub-runs."""

    step_result: StepResult | UnsetType = UNSET
    output: Output | UnsetType = UNSET
    metadata: Opaque = UNSET
    messages: Opaque = UNSET
    response: Opaque = UNSET


class ErrorPayload(Payload, frozen=True, kw_only=True):
    """`error` is opaque; the enforcer's own is {code, message, …}."""

    error: Opaque = UNSET


class TripwirePayload(Payload, frozen=True, kw_only=True):
    reason: Text = UNSET
    retry: Flag = UNSET
    metadata: Opaque = UNSET
    processor_id: Text = UNSET


class ResponseMetadataPayload(Payload, frozen=True, kw_only=True):
    """The payload is open: whatever else the provider tells is in the chunk's bytes."""

    signature: Text = UNSET
    id: Text = UNSET
    model_id: Text = UNSET
    timestamp: Opaque = UNSET
    headers: Opaque = UNSET


class WatchPayload(Payload, frozen=True, kw_only=True):
    workflow_state: Opaque = UNSET
    event_timestamp: Number = UNSET


class GoalPayload(Payload, frozen=True, kw_only=True):
    """`iteration` counts evaluations used so far; `duration` is in milliseconds."""

    objective: str
    iteration: Whole = UNSET
    max_runs: Whole = UNSET
    passed: Flag = UNSET
    status: Literal["active", "paused", "done"]
    results: Opaque = UNSET
    reason: Text = UNSET
    duration: Number = UNSET
    timed_out: Flag = UNSET
    max_runs_reached: Flag = UNSET
    suppress_feedback: Flag = UNSET


class TaskCompletePayload(Payload, frozen=True, kw_only=True):
    iteration: Whole = UNSET
    passed: Flag = UNSET
    results: Opaque = UNSET
    duration: Number = UNSET
    timed_out: Flag = UNSET
    reason: Text = UNSET
    max_iteration_reached: Flag = UNSET
    suppress_feedback: Flag = UNSET


class OutputPayload(Payload, frozen=True, kw_only=True):
    """`output` is a whole inner chunk, or plain data of the tool or step."""

    output: Opaque = UNSET
    tool_call_id: Text = UNSET
    tool_name: Text = UNSET
    step_name: Text = UNSET


class Start(Chunk, frozen=True, kw_only=True, tag="start"):
    payload: StartPayload


class StepStart(Chunk, frozen=True, kw_only=True, tag="step-start"):
    payload: StepStartPayload


class StepFinish(Chunk, frozen=True, kw_only=True, tag="step-finish"):
    payload: StepFinishPayload


class Finish(Chunk, frozen=True, kw_only=True, tag="finish"):
    payload: FinishPayload


class Error(Chunk, frozen=True, kw_only=True, tag="error"):
    payload: ErrorPayload


class Abort(Chunk, frozen=True, kw_only=True, tag="abort"):
    """The payload is open: any object."""

    payload: Opaque = UNSET


class Tripwire(Chunk, frozen=True, kw_only=True, tag="tripwire"):
    """A processor blocked the content."""

    payload: TripwirePayload


class RawData(Chunk, frozen=True, kw_only=True, tag="raw"):
    """A provider's own event; of an unknown type of chunk {type, chunk: the whole}. The payload is open."""

    payload: Raw


class ResponseMetadata(Chunk, frozen=True, kw_only=True, tag="response-metadata"):
    payload: ResponseMetadataPayload


class Watch(Chunk, frozen=True, kw_only=True, tag="watch"):
    payload: WatchPayload


class Goal(Chunk, frozen=True, kw_only=True, tag="goal"):
    payload: GoalPayload


class IsTaskComplete(Chunk, frozen=True, kw_only=True, tag="is-task-complete"):
    payload: TaskCompletePayload


class ToolOutput(Chunk, frozen=True, kw_only=True, tag="tool-output"):
    """Wraps what a tool emits while it runs."""

    payload: OutputPayload


class StepOutput(Chunk, frozen=True, kw_only=True, tag="step-output"):
    """Wraps what a workflow step emits while it runs."""

    payload: OutputPayload

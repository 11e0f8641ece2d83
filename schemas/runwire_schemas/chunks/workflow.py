"""Workflows and agent networks: what their runtimes emit beside an agent's own chunks."""

from typing import Annotated

import msgspec

from runwire_schemas.chunks.base import UNSET, Chunk, ChunkFrom, Opaque, Payload, Text, UnsetType, Whole
from runwire_schemas.chunks.flow import Output


class WorkflowStartPayload(Payload, frozen=True, kw_only=True):
    workflow_id: Text = UNSET


class WorkflowFinishPayload(Payload, frozen=True, kw_only=True):
    """`output.usage` already contains the steps' usage."""

    workflow_status: str
    final_workflow_result: Opaque = UNSET
    output: Output | UnsetType = UNSET
    metadata: Opaque = UNSET
    tripwire: Opaque = UNSET


class WorkflowStepPayload(Payload, frozen=True, kw_only=True):
    id: Text = UNSET
    step_call_id: Text = UNSET
    status: Text = UNSET
    payload: Opaque = UNSET
    output: Opaque = UNSET
    tripwire: Opaque = UNSET
    metadata: Opaque = UNSET
    suspend_data: Opaque = UNSET


class WorkflowStepOutputPayload(Payload, frozen=True, kw_only=True):
    """`output` is a whole inner chunk or plain data; `run_id` is the workflow's."""

    output: Opaque = UNSET
    step_name: Text = UNSET
    run_id: Text = UNSET


class WorkflowStepProgressPayload(Payload, frozen=True, kw_only=True):
    id: Text = UNSET
    completed_count: Whole = UNSET
    total_count: Whole = UNSET
    current_index: Whole = UNSET
    iteration_status: Text = UNSET
    iteration_output: Opaque = UNSET


class WorkflowStart(Chunk, frozen=True, kw_only=True, tag="workflow-start"):
    payload: WorkflowStartPayload


class WorkflowFinish(Chunk, frozen=True, kw_only=True, tag="workflow-finish"):
    payload: WorkflowFinishPayload


class WorkflowCanceled(Chunk, frozen=True, kw_only=True, tag="workflow-canceled"):
    payload: Opaque = UNSET


class WorkflowPaused(Chunk, frozen=True, kw_only=True, tag="workflow-paused"):
    payload: Opaque = UNSET


class WorkflowStepStart(Chunk, frozen=True, kw_only=True, tag="workflow-step-start"):
    """`id` beside the payload is the runtime's own habit."""

    id: Text = UNSET
    payload: WorkflowStepPayload


class WorkflowStepOutput(Chunk, frozen=True, kw_only=True, tag="workflow-step-output"):
    payload: WorkflowStepOutputPayload


class WorkflowStepProgress(Chunk, frozen=True, kw_only=True, tag="workflow-step-progress"):
    payload: WorkflowStepProgressPayload


class WorkflowStepResult(Chunk, frozen=True, kw_only=True, tag="workflow-step-result"):
    payload: WorkflowStepPayload


class WorkflowStepSuspended(Chunk, frozen=True, kw_only=True, tag="workflow-step-suspended"):
    payload: WorkflowStepPayload


class WorkflowStepWaiting(Chunk, frozen=True, kw_only=True, tag="workflow-step-waiting"):
    payload: WorkflowStepPayload


class WorkflowStepFinish(Chunk, frozen=True, kw_only=True, tag="workflow-step-finish"):
    payload: WorkflowStepPayload


# The families are open: `agent-execution-event-<type of any chunk>` and its like.
NETWORK_PREFIXES = ("routing-agent-", "agent-execution-", "workflow-execution-", "tool-execution-", "network-")
_NETWORK_TYPE = "^(routing-agent|agent-execution|workflow-execution|tool-execution|network)-"


class Network(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A chunk of an agent network. The payload of `…-event-<type>` is a whole inner chunk, else it is opaque."""

    type: Annotated[str, msgspec.Meta(pattern=_NETWORK_TYPE)]
    run_id: str
    from_: ChunkFrom = msgspec.field(name="from")
    payload: Opaque = UNSET
    object: Opaque = UNSET
    metadata: Opaque = UNSET

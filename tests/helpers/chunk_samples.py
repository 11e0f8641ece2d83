"""One full sample of every type of chunk and control body, and the payload fields that the seed lists."""

import json
from typing import Any

# Exactly the fields of the seed document, type by type. `object` has none: its field stands beside the payload.
SEED_FIELDS = {
    "text-start": "id providerMetadata",
    "text-delta": "id text providerMetadata",
    "text-end": "id providerMetadata",
    "reasoning-start": "id signature providerMetadata",
    "reasoning-delta": "id text providerMetadata",
    "reasoning-end": "id signature providerMetadata",
    "reasoning-signature": "id signature providerMetadata",
    "tool-call": "toolCallId toolName args providerExecuted output providerMetadata",
    "tool-result": "toolCallId toolName result isError providerExecuted args providerMetadata",
    "tool-call-input-streaming-start": "toolCallId toolName providerExecuted dynamic providerMetadata",
    "tool-call-delta": "argsTextDelta toolCallId toolName providerMetadata",
    "tool-call-input-streaming-end": "toolCallId providerMetadata",
    "tool-error": "id toolCallId toolName args error providerExecuted providerMetadata",
    "source": "id sourceType title mimeType filename url providerMetadata",
    "file": "data base64 mimeType providerMetadata",
    "start": "",
    "step-start": "messageId request warnings",
    "step-finish": "id messageId stepResult output metadata totalUsage response providerMetadata",
    "raw": "",
    "finish": "stepResult output metadata messages response",
    "error": "error",
    "abort": "",
    "object": "",
    "tool-output": "output",
    "step-output": "output",
    "background-task-started": "taskId toolName toolCallId",
    "background-task-running": "taskId toolName toolCallId runId agentId startedAt args",
    "background-task-progress": "taskIds runningCount elapsedMs",
    "background-task-output": "taskId toolName toolCallId runId agentId payload",
    "background-task-completed": "taskId toolName toolCallId agentId runId result completedAt isError",
    "background-task-failed": "taskId toolName toolCallId runId agentId error completedAt",
    "background-task-suspended": "taskId toolName toolCallId runId agentId suspendData",
    "background-task-resumed": "taskId toolName toolCallId runId agentId startedAt args",
    "background-task-cancelled": "taskId toolName toolCallId runId agentId completedAt",
    "response-metadata": "signature",
    "watch": "workflowState eventTimestamp",
    "goal": (
        "objective iteration maxRuns passed status results reason duration timedOut maxRunsReached suppressFeedback"
    ),
    "tripwire": "reason retry metadata processorId",
}

# What the contract adds to the seed, with the fields that runtimes send.
EXTENSION_FIELDS = {
    "redacted-reasoning": "id data providerMetadata",
    "reasoning-file": "data base64 mimeType providerMetadata",
    "custom": "kind providerMetadata",
    "tool-call-approval": "toolCallId toolName args resumeSchema",
    "tool-call-suspended": "toolCallId toolName args resumeSchema suspendData",
    "tool-output-denied": "toolCallId toolName args approval",
    "object-result": "",
    "is-task-complete": "iteration passed results duration timedOut reason maxIterationReached suppressFeedback",
    "workflow-start": "workflowId",
    "workflow-finish": "workflowStatus finalWorkflowResult output metadata tripwire",
    "workflow-canceled": "",
    "workflow-paused": "",
    "workflow-step-start": "id stepCallId status",
    "workflow-step-output": "output stepName runId",
    "workflow-step-progress": "id completedCount totalCount currentIndex iterationStatus iterationOutput",
    "workflow-step-result": "id stepCallId status output tripwire",
    "workflow-step-suspended": "id status",
    "workflow-step-waiting": "id status",
    "workflow-step-finish": "id metadata",
}

# Without these a chunk has no place (third column of the contract's table of agent chunks).
REQUIRED = {
    "text-start": "id",
    "text-delta": "id text",
    "text-end": "id",
    "reasoning-start": "id",
    "reasoning-delta": "id text",
    "reasoning-end": "id",
    "reasoning-signature": "id",
    "tool-call": "toolCallId toolName",
    "tool-call-input-streaming-start": "toolCallId toolName",
    "tool-call-delta": "toolCallId argsTextDelta",
    "tool-call-input-streaming-end": "toolCallId",
    "tool-call-approval": "toolCallId",
    "tool-call-suspended": "toolCallId",
    "tool-result": "toolCallId",
    "tool-error": "toolCallId",
    "tool-output-denied": "toolCallId",
    "source": "id sourceType",
    "file": "data mimeType",
    "goal": "objective status",
    "workflow-finish": "workflowStatus",
    "background-task-started": "taskId toolCallId",
    "background-task-running": "taskId toolCallId",
    "background-task-progress": "taskIds runningCount",
    "background-task-output": "taskId toolCallId payload",
    "background-task-completed": "taskId toolCallId",
    "background-task-failed": "taskId toolCallId",
    "background-task-suspended": "taskId toolCallId",
    "background-task-resumed": "taskId toolCallId",
    "background-task-cancelled": "taskId toolCallId",
}

USAGE = {
    "inputTokens": 10,
    "cachedInputTokens": 4,
    "cacheCreationInputTokens": 0,
    "outputTokens": 5,
    "reasoningTokens": 2,
    "totalTokens": 15,
}
NUMBERS = {"iteration", "maxRuns", "runningCount", "elapsedMs", "eventTimestamp", "duration"}
NUMBERS |= {"completedCount", "totalCount", "currentIndex"}
FLAGS = {"providerExecuted", "isError", "dynamic", "retry", "passed", "timedOut", "maxRunsReached"}
FLAGS |= {"suppressFeedback", "maxIterationReached"}
OPAQUE = {"providerMetadata", "args", "result", "error", "request", "metadata", "response", "messages", "workflowState"}
OPAQUE |= {"suspendData", "resumeSchema", "finalWorkflowResult", "iterationOutput", "payload", "data"}
SPECIAL: dict[str, Any] = {
    "sourceType": "url",
    "warnings": [],
    "results": [{"score": 1.50}],
    "stepResult": {"reason": "tool-calls", "rawReason": "tool_use", "isContinued": True, "warnings": []},
    "totalUsage": USAGE,
    "taskIds": ["t1", "t2"],
    "approval": {"id": "a1", "approved": False, "reason": "no"},
}


def value_of(chunk_type: str, field: str) -> Any:
    if field in SPECIAL:
        return SPECIAL[field]
    if chunk_type == "goal" and field == "status":
        return "active"
    if field == "output":
        return {"usage": USAGE} if chunk_type in ("step-finish", "finish", "workflow-finish") else {"type": "tick"}
    if field in NUMBERS:
        return 3
    if field in FLAGS:
        return True
    return {"any": [1, "x", None]} if field in OPAQUE else f"{field}-1"


def chunk(chunk_type: str, fields: str) -> dict[str, Any]:
    envelope: dict[str, Any] = {"type": chunk_type, "runId": "run-1", "from": "AGENT"}
    if chunk_type in ("object", "object-result"):
        return {**envelope, "object": {"name": "A"}}
    return {**envelope, "payload": {field: value_of(chunk_type, field) for field in fields.split()}}


TAGGED: dict[str, dict[str, Any]] = {
    name: chunk(name, fields) for name, fields in (SEED_FIELDS | EXTENSION_FIELDS).items()
}

UNTAGGED: dict[str, dict[str, Any]] = {
    "data-weather": {
        "type": "data-weather",
        "runId": "run-1",
        "from": "USER",
        "data": {"t": 21.50},
        "id": "d1",
        "transient": True,
    },
    "data-run-suspended": {
        "type": "data-run-suspended",
        "runId": "run-1",
        "from": "SYSTEM",
        "data": {"leg": 1, "toolCallIds": ["c1"]},
    },
    "agent-execution-event-text-delta": {
        "type": "agent-execution-event-text-delta",
        "runId": "run-1",
        "from": "NETWORK",
        "payload": TAGGED["text-delta"],
    },
    "network-object": {"type": "network-object", "runId": "run-1", "from": "NETWORK", "object": {}},
    **{
        name: {"type": name, "runId": "run-1", "from": "NETWORK", "payload": {}}
        for name in ("routing-agent-start", "workflow-execution-end", "tool-execution-abort", "network-validation-end")
    },
}

CONTROLS: list[dict[str, Any]] = [
    {
        "type": "run-start",
        "mode": "agent-loop",
        "agentId": "a",
        "threadId": "t",
        "resourceId": "r",
        "parent": {"runId": "p", "wrapper": "tool-output", "key": "c1"},
        "continues": "run-0",
        "usage": "optional",
    },
    {"type": "run-start"},
    {"type": "run-end", "reason": "stop"},
    {"type": "run-end", "reason": "error", "failure": {"message": "m", "code": "c", "status": 500, "retryable": True}},
    {"type": "heartbeat"},
    {"type": "timeout", "phase": "suspend-mark", "after": "1-1"},
    {"type": "quarantine", "record": "1-1"},
    {"type": "redrive", "drop": ["1-1"], "replace": {"1-2": {"type": "finish"}}},
]


RAW: list[dict[str, Any]] = [
    {"type": "block-start", "index": 0, "blockKind": "text"},
    {"type": "text-delta", "index": 0, "text": "Hello", "gemini": {"thoughtSignature": "s"}},
    {"type": "thinking-delta", "index": 1, "text": "Hm"},
    {
        "type": "tool-call-delta",
        "index": 2,
        "id": "c1",
        "argumentsDelta": "{",
        "name": "search",
        "providerWireName": "web_search",
        "providerExecuted": True,
    },
    {"type": "block-end", "index": 0, "block": {"kind": "text", "text": "Hello"}},
    {
        "type": "block-end",
        "index": 1,
        "block": {"kind": "thinking", "text": "Hm", "signature": "s", "redacted": "opaque"},
    },
    {"type": "block-end", "index": 2, "block": {"kind": "tool_use", "id": "c1", "name": "search", "arguments": "{}"}},
    {"type": "block-end", "index": 3, "block": {"kind": "tool_result", "toolCallId": "c1", "content": [1, None]}},
    {"type": "block-end", "index": 4, "block": {"kind": "image", "mediaType": "image/png", "data": "aGk="}},
    {"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3, "reasoningTokens": 0}},
    {"type": "finish", "reason": {"kind": "tool_calls", "raw": "tool_use"}},
    {"type": "finish", "reason": {"kind": "error", "failure": {"message": "overloaded", "retryable": True}}},
]


def body(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()

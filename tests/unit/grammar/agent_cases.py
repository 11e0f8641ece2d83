"""Streams of agent chunks that break one rule each, by what the rule says."""

from collections.abc import Callable
from typing import Any

from unit.grammar.story import USAGE, Story, finish, loop, result, start, text, tool_block

Case = Callable[[Story], Any]


def source(payload: dict[str, Any] | None = None, **beside: Any) -> Case:
    whole = {"id": "s", "sourceType": "url", **(payload or {})}
    return lambda story: story.agent({"type": "source", "payload": whole, **beside})


def chunks(*said: Any) -> Case:
    """Agent chunks without a call, in a step; a pair is a type and its payload."""

    def tell(story: Story) -> None:
        story.say("step-start")
        for one in said:
            if isinstance(one, tuple):
                story.say(one[0], **one[1])
            else:
                story.agent(one, call=None)

    return tell


def lacking(type_: str, **payload: Any) -> Case:
    return chunks((type_, payload))


def in_raw_step(type_: str, **payload: Any) -> Case:
    """A model's output of an agent in the step of a raw call, open or finished."""
    return lambda story: (loop(story).all([start(), text("x")]), story.say(type_, **payload))


def after_agent_output(story: Story) -> None:
    story.say("step-start")
    story.say("text-start", id="a")
    story.write(start())


def after_agent_output_in_a_made_step(story: Story) -> None:
    story.say("tool-call", toolCallId="t", toolName="f")
    story.evidence.clear()
    story.write(start())


def after_raw_call(story: Story) -> None:
    loop(story).all([*tool_block(), USAGE, finish("tool_calls")])
    story.say("tool-call", toolCallId="t2", toolName="f")


CALL = ("tool-call", {"toolCallId": "t", "toolName": "f"})
RESULT = ("tool-result", {"toolCallId": "t"})


def task(number: int, event: str = "running", **more: Any) -> tuple[str, dict[str, Any]]:
    return f"background-task-{event}", {"taskId": f"k{number}", "toolCallId": "t", **more}


ENDED: list[Case] = [
    lambda story: (loop(story), story.control({"type": "run-end", "reason": "stop"}), story.say("goal")),
]

AGENT_CASES: dict[str, list[Case]] = {
    "runId, if there, is the record's": [
        source(runId="other"),
        source(runId=1),
        chunks({"type": "text-start", "runId": "other", "payload": {"id": "a"}}),
        lacking("background-task-running", taskId="k", toolCallId="t", runId="other"),
        chunks({"type": "background-task-running", "runId": "x", "payload": {"taskId": "k", "toolCallId": "t"}}),
    ],
    "the payload has its required fields": [
        source(payload={"id": None}),
        source(payload={"sourceType": "web"}),
        lambda story: story.agent({"type": "file", "payload": {"mimeType": "text/plain"}}),
        lambda story: story.agent({"type": "file", "payload": {"data": ""}}),
        lambda story: story.agent({"type": "raw", "payload": 1}),
        lambda story: story.agent({"type": "raw", "from": "NOBODY", "payload": {}}),
        lacking("text-start"),
        lacking("text-delta", id="a"),
        lacking("text-delta", id="a", text=1),
        lacking("text-end"),
        lacking("reasoning-start"),
        lacking("reasoning-delta", id="a"),
        lacking("reasoning-end"),
        lacking("reasoning-signature"),
        lacking("redacted-reasoning"),
        lacking("reasoning-file", data=""),
        lacking("tool-call", toolCallId="t"),
        lacking("tool-call", toolCallId="", toolName="f"),
        lacking("tool-call", toolCallId="t", toolName=""),
        lacking("tool-call-input-streaming-start", toolCallId="t"),
        lacking("tool-call-delta", toolCallId="t"),
        lacking("tool-call-input-streaming-end"),
        lacking("tool-call-approval"),
        lacking("tool-call-suspended"),
        lacking("tool-result"),
        lacking("tool-error"),
        lacking("tool-output-denied"),
        lacking("goal", objective="o"),
        lacking("goal", objective="o", status="tired"),
        lacking("workflow-finish"),
        chunks({"type": "object"}),
        chunks({"type": "object-result", "payload": {"object": 1}}),
        chunks({"type": "data-x"}),
        lacking("background-task-started", taskId="k"),
        lacking("background-task-running", toolCallId="t"),
        lacking("background-task-output", taskId="k", toolCallId="t"),
        lacking("background-task-progress", taskIds=["k"]),
        lacking("background-task-progress", taskIds="k", runningCount=1),
        lacking("background-task-progress", taskIds=[1], runningCount=1),
        lacking("background-task-progress", taskIds=["k"], runningCount=1.5),
    ],
    "one step's model output comes as raw or as agent chunks, not both": [
        in_raw_step("text-start", id="a"),
        in_raw_step("text-delta", id="a", text="x"),
        in_raw_step("reasoning-end", id="a"),
        in_raw_step("tool-call-delta", toolCallId="t", argsTextDelta="x"),
        in_raw_step("tool-call", toolCallId="t", toolName="f"),
        in_raw_step("source", id="a", sourceType="url"),
        in_raw_step("file", data="", mimeType="a/b"),
        after_agent_output,
        after_agent_output_in_a_made_step,
        after_raw_call,
    ],
    "an answer has an id that a tool chunk of the run named, or is the provider's": [
        chunks(RESULT),
        chunks(("tool-error", {"toolCallId": "t"})),
        chunks(("tool-output-denied", {"toolCallId": "t"})),
        chunks(("tool-call-approval", {"toolCallId": "t"}), RESULT),
    ],
    "one answer per tool call, two if it has a background task": [
        chunks(CALL, RESULT, RESULT),
        chunks(CALL, RESULT, ("tool-error", {"toolCallId": "t"})),
        chunks(CALL, task(1), RESULT, RESULT, RESULT),
        lambda story: (loop(story).all([*tool_block(), *result()]), story.say("tool-result", toolCallId="t1")),
    ],
    "at most 256 open blocks, 4,096 unanswered tool calls, 1,024 live tasks of an agent": [
        chunks(*(("text-start", {"id": str(number)}) for number in range(3))),
        chunks(*(("reasoning-start", {"id": n}) for n in "ab"), ("reasoning-delta", {"id": "c", "text": "x"})),
        chunks(*(("tool-call", {"toolCallId": str(number), "toolName": "f"}) for number in range(3))),
        chunks(CALL, *(task(number) for number in range(3))),
        lambda story: (
            story.say("step-start"),
            story.say("text-start", id="x" * 2**20),
            story.say("text-start", id="y"),
        ),
    ],
}

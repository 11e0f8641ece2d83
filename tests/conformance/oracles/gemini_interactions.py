"""Interactions through google-genai: its decoder and its typed events, which it does not put together itself."""

from typing import Any

import msgspec

from conformance.expected import Expected, quiet
from conformance.oracles.gemini import client
from runwire_schemas.raw import Usage

_INTERACTIONS_FINISH = {"completed": "stop", "requires_action": "tool_calls", "failed": "error", "cancelled": "aborted"}


def events(body: bytes) -> list[Any]:
    """What `interactions.create(stream=True)` hands out."""
    with quiet(), client(body) as google:
        return list(google.interactions.create(model="m", input="Hi", stream=True))


def reads(body: bytes) -> Expected:
    """The typed fields joined in their order, and no more than that."""
    text, reasoning, finish, usage = "", "", None, None
    tools: list[list[str]] = []
    for event in events(body):
        match event.event_type:
            case "step.start":
                step = event.step
                if step.type.endswith("_call"):
                    tools.append([step.id, getattr(step, "name", step.type.removesuffix("_call")), ""])
            case "step.delta":
                delta = event.delta
                if delta.type == "text":
                    text += delta.text
                elif delta.type == "thought_summary":
                    reasoning += delta.content.text
                elif delta.type == "arguments_delta":
                    tools[-1][2] += delta.arguments
                elif delta.type.endswith("_call"):
                    tools[-1][2] = msgspec.json.encode(delta.arguments.model_dump(exclude_unset=True)).decode()
            case "interaction.completed":
                finish = _INTERACTIONS_FINISH[event.interaction.status]
                usage = _usage(event.interaction.usage)
            case _:
                pass  # ends of steps, and what the interaction is at
    return Expected(text, reasoning, [(one[0], one[1], one[2]) for one in tools], usage, finish, "")


def _usage(said: Any) -> Usage | None:
    """The disjoint mapping of docs/adapters.md, written a second time from the SDK's own fields."""
    if said is None:
        return None
    return Usage(
        input_tokens=said.total_input_tokens + said.total_tool_use_tokens - said.total_cached_tokens,
        output_tokens=said.total_output_tokens + said.total_thought_tokens,
        cache_read_tokens=said.total_cached_tokens,
        reasoning_tokens=said.total_thought_tokens,
    )

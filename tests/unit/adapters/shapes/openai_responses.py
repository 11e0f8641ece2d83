"""Events of OpenAI's Responses, right and wrong."""

from hypothesis import strategies as st

from unit.adapters.shapes.made import values

KEYS = [
    "type", "item", "item_id", "id", "call_id", "output_index", "content_index", "summary_index", "command_index",
    "delta", "text", "part", "content", "summary", "encrypted_content", "arguments", "input", "name", "action",
    "commands", "operation", "diff", "code", "outputs", "output", "result", "error", "message", "response", "status",
    "usage", "input_tokens", "output_tokens", "input_tokens_details", "cached_tokens", "annotations", "annotation",
    "url", "logprobs", "queries", "tools", "environment", "execution", "phase", "incomplete_details", "reason",
]  # fmt: skip
ITEMS = [
    "message", "reasoning", "function_call", "custom_tool_call", "mcp_call", "mcp_list_tools", "web_search_call",
    "code_interpreter_call", "image_generation_call", "shell_call", "shell_call_output", "apply_patch_call",
    "tool_search_call", "tool_search_output", "program", "program_output", "compaction", "strange_call",
]  # fmt: skip
EVENTS = [
    "created", "in_progress", "completed", "incomplete", "failed", "output_item.added", "output_item.done",
    "content_part.added", "content_part.done", "output_text.delta", "output_text.done", "refusal.delta",
    "reasoning_text.delta", "reasoning_text.done", "reasoning_summary_text.delta", "reasoning_summary_part.added",
    "reasoning_summary_part.done", "function_call_arguments.delta", "function_call_arguments.done",
    "custom_tool_call_input.delta", "code_interpreter_call_code.delta", "code_interpreter_call_code.done",
    "shell_call_command.delta", "shell_call_output_content.delta", "apply_patch_call_operation_diff.delta",
    "output_text.annotation.added", "image_generation_call.partial_image",
]  # fmt: skip
WORDS = [*ITEMS, "output_text", "refusal", "reasoning_text", "summary_text", "call_0", "completed", "incomplete"]

_anything = values(KEYS, WORDS)
_id = st.sampled_from(["a", "b", ""]) | st.none()
_item = st.fixed_dictionaries(
    {"type": st.sampled_from(ITEMS), "id": _id},
    optional={
        "call_id": _id, "name": st.sampled_from(["f", ""]), "environment": _anything,
        "arguments": st.sampled_from(["", "{}", '{"a"']) | _anything,
        "content": st.lists(st.fixed_dictionaries({"type": st.sampled_from(WORDS), "text": st.text(max_size=3)})),
        "summary": _anything, "action": _anything, "operation": _anything, "output": _anything,
        "encrypted_content": _anything,
    },
)  # fmt: skip
_event = st.fixed_dictionaries(
    {"type": st.sampled_from([*(f"response.{name}" for name in EVENTS), "error"])},
    optional={
        "item": _item | _anything, "item_id": _id, "output_index": st.integers(0, 2) | st.none(),
        "content_index": st.integers(0, 2), "summary_index": st.integers(0, 1), "command_index": st.integers(0, 2),
        "delta": st.text(max_size=3) | _anything, "text": st.text(max_size=3), "part": _anything,
        "response": st.fixed_dictionaries({"output": st.lists(_item, max_size=3), "usage": _anything}) | _anything,
    },
)  # fmt: skip

STREAM = st.lists(_event | _anything, max_size=12)

"""Events of Responses as they come. Deltas are read typed, since nearly all are deltas; the rest member by member."""

from typing import Final, Literal, NamedTuple

import msgspec

from runwire.adapters.opaque import fields_of, integer_of
from runwire_schemas.raw import Usage

Members = dict[str, msgspec.Raw]

# What an event is about: the items of one family are told apart by index and id, those of different ones never meet.
Family = Literal["message", "reasoning", "tool", "output", "other"]

NULL: Final = msgspec.Raw(b"null")
# Counts above are no integers for most JSON readers, and no provider's truth.
_SURE: Final = 2**53


class Delta(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Any delta of text. `obfuscation` is padding."""

    type: str
    delta: str
    output_index: int | None = None
    item_id: str | None = None
    content_index: int = 0
    summary_index: int = 0
    command_index: int = 0
    logprobs: list[msgspec.Raw] | None = None
    sequence_number: int | None = None
    obfuscation: str | None = None


decode_delta = msgspec.json.Decoder(Delta).decode


class Stream(NamedTuple):
    """A text that comes in deltas. `item`: the type of its item; `kind`: which text of the item it is, a name of ours.

    `place`: the member that tells several such texts of one item apart; `text`: the member of the `done` event that
    repeats it.
    """

    family: Family
    item: str
    kind: str
    place: str
    text: str


_TEXT: Final = Stream("message", "message", "text", "content_index", "text")
_REFUSAL: Final = Stream("message", "message", "refusal", "content_index", "refusal")
_CONTENT: Final = Stream("reasoning", "reasoning", "content", "content_index", "text")
_SUMMARY: Final = Stream("reasoning", "reasoning", "summary", "summary_index", "text")
_FUNCTION: Final = Stream("tool", "function_call", "arguments", "", "arguments")
_MCP: Final = Stream("tool", "mcp_call", "arguments", "", "arguments")
_CUSTOM: Final = Stream("tool", "custom_tool_call", "input", "", "input")
_CODE: Final = Stream("tool", "code_interpreter_call", "code", "", "code")
_DIFF: Final = Stream("tool", "apply_patch_call", "diff", "", "diff")
_COMMAND: Final = Stream("tool", "shell_call", "commands", "command_index", "command")

# The beginnings of event types; `.delta` and `.done` follow. Those after the first line of a pair are older spellings.
STREAMS: Final[dict[str, Stream]] = {
    "response.output_text": _TEXT,
    "response.refusal": _REFUSAL,
    "response.reasoning_text": _CONTENT,
    "response.reasoning": _CONTENT,
    "response.reasoning_summary_text": _SUMMARY,
    "response.reasoning_summary": _SUMMARY,
    "response.function_call_arguments": _FUNCTION,
    "response.mcp_call_arguments": _MCP,
    "response.mcp_call.arguments": _MCP,
    "response.custom_tool_call_input": _CUSTOM,
    "response.code_interpreter_call_code": _CODE,
    "response.code_interpreter_call.code": _CODE,
    "response.apply_patch_call_operation_diff": _DIFF,
    "response.shell_call_command": _COMMAND,
}
DELTAS: Final = {f"{name}.delta": stream for name, stream in STREAMS.items()}
DONES: Final = {f"{name}.done": stream for name, stream in STREAMS.items()}


def usage_in(raw: msgspec.Raw) -> Usage | None:
    """The counts as the contract wants them: disjoint, as reported. None if one of the two main counts is missing.

    `input_tokens` includes what was read from and written to a cache; both are taken out of it, never below 0.
    Reasoning is inside `output_tokens`, unless the total says that it lies beside them: then the two are one output.
    """
    members = fields_of(raw) or {}
    read_from = fields_of(members.get("input_tokens_details", NULL)) or {}
    written_by = fields_of(members.get("output_tokens_details", NULL)) or {}
    given, output = _count(members, "input_tokens"), _count(members, "output_tokens")
    if given is None or output is None:
        return None
    read, written = _count(read_from, "cached_tokens"), _count(read_from, "cache_write_tokens")
    reasoning = _count(written_by, "reasoning_tokens")
    if reasoning and _count(members, "total_tokens") == given + output + reasoning:
        output += reasoning
    return Usage(
        input_tokens=max(0, given - (read or 0) - (written or 0)),
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
    )


def _count(members: Members, name: str) -> int | None:
    number = integer_of(members.get(name))
    return number if number is not None and 0 <= number < _SURE else None

"""Which fields a body has, and of which JSON type: rules 6 to 8 ask these tables.

A `null` in an optional field counts as absent, since many encoders write it so. Fields that are not listed are let
through: they stay in the raw record.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from runwire.grammar.jsontext import Json

# A `name` is a string that is not empty; `present` is anything but null.
JsonType = Literal["string", "name", "number", "integer", "boolean", "object", "array", "present", "any"]

# JavaScript's largest exact integer is one below it.
INTEGER_BOUND: Final = 2**53


class Field(NamedTuple):
    """`words` closes the set of a string; rule 8 judges kinds instead, so they have none."""

    name: str
    type: JsonType
    required: bool = True
    words: tuple[str, ...] = ()


def _optional(name: str, of: JsonType, words: tuple[str, ...] = ()) -> Field:
    return Field(name, of, required=False, words=words)


_INDEX: Final = Field("index", "number")
_USAGE_RULE: Final = ("required", "optional")

RAW: Final[Mapping[str, tuple[Field, ...]]] = {
    "block-start": (_INDEX, Field("blockKind", "string")),
    "text-delta": (_INDEX, Field("text", "string")),
    "thinking-delta": (_INDEX, Field("text", "string")),
    "tool-call-delta": (
        _INDEX,
        Field("id", "string"),
        Field("argumentsDelta", "string"),
        _optional("name", "string"),
        _optional("providerWireName", "string"),
        _optional("providerExecuted", "boolean"),
    ),
    "block-end": (_INDEX, Field("block", "object")),
    "usage": (Field("usage", "object"),),
    "finish": (Field("reason", "object"),),
}

BLOCKS: Final[Mapping[str, tuple[Field, ...]]] = {
    "text": (Field("text", "string"),),
    "thinking": (Field("text", "string"), _optional("signature", "string"), _optional("redacted", "string")),
    "tool_use": (
        Field("id", "string"),
        Field("name", "string"),
        Field("arguments", "string"),
        _optional("providerWireName", "string"),
        _optional("providerExecuted", "boolean"),
    ),
    "tool_result": (
        Field("toolCallId", "string"),
        Field("content", "any"),
        _optional("isError", "boolean"),
        _optional("toolName", "string"),
    ),
    "image": (
        Field("mediaType", "string"),
        _optional("data", "string"),
        _optional("url", "string"),
        _optional("sha256", "string"),
    ),
}

USAGE: Final = (
    Field("inputTokens", "number"),
    Field("outputTokens", "number"),
    _optional("cacheReadTokens", "number"),
    _optional("cacheWriteTokens", "number"),
    _optional("reasoningTokens", "number"),
)

FAILURE: Final = (
    Field("message", "string"),
    _optional("code", "string"),
    _optional("status", "integer"),
    _optional("retryable", "boolean"),
)

REASONS: Final[Mapping[str, tuple[Field, ...]]] = {
    "stop": (_optional("raw", "string"),),
    "tool_calls": (_optional("raw", "string"),),
    "max_tokens": (_optional("raw", "string"),),
    "content_filter": (_optional("raw", "string"),),
    "error": (Field("failure", "object"), _optional("raw", "string")),
    "aborted": (Field("failure", "object"), _optional("raw", "string")),
}

PHASES: Final = ("gap", "ending", "suspend-mark", "call", "tools", "idle", "suspended", "task", "task-suspended")

PARENT: Final = (Field("runId", "name"), Field("wrapper", "name"), Field("key", "name"))

CONTROL: Final[Mapping[str, tuple[Field, ...]]] = {
    "run-start": (
        _optional("mode", "string", ("agent-loop", "single-call")),
        _optional("agentId", "string"),
        _optional("threadId", "string"),
        _optional("resourceId", "string"),
        _optional("parent", "object"),
        _optional("continues", "string"),
        _optional("usage", "string", _USAGE_RULE),
    ),
    "run-end": (
        Field("reason", "string", words=("stop", "error", "aborted", "suspended")),
        _optional("failure", "object"),
    ),
    "heartbeat": (),
    "timeout": (Field("phase", "string", words=PHASES), Field("after", "string")),
    "quarantine": (Field("record", "string"),),
}

ENFORCERS_OWN: Final = ("timeout", "quarantine")
PRODUCERS_OWN: Final = tuple(name for name in CONTROL if name not in ENFORCERS_OWN)

_TYPES: Final[Mapping[JsonType, tuple[type, ...]]] = {
    "string": (str,),
    "name": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "present": (object,),
    "any": (object,),
}


def problem(fields: tuple[Field, ...], tree: Mapping[str, Json], path: str = "") -> str | None:
    """The first field of `tree` that is not as listed, in words; None if all are."""
    for field in fields:
        value = tree.get(field.name)
        if value is None and not (field.type == "any" and field.name in tree):
            if field.required:
                return f"{path}{field.name} is missing: {_wanted(field)}"
        elif not _fits(field, value):
            return f"{path}{field.name} is not {_wanted(field)}"
    return None


def raw_problem(kind: str, tree: Mapping[str, Json]) -> str | None:
    """The first field of a raw chunk that is not as it must be. Inner kinds that are unknown are left to rule 8."""
    found = problem(RAW[kind], tree)
    if found is not None:
        return found
    if kind == "block-end":
        return _block_problem(_object(tree["block"]))
    if kind == "usage":
        return problem(USAGE, _object(tree["usage"]), "usage.")
    if kind == "finish":
        return _reason_problem(_object(tree["reason"]))
    return None


def control_problem(kind: str, tree: Mapping[str, Json]) -> str | None:
    found = problem(CONTROL[kind], tree)
    if found is None and kind == "run-end" and tree.get("failure") is not None:
        return problem(FAILURE, _object(tree["failure"]), "failure.")
    if found is None and kind == "run-start" and tree.get("parent") is not None:
        return problem(PARENT, _object(tree["parent"]), "parent.")
    return found


def _block_problem(block: Mapping[str, Json]) -> str | None:
    kind = block.get("kind")
    if not isinstance(kind, str):
        return "block.kind is not a string"
    found = problem(BLOCKS.get(kind, ()), block, "block.")
    if found is None and kind == "image":
        given = [name for name in ("data", "url", "sha256") if block.get(name) is not None]
        if len(given) != 1:
            return f"block has {' and '.join(given) or 'none'} of data, url, sha256: exactly one is wanted"
    return found


def _reason_problem(reason: Mapping[str, Json]) -> str | None:
    kind = reason.get("kind")
    if not isinstance(kind, str):
        return "reason.kind is not a string"
    found = problem(REASONS.get(kind, ()), reason, "reason.")
    if found is None and kind in ("error", "aborted"):
        return problem(FAILURE, _object(reason["failure"]), "reason.failure.")
    return found


def _object(value: Json) -> Mapping[str, Json]:
    assert isinstance(value, dict)
    return value


def _fits(field: Field, value: Json) -> bool:
    if field.type not in ("any", "present") and isinstance(value, bool) != (field.type == "boolean"):
        return False
    if not isinstance(value, _TYPES[field.type]):
        return False
    if field.type == "integer" and isinstance(value, int):
        return -INTEGER_BOUND < value < INTEGER_BOUND
    if field.type == "name" and not value:
        return False
    return not field.words or value in field.words


def _wanted(field: Field) -> str:
    if field.words:
        return f"one of {', '.join(field.words)}"
    if field.type == "name":
        return "a string that is not empty"
    article = "an" if field.type[0] in "aio" else "a"
    return "any JSON" if field.type in ("any", "present") else f"{article} {field.type}"

"""What a tool call of each type is: its name, who runs it, its arguments and its result."""

from typing import Final, NamedTuple

import msgspec

from runwire.adapters.opaque import compact, fields_of, present, text_of
from runwire.adapters.openai_responses.stage import object_of, rest_of
from runwire.adapters.openai_responses.wire import NULL, Members


class Kind(NamedTuple):
    """One type of tool call.

    `name`: of the tool, "" if the item has it; `executed`: by the provider, None: the item says it. `members`: those of
    the item that are the arguments; without any its `arguments` are JSON text. `text`: the one of them that comes in
    deltas as plain text, or as texts of a list; it lies in the only argument if that is `inside`.
    """

    name: str
    executed: bool | None
    members: tuple[str, ...] = ()
    text: str = ""
    inside: bool = False


KINDS: Final[dict[str, Kind]] = {
    "function_call": Kind("", executed=False),
    "custom_tool_call": Kind("", executed=None, members=("input",), text="input"),
    "mcp_call": Kind("", executed=True),
    # The provider runs it once somebody has approved it.
    "mcp_approval_request": Kind("", executed=True),
    "mcp_list_tools": Kind("mcp_list_tools", executed=True, members=("server_label",)),
    "tool_search_call": Kind("tool_search", executed=None),
    "web_search_call": Kind("web_search", executed=True, members=("action",)),
    "file_search_call": Kind("file_search", executed=True, members=("queries",)),
    "code_interpreter_call": Kind("code_interpreter", executed=True, members=("container_id", "code"), text="code"),
    "image_generation_call": Kind("image_generation", executed=True, members=("action", "prompt")),
    "program": Kind("program", executed=True, members=("code",), text="code"),
    "local_shell_call": Kind("local_shell", executed=False, members=("action",)),
    "shell_call": Kind("shell", executed=None, members=("action",), text="commands", inside=True),
    "apply_patch_call": Kind("apply_patch", executed=False, members=("operation",), text="diff", inside=True),
    "computer_call": Kind("computer", executed=False, members=("action", "actions", "pending_safety_checks")),
}
# Items that answer a call of theirs.
OUTPUTS: Final = frozenset({"program_output", "tool_search_output"})
# xAI's own tools, which it calls in items of the type of the client's.
_XAI: Final = frozenset(
    {"x_user_search", "x_keyword_search", "x_semantic_search", "x_thread_fetch", "view_image", "view_x_video"}
)
# Where the results of an executed call are, and where those of an item that answers one.
_RESULTS: Final = ("output", "outputs", "results", "result", "sources", "tools")
_COMMON: Final = frozenset({"type", "id", "call_id", "status", "name", "arguments", "error"})
_DIRECT: Final = b'{"type":"direct"}'


def is_call(kind: str) -> bool:
    """An item of this type calls a tool. Of types that are not known the name tells."""
    return kind in KINDS or kind.endswith("_call")


def is_output(kind: str, members: Members) -> bool:
    """An item of this type answers a call."""
    return kind in OUTPUTS or (kind.endswith("_output") and bool(text_of(members.get("call_id"))))


def kind_of(kind: str) -> Kind:
    """Nobody but the provider can run a call of a type that is not known."""
    return KINDS.get(kind) or Kind(kind.removesuffix("_call"), executed=True)


def executed(kind: str, members: Members) -> bool:
    """The provider runs this call itself."""
    by = kind_of(kind).executed
    if by is not None:
        return by
    if kind == "shell_call":
        environment = fields_of(members.get("environment", NULL)) or {}
        return (text_of(environment.get("type")) or "").startswith("container")
    if kind == "tool_search_call":
        return text_of(members.get("execution")) != "client"
    return text_of(members.get("name")) in _XAI


def name_of(kind: str, members: Members) -> str:
    """The tool's name. Servers of their own tools may name them more narrowly than the type does."""
    return text_of(members.get("name")) or kind_of(kind).name


def decided(kind: str, members: Members) -> bool:
    """Whether it is known who runs the call: only where a shell runs tells whose it is."""
    return kind != "shell_call" or "environment" in members


def arguments_of(kind: str, members: Members) -> Members | str:
    """The arguments: members of an object, or JSON text."""
    known = kind_of(kind)
    given = members.get("arguments", NULL)
    if present(given):
        text = text_of(given)
        return compact(given).decode() if text is None else text
    found = {name: _said(members.get(name, NULL)) for name in known.members}
    return {name: raw for name, raw in found.items() if not _null(raw)}


def result_of(kind: str, members: Members) -> tuple[bytes, bool | None] | None:
    """What the provider's own call gave, and whether that is an error; None if the item does not say."""
    found = {name: members[name] for name in (*_RESULTS, "error") if present(members.get(name))}
    inner = fields_of(members.get("action", NULL)) or {}
    if present(inner.get("sources")):
        found["sources"] = inner["sources"]
    if kind == "image_generation_call" and found.pop("result", None) is not None:
        # The image itself is a block of its own.
        found |= rest_of(members, _IMAGE_READ)
        return object_of(found), True if "error" in found else None
    if not found:
        status = members.get("status", NULL)
        return (object_of({"status": status}), True) if bytes(status) == b'"failed"' else None
    content = compact(*found.values()) if len(found) == 1 else object_of(found)
    return content, True if "error" in found else None


def answer_of(members: Members) -> bytes:
    """What an item says that answers a call."""
    holds = [members[name] for name in _RESULTS if name in members]
    found = next((raw for raw in holds if present(raw)), holds[0] if holds else None)
    return compact(found) if found is not None else object_of(rest_of(members, _ANSWER_READ))


def beside(kind: str, members: Members, *, executed: bool) -> Members:
    """What has no place in a tool call or its result: namespaces, callers, servers, fingerprints."""
    known = kind_of(kind)
    read = _COMMON | set(known.members) | _ALSO_READ.get(kind, frozenset())
    rest = rest_of(members, read | set(_RESULTS) if executed else read)
    if "caller" in rest and compact(rest["caller"]) == _DIRECT:
        del rest["caller"]
    return rest


def answer_beside(members: Members) -> Members:
    """The same for an item that answers a call."""
    return rest_of(members, _ANSWER_READ | {*_RESULTS, "execution"})


def _said(raw: msgspec.Raw) -> msgspec.Raw:
    """An action without what it leaves open, and without what it found."""
    inner = fields_of(raw)
    if inner is None:
        return raw
    said = {name: value for name, value in inner.items() if name != "sources" and not _null(value)}
    return msgspec.Raw(object_of(said)) if said else NULL


def _null(raw: msgspec.Raw) -> bool:
    return bytes(raw) == b"null"


# An image's size and quality, and the prompt that was made of the asked one, are its result.
_ABOUT_IMAGE: Final = frozenset({"background", "output_format", "quality", "size", "revised_prompt", "svg_usage"})
_IMAGE_READ: Final = frozenset({"type", "id", "result", "error", "action", "prompt"})
# Members that say nothing new, or are part of a result.
_ALSO_READ: Final[dict[str, frozenset[str]]] = {
    "tool_search_call": frozenset({"execution"}),
    "image_generation_call": _ABOUT_IMAGE,
}
_ANSWER_READ: Final = frozenset({"type", "id", "call_id", "status"})

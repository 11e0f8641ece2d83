"""OpenAI's Responses through the openai package: its typed events, and the response that the last of them holds."""

from collections.abc import Callable
from typing import Any

import msgspec
import openai

from conformance.expected import Expected, answering, quiet
from runwire_schemas.raw import Usage

_FINISH = {"max_output_tokens": "max_tokens", "content_filter": "content_filter"}
_CLIENT = ("function_call", "custom_tool_call", "local_shell_call", "apply_patch_call", "computer_call")


def reads(body: bytes) -> Expected:
    """`responses.create(stream=True)`, and the output of its last event; if that is left out, its finished items."""
    raised = ""
    received: list[Any] = []
    with answering(body) as http, quiet():
        client = openai.OpenAI(api_key="none", base_url="http://provider.invalid/v1", http_client=http, max_retries=0)
        try:
            # Its stream helper keeps the same response, and raises where ids change or `response.created` is missing.
            received.extend(client.responses.create(model="m", input="", stream=True))
        except openai.APIError as error:
            raised = f"error: {error.message}"
        except Exception as error:  # noqa: BLE001 - the SDK fails in many ways on what is not OpenAI's own
            raised = f"sdk: {type(error).__name__}"
    last = received[-1] if received else None
    response = getattr(last, "response", None)
    if response is None or raised:
        return Expected("", "", [], None, "error" if raised.startswith("error") else None, raised or "sdk: no end")
    output = response.output or [event.item for event in received if event.type == "response.output_item.done"]
    tools = [tool for item in output for tool in _tool(item)]
    return Expected(
        "".join(_texts(output)),
        "".join(_thoughts(output)),
        [tool for _, tool in tools],
        _usage(response.usage),
        _finish(last, client_run=any(runs for runs, _ in tools)),
        "",
    )


def events(body: bytes) -> list[object]:
    """What `responses.create(stream=True)` hands out."""
    with answering(body) as http, quiet():
        client = openai.OpenAI(api_key="none", base_url="http://provider.invalid/v1", http_client=http, max_retries=0)
        return list(client.responses.create(model="m", input="", stream=True))


def _texts(output: list[Any]) -> list[str]:
    return [_text(part) for item in output if item.type == "message" for part in item.content]


def _text(part: Any) -> str:
    text: str = part.refusal if part.type == "refusal" else part.text
    return text


def _thoughts(output: list[Any]) -> list[str]:
    items = [item for item in output if item.type == "reasoning"]
    parts: list[list[Any]] = [[*(item.summary or ()), *(item.content or ())] for item in items]
    return [part.text for some in parts for part in some]


def _finish(event: Any, *, client_run: bool) -> str | None:
    usual = "tool_calls" if client_run else "stop"
    if event.type == "response.incomplete":
        return _FINISH.get(event.response.incomplete_details.reason, usual)
    return usual if event.type == "response.completed" else None


def _usage(said: Any) -> Usage | None:
    """The disjoint mapping of docs/adapters.md, written a second time from the SDK's own fields."""
    if said is None:
        return None
    read = said.input_tokens_details.cached_tokens
    written = getattr(said.input_tokens_details, "cache_write_tokens", None)
    return Usage(
        input_tokens=said.input_tokens - (read or 0) - (written or 0),
        output_tokens=said.output_tokens,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=said.output_tokens_details.reasoning_tokens,
    )


def _tool(item: Any) -> list[tuple[bool, tuple[str, str, str]]]:
    """Whether the client runs it, and (id, name, arguments) of an item that calls a tool."""
    arguments = _ARGUMENTS.get(item.type)
    if arguments is None:
        return []
    shown: dict[str, Any] = item.to_dict()
    name = shown.get("name") or item.type.removesuffix("_call")
    environment: dict[str, Any] = shown.get("environment") or {}
    hosted = environment.get("type") == "container_reference"
    client_runs = item.type in _CLIENT or (item.type == "shell_call" and not hosted)
    return [(client_runs, (shown.get("call_id") or item.id, name, arguments(shown)))]


_Shown = dict[str, Any]
_ARGUMENTS: dict[str, Callable[[_Shown], str]] = {
    "function_call": lambda shown: shown["arguments"],
    "mcp_call": lambda shown: shown["arguments"],
    "mcp_approval_request": lambda shown: shown["arguments"],
    # xAI writes its arguments as those of a function.
    "web_search_call": lambda shown: shown.get("arguments") or _json({"action": _without(shown["action"], "sources")}),
    "custom_tool_call": lambda shown: _some(shown, "input"),
    "tool_search_call": lambda shown: _json(shown["arguments"]),
    "file_search_call": lambda shown: _some(shown, "queries"),
    "code_interpreter_call": lambda shown: _some(shown, "container_id", "code"),
    "image_generation_call": lambda shown: _some(shown, "action", "prompt"),
    "mcp_list_tools": lambda shown: _some(shown, "server_label"),
    "program": lambda shown: _some(shown, "code"),
    "local_shell_call": lambda shown: _json({"action": _without(shown["action"])}),
    "shell_call": lambda shown: _json({"action": _without(shown["action"])}),
    "apply_patch_call": lambda shown: _some(shown, "operation"),
}


def _some(shown: _Shown, *names: str) -> str:
    return _json({name: shown[name] for name in names if name in shown})


def _without(members: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None and name not in names}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()

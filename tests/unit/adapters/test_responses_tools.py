"""Calls of tools in Responses: who runs them, and their arguments as they come."""

import json
from typing import Any

import pytest

from conformance.recorded import decode_raw
from runwire.adapters import adapter
from runwire_schemas.raw import ToolCallDelta
from unit.adapters.responding import (
    HOSTED,
    added,
    answered,
    arguments,
    call,
    created,
    done,
    ended,
    event,
    function,
    responses,
    shell,
)
from unit.adapters.saying import Json, run, sse


def deltas(kind: str, *pieces: str, **where: Any) -> list[Json]:
    return [event(f"{kind}.delta", delta=piece, item_id="it-1", output_index=0, **where) for piece in pieces]


# Arguments


def test_arguments_that_come_only_when_they_are_whole() -> None:
    """LM Studio sends no deltas."""
    whole = event("function_call_arguments.done", arguments='{"a":1}', item_id="fc-1", output_index=0)
    seen = answered(added(function()), whole, done(function('{"a":1}')))

    assert seen.tools == [("call-a", "f", '{"a":1}')]
    assert seen.finish == "tool_calls"


def test_arguments_that_come_with_the_call_may_be_repeated_by_deltas_or_not() -> None:
    first = added(function('{"a":1}'))
    repeated = answered(first, arguments('{"a"'), arguments(":1}"), done(function('{"a":1}')))
    alone = answered(first, done(function('{"a":1}')))
    never_done = answered(first)
    gone_on = answered(added(function('{"a"')), arguments(":1}"), done(function('{"a":1}')))

    assert [seen.tools for seen in (repeated, alone, never_done, gone_on)] == [[("call-a", "f", '{"a":1}')]] * 4


def test_arguments_are_kept_as_they_were_written() -> None:
    spaced = '{ "a" : 1.0 }'
    assert answered(added(function()), done(function(spaced))).tools[0].arguments == spaced


def test_arguments_that_contradict_the_deltas_are_kept_beside_them_once() -> None:
    other = function('{"a":2}')
    seen = responses(created(), added(function()), arguments('{"a":1}'), done(other), ended(other))

    assert seen.tools == [("call-a", "f", '{"a":1}')]
    assert [raw["item"]["arguments"] for raw in seen.beside("raw")] == ['{"a":2}']


def test_the_closing_event_may_spell_the_same_arguments_otherwise() -> None:
    seen = responses(created(), done(function('{"a":1,"b":2}')), ended(function('{ "b": 2, "a": 1 }')))

    assert seen.beside("raw") == []


def test_no_arguments_are_none() -> None:
    assert answered(added(function()), done(function())).tools == [("call-a", "f", "")]


def test_arguments_given_as_an_object_become_its_text() -> None:
    assert answered(done(function() | {"arguments": {"a": 1}})).tools == [("call-a", "f", '{"a":1}')]


def test_a_call_cut_in_the_middle_keeps_what_came() -> None:
    seen = responses(
        created(),
        added(function()),
        arguments('{"a'),
        done(function('{"a', status="incomplete")),
        ended(
            function('{"a', status="incomplete"), state="incomplete", incomplete_details={"reason": "max_output_tokens"}
        ),
    )

    assert seen.tools == [("call-a", "f", '{"a')]
    assert seen.finish == "max_tokens"


def test_deltas_of_a_call_that_nobody_announced_wait_for_its_name() -> None:
    seen = answered(arguments('{"a":'), arguments("1}"), done(function('{"a":1}')))

    assert seen.tools == [("call-a", "f", '{"a":1}')]


def test_deltas_of_a_call_that_nobody_ever_names_are_kept_beside() -> None:
    seen = responses(created(), arguments('{"a":'), arguments("1}"), ended())

    assert [raw["delta"] for raw in seen.beside("raw")] == ['{"a":1}']
    assert seen.finish == "stop"


def test_a_call_without_its_id_waits_for_it() -> None:
    seen = answered(added(function(call_id="")), arguments("{}"), done(function("{}", call_id="late")))

    assert seen.tools == [("late", "f", "{}")]


def test_a_call_without_any_name_ends_the_call() -> None:
    seen = answered(done(function("{}", name="")))

    assert seen.finish == "error"
    assert "no name" in seen.failure


# Texts that lie in the arguments


def test_code_is_an_argument_that_comes_in_pieces() -> None:
    item = call("code_interpreter_call", container_id="c", code="", outputs=[])
    whole = {**item, "code": 'print("hi")\n', "outputs": [{"type": "logs", "logs": "hi"}]}
    pieces = deltas("code_interpreter_call_code", "print(", '"hi', '")\n')
    seen = responses(created(), added(item), *pieces, done(whole), ended(whole))

    assert seen.tools == [("it-1", "code_interpreter", '{"container_id":"c","code":"print(\\"hi\\")\\n"}')]
    assert seen.executed == {"it-1"}
    assert [json.loads(bytes(one.content)) for one in seen.results] == [[{"type": "logs", "logs": "hi"}]]
    assert seen.finish == "stop"


def test_code_says_what_its_deltas_left_out() -> None:
    whole = call("code_interpreter_call", container_id="c", code="1 + 1")
    last = event("code_interpreter_call_code.done", code="1 + 1", item_id="it-1", output_index=0)
    by_event = answered(added({**whole, "code": ""}), *deltas("code_interpreter_call_code", "1 "), last, done(whole))
    by_item = answered(added({**whole, "code": ""}), *deltas("code_interpreter_call_code", "1 "), done(whole))
    at_once = answered(done(whole))

    assert {seen.tools[0].arguments for seen in (by_event, by_item, at_once)} == {'{"container_id":"c","code":"1 + 1"}'}


def test_code_that_never_ends_is_closed_if_the_response_ends_well() -> None:
    item = call("code_interpreter_call", code="")
    assert (
        answered(added(item), *deltas("code_interpreter_call_code", "1 + 1")).tools[0].arguments == '{"code":"1 + 1"}'
    )


def typed(*events: Json) -> str:
    """The arguments that came, whether or not their call was closed."""
    body = sse(created(), *events, done=False)
    chunks = [decode_raw(chunk) for kind, chunk in run(adapter("openai-responses"), body) if kind == "provider"]
    return "".join(chunk.arguments_delta for chunk in chunks if isinstance(chunk, ToolCallDelta))


def test_what_came_of_arguments_is_kept_as_it_came_if_the_response_is_cut_off() -> None:
    code = call("code_interpreter_call", container_id="c", code="")
    search = call("web_search_call", action={"query": "q"})
    pieces = deltas("function_call_arguments", '{"query"', ':"x')

    assert typed(added(code), *deltas("code_interpreter_call_code", "1 +")) == '{"container_id":"c","code":"1 +'
    assert typed(added(search), *pieces) == '{"query":"x'
    assert typed(added(search)) == '{"action":{"query":"q"}}'
    assert typed(added(function('{"a":1}'))) == '{"a":1}'


def test_code_that_is_cut_off_stays_open() -> None:
    seen = responses(
        created(), added(call("code_interpreter_call", code="")), *deltas("code_interpreter_call_code", "1 +")
    )

    assert seen.tools == []
    assert seen.finish == "aborted"


def test_the_input_of_a_custom_tool_is_any_text() -> None:
    item = {"type": "custom_tool_call", "id": "it-1", "call_id": "c", "name": "sql", "input": ""}
    pieces = deltas("custom_tool_call_input", "select ", '"x"')
    last = event("custom_tool_call_input.done", input='select "x"', item_id="it-1", output_index=0)
    seen = answered(added(item), *pieces, last, done({**item, "input": 'select "x"'}))

    assert seen.tools == [("c", "sql", '{"input":"select \\"x\\""}')]
    assert seen.executed == set()
    assert seen.finish == "tool_calls"


def test_a_surrogate_pair_cut_in_the_input_is_joined() -> None:
    item = {"type": "custom_tool_call", "id": "it-1", "call_id": "c", "name": "say", "input": ""}
    wire = '{"type":"response.custom_tool_call_input.delta","output_index":0,"item_id":"it-1","delta":"%s"}'
    halves = [f"data: {wire % half}\n\n" for half in ("\\ud83d", "\\ude00")]
    seen = answered(added(item), *halves, done({**item, "input": "😀"}))

    assert json.loads(seen.tools[0].arguments) == {"input": "😀"}
    assert seen.beside("raw") == []


def test_a_patch_that_is_escaped_is_json_whatever_it_holds() -> None:
    text = "".join(map(chr, range(0x20))) + '"\\/é😀'
    item = {"type": "custom_tool_call", "id": "it-1", "call_id": "c", "name": "say", "input": ""}
    seen = answered(added(item), *deltas("custom_tool_call_input", text[:10], text[10:]), done({**item, "input": text}))

    assert json.loads(seen.tools[0].arguments) == {"input": text}
    assert seen.beside("raw") == []


def test_a_patch_is_an_argument_that_comes_in_pieces() -> None:
    operation = {"type": "create_file", "path": "a.md", "diff": ""}
    item = call("apply_patch_call", call_id="c", operation=operation)
    whole = {**item, "operation": {**operation, "diff": "+a\n+b\n"}}
    seen = answered(added(item), *deltas("apply_patch_call_operation_diff", "+a\n", "+b"), done(whole))

    assert json.loads(seen.tools[0].arguments) == {"operation": whole["operation"]}
    assert seen.finish == "tool_calls"


def test_a_patch_without_text_comes_whole() -> None:
    item = call("apply_patch_call", call_id="c", operation={"type": "delete_file", "path": "a.md"})
    assert json.loads(answered(added(item), done(item)).tools[0].arguments) == {"operation": item["operation"]}


def test_what_an_operation_says_late_is_written_after_its_text() -> None:
    item = call("apply_patch_call", call_id="c", operation={"type": "update_file"})
    whole = {**item, "operation": {"type": "update_file", "path": "a.md", "diff": "+a"}}
    seen = answered(added(item), *deltas("apply_patch_call_operation_diff", "+a"), done(whole))

    assert json.loads(seen.tools[0].arguments) == {"operation": whole["operation"]}
    assert seen.beside("raw") == []


def test_what_an_operation_says_otherwise_is_kept_beside() -> None:
    item = call("apply_patch_call", call_id="c", operation={"type": "update_file", "path": "a"})
    whole = {**item, "operation": {"type": "update_file", "path": "b", "diff": "+a"}}
    seen = answered(added(item), *deltas("apply_patch_call_operation_diff", "+a"), done(whole))

    assert [raw["item"]["operation"]["path"] for raw in seen.beside("raw")] == ["b"]


def test_commands_of_a_shell_come_one_after_the_other() -> None:
    seen = answered(
        added(shell(environment=HOSTED)), *deltas("shell_call_command", "ls", " -a", command_index=0),
        event("shell_call_command.added", command="", command_index=1, output_index=0),
        *deltas("shell_call_command", "echo", ' "x"', command_index=1),
        event("shell_call_command.done", command='echo "x"', command_index=1, output_index=0),
        done(shell("ls -a", 'echo "x"', "pwd", environment=HOSTED)),
    )  # fmt: skip

    assert json.loads(seen.tools[0].arguments) == {"action": {"commands": ["ls -a", 'echo "x"', "pwd"]}}
    assert seen.executed == {"sh"}
    assert [raw["item"] for raw in seen.beside("raw")] == [{"environment": HOSTED}]


def test_a_command_out_of_its_turn_is_kept_beside() -> None:
    seen = answered(
        added(shell(environment=HOSTED)), *deltas("shell_call_command", "ls", command_index=0),
        *deltas("shell_call_command", "late", command_index=7), done(shell("ls", environment=HOSTED)),
    )  # fmt: skip

    assert json.loads(seen.tools[0].arguments) == {"action": {"commands": ["ls"]}}
    assert [raw["delta"] for raw in seen.beside("raw") if "delta" in raw] == ["late"]


@pytest.mark.parametrize("environment", [None, {"type": "local"}])
def test_a_shell_that_is_not_hosted_is_the_clients(environment: Json | None) -> None:
    seen = answered(added(shell(environment=environment)), done(shell("ls", environment=environment)))

    assert seen.executed == set()
    assert seen.finish == "tool_calls"


def test_whose_a_shell_is_may_be_known_late() -> None:
    first = shell()
    del first["environment"]
    seen = answered(
        added(first), *deltas("shell_call_command", "ls", command_index=0), done(shell("ls", environment=HOSTED))
    )

    assert seen.executed == {"sh"}
    assert json.loads(seen.tools[0].arguments) == {"action": {"commands": ["ls"]}}


# Calls that come whole


@pytest.mark.parametrize(
    ("item", "name", "given"),
    [
        (call("web_search_call", action={"type": "search", "query": "q", "sources": []}), "web_search",
         {"action": {"type": "search", "query": "q"}}),
        (call("file_search_call", queries=["q"], results=None), "file_search", {"queries": ["q"]}),
        (call("tool_search_call", arguments={"paths": ["p"]}, execution="server", call_id=None), "tool_search",
         {"paths": ["p"]}),
        (call("mcp_call", name="t", arguments='{"a":1}', server_label="s"), "t", {"a": 1}),
        (call("mcp_approval_request", name="t", arguments='{"a":1}', server_label="s"), "t", {"a": 1}),
        (call("mcp_list_tools", server_label="s", tools=[]), "mcp_list_tools", {"server_label": "s"}),
        (call("program", code="x", fingerprint="f"), "program", {"code": "x"}),
        (call("image_generation_call", prompt="p"), "image_generation", {"prompt": "p"}),
        (call("web_search_call", name="browse", arguments='{"query":"q"}', call_id=""), "browse", {"query": "q"}),
        (call("x_search_call", name="x_search", arguments='{"query":"q"}'), "x_search", {"query": "q"}),
        (call("custom_tool_call", name="x_user_search", input="q", call_id="it-1"), "x_user_search", {"input": "q"}),
        (call("strange_call"), "strange", {}),
        (call("web_search_call", action={"type": None}), "web_search", {}),
        (call("custom_tool_call", name="view_image", arguments='{"a":1}', call_id="it-1"), "view_image", {"a": 1}),
    ],
)  # fmt: skip
def test_the_provider_runs_its_own_tools(item: Json, name: str, given: Json) -> None:
    seen = responses(created(), added(item), done(item), ended(item))

    assert [(tool.id, tool.name, json.loads(tool.arguments or "{}")) for tool in seen.tools] == [("it-1", name, given)]
    assert seen.executed == {"it-1"}
    assert seen.finish == "stop"


@pytest.mark.parametrize(
    ("item", "name", "given"),
    [
        (call("local_shell_call", action={"type": "exec", "command": ["ls"], "env": {}, "user": None}, call_id="c"),
         "local_shell", {"action": {"type": "exec", "command": ["ls"], "env": {}}}),
        (call("computer_call", action={"type": "click", "x": 1}, pending_safety_checks=[], call_id="c"), "computer",
         {"action": {"type": "click", "x": 1}, "pending_safety_checks": []}),
        (call("tool_search_call", arguments={"q": 1}, execution="client", call_id="c"), "tool_search", {"q": 1}),
        (function('{"a":1}', call_id="c"), "f", {"a": 1}),
    ],
)  # fmt: skip
def test_the_client_runs_the_others(item: Json, name: str, given: Json) -> None:
    seen = responses(created(), added(item), done(item), ended(item))

    assert [(tool.id, tool.name, json.loads(tool.arguments)) for tool in seen.tools] == [("c", name, given)]
    assert seen.executed == set()
    assert seen.finish == "tool_calls"


def test_a_function_that_a_program_calls_is_the_clients() -> None:
    caller = {"type": "program", "caller_id": "p"}
    seen = answered(done(call("program", call_id="p", code="x")), done(function("{}", caller=caller), 1))

    assert seen.executed == {"p"}
    assert seen.finish == "tool_calls"
    assert {"toolCallId": "call-a", "item": {"caller": caller}, "provider": "openai-responses"} in seen.beside("raw")


def test_a_call_that_was_announced_only_is_whole_if_the_response_ends_well() -> None:
    item = call("web_search_call", action={"type": "search", "query": "q"})

    assert json.loads(answered(added(item)).tools[0].arguments) == {"action": {"type": "search", "query": "q"}}


def test_a_call_that_was_announced_only_stays_open_if_the_response_does_not() -> None:
    seen = responses(created(), added(call("mcp_call", name="t", arguments='{"a":1}', server_label="s")))

    assert seen.tools == []
    assert [raw["item"] for raw in seen.beside("raw")] == [{"server_label": "s"}]


def test_what_ends_a_text_says_what_was_left_out_though_its_item_never_ends() -> None:
    last = event("code_interpreter_call_code.done", code="1 + 1", item_id="it-1", output_index=0)
    first = added(call("code_interpreter_call", code=""))

    assert answered(first, *deltas("code_interpreter_call_code", "1 "), last).tools[0].arguments == '{"code":"1 + 1"}'
    assert answered(first, last).tools[0].arguments == '{"code":"1 + 1"}'


def test_what_ends_a_text_and_contradicts_it_is_kept_beside() -> None:
    last = event("function_call_arguments.done", arguments='{"a":2}', item_id="fc-1", output_index=0)
    seen = answered(added(function()), arguments('{"a":1}'), last)

    assert seen.tools == [("call-a", "f", '{"a":1}')]
    assert [raw["event"]["arguments"] for raw in seen.beside("raw")] == ['{"a":2}']


@pytest.mark.parametrize("code", ["2", 2])
def test_code_that_contradicts_its_deltas_is_kept_beside(code: Any) -> None:
    item = call("code_interpreter_call", container_id="c", code="")
    seen = answered(added(item), *deltas("code_interpreter_call_code", "1"), done({**item, "code": code}))

    assert json.loads(seen.tools[0].arguments) == {"container_id": "c", "code": "1"}
    assert [raw["item"]["code"] for raw in seen.beside("raw")] == [code]


def test_code_that_the_finished_item_leaves_out_is_that_of_the_deltas() -> None:
    item = call("code_interpreter_call", container_id="c")
    seen = answered(added(item), *deltas("code_interpreter_call_code", "1"), done(item))

    assert json.loads(seen.tools[0].arguments) == {"container_id": "c", "code": "1"}
    assert seen.beside("raw") == []


def test_input_that_came_as_text_and_ends_as_arguments_is_kept_beside() -> None:
    item = {"type": "custom_tool_call", "id": "it-1", "call_id": "c", "name": "say", "arguments": '{"x":1}'}
    seen = answered(added({**item, "arguments": ""}), *deltas("custom_tool_call_input", "hi"), done(item))

    assert json.loads(seen.tools[0].arguments) == {"input": "hi"}
    assert [raw["item"]["arguments"] for raw in seen.beside("raw")] == ['{"x":1}']


def test_arguments_that_only_the_announcement_has_are_the_calls() -> None:
    custom = {"type": "custom_tool_call", "id": "it-1", "call_id": "c", "name": "say", "arguments": '{"x":1}'}

    assert answered(added(function('{"a":1}')), done(function())).tools[0].arguments == '{"a":1}'
    assert answered(added(custom), *deltas("custom_tool_call_input", "hi")).tools[0].arguments == '{"input":"hi"}'
    assert answered(added(custom)).tools[0].arguments == '{"x":1}'

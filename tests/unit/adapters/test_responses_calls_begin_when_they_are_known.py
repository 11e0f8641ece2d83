"""When a call of Responses begins and ends: as soon as it is known what it is, and who has to run it."""

from runwire.adapters import adapter
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
    so_far,
    text,
)
from unit.adapters.saying import run, sse


def test_arguments_are_kept_though_their_item_never_ends() -> None:
    whole = event("function_call_arguments.done", arguments='{"a":1}', item_id="fc-1", output_index=0)

    assert answered(added(function()), whole).tools == [("call-a", "f", '{"a":1}')]


def test_deltas_before_their_call_is_announced_belong_to_it() -> None:
    seen = answered(arguments('{"a"'), added(function()), arguments(":1}"))

    assert seen.tools == [("call-a", "f", '{"a":1}')]


def test_deltas_from_the_middle_are_a_part_of_what_the_item_has_whole() -> None:
    seen = answered(arguments(":1}"), done(function('{"a":1}')))

    assert seen.tools == [("call-a", "f", '{"a":1}')]
    assert seen.beside("raw") == []


def test_deltas_are_the_arguments_if_the_item_has_none() -> None:
    assert answered(arguments('{"a":1}'), done(function())).tools == [("call-a", "f", '{"a":1}')]


def test_a_name_may_come_late() -> None:
    seen = answered(added(function(name="")), arguments("{}"), done(function("{}")))

    assert seen.tools == [("call-a", "f", "{}")]


def test_a_tool_of_the_provider_that_has_no_name_is_named_by_its_type() -> None:
    assert [tool.name for tool in answered(done(call("mcp_call", arguments="{}"))).tools] == ["mcp_call"]


def test_many_deltas_of_a_call_that_nobody_named_do_not_wait() -> None:
    piece = "x" * 40_000
    first = so_far(created(), text("Hi", output_index=1), arguments(piece), arguments(piece))
    seen = answered(arguments(piece), arguments(piece), done(function("{}")))

    assert [raw["delta"] for raw in first.beside("raw")] == [piece * 2]
    assert [raw["delta"] for raw in seen.beside("raw")] == [piece * 2]
    assert seen.tools == [("call-a", "f", "{}")]
    longer = answered(*[arguments(piece)] * 4)
    assert [raw["delta"] for raw in longer.beside("raw")] == [piece * 2] * 2


def test_text_of_another_kind_is_kept_beside_a_call() -> None:
    item = {"type": "custom_tool_call", "id": "fc-1", "call_id": "c", "name": "say", "input": ""}
    whole = event("function_call_arguments.done", arguments="{}", item_id="fc-1", output_index=0)
    seen = answered(added(item), arguments("{}"), whole, done({**item, "input": "x"}))

    assert seen.tools == [("c", "say", '{"input":"x"}')]
    assert [raw.get("delta", raw.get("event", {}).get("arguments")) for raw in seen.beside("raw")] == ["{}", "{}"]


def test_deltas_after_a_call_is_whole_are_kept_beside() -> None:
    late = event("function_call_arguments.done", arguments="late", item_id="fc-1", output_index=0)
    seen = answered(added(function()), done(function("{}")), arguments("late"), late)

    assert seen.tools == [("call-a", "f", "{}")]
    assert [(raw["toolCallId"], raw["delta"]) for raw in seen.beside("raw")] == [("call-a", "late")]


def test_a_call_that_is_whole_is_closed_at_once() -> None:
    wire = adapter("openai-responses")
    wire.feed(sse(created(), added(function()), arguments("{}"), done=False))

    [(_, chunk)] = wire.feed(sse(done(function("{}")), done=False))

    assert b'"block-end"' in chunk


def test_arguments_that_only_the_closing_event_contradicts_are_kept_beside() -> None:
    seen = responses(created(), done(function("{}")), ended(function('{"a":2}')))

    assert seen.tools == [("call-a", "f", "{}")]
    assert [raw["item"]["arguments"] for raw in seen.beside("raw")] == ['{"a":2}']


def test_what_was_announced_of_a_call_is_kept_if_the_response_is_cut_off() -> None:
    known = sse(created(), added(call("mcp_call", name="t", arguments='{"a":1}')), done=False)
    unknown = responses(created(), added(function(call_id="", namespace="n")))

    assert any(b'"argumentsDelta":"{\\"a\\":1}"' in chunk for _, chunk in run(adapter("openai-responses"), known))
    assert [raw["item"]["namespace"] for raw in unknown.beside("raw")] == ["n"]


def test_who_runs_a_call_is_not_changed_by_an_event_that_says_less() -> None:
    less = shell("ls")
    del less["environment"]
    seen = answered(added(shell(environment=HOSTED)), done(less))

    assert seen.executed == {"sh"}
    assert seen.finish == "stop"


def test_deltas_that_belong_to_no_call_say_whose_they_were() -> None:
    named = answered(arguments("{}")).beside("raw")
    nameless = answered(arguments("{}", item_id=None)).beside("raw")

    assert [raw.get("toolCallId") for raw in named + nameless] == ["fc-1", None]


def test_an_id_may_come_late() -> None:
    item = call("mcp_call", name="t", arguments="{}")
    delta = event("mcp_call_arguments.delta", delta="{}", output_index=0)

    assert [tool.id for tool in answered(delta, added(item), done(item)).tools] == ["it-1"]


def test_an_event_without_the_name_takes_it_from_no_call() -> None:
    last = function("{}")
    del last["name"]

    assert answered(added(function(name="")), added(function(), 1), done(function("{}"), 1)).tools
    assert answered(added(function()), done(last)).tools == [("call-a", "f", "{}")]

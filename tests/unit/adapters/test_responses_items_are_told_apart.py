"""Which item an event is about: by index and id, however its server counts and names."""

import pytest

from unit.adapters.responding import (
    added,
    answered,
    arguments,
    created,
    done,
    ended,
    event,
    function,
    message,
    reasoning,
    responses,
    text,
    text_done,
)
from unit.adapters.saying import Json


def thought(delta: str, **where: object) -> dict[str, object]:
    return event(
        "reasoning_text.delta", delta=delta, **{"item_id": "rs-1", "output_index": 0, "content_index": 0, **where}
    )


def test_calls_that_interleave_are_not_mixed() -> None:
    one, two = function(call_id="a", id="1"), function(call_id="b", id="2", name="g")
    seen = answered(
        added(one, 0), added(two, 1), arguments('{"x"', item_id="1", output_index=0),
        arguments('{"y"', item_id="2", output_index=1), arguments(":1}", item_id="1", output_index=0),
        arguments(":2}", item_id="2", output_index=1), done({**two, "arguments": '{"y":2}'}, 1),
        done({**one, "arguments": '{"x":1}'}, 0),
    )  # fmt: skip

    assert sorted(seen.tools) == [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]


def test_ids_may_change_with_every_event() -> None:
    """Copilot: only the index tells."""
    whole = message("Hello", id="id-7")
    seen = responses(
        created(id="r1"),
        added(reasoning(id="id-1")),
        thought("hm", item_id="id-2"),
        done(reasoning(content=("hm",), id="id-3")),
        added(message(id="id-4"), 1),
        text("Hel", item_id="id-5", output_index=1),
        text("lo", item_id="id-6", output_index=1),
        done(whole, 1),
        ended(reasoning(content=("hm",), id="id-8"), message("Hello", id="id-9"), id="r2"),
    )

    assert (seen.reasoning, seen.text) == ("hm", "Hello")
    assert seen.kinds == ["thinking", "text"]
    assert [said["id"] for said in seen.beside("response-metadata")] == ["r1", "r1"]


def test_several_items_may_have_one_index() -> None:
    """LiteLLM gives index 0 to all: then the ids tell."""
    one, two = function(call_id="a", id="1"), function(call_id="b", id="2")
    seen = answered(
        added(one),
        arguments('{"x":', item_id="1"),
        added(two),
        arguments("{}", item_id="2"),
        arguments("1}", item_id="1"),
        done({**one, "arguments": '{"x":1}'}),
        done({**two, "arguments": "{}"}),
    )

    assert sorted(seen.tools) == [("a", "f", '{"x":1}'), ("b", "f", "{}")]


def test_reasoning_and_an_answer_may_have_one_index_and_no_ids() -> None:
    seen = answered(
        event("reasoning_text.delta", delta="hm", output_index=0), text("Hel", item_id=None), text("lo", item_id=None),
        text_done("Hello", item_id=None),
    )  # fmt: skip

    assert (seen.reasoning, seen.text) == ("hm", "Hello")


def test_an_index_may_be_wrong_where_the_id_is_right() -> None:
    seen = answered(
        added(message(id="m"), 0), text("Hello", item_id="m", output_index=3), done(message("Hello", id="m"), 0)
    )

    assert seen.text == "Hello"


def test_one_id_may_name_two_items() -> None:
    seen = answered(
        added(message(id=""), 0), text("one", item_id="", output_index=0), done(message("one", id=""), 0),
        added(message(id=""), 1), text("two", item_id="", output_index=1), done(message("two", id=""), 1),
    )  # fmt: skip

    assert seen.text == "onetwo"
    assert seen.kinds == ["text", "text"]


def test_an_index_may_be_used_again_by_an_item_that_nobody_announced() -> None:
    seen = answered(
        added(message(id="m")), text("one", item_id="m"), done(message("one", id="m")), done(message("two", id="n"))
    )

    assert seen.text == "onetwo"


def test_events_with_neither_index_nor_id_are_about_the_item_that_is_open() -> None:
    seen = answered(
        added(function(), None), arguments('{"a":', item_id=None, output_index=None),
        arguments("1}", item_id=None, output_index=None), done(function('{"a":1}'), None),
    )  # fmt: skip

    assert seen.tools == [("call-a", "f", '{"a":1}')]


def test_items_may_overlap() -> None:
    """OpenRouter opens the message while reasoning is open, and closes reasoning last."""
    seen = answered(
        added(reasoning()), thought("hm"), added(message(), 1), text("Hello", output_index=1),
        done(message("Hello"), 1), done(reasoning(content=("hm",), encrypted_content="xyz")),
    )  # fmt: skip

    assert (seen.reasoning, seen.text) == ("hm", "Hello")
    assert [block.redacted for block in seen.thinking if block.redacted] == ["xyz"]


@pytest.mark.parametrize(
    "output", [[message("Hello", id="x")], [reasoning(content=("hm",), id="y"), message("Hello", id="x")]]
)
def test_the_closing_event_may_list_other_ids(output: list[dict[str, object]]) -> None:
    seen = responses(
        created(), added(reasoning()), thought("hm"), done(reasoning(content=("hm",))), added(message(), 2),
        text("Hello", output_index=2), done(message("Hello"), 2), ended(*output),
    )  # fmt: skip

    assert (seen.reasoning, seen.text) == ("hm", "Hello")
    assert seen.beside("raw") == []


def test_the_closing_event_may_list_nothing() -> None:
    """The ChatGPT backend: an empty list, or none."""
    end = ended()
    del end["response"]["output"]
    for last in (ended(), end):
        seen = responses(created(), added(function()), arguments("{}"), done(function("{}")), last)
        assert (seen.tools, seen.finish) == ([("call-a", "f", "{}")], "tool_calls")


def test_an_item_that_never_ends_is_closed_by_the_closing_event() -> None:
    listed: Json = {"type": "mcp_list_tools", "id": "l", "server_label": "s", "tools": []}
    tools: list[Json] = [{"name": "t", "input_schema": {}}]
    seen = responses(created(), added(listed), ended({**listed, "tools": tools}))

    assert seen.tools == [("l", "mcp_list_tools", '{"server_label":"s"}')]
    assert [bytes(result.content) for result in seen.results] == [b'[{"name":"t","input_schema":{}}]']


def test_an_item_of_an_unknown_type_is_kept_once() -> None:
    item = {"type": "compaction", "id": "c", "encrypted_content": "xyz"}
    seen = responses(
        created(), added({**item, "encrypted_content": ""}), done(item), ended({**item, "encrypted_content": "other"})
    )

    assert [raw["item"] for raw in seen.beside("raw")] == [item]


def test_an_unknown_item_that_never_ends_is_kept() -> None:
    seen = responses(created(), added({"type": "strange", "id": "s", "value": 1}))

    assert [raw["item"]["value"] for raw in seen.beside("raw")] == [1]


def test_more_items_than_blocks_end_the_call() -> None:
    seen = responses(created(), *(done(message("x", id=f"m{number}"), number) for number in range(1100)))

    assert seen.finish == "error"
    assert "1024" in seen.failure


def test_two_messages_are_two_blocks() -> None:
    seen = answered(
        added(message(id="m")),
        text("one", item_id="m"),
        added(message(id="n"), 1),
        text("two", item_id="n", output_index=1),
    )

    assert seen.kinds == ["text", "text"]


def test_the_ids_of_all_items_are_facts_about_the_response() -> None:
    seen = responses(
        created(), done(message("x", phase="final_answer")), ended(message("x", phase="final_answer"), function())
    )

    assert seen.beside("response-metadata")[-1]["providerMetadata"]["openai-responses"]["output"] == [
        {"type": "message", "id": "msg-1", "phase": "final_answer"},
        {"type": "function_call", "id": "fc-1", "call_id": "call-a"},
    ]


def test_deltas_may_begin_an_item_at_an_index_that_was_used() -> None:
    seen = answered(
        added(message(id="m")), text("one", item_id="m"), done(message("one", id="m")),
        text("two", item_id="n"), done(message("two", id="n")),
    )  # fmt: skip

    assert (seen.text, seen.kinds) == ("onetwo", ["text", "text"])


def test_two_open_items_may_have_one_id_and_two_indices() -> None:
    seen = answered(
        added(message(id="m"), 0), added(message(id="m"), 1), text("one", item_id="m"),
        text("two", item_id="m", output_index=1), done(message("one", id="m"), 0), done(message("two", id="m"), 1),
    )  # fmt: skip

    assert seen.text == "onetwo"
    assert seen.beside("raw") == []


def test_text_with_neither_index_nor_id_belongs_to_the_message_that_is_open() -> None:
    nowhere = {"item_id": None, "output_index": None}
    seen = answered(
        added(message(), None), text("one", **nowhere), done(message("one"), None), added(message(id="m"), None),
        added(reasoning(), None), text("two", **nowhere), done(message("two", id="m"), None),
    )  # fmt: skip

    assert (seen.text, seen.kinds) == ("onetwo", ["text", "text"])


def test_text_after_the_only_message_was_done_is_another_message() -> None:
    nowhere = {"item_id": None, "output_index": None}
    seen = answered(
        added(message(), None), text("one", **nowhere), done(message("one"), None), text("two", **nowhere),
        text_done("two", **nowhere),
    )  # fmt: skip

    assert (seen.text, seen.kinds) == ("onetwo", ["text", "text"])


def test_a_part_of_an_answer_is_not_given_to_reasoning_that_is_over() -> None:
    where = {"output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "Hello"}
    seen = answered(
        added(reasoning(id="")), thought("hm", item_id=""), done(reasoning(content=("hm",), id="")),
        event("content_part.added", part={**part, "text": ""}, **where), event("content_part.done", part=part, **where),
    )  # fmt: skip

    assert (seen.reasoning, seen.text) == ("hm", "Hello")


def test_an_item_that_is_announced_again_when_it_is_over_is_not_another() -> None:
    seen = answered(added(function()), done(function("{}")), added(function()))

    assert seen.tools == [("call-a", "f", "{}")]


def test_an_index_without_ids_is_used_again_when_its_item_is_over() -> None:
    one, two = function("{}", id="", call_id="a"), function("{}", id="", call_id="b")
    seen = answered(added(one), done(one), added(two), done(two))

    assert [tool.id for tool in seen.tools] == ["a", "b"]


def test_an_item_that_ends_twice_under_two_ids_is_one() -> None:
    seen = answered(added(message()), text("Hello"), done(message("Hello", id="x")), done(message("Hello", id="y")))

    assert seen.text == "Hello"


def test_deltas_of_one_type_and_an_item_of_another_are_two() -> None:
    call = {"type": "mcp_call", "id": "it-1", "name": "t", "arguments": "{}"}
    seen = answered(arguments('{"a":1}', item_id=None), done(call))

    assert [(tool.name, tool.arguments) for tool in seen.tools] == [("t", "{}")]
    assert [raw["delta"] for raw in seen.beside("raw")] == ['{"a":1}']


def test_the_closing_event_may_contradict_an_item_of_another_place() -> None:
    whole = message("Hello")
    seen = responses(created(), added(message()), text("Hello"), done(whole), ended(reasoning(), message("Goodbye")))

    assert seen.text == "Hello"
    assert [raw["item"]["content"][0]["text"] for raw in seen.beside("raw")] == ["Goodbye"]


def test_the_closing_event_may_contradict_an_item_under_another_id() -> None:
    seen = responses(created(), done(message("Hello")), ended(message("Goodbye", id="x")))

    assert seen.text == "Hello"
    assert [raw["item"]["content"][0]["text"] for raw in seen.beside("raw")] == ["Goodbye"]


def test_an_item_of_another_type_at_the_same_place_is_another() -> None:
    search = {"type": "web_search_call", "id": "x", "action": {"query": "q"}}
    seen = responses(created(), done(function("{}")), ended(search))

    assert [tool.name for tool in seen.tools] == ["f", "web_search"]


def test_two_items_of_the_closing_event_may_have_one_id() -> None:
    seen = responses(created(), done(message("one")), ended(message("one"), message("two")))

    assert (seen.text, seen.kinds) == ("onetwo", ["text", "text"])


def test_what_is_no_item_is_kept() -> None:
    seen = responses(created(), ended() | {"response": {**ended()["response"], "output": ["strange"]}})

    assert [raw["item"] for raw in seen.beside("raw")] == ["strange"]


def test_an_item_without_a_type_is_a_message_if_it_has_content() -> None:
    item = message("Hello")
    del item["type"]

    assert answered(done(item)).text == "Hello"


def test_calls_under_ids_that_change_are_found_again_by_what_they_are() -> None:
    one, two = function("{}", id="1", call_id="a"), function('{"x":1}', id="2", call_id="b")
    search = {"type": "web_search_call", "id": "3", "call_id": "", "name": "web_search", "arguments": '{"q":1}'}
    other = {**search, "arguments": '{"q":2}'}
    seen = responses(
        created(), done(one, 0), done(two, 1), done(search, 2), done({**other, "id": "4"}, 3),
        ended({**other, "id": "7"}, {**search, "id": "8"}, {**two, "id": "5"}, {**one, "id": "6"}),
    )  # fmt: skip

    assert len(seen.tools) == 4
    assert seen.beside("raw") == []


def test_long_ids_of_many_items_are_kept_beside() -> None:
    items = [message("x", id=f"{number}{'i' * 400}") for number in range(800)]
    seen = responses(created(), *(done(item, number) for number, item in enumerate(items)), ended())

    listed = seen.beside("response-metadata")[-1]["providerMetadata"]["openai-responses"]["output"]
    kept = [raw["item"] for raw in seen.beside("raw")]
    assert {item["id"] for item in [*listed, *kept]} == {item["id"] for item in items}
    assert 0 < len(kept) < 400


def test_the_end_of_one_message_does_not_cut_another() -> None:
    seen = answered(
        added(message(id="m")), text("one", item_id="m"), added(message(id="n"), 1),
        text("tw", item_id="n", output_index=1), done(message("one", id="m")), text("o", item_id="n", output_index=1),
    )  # fmt: skip

    assert (seen.text, seen.kinds) == ("onetwo", ["text", "text"])


def test_an_event_without_an_id_is_about_the_item_at_its_index_though_that_is_over() -> None:
    seen = answered(added(message()), text("Hello"), done(message("Hello")), text_done("Hello", item_id=None))

    assert seen.text == "Hello"


def test_an_index_or_id_that_nobody_knows_is_not_that_of_the_item_that_is_open() -> None:
    first = [added(message()), text("one")]
    by_index = answered(*first, text("two", item_id=None, output_index=5))
    by_id = answered(*first, text("two", item_id="x", output_index=None))

    assert by_index.kinds == by_id.kinds == ["text", "text"]


def test_the_closing_event_may_list_items_in_another_order_under_other_ids() -> None:
    seen = responses(
        created(),
        done(message("a"), 0),
        done(message("b", id="m"), 1),
        ended(message("b", id="x"), message("a", id="y")),
    )

    assert seen.text == "ab"
    assert seen.beside("raw") == []


def test_an_item_that_was_found_already_is_not_found_again() -> None:
    place = responses(created(), done(message("a"), 1), ended(message("a"), message("z", id="x")))
    content = responses(created(), done(message("a")), ended(message("a", id="x"), message("a", id="y")))

    assert [place.text, content.text] == ["az", "aa"]


def test_a_call_with_another_id_is_another_call() -> None:
    seen = responses(created(), done(function("{}", id="1")), ended(function("{}", id="2", call_id="c")))

    assert [tool.id for tool in seen.tools] == ["call-a", "c"]


def test_a_call_that_is_open_is_found_under_another_id() -> None:
    listed: Json = {"type": "mcp_list_tools", "id": "l", "server_label": "s", "tools": []}
    seen = responses(created(), added(listed), ended({**listed, "id": "x", "tools": [{"name": "t"}]}))

    assert [tool.id for tool in seen.tools] == ["l"]
    assert len(seen.results) == 1


def test_an_item_with_neither_type_nor_content_is_kept() -> None:
    item = {"id": "x", "value": 1}

    assert [raw["item"] for raw in answered(done(item)).beside("raw")] == [item]


def test_an_item_announced_twice_without_an_id_is_one() -> None:
    item = function(id="")

    assert len(answered(added(item), added(item), done({**item, "arguments": "{}"})).tools) == 1


def test_deltas_of_one_type_and_an_announced_item_of_another_are_two() -> None:
    call = {"type": "mcp_call", "id": "it-1", "name": "t", "arguments": "{}"}
    seen = answered(arguments('{"a":1}', item_id=None), added(call), done(call))

    assert [(tool.id, tool.arguments) for tool in seen.tools] == [("it-1", "{}")]


def test_an_item_that_ends_twice_and_says_something_else_contradicts_itself() -> None:
    same_id = answered(done(message("Hello")), done(message("Goodbye")))
    other_id = answered(added(message()), text("Hello"), done(message("Goodbye", id="x")))

    for seen in (same_id, other_id):
        assert seen.text == "Hello"
        assert [raw["item"]["content"][0]["text"] for raw in seen.beside("raw")] == ["Goodbye"]

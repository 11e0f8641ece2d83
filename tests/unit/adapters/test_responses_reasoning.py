"""Reasoning in Responses: its summary, its own text, and what only the provider can read of it."""

import pytest

from runwire.adapters import adapter
from unit.adapters.responding import added, answered, created, done, ended, event, message, reasoning, responses, text
from unit.adapters.saying import Json, sse


def summary(delta: str, index: int = 0) -> Json:
    where = {"item_id": "rs-1", "output_index": 0, "summary_index": index}
    return event("reasoning_summary_text.delta", delta=delta, **where)


def summary_part(kind: str, said: str, index: int = 0) -> Json:
    part = {"type": "summary_text", "text": said}
    return event(f"reasoning_summary_part.{kind}", part=part, item_id="rs-1", output_index=0, summary_index=index)


def thought(delta: str, index: int = 0) -> Json:
    return event("reasoning_text.delta", delta=delta, item_id="rs-1", output_index=0, content_index=index)


def test_each_part_of_a_summary_is_a_block_and_the_last_holds_what_is_encrypted() -> None:
    whole = reasoning(summary=("one", "two"), encrypted_content="final")
    seen = responses(
        created(), added(reasoning(encrypted_content="first")), summary_part("added", ""), summary("one"),
        event("reasoning_summary_text.done", text="one", item_id="rs-1", output_index=0, summary_index=0),
        summary_part("done", "one"), summary_part("added", "", 1), summary("two", 1), summary_part("done", "two", 1),
        done(whole), ended({**whole, "encrypted_content": "again"}),
    )  # fmt: skip

    assert [(block.text, block.redacted or "") for block in seen.thinking] == [("one", ""), ("two", "final")]
    assert seen.beside("raw") == []


def test_what_is_encrypted_alone_is_a_block() -> None:
    seen = answered(added(reasoning(encrypted_content="a")), done(reasoning(encrypted_content="b")))

    assert [(block.text, block.redacted) for block in seen.thinking] == [("", "b")]


def test_what_was_encrypted_at_first_counts_if_no_better_comes() -> None:
    for seen in (
        responses(created(), added(reasoning(encrypted_content="a"))),
        answered(added(reasoning(encrypted_content="a"))),
    ):
        assert [block.redacted for block in seen.thinking] == ["a"]


def test_what_is_encrypted_and_too_large_for_a_block_is_kept_beside() -> None:
    large = "x" * (700 * 1024)
    seen = answered(done(reasoning(encrypted_content=large)))

    assert seen.thinking == []
    assert [raw["encrypted_content"] for raw in seen.beside("raw")] == [large]


def test_reasoning_without_anything_is_no_block() -> None:
    assert answered(added(reasoning()), done(reasoning())).kinds == []


def test_a_summary_and_the_text_itself_are_both_reasoning() -> None:
    seen = answered(
        added(reasoning()), thought("long"), summary("short"), done(reasoning(summary=("short",), content=("long",)))
    )

    assert seen.reasoning == "longshort"
    assert seen.kinds == ["thinking", "thinking"]


@pytest.mark.parametrize("first", [thought("same"), summary("same")])
def test_text_that_an_item_has_in_both_places_is_said_once(first: Json) -> None:
    whole = reasoning(summary=("same",), content=("same",))
    seen = responses(created(), added(reasoning()), first, done(whole), ended(whole))

    assert seen.reasoning == "same"
    assert seen.beside("raw") == []


def test_a_part_that_repeats_the_other_place_is_not_said_again() -> None:
    assert answered(added(reasoning()), thought("same"), summary_part("done", "same")).reasoning == "same"


def test_a_server_may_name_the_parts_of_reasoning_like_those_of_an_answer() -> None:
    """vLLM: `content_part.added` with a part of type `output_text`, about an item of reasoning."""
    part = {"type": "output_text", "text": ""}
    where = {"item_id": "rs-1", "output_index": 0, "content_index": 0}
    seen = answered(
        added(reasoning()), event("content_part.added", part=part, **where), thought("hm"),
        event("content_part.done", part={**part, "text": "hm, well"}, **where), done(reasoning(content=("hm, well",))),
    )  # fmt: skip

    assert (seen.reasoning, seen.text) == ("hm, well", "")


def test_parts_of_reasoning_have_events_of_their_own_on_some_servers() -> None:
    part = {"type": "reasoning_text", "text": "hm"}
    where = {"item_id": "rs-1", "output_index": 0, "content_index": 0}
    by_part = answered(
        event("reasoning_part.added", part={**part, "text": ""}, **where),
        event("reasoning_part.done", part=part, **where),
    )
    by_content = answered(event("content_part.done", part=part, **where))

    assert [seen.reasoning for seen in (by_part, by_content)] == ["hm", "hm"]


@pytest.mark.parametrize("kind", ["reasoning.delta", "reasoning_summary.delta"])
def test_older_names_are_known(kind: str) -> None:
    assert answered(event(kind, delta="hm", item_id="rs-1", output_index=0)).reasoning == "hm"


def test_a_summary_may_be_a_string() -> None:
    assert answered(done({**reasoning(), "summary": "hm"})).reasoning == "hm"


def test_reasoning_that_contradicts_its_deltas_is_kept_beside_them() -> None:
    seen = answered(added(reasoning()), thought("one"), done(reasoning(content=("other",))))

    assert seen.reasoning == "one"
    assert [raw["item"]["content"][0]["text"] for raw in seen.beside("raw")] == ["other"]


def test_an_answer_closes_reasoning_and_what_is_encrypted_follows() -> None:
    seen = answered(
        added(reasoning()), thought("hm"), text("Hello", output_index=1), done(message("Hello"), 1),
        done(reasoning(content=("hm",), encrypted_content="xyz")),
    )  # fmt: skip

    assert seen.kinds == ["thinking", "text", "thinking"]
    assert [(block.text, block.redacted or "") for block in seen.thinking] == [("hm", ""), ("", "xyz")]


def test_two_items_of_reasoning_never_share_a_block() -> None:
    other = reasoning(content=("b",), encrypted_content="2", id="rs-2")
    seen = answered(
        added(reasoning()), thought("a"), added({**other, "content": []}, 1),
        event("reasoning_text.delta", delta="b", item_id="rs-2", output_index=1), done(other, 1),
        done(reasoning(content=("a",), encrypted_content="1")),
    )  # fmt: skip

    assert [(block.text, block.redacted or "") for block in seen.thinking] == [("a", ""), ("b", "2"), ("", "1")]


def test_whatever_else_reasoning_says_is_kept_beside() -> None:
    seen = answered(done(reasoning(format="harmony")))

    assert [raw["item"] for raw in seen.beside("raw")] == [{"type": "reasoning", "id": "rs-1", "format": "harmony"}]


def test_reasoning_may_come_with_its_announcement() -> None:
    by_part = answered(added(reasoning()), summary_part("added", "hm"))
    by_item = answered(added(reasoning(summary=("hm",), content=("well",))))
    cut_off = responses(created(), added(reasoning(content=("hm",))))

    assert [seen.reasoning for seen in (by_part, by_item, cut_off)] == ["hm", "hmwell", "hm"]


def test_reasoning_that_came_with_its_announcement_is_not_lost_by_an_empty_item() -> None:
    assert answered(added(reasoning(content=("hm",))), done(reasoning())).reasoning == "hm"


def test_deltas_in_both_places_are_both_reasoning_though_they_are_equal() -> None:
    seen = answered(
        added(reasoning()), thought("same"), summary("sa"), done(reasoning(summary=("same",), content=("same",)))
    )

    assert seen.reasoning == "samesame"


def test_a_part_says_by_its_type_that_it_is_a_summary() -> None:
    where = {"item_id": "rs-1", "output_index": 0, "content_index": 0}
    part = {"type": "summary_text", "text": "hm"}
    seen = answered(event("content_part.done", part=part, **where), done(reasoning(summary=("hm",), content=("well",))))

    assert seen.reasoning == "hmwell"


def test_parts_of_reasoning_may_be_strings() -> None:
    assert answered(done({**reasoning(), "content": ["hm", {"text": ", well"}]})).reasoning == "hm, well"


def test_whatever_else_a_part_of_reasoning_says_is_kept() -> None:
    part = {"type": "summary_text", "text": "hm", "tone": "calm"}
    where = {"item_id": "rs-1", "output_index": 0, "summary_index": 0}

    assert [
        raw["part"] for raw in answered(event("reasoning_summary_part.done", part=part, **where)).beside("raw")
    ] == [{"tone": "calm"}]


def test_reasoning_that_is_whole_is_closed_at_once() -> None:
    wire = adapter("openai-responses")
    wire.feed(sse(created(), added(reasoning()), thought("hm"), done=False))

    [(_, chunk)] = wire.feed(sse(done(reasoning(content=("hm",))), done=False))

    assert b'"block-end"' in chunk


def test_one_text_that_contradicts_does_not_hide_the_other() -> None:
    seen = answered(added(reasoning()), thought("one"), done(reasoning(summary=("short",), content=("other",))))

    assert seen.reasoning == "oneshort"
    assert len(seen.beside("raw")) == 1


def test_done_events_of_reasoning_say_what_was_left_out() -> None:
    where = {"item_id": "rs-1", "output_index": 0}
    seen = answered(
        thought("h"), event("reasoning_text.done", text="hm", content_index=0, **where),
        summary("w"), event("reasoning_summary_text.done", text="well", summary_index=0, **where),
    )  # fmt: skip

    assert seen.reasoning == "hmwell"


def test_what_is_encrypted_is_not_put_into_the_block_of_another_item() -> None:
    seen = answered(
        added(reasoning()), thought("a"), added(reasoning(id="rs-2"), 1),
        event("reasoning_text.delta", delta="b", item_id="rs-2", output_index=1),
        done(reasoning(content=("a",), encrypted_content="1")),
    )  # fmt: skip

    assert [(block.text, block.redacted or "") for block in seen.thinking] == [("a", ""), ("b", ""), ("", "1")]


def test_parts_are_those_of_reasoning_by_the_name_of_the_event() -> None:
    part = {"type": "text", "text": "hm"}

    assert answered(event("reasoning_part.done", part=part, item_id="rs-1", output_index=0)).reasoning == "hm"


def test_a_part_named_like_an_answers_belongs_to_the_item_with_its_id() -> None:
    part = {"type": "output_text", "text": "Hello"}
    own = event("content_part.done", part=part, item_id="rs-1", output_index=0, content_index=0)
    others = event("content_part.done", part=part, item_id="msg-9", output_index=0, content_index=0)

    assert answered(added(reasoning()), own).reasoning == "Hello"
    assert answered(added(reasoning()), others).text == "Hello"


def test_a_part_belongs_to_the_message_if_neither_has_an_id() -> None:
    part = {"type": "output_text", "text": "Hello"}
    seen = answered(
        added(reasoning(id="")), text("Hello", item_id=None), event("content_part.done", part=part, output_index=0)
    )

    assert (seen.text, seen.reasoning) == ("Hello", "")

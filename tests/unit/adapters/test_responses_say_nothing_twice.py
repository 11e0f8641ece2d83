"""Responses says everything several times: what was said is not said again, and what is missing is."""

import json

import pytest

from unit.adapters.responding import (
    added,
    answered,
    created,
    done,
    ended,
    event,
    message,
    reasoning,
    responses,
    text,
    text_done,
)
from unit.adapters.saying import Json


def part_done(whole: str, index: int = 0, **more: str) -> Json:
    part = {"type": "output_text", "text": whole, **more}
    return event("content_part.done", item_id="msg-1", output_index=0, content_index=index, part=part)


def part_added(index: int = 0, said: str = "") -> Json:
    part = {"type": "output_text", "text": said}
    return event("content_part.added", item_id="msg-1", output_index=0, content_index=index, part=part)


def test_done_events_repeat_what_the_deltas_said() -> None:
    whole = message("Hello")
    seen = responses(
        created(),
        added(message()),
        part_added(),
        text("Hel"),
        text("lo"),
        text_done("Hello"),
        part_done("Hello"),
        done(whole),
        ended(whole),
    )

    assert seen.text == "Hello"
    assert seen.kinds == ["text"]
    assert seen.beside("raw") == []


@pytest.mark.parametrize("last", [text_done("Hello"), part_done("Hello"), done(message("Hello"))])
def test_a_done_event_says_what_the_deltas_left_out(last: Json) -> None:
    seen = answered(added(message()), text("Hel"), last)

    assert seen.text == "Hello"
    assert seen.kinds == ["text"]


def test_an_item_without_deltas_is_said_by_its_done_event() -> None:
    assert answered(added(message()), done(message("Hello", "there"))).kinds == ["text", "text"]
    assert answered(done(message("Hello"))).text == "Hello"


def test_an_item_that_only_the_closing_event_has_is_said() -> None:
    seen = responses(created(), ended(reasoning(summary=("why",)), message("Hello")))

    assert (seen.reasoning, seen.text) == ("why", "Hello")


def test_a_response_that_was_not_streamed_is_one_event() -> None:
    whole = ended(message("Hello"))["response"]

    seen = responses(json.dumps(whole, indent=1))

    assert (seen.text, seen.finish) == ("Hello", "stop")
    assert seen.usage is not None


def test_what_contradicts_the_deltas_is_kept_beside_them_once() -> None:
    other = message("Goodbye")
    seen = responses(
        created(), added(message()), text("Hello"), text_done("Goodbye"), part_done("Goodbye"), done(other)
    )

    assert seen.text == "Hello"
    assert [list(raw) for raw in seen.beside("raw")] == [["provider", "event"]]
    assert seen.beside("raw")[0]["event"]["text"] == "Goodbye"


def test_a_stream_that_begins_in_the_middle_says_what_is_there() -> None:
    """Background mode, `starting_after`: the item was announced before, and the done event has all of it."""
    whole = message("2 + 2 is 4")
    seen = responses(text(" is"), text(" 4"), text_done("2 + 2 is 4"), done(whole), ended(whole))

    assert seen.text == " is 4"
    assert [raw["event"]["text"] for raw in seen.beside("raw")] == ["2 + 2 is 4"]


def test_the_deltas_may_count_in_the_content_index() -> None:
    """VLLM numbers the deltas of one text, and its done events with the number after the last."""
    seen = answered(
        added(message()),
        part_added(),
        *(text(piece, content_index=index) for index, piece in enumerate("abcd")),
        text_done("abcd", content_index=4),
        part_done("abcd", 5),
        done(message("abcd")),
    )

    assert seen.text == "abcd"
    assert seen.kinds == ["text"]


def test_more_deltas_than_parts_are_remembered_by_their_index() -> None:
    pieces = [chr(ord("a") + index % 26) for index in range(600)]
    seen = answered(
        added(message()), *(text(piece, content_index=index) for index, piece in enumerate(pieces)),
        text_done("".join(pieces), content_index=600), done(message("".join(pieces))),
    )  # fmt: skip

    assert seen.text == "".join(pieces)


def test_the_first_part_may_have_index_one() -> None:
    """Bedrock: index 1 in the events, place 0 in the item."""
    whole = message("Hello")
    seen = responses(
        created(), added(message()), part_added(1), text("Hello", content_index=1), text_done("Hello", content_index=1),
        done(whole), ended(whole),
    )  # fmt: skip

    assert seen.text == "Hello"
    assert seen.beside("raw") == []


def test_two_parts_are_two_blocks_and_each_is_said_once() -> None:
    whole = message("one", "two")
    seen = responses(
        created(), added(message()), part_added(0), text("one"), text_done("one"), part_added(1),
        text("two", content_index=1), text_done("two", content_index=1), done(whole), ended(whole),
    )  # fmt: skip

    assert seen.text == "onetwo"
    assert seen.kinds == ["text", "text"]


def test_two_equal_parts_are_both_said() -> None:
    seen = answered(
        added(message()),
        part_added(0),
        text("one"),
        text_done("one"),
        part_added(1),
        text_done("one", content_index=1),
        done(message("one", "one")),
    )

    assert seen.text == "oneone"


def test_a_part_without_deltas_before_one_with_them_is_said() -> None:
    seen = answered(
        added(message()), part_added(0), part_added(1), text("two", content_index=1), done(message("one", "two"))
    )

    assert sorted([seen.text[:3], seen.text[3:]]) == ["one", "two"]
    assert seen.beside("raw") == []


def test_text_that_comes_with_its_part_may_be_repeated_by_deltas_or_not() -> None:
    repeated = answered(added(message()), part_added(said="Hello"), text("Hel"), text("lo"), text_done("Hello"))
    gone_on = answered(added(message()), part_added(said="Hel"), text("lo"), text_done("Hello"))
    alone = answered(added(message()), part_added(said="Hello"))
    in_the_item = answered(added(message("Hello")))

    assert [seen.text for seen in (repeated, gone_on, alone, in_the_item)] == ["Hello"] * 4


def test_long_text_that_comes_with_its_part_does_not_wait() -> None:
    long = "x" * 70_000
    seen = responses(created(), added(message()), part_added(said=long))

    assert seen.text == long
    assert seen.finish == "aborted"


def test_a_surrogate_pair_cut_between_deltas_is_not_missing_at_the_end() -> None:
    halves = [
        'data: {"type":"response.output_text.delta","output_index":0,"item_id":"msg-1","delta":"\\ud83d"}\n\n',
        'data: {"type":"response.output_text.delta","output_index":0,"item_id":"msg-1","delta":"\\ude00"}\n\n',
    ]
    seen = answered(added(message()), *halves, text_done("😀"), done(message("😀")))

    assert seen.text == "😀"
    assert seen.beside("raw") == []


def test_text_longer_than_what_is_remembered_is_still_known() -> None:
    piece = "Donaudampfschiff " * 500
    seen = answered(added(message()), *[text(piece)] * 20, text_done(piece * 20), done(message(piece * 20 + "!")))

    assert seen.text == piece * 20 + "!"


def test_a_finished_item_without_content_contradicts_nothing() -> None:
    seen = responses(created(), added(message()), text("Hello"), done(message()), ended(message()))

    assert seen.text == "Hello"
    assert seen.beside("raw") == []


def test_an_empty_message_is_no_block() -> None:
    seen = answered(added(message()), part_added(), text(""), text_done(""), done(message("")))

    assert seen.kinds == []


def test_content_as_a_string_is_text() -> None:
    assert answered(done({**message(), "content": "Hello"})).text == "Hello"
    assert answered(done({**message(), "content": ["Hel", "lo"]})).text == "Hello"


def test_an_event_said_twice_is_one_event() -> None:
    whole = message("Hello")
    seen = answered(added(message()), added(message()), text("Hello"), done(whole), done(whole))

    assert seen.text == "Hello"
    assert seen.kinds == ["text"]

"""Responses says everything several times: what was said is not said again, and what is missing is."""

import json
import tracemalloc

import msgspec
import pytest

from runwire.adapters import adapter
from runwire.adapters.openai_responses.said import Said
from runwire.adapters.openai_responses.stage import Stage
from runwire.adapters.openai_responses.texts import Texts
from runwire.adapters.writing.call import Call
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
    so_far,
    text,
    text_done,
)
from unit.adapters.saying import Json, run, sse


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


def test_text_that_comes_with_its_part_and_with_what_ends_it_is_said_once() -> None:
    first = [added(message()), part_added(said="Hello")]
    by_text, by_part, by_item = (
        answered(*first, last) for last in (text_done("Hello"), part_done("Hello"), done(message("Hello")))
    )
    whole = answered(added(message("Hello")), done(message("Hello")))
    emptied = answered(added(message("Hello")), done(message()))

    assert [seen.text for seen in (by_text, by_part, by_item, whole, emptied)] == ["Hello"] * 5


def test_long_text_that_comes_with_its_part_does_not_wait() -> None:
    long, short = "x" * 70_000, "x" * 60_000

    assert so_far(created(), added(message()), part_added(said=long)).text == long
    assert so_far(created(), added(message()), part_added(said=short)).text == ""


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


def test_a_part_announced_twice_is_one_part() -> None:
    twice = answered(added(message()), part_added(), text("Hel"), part_added(), text("lo"), text_done("Hello"))
    with_text = answered(added(message()), part_added(said="Hel"), text("Hel"), part_added(said="Hel"), text("lo"))

    assert (twice.text, twice.kinds) == ("Hello", ["text"])
    assert (with_text.text, with_text.kinds) == ("Hello", ["text"])


def test_parts_that_interleave_are_told_apart_by_their_index() -> None:
    seen = answered(
        added(message()),
        part_added(0),
        part_added(1),
        text("a", content_index=0),
        text("1", content_index=1),
        text("b", content_index=0),
        text_done("abc", content_index=0),
        text_done("12", content_index=1),
        done(message("abc", "12")),
    )

    assert seen.text == "a1bc2"
    assert seen.beside("raw") == []


def test_a_part_begins_where_the_last_one_was_done() -> None:
    """No event announces it."""
    seen = answered(added(message()), text("one"), text_done("one"), text("two", content_index=1))
    alone = answered(added(message()), text("one"), text_done("one"), text_done("two", content_index=1))

    assert (seen.text, seen.kinds) == ("onetwo", ["text", "text"])
    assert (alone.text, alone.kinds) == ("onetwo", ["text", "text"])


def test_a_second_part_without_deltas_is_said_though_it_equals_the_first() -> None:
    seen = answered(
        added(message()), part_added(0), text("one"), text_done("one"), part_added(1), text_done("one", content_index=1)
    )

    assert seen.text == "oneone"


def test_a_part_that_was_announced_and_never_said_gets_the_items_text() -> None:
    seen = answered(added(message()), part_added(0), done(message("one")), text_done("one"), part_done("one"))

    assert seen.text == "one"


def test_only_the_finished_item_contradicts_the_deltas() -> None:
    seen = answered(added(message()), text("Hello"), done(message("Goodbye")))

    assert [raw["item"]["content"][0]["text"] for raw in seen.beside("raw")] == ["Goodbye"]


@pytest.mark.parametrize("last", [text_done("Hello"), part_done("Hello"), done(message("Hello")), done(message())])
def test_a_text_that_is_whole_is_closed_at_once(last: Json) -> None:
    wire = adapter("openai-responses")
    wire.feed(sse(created(), added(message()), text("Hello"), done=False))

    [(_, chunk)] = wire.feed(sse(last, done=False))

    assert b'"block-end"' in chunk


def test_nothing_is_said_that_is_empty() -> None:
    whole = message("Hi")
    deltas = [text("H"), text(""), text("i")]
    body = sse(created(), added(message()), part_added(), *deltas, text_done("Hi"), done(whole), ended(whole))

    written = [chunk for _, chunk in run(adapter("openai-responses"), body) if b"text-delta" in chunk]

    assert len(written) == 2


def test_a_text_is_not_remembered_by_keeping_it() -> None:
    said = Said()
    tracemalloc.start()
    for _ in range(200):
        said.add("x" * 20_000)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert said.rest("x" * 4_000_000 + "y") == "y"
    assert used < 1_000_000


def test_parts_beyond_a_number_share_the_last() -> None:
    texts = Texts(Stage(Call("openai-responses")), "text")
    for index in range(400):
        texts.announce(index, "")
        texts.delta(index, "x")

    assert len(texts.all) == 256
    assert texts.said("x" * 400)


def test_prose_that_alternates_more_often_than_there_are_blocks_goes_on() -> None:
    thoughts = [event("reasoning_text.delta", delta="r", item_id="rs-1", output_index=1)] * 600
    seen = answered(*(one for thought in thoughts for one in (thought, text("t"))))

    assert (seen.text, seen.reasoning, seen.finish) == ("t" * 600, "r" * 600, "stop")


def test_an_earlier_part_may_be_done_last_and_equal_a_later_one() -> None:
    first = [added(message()), part_added(0), part_added(1)]
    seen = answered(
        *first, text("x", content_index=1), text_done("x", content_index=1), text_done("x", content_index=0)
    )

    assert seen.text == "xx"


def test_a_done_event_under_another_index_ends_the_part() -> None:
    seen = answered(added(message()), text("one"), text_done("one", content_index=5), text("two", content_index=1))

    assert seen.kinds == ["text", "text"]


def test_the_item_may_go_on_from_a_part_with_another_index() -> None:
    seen = answered(added(message()), part_added(1), text("Hel", content_index=1), done(message("Hello")))
    promised = answered(added(message()), part_added(1, said="Hello"), done(message("Hello")))

    assert [seen.text, promised.text] == ["Hello", "Hello"]
    assert seen.beside("raw") == []


def test_so_many_raw_chunks_are_remembered() -> None:
    call = Call("openai-responses")
    stage = Stage(call)
    call.text("")
    for number in range(4096):
        stage.once("delta", b"%d" % number)
    call.take()
    for _ in range(2):
        stage.once("delta", b"0")
        stage.once("delta", b"4096")

    assert [body.split(b'"delta":')[1] for _, body in call.take()] == [b"4096}}", b"4096}}"]


def test_so_many_citations_are_remembered() -> None:
    call = Call("openai-responses")
    stage = Stage(call)
    call.text("")
    for number in range(4096):
        stage.cite(msgspec.Raw(b'{"type":"file_citation","index":%d}' % number))
    call.take()
    for number in (0, 4096, 4096):
        stage.cite(msgspec.Raw(b'{"type":"file_citation","index":%d}' % number))

    assert len(call.take()) == 2


def test_only_the_end_of_a_part_contradicts_the_deltas() -> None:
    seen = answered(added(message()), text("Hello"), part_done("Goodbye"))

    assert [raw["event"]["part"]["text"] for raw in seen.beside("raw")] == ["Goodbye"]

"""Tool calls of the OpenAI family, by the items of the notes on what breaks adapters."""

from typing import Any

import msgspec
import pytest

from runwire.adapters import adapter
from unit.adapters.saying import Json, chunk, openai, sse, tool


def _both(**more: object) -> dict[str, object]:
    return {"function": {"name": more.pop("name"), "arguments": more.pop("arguments")}, **more}


def test_two_calls_without_index_in_one_delta() -> None:
    calls = [_both(id="a", name="plus", arguments='{"a":1}'), _both(id="b", name="minus", arguments='{"a":1}')]

    seen = openai(chunk({"tool_calls": calls}, "tool_calls"))

    assert seen.tools == [("a", "plus", '{"a":1}'), ("b", "minus", '{"a":1}')]


def test_two_calls_without_index_and_id_in_one_delta() -> None:
    calls = [_both(id="", name="plus", arguments='{"a":1}'), _both(id="", name="plus", arguments='{"a":1}')]

    seen = openai(chunk({"tool_calls": calls}, "stop"))

    assert [call[1:] for call in seen.tools] == [("plus", '{"a":1}')] * 2
    assert seen.tools[0].id != seen.tools[1].id


def test_an_id_that_is_missing_is_made_and_marked() -> None:
    seen = openai(chunk(tool('{"a":1}', name="plus", id=""), "stop"))

    assert seen.tools == [("generated-resp-1-0", "plus", '{"a":1}')]


@pytest.mark.parametrize("empty", [{"id": ""}, {"id": None, "type": None}, {}])
def test_an_empty_id_on_a_continuation_is_none(empty: dict[str, object]) -> None:
    pieces = [chunk(tool(part, index=0, **empty)) for part in ('{"city', '":"Paris"}')]

    seen = openai(chunk(tool("", index=0, id="call-1", name="weather")), *pieces, chunk(None, "tool_calls"))

    assert seen.tools == [("call-1", "weather", '{"city":"Paris"}')]


@pytest.mark.parametrize("name", ["", None])
def test_an_empty_name_on_a_continuation_is_none(name: str | None) -> None:
    seen = openai(
        chunk(tool('{"a"', index=0, id="c", name="f")),
        chunk(tool(":1}", index=0, name=name)),
        chunk(None, "tool_calls"),
    )

    assert seen.tools == [("c", "f", '{"a":1}')]


def test_id_and_name_on_every_delta_are_one_call() -> None:
    pieces = [chunk(tool(part, index=0, id="0", name="version")) for part in ("", "{", "}")]

    assert openai(*pieces, chunk(None, "tool_calls")).tools == [("0", "version", "{}")]


def test_a_new_id_on_every_delta_is_one_call() -> None:
    pieces = [chunk(tool(part, index=0, id=f"made-{part}")) for part in ("{", "}")]

    assert openai(chunk(tool("", index=0, id="c", name="f")), *pieces, chunk(None, "tool_calls")).tools == [
        ("c", "f", "{}")
    ]


def test_a_new_id_and_name_under_the_same_index_is_another_call() -> None:
    first, second = tool("{}", index=0, id="a", name="f"), tool("{}", index=0, id="b", name="g")

    assert openai(chunk(first), chunk(second), chunk(None, "tool_calls")).tools == [("a", "f", "{}"), ("b", "g", "{}")]


def test_a_call_may_begin_after_a_finish_reason() -> None:
    seen = openai(
        chunk(tool('{"x":1}', index=0, id="a", name="f"), "tool_calls"),
        chunk(tool("", index=1, id="b", name="g")),
        chunk(tool('{"y":2}', index=1), "tool_calls"),
    )

    assert seen.tools == [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]


def test_arguments_of_two_calls_may_alternate() -> None:
    events = [chunk(tool("", index=i, id=f"c{i}", name="f")) for i in (0, 1)]
    events += [chunk(tool(part, index=i)) for part in ("{", '"n":', "1}") for i in (1, 0)]

    assert openai(*events, chunk(None, "tool_calls")).tools == [("c0", "f", '{"n":1}'), ("c1", "f", '{"n":1}')]


def test_text_between_calls_and_after_them_is_kept_in_order() -> None:
    seen = openai(
        chunk({"content": "first "}),
        chunk(tool("{}", index=0, id="functions.add:0", name="add")),
        chunk({"content": " "}),
        chunk(tool("{}", index=1, id="functions.add:1", name="add")),
        chunk({"content": "last"}),
        chunk(None, "tool_calls"),
    )

    assert seen.text == "first  last"
    assert seen.kinds == ["text", "tool_use", "text", "tool_use", "text"]
    assert [call.id for call in seen.tools] == ["functions.add:0", "functions.add:1"]


def test_the_same_id_on_two_choices_stays_apart() -> None:
    def both(first: str, second: str) -> dict[str, object]:
        choices = [
            {
                "index": i,
                "delta": tool(part, index=0, **({"id": "same", "name": "f"} if part == "" else {})),
                "finish_reason": None,
            }
            for i, part in ((0, first), (1, second))
        ]
        return {**chunk(), "choices": choices}

    events = [both("", ""), both('{"n":', '{"m":'), both("0}", "1}")]
    ends = [
        {**chunk(None, "tool_calls"), "choices": [{"index": i, "delta": {}, "finish_reason": "tool_calls"}]}
        for i in (0, 1)
    ]

    assert openai(*events, *ends).tools == [("same", "f", '{"n":0}')]
    assert openai(*events, *ends, choice=1).tools == [("same", "f", '{"m":1}')]


def test_the_same_id_twice_in_one_response_is_told_apart() -> None:
    first, second = tool("{}", index=0, id="x", name="f"), tool("{}", index=1, id="x", name="f")

    assert [call.id for call in openai(chunk(first), chunk(second), chunk(None, "tool_calls")).tools] == ["x", "x~2"]


@pytest.mark.parametrize(
    ("given", "text"),
    [("", ""), (None, ""), ({"a": 1}, '{"a":1}'), ({}, "{}"), ([], "[]"), ('{"a": 1}', '{"a": 1}')],
)
def test_arguments_come_as_text_as_an_object_or_not_at_all(given: object, text: str) -> None:
    delta = {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": given}}]}

    assert openai(chunk(delta, "tool_calls")).tools == [("c", "f", text)]


def test_arguments_that_were_cut_are_passed_on_as_they_are() -> None:
    seen = openai(chunk(tool('{"city": "Par', index=0, id="c", name="f")), chunk(None, "length"))

    assert seen.tools == [("c", "f", '{"city": "Par')]
    assert seen.finish == "max_tokens"


def test_a_finish_reason_that_does_not_fit_is_passed_on() -> None:
    seen = openai(chunk(tool("{}", index=0, id="c", name="f")), chunk(None, "stop"))

    assert (len(seen.tools), seen.finish) == (1, "stop")


def test_the_deprecated_function_call_is_a_tool_call() -> None:
    seen = openai(
        chunk({"function_call": {"name": "f", "arguments": ""}}),
        chunk({"function_call": {"arguments": "{}"}}),
        chunk(None, "function_call"),
    )

    assert seen.tools == [("generated-resp-1-0", "f", "{}")]
    assert seen.finish == "tool_calls"


def test_an_index_may_be_text_or_begin_anywhere() -> None:
    seen = openai(chunk(tool("{", index="3", id="c", name="f")), chunk(tool("}", index="3")), chunk(None, "tool_calls"))

    assert seen.tools == [("c", "f", "{}")]


def test_a_call_that_never_says_its_name_fails_the_call() -> None:
    seen = openai(chunk(tool("{}", index=0, id="c")), chunk(None, "tool_calls"))

    assert (seen.finish, seen.tools) == ("error", [])
    assert "no name" in seen.failure


def test_the_signature_of_a_gemini_part_goes_with_its_call() -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    delta = {"tool_calls": [{**call, "extra_content": {"google": {"thought_signature": "S"}}}]}

    seen = openai(chunk(delta, "tool_calls"))

    assert seen.gemini == [b'{"thought_signature":"S"}']


def test_more_calls_than_may_be_open_are_all_kept() -> None:
    events = [chunk(tool(f'{{"n":{i}}}', index=i, id=f"c{i}", name="f")) for i in range(300)]

    assert [call.id for call in openai(*events, chunk(None, "tool_calls")).tools] == [f"c{i}" for i in range(300)]


def test_calls_that_are_only_announced_have_a_limit_too() -> None:
    seen = openai(*(chunk(tool(index=n)) for n in range(1100)), chunk(None, "tool_calls"))

    assert (seen.finish, seen.failure) == ("error", "the response announces more than 1024 tool calls")


@pytest.mark.parametrize("more", [{"index": 0}, {}])
@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [
        (['{"a":"}', '","b":{', "}", "}", "{}"], ['{"a":"}","b":{}}', "{}"]),
        (['{"a":"{', '"}', "{}"], ['{"a":"{"}', "{}"]),
        (['{"a":"\\', '"}', '"}', "{}"], ['{"a":"\\"}"}', "{}"]),
        (['{"a":"\\\\', '"}', "{}"], ['{"a":"\\\\"}', "{}"]),
        (['{"a":', "[1", "]", "}", "{}"], ['{"a":[1]}', "{}"]),
        ([" ", "{}", "{}", " ", '{"a":[1]}'], [" {}", "{} ", '{"a":[1]}']),
        (["{]", "}", "{}"], ["{]}{}"]),
        (["[{}]", "{}"], ["[{}]{}"]),
        (["}", "{}"], ["}{}"]),
    ],
    ids=[
        "a closing brace in text",
        "an opening one",
        "an escaped quote",
        "an escaped backslash",
        "one by one",
        "blanks",
        "no JSON",
        "no object",
        "no beginning",
    ],
)
def test_a_name_on_every_piece_begins_a_call_only_after_a_whole_object(
    more: dict[str, int], pieces: list[str], wanted: list[str]
) -> None:
    seen = openai(*(chunk(tool(piece, name="f", **more)) for piece in pieces), chunk(None, "tool_calls"))

    assert [call.arguments for call in seen.tools] == wanted


def test_arguments_that_seem_whole_with_each_piece_are_not_read_again_with_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decode, sizes = msgspec.json.decode, list[int]()

    def counted(data: bytes | str, **more: Any) -> Any:
        sizes.append(len(data))
        return decode(data, **more)

    monkeypatch.setattr(msgspec.json, "decode", counted)
    wire = adapter("openai-chat")
    for _ in range(1000):
        wire.feed(sse(chunk(tool('"}', name="f")), done=False))

    # Each piece is read once, with its quotes: `"\\"}"`.
    assert sum(sizes) <= 1000 * len('"\\"}"')


def _piece(index: int | None = None, identity: str | None = None, name: str | None = None, said: str = "") -> Json:
    """One piece of a call, without what is None."""
    function = {"arguments": said} | ({} if name is None else {"name": name})
    given = {} if index is None else {"index": index}
    return {**given, **({} if identity is None else {"id": identity}), "function": function}


def _calls(*pieces: Json) -> list[tuple[str, str, str]]:
    seen = openai(*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk(None, "tool_calls"))
    assert seen.finish == "tool_calls"
    return [(call.id.replace("generated-resp-1-", "made-"), call.name, call.arguments) for call in seen.tools]


@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [
        # A call may say its id, its name and its arguments one after another, in any order.
        ([_piece(0, "a"), _piece(0, name="f"), _piece(0, said="{}")], [("a", "f", "{}")]),
        ([_piece(0, name="f"), _piece(0, "a"), _piece(0, said="{}")], [("a", "f", "{}")]),
        ([_piece(0, name="f"), _piece(0, "a", "f", "{}")], [("a", "f", "{}")]),
        ([_piece(0, said="{"), _piece(0, "a", said="}"), _piece(0, name="f")], [("made-0", "f", "{}")]),
        ([_piece(0, "a"), _piece(0, said="{"), _piece(0, name="f"), _piece(0, said="}")], [("a", "f", "{}")]),
        ([{"index": 0, "id": "a"}, _piece(0, name="f", said="{}")], [("a", "f", "{}")]),
        ([{"index": 0, "id": "a", "function": None}, _piece(0, name="f", said="{}")], [("a", "f", "{}")]),
        # What was only announced is a call too.
        ([_piece(0, name="f")], [("made-0", "f", "")]),
        ([_piece(0, "a", "f")], [("a", "f", "")]),
        ([_piece(0, name="f"), _piece(1, "b", "g", "{}")], [("b", "g", "{}"), ("made-1", "f", "")]),
        ([_piece(0, "a", "f"), _piece(1, "b", "g", "{}")], [("a", "f", ""), ("b", "g", "{}")]),
        # Another id with a name is another call, whole or not; without one it is not.
        ([_piece(0, "a", "f", '{"x":'), _piece(0, "b", "g", "{}")], [("a", "f", '{"x":'), ("b", "g", "{}")]),
        ([_piece(0, "a", "f"), _piece(0, "b", "g")], [("a", "f", ""), ("b", "g", "")]),
        ([_piece(0, name="f", said="{"), _piece(0, "b", "g", "{}")], [("made-0", "f", "{"), ("b", "g", "{}")]),
        ([_piece(0, "a", "f", "{"), _piece(0, "b", said="}")], [("a", "f", "{}")]),
        ([_piece(None, "a", "f", "{"), _piece(None, "b", said="}")], [("a", "f", "{}")]),
        # The index counts before the id, where both are known.
        (
            [_piece(0, "a", "f", "{"), _piece(1, "b", "g", "{"), _piece(0, "b", said="}"), _piece(1, "a", said="}")],
            [("a", "f", "{}"), ("b", "g", "{}")],
        ),
        # An index that is not known says nothing against an id that is, unless a name does.
        ([_piece(0, "a", "f", "{"), _piece(7, "a", said="}")], [("a", "f", "{}")]),
        ([_piece(0, "a", "f", "{}"), _piece(7, "a", "f", "{}")], [("a", "f", "{}"), ("a~2", "f", "{}")]),
        # Without an index the id counts, else the last call.
        (
            [_piece(None, "a", "f", "{"), _piece(None, "b", "g", "{"), _piece(None, "a", said="}"), _piece(said="}")],
            [("a", "f", "{}"), ("b", "g", "{}")],
        ),
        ([_piece(0, name="f"), _piece(0, "a"), _piece(1, "b", "g", "{}"), _piece(None, "a", said="{}")], None),
        ([_piece(None, "a"), _piece(None, "b", "g", "{}"), _piece(None, "a", "f", "{}")], None),
        # Without index and id another name is another call, the same one only after a whole object.
        (
            [_piece(name="f", said='{"x":'), _piece(name="g", said="{}")],
            [("made-0", "f", '{"x":'), ("made-1", "g", "{}")],
        ),
        ([_piece(name="f", said="{"), _piece(name="f", said="}")], [("made-0", "f", "{}")]),
        ([_piece(said="{"), _piece(name="f", said="}")], [("made-0", "f", "{}")]),
    ],
)
def test_which_call_a_piece_belongs_to(pieces: list[Json], wanted: list[tuple[str, str, str]] | None) -> None:
    found = _calls(*pieces)

    assert found == wanted if wanted is not None else sorted(found) == [("a", "f", "{}"), ("b", "g", "{}")]


@pytest.mark.parametrize("identity", ["a", None])
def test_a_second_name_of_one_call_is_kept_beside(identity: str | None) -> None:
    pieces = [_piece(0, identity, "f", "{"), _piece(0, identity, "g", "}"), _piece(0, identity, "f", "")]

    seen = openai(*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk(None, "tool_calls"))

    known = identity or "generated-resp-1-0"
    assert seen.tools == [(known, "f", "{}")]
    assert seen.beside("raw") == [{"provider": "openai-chat", "toolCallId": known, "toolCall": {"name": "g"}}]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_the_signature_of_a_call_may_come_with_any_of_its_pieces(at: int) -> None:
    pieces = [_piece(0, "a"), _piece(0, name="f", said="{"), _piece(0, said="}")]
    pieces[at]["extra_content"] = {"google": {"thought_signature": "S"}}

    seen = openai(*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk(None, "tool_calls"))

    assert (seen.tools, seen.gemini) == ([("a", "f", "{}")], [b'{"thought_signature":"S"}'])


def test_the_input_of_a_custom_tool_stays_text_in_every_piece() -> None:
    first = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "f", "input": ""}}
    second = {"index": 0, "custom": {"input": 'say "'}}
    third = {"index": 0, "function": {"arguments": 'hi"'}}

    seen = openai(*(chunk({"tool_calls": [piece]}) for piece in (first, second, third)), chunk(None, "tool_calls"))

    assert seen.tools == [("a", "f", '{"input":"say \\"hi\\""}')]

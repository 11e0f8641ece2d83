"""Gemini's function calls: whole ones, and arguments that Vertex streams by JSON path."""

import json
from typing import Any

import pytest

from conformance.recorded import Seen, judge
from runwire.adapters import adapter
from runwire.adapters.gemini.partial import path_of
from unit.adapters.generating import body, call, end, event, gemini, noted, parts, piece, raws, text
from unit.adapters.saying import Json, accepted, run


def _streamed(*pieces: Json, name: str = "f", finish: str = "STOP") -> str:
    """The arguments of one call whose pieces come one by one."""
    going = [event(call(partialArgs=[one], willContinue=True)) for one in pieces]
    seen = gemini(event(call(name, willContinue=True)), *going, event(call()), last=end(finish))
    (made,) = seen.tools
    return made.arguments


# Whole calls


def test_calls_of_one_tool_are_told_apart() -> None:
    for events in (
        [event(call("f", {"n": 1}), call("f", {"n": 2}))],
        [event(call("f", {"n": 1})), event(call("f", {"n": 2}))],
    ):
        assert gemini(*events).tools == [("generated-r1-0", "f", '{"n":1}'), ("generated-r1-1", "f", '{"n":2}')]


def test_an_id_is_kept() -> None:
    assert parts(call("f", {"n": 1}, id="x"), call("f", {"n": 2}, id="y")).tools == [
        ("x", "f", '{"n":1}'),
        ("y", "f", '{"n":2}'),
    ]


def test_an_id_that_is_used_again_is_another_call() -> None:
    assert [tool.id for tool in parts(call("f", {}, id="x"), call("f", {}, id="x")).tools] == ["x", "x~2"]


def test_stop_with_a_call_ends_for_its_tools() -> None:
    assert parts(call("f", {})).finish == "tool_calls"
    assert parts(call("f", {}), finish="MAX_TOKENS").finish == "max_tokens"


@pytest.mark.parametrize("args", [{}, None])
def test_a_call_without_arguments_has_an_empty_object(args: Any) -> None:
    assert parts({"functionCall": {"name": "f", "args": args}}).tools == [("generated-r1-0", "f", "{}")]
    assert parts(call("f")).tools == [("generated-r1-0", "f", "{}")]


def test_arguments_are_passed_on_as_they_are_spelled() -> None:
    whole = (
        body(end(finish="STOP"))
        .decode()
        .replace('"parts": []', '"parts": [{"functionCall": {"name": "f", "args": %s}}]')
    )
    spelled = '{"n": 1.0e2, "s": "\\u00e9", "a": [1,  2]}'

    seen = accepted("gemini", (whole % spelled).encode())

    assert json.loads(seen.tools[0].arguments) == {"n": 100.0, "s": "é", "a": [1, 2]}
    assert '"n":1.0e2' in seen.tools[0].arguments


@pytest.mark.parametrize(("args", "expected"), [('{"a":1}', '{"a":1}'), ([1], "[1]"), (7, "7")])
def test_arguments_that_are_no_object_are_passed_on(args: Any, expected: str) -> None:
    assert parts(call("f", args)).tools[0].arguments == expected


def test_a_call_without_a_name_fails_the_response() -> None:
    for nameless in (call(None, {"n": 1}), call(id="x"), call(willContinue=True), call(partialArgs=[piece("$.a")])):
        seen = gemini(event(nameless))
        assert (seen.finish, seen.tools) == ("error", [])
        assert "no name" in seen.failure


def test_an_empty_call_means_nothing() -> None:
    for empty in (call(), {"functionCall": 7}):
        assert (parts(empty).kinds, parts(empty).finish) == ([], "stop")
    assert raws(parts(call() | {"thoughtSignature": "S"})) == [{"part": {"thoughtSignature": "S"}}]


def test_members_that_are_not_known_are_kept() -> None:
    seen = parts(call("f", {}, id="x", mood="calm"))

    assert raws(seen) == [{"toolCallId": "x", "functionCall": {"mood": "calm"}}]


# Streamed arguments


def test_pieces_are_put_together() -> None:
    assert (
        _streamed(
            piece("$.location", stringValue="Bos", more=True),
            piece("$.location", stringValue="ton", more=True),
            piece("$.location", stringValue=""),
            piece("$.days", numberValue=3),
            piece("$.exact", boolValue=False),
            piece("$.unit", nullValue="NULL_VALUE"),
            piece("$.zone", nullValue=None),
        )
        == '{"location":"Boston","days":3,"exact":false,"unit":null,"zone":null}'
    )


def test_each_piece_is_sent_as_it_comes() -> None:
    wire = adapter("gemini")
    wire.feed(body(event(call("f", willContinue=True))))

    emitted = wire.feed(body(event(call(partialArgs=[piece("$.a", stringValue="x", more=True)], willContinue=True))))

    assert [json.loads(one.body)["argumentsDelta"] for one in emitted] == ['{"a":"x']


def test_paths_lead_into_objects_and_arrays() -> None:
    assert (
        _streamed(
            piece("$.a.b", numberValue=1),
            piece("$.a.c[0].d", stringValue="x"),
            piece("$.a.c[0].e", stringValue="y"),
            piece("$.a.c[1].d", stringValue="z"),
            piece("$.a.f", numberValue=2),
            piece("$.g[0]", numberValue=3),
            piece("$.g[1][0]", numberValue=4),
            piece("$['h i']['j']", numberValue=5),
            piece('$["h i"].k', numberValue=6),
        )
        == '{"a":{"b":1,"c":[{"d":"x","e":"y"},{"d":"z"}],"f":2},"g":[3,[4]],"h i":{"j":5,"k":6}}'
    )


def test_what_a_string_holds_is_escaped() -> None:
    arguments = _streamed(piece("$.a", stringValue='"\n', more=True), piece("$.a", stringValue="\\é"))

    assert json.loads(arguments) == {"a": '"\n\\é'}


def test_a_string_that_another_value_follows_is_over() -> None:
    assert (
        _streamed(piece("$.a", stringValue="x", more=True), piece("$.b", stringValue="y", more=True))
        == '{"a":"x","b":"y"}'
    )


def test_several_pieces_may_come_at_once() -> None:
    pieces = [piece("$.a", stringValue="x", more=True), piece("$.a", stringValue="y"), piece("$.b", numberValue=1)]

    assert parts(call("f", partialArgs=pieces)).tools[0].arguments == '{"a":"xy","b":1}'


def test_a_call_ends_with_an_empty_one_or_without_more_to_come() -> None:
    one = event(call("f", willContinue=True))
    last = event(call(partialArgs=[piece("$.a", numberValue=1)]))
    more = event(call(partialArgs=[piece("$.a", numberValue=1)], willContinue=True))

    for events in ([one, last], [one, more, event(call())], [one, more]):
        seen = gemini(*events, *events)
        assert [tool.arguments for tool in seen.tools] == ['{"a":1}', '{"a":1}']


def test_an_end_without_a_call_means_nothing() -> None:
    seen = gemini(event(call("f", partialArgs=[piece("$.a", numberValue=1)])), event(call()), event(call()))

    assert [tool.arguments for tool in seen.tools] == ['{"a":1}']


def test_a_stream_without_pieces_has_no_arguments() -> None:
    assert gemini(event(call("f", willContinue=True)), event(call())).tools[0].arguments == "{}"
    assert gemini(event(call("f", willContinue=True))).tools[0].arguments == "{}"


def test_a_name_begins_a_call_unless_pieces_come_with_that_of_the_last() -> None:
    a, b = piece("$.a", stringValue="x", more=True), piece("$.a", stringValue="y")

    again = gemini(event(call("f", willContinue=True)), event(call("f", willContinue=True)))
    same = gemini(event(call("f", partialArgs=[a], willContinue=True)), event(call("f", partialArgs=[b])))
    other = gemini(event(call("f", partialArgs=[a], willContinue=True)), event(call("g", partialArgs=[b])))

    assert [tool.name for tool in again.tools] == ["f", "f"]
    assert [tool.arguments for tool in same.tools] == ['{"a":"xy"}']
    assert sorted(tool[1:] for tool in other.tools) == [("f", '{"a":"x"}'), ("g", '{"a":"y"}')]


def test_calls_with_ids_may_alternate() -> None:
    def going(identity: str, value: str, *, more: bool) -> Json:
        return event(
            call("f", id=identity, partialArgs=[piece("$.a", stringValue=value, more=more)], willContinue=more)
        )

    seen = gemini(
        going("x", "1", more=True), going("y", "2", more=True), going("x", "3", more=False), going("y", "4", more=False)
    )

    assert seen.tools == [("x", "f", '{"a":"13"}'), ("y", "f", '{"a":"24"}')]


def test_text_between_the_pieces_ends_no_call() -> None:
    begun = event(call("f", partialArgs=[piece("$.a", numberValue=1)], willContinue=True))

    seen = gemini(begun, event(text("hm")), event(call(partialArgs=[piece("$.b", numberValue=2)])))

    assert (seen.text, [tool.arguments for tool in seen.tools]) == ("hm", ['{"a":1,"b":2}'])


def test_whole_arguments_beside_the_pieces_are_taken_once() -> None:
    before = gemini(event(call("f", {"b": 1}, partialArgs=[piece("$.a", numberValue=2)])))
    after = gemini(
        event(call("f", partialArgs=[piece("$.a", numberValue=2)], willContinue=True)),
        event(call(None, {"a": 2, "b": [1]})),
    )

    assert before.tools[0].arguments == '{"b":1,"a":2}'
    assert after.tools[0].arguments == '{"a":2,"b":[1]}'


def test_arguments_that_were_cut_are_left_open() -> None:
    begun = event(call("f", partialArgs=[piece("$.a", stringValue="x", more=True)], willContinue=True))

    assert [tool.arguments for tool in gemini(begun, last=end("MAX_TOKENS")).tools] == ['{"a":"x']
    assert [tool.arguments for tool in gemini(begun, last=end("STOP")).tools] == ['{"a":"x"}']


@pytest.mark.parametrize(
    ("written", "pieces"),
    [
        ('{"a":1', [piece("$.a", numberValue=1), piece("$.a", numberValue=2)]),
        (
            '{"a":{"b":1},"c":2',
            [piece("$.a.b", numberValue=1), piece("$.c", numberValue=2), piece("$.a.d", numberValue=3)],
        ),
        ('{"a":{"b":1', [piece("$.a.b", numberValue=1), piece("$.a", numberValue=2)]),
        ('{"a":1', [piece("$.a", numberValue=1), piece("$.a.b", numberValue=2)]),
        ('{"a":1', [piece("$.a", numberValue=1), piece("$.b[1]", numberValue=2)]),
        ('{"a":[1', [piece("$.a[0]", numberValue=1), piece("$.a[2]", numberValue=2)]),
        ('{"a":[1', [piece("$.a[0]", numberValue=1), piece("$.a.b", numberValue=2)]),
        ('{"a":{"b":1', [piece("$.a.b", numberValue=1), piece("$.a[0]", numberValue=2)]),
        ('{"a":1', [piece("$.a", numberValue=1), piece("$[0]", numberValue=2)]),
        ('{"a":"x', [piece("$.a", stringValue="x", more=True), piece("$.a", numberValue=2)]),
        (
            '{"a":"x","b":2',
            [piece("$.a", stringValue="x", more=True), piece("$.b", numberValue=2), piece("$.a", stringValue="y")],
        ),
        ("{", [piece("$.a[1]", numberValue=1)]),
        ("{", [piece("$[0]", numberValue=1)]),
    ],
)
def test_a_piece_that_has_no_place_makes_no_arguments(written: str, pieces: list[Json]) -> None:
    """What was written cannot be changed: the text stays open, so that nobody calls the tool with it."""
    going = [event(call(partialArgs=[one], willContinue=True)) for one in [*pieces, piece("$.z", numberValue=9)]]

    seen = gemini(event(call("f", id="x", willContinue=True)), *going, event(call()))

    assert seen.tools[0].arguments == written
    kept = [{"toolCallId": "x", "partialArg": one} for one in (pieces[-1], piece("$.z", numberValue=9))]
    assert raws(seen) == kept


def test_a_piece_that_says_nothing_or_nowhere_is_kept_beside() -> None:
    listed = {"stringValue": None, "numberValue": None, "boolValue": None, "nullValue": None}
    odd: list[Any] = [
        7,
        piece("$.a"),
        piece("$.a", **listed),
        piece("$.a..b", numberValue=1),
        piece("$", numberValue=1),
        {"numberValue": 1},
        {"jsonPath": 3},
    ]

    seen = gemini(event(call("f", id="x", partialArgs=[*odd, piece("$.c", numberValue=2)])))

    assert seen.tools[0].arguments == '{"c":2}'
    assert [kept["partialArg"] for kept in raws(seen)] == odd


def test_what_else_a_piece_has_is_kept() -> None:
    seen = gemini(event(call("f", id="x", partialArgs=[piece("$.a", numberValue=1, mood="calm")])))

    assert (seen.tools[0].arguments, len(raws(seen))) == ('{"a":1}', 1)


def test_a_signature_on_a_later_piece_is_kept() -> None:
    later = call(partialArgs=[piece("$.a", numberValue=1)]) | {"thoughtSignature": "S"}

    assert noted("gemini", body(event(call("f", willContinue=True)), event(later), end())) == [
        ("", {"thoughtSignature": "S"})
    ]


def test_more_calls_than_may_be_open_are_all_kept() -> None:
    events = [
        event(call("f", id=f"x{n}", partialArgs=[piece("$.n", numberValue=n)], willContinue=True)) for n in range(300)
    ]
    emitted = run(adapter("gemini"), body(*events, end()))

    assert judge(emitted, "required")[1] == []
    assert sorted(Seen(emitted).tools) == sorted((f"x{n}", "f", f'{{"n":{n}}}') for n in range(300))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.a", ("a",)),
        ("$.a b-c.d", ("a b-c", "d")),
        (r"$.a\n", (r"a\n",)),
        ("$.a[0][12]", ("a", 0, 12)),
        (r"$['it\'s']", ("it's",)),
        (r'$["a\"b\u00e9\n\/"]', ('a"bé\n/',)),
        ("$['']", ("",)),
        ("$", None),
        ("", None),
        (".a", None),
        ("x.a", None),
        ("$a", None),
        ("$.", None),
        ("$.a.", None),
        ("$..a", None),
        ("$.*x[*]", None),
        ("$[-1]", None),
        ("$['a", None),
        ("$[1234567890]", None),
        ("$" + ".a" * 113, None),
    ],
)
def test_paths_name_one_value(path: str, expected: tuple[str | int, ...] | None) -> None:
    assert path_of(path) == expected

"""JSON as text: what counts as JSON, how deep it is, and that its spelling survives."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwire.grammar.jsontext import JsonFault, arguments, compact, levels, parse

VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(VALUES, st.sampled_from([None, 0, 1, 3]), st.booleans())
def test_only_insignificant_white_space_goes(value: Any, indent: int | None, ascii_only: bool) -> None:
    spaced = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    tight = json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only)
    assert compact(spaced.encode()).decode() == tight
    assert parse(spaced) is not None or value is None


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_it_agrees_with_the_standard_library_or_is_stricter(data: bytes) -> None:
    try:
        parse(data)
    except JsonFault:
        return
    json.loads(data.decode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b'"\xed\xa0\x80"',
        b"\xef\xbb\xbf{}",
        b"NaN",
        b"-Infinity",
        b"[1,]",
        b"01",
        b"1 2",
        b'"\n"',
        b'"\\x"',
        b'"\\ud800"',
        b'"\\ude00\\ud83d"',
        b'{"\\udfff":1}',
        b'{"a":"\\ud800","a":1}',
        b'{"a":{"\\ud800":2},"a":1}',
        b'"\\\\\\ud800"',
        b'"\\ud800\\\\udc00"',
        b'"\\ud83d\\ud83d\\ude00"',
    ],
)
def test_what_is_no_json(data: bytes) -> None:
    with pytest.raises(JsonFault):
        parse(data)


@pytest.mark.parametrize(
    "text",
    [r'"\ud83d\ude00\uD83D\uDE00"', r'"\u0041\"\\\\ud800"', r'"\\ud800"', '"\U0001f600"', "1e400", "-0", "1" * 5000],
)
def test_what_is(text: str) -> None:
    parse(text)


@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_128_levels_pass_and_129_do_not(pair: str) -> None:
    def nested(depth: int) -> str:
        left, right = ("[", "]") if pair == "[]" else ('{"a":', "}")
        return left * depth + "1" + right * depth

    parse(nested(128))
    with pytest.raises(JsonFault, match="128 levels"):
        parse(nested(129))


def test_depth_is_not_breadth_and_not_text() -> None:
    assert levels("[" + "[]," * 300 + "{}]") == 2
    assert levels('["' + "[{" * 300 + '\\"[", {}]') == 2
    parse("[" + ",".join(["[]"] * 300) + "]")


@pytest.mark.parametrize(
    "hostile", ['\\"' * 400_000, '"' * 400_001, "[" * 400_000, '"\\' + "[" * 300, '{"a":' * 200_000]
)
def test_hostile_text_costs_no_more_than_its_length(hostile: str) -> None:
    with pytest.raises(JsonFault):
        parse("[" * 200 + hostile)


@pytest.mark.parametrize(
    ("text", "args"), [("", b"{}"), (" \t\r\n", b"{}"), ("{ }", b"{}"), ("[]", None), ("\u2003", None)]
)
def test_arguments(text: str, args: bytes | None) -> None:
    assert arguments(text) == args

"""Content of the OpenAI family that comes as an array: each kind of part, and what is none of them. Hand-written."""

from typing import Any

import pytest

from runwire_schemas.raw import ThinkingBlock
from unit.adapters.saying import Json, chunk, openai


def _content(*parts: Any) -> Json:
    return chunk({"content": list(parts)})


END = chunk(None, "stop")
URL = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}


@pytest.mark.parametrize(
    ("part", "text", "reasoning"),
    [
        ({"type": "text", "text": "a"}, "a", ""),
        ({"type": "text", "text": "a", "more": None}, "a", ""),
        ({"type": "output_text", "text": "a"}, "a", ""),
        ("a", "a", ""),
        ({"type": "thinking", "thinking": "a"}, "", "a"),
        ({"type": "thinking", "thinking": "a", "more": None}, "", "a"),
        ({"type": "thinking", "thinking": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "", "ab"),
        ({"type": "thinking", "thinking": ["a", {"type": "text", "text": "b"}]}, "", "ab"),
        ({"type": "thinking", "thinking": [{"type": "text", "text": "a"}], "closed": True}, "", "a"),
        ({"type": "thinking", "thinking": [{"type": "text", "text": "a"}], "closed": True, "more": None}, "", "a"),
        ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}]}, "", "a"),
        ({"type": "text", "text": None}, "", ""),
        ({"type": "thinking", "thinking": None}, "", ""),
    ],
)
def test_each_kind_of_part_is_what_it_says(part: Any, text: str, reasoning: str) -> None:
    seen = openai(_content(part), END)

    assert (seen.text, seen.reasoning, seen.beside("raw")) == (text, reasoning, [])


def test_a_summary_has_its_signature() -> None:
    summary = [{"type": "summary_text", "text": "a", "signature": "S"}, {"type": "summary_text", "text": "b"}]

    seen = openai(_content({"type": "reasoning", "summary": summary}), END)

    assert seen.thinking == [ThinkingBlock(text="ab", signature="S")]


def test_reasoning_may_have_its_signature_beside_it() -> None:
    seen = openai(_content({"type": "thinking", "thinking": [{"type": "text", "text": "a"}], "signature": "S"}), END)

    assert (seen.thinking, seen.beside("raw")) == ([ThinkingBlock(text="a", signature="S")], [])


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        ({"type": "text", "text": "a", "annotations": [1]}, {"annotations": [1]}),
        ({"type": "thinking", "thinking": "a", "id": "x"}, {"id": "x"}),
        ({"type": "thinking", "thinking": [{"type": "text", "text": "a"}], "signature": [1]}, {"signature": [1]}),
        ({"type": "reasoning", "summary": [{"text": "a"}], "encrypted_content": "E"}, {"encrypted_content": "E"}),
        ({**URL, "detail": "low"}, {"detail": "low"}),
    ],
)
def test_what_a_part_has_beside_is_kept(part: Json, kept: Json) -> None:
    seen = openai(_content(part), END)

    assert seen.kinds in (["text"], ["thinking"], ["image"])
    assert seen.beside("raw") == [{"provider": "openai-chat", "delta": {"content": [{"type": part["type"], **kept}]}}]


def test_an_image_is_one_only_if_it_has_an_address() -> None:
    for part in (URL, {**URL, "image_url": "https://example.com/a.png"}):
        seen = openai(_content(part), END)
        assert (seen.kinds, seen.beside("raw")) == (["image"], [])


@pytest.mark.parametrize(
    "part",
    [
        17,
        ["a"],
        {"type": "text", "text": ["a"]},
        {"type": "reference", "text": "a", "reference_ids": [1]},
        {"type": "reference", "thinking": "a"},
        {"type": "reference", "summary": [{"text": "a"}]},
        {"type": "reference", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "thinking", "thought": "a"},
        {"type": "reasoning", "summary": []},
        {"type": "reasoning", "summary": "a"},
        {"type": "image_url", "image_url": {}},
        {"type": "image_url"},
        {"text": "a"},
    ],
)
def test_a_part_that_is_none_of_these_is_kept_whole(part: Any) -> None:
    seen = openai(_content(part), END)

    assert (seen.text, seen.reasoning) == ("", "")
    assert seen.beside("raw") == [{"provider": "openai-chat", "delta": {"content": [part]}}]


@pytest.mark.parametrize("part", [17, "a", {"type": "summary_text"}, {"text": "a", "hint": "b"}])
def test_a_summary_that_is_no_text_alone_is_kept_whole(part: Any) -> None:
    seen = openai(_content({"type": "reasoning", "summary": [part]}), END)

    assert seen.reasoning == ""
    assert seen.beside("raw") == [{"provider": "openai-chat", "delta": {"content": [part]}}]


def test_inside_reasoning_what_is_no_text_is_kept_whole() -> None:
    reference = {"type": "reference", "reference_ids": [1]}

    seen = openai(_content({"type": "thinking", "thinking": [{"type": "text", "text": "a"}, reference]}), END)

    assert seen.reasoning == "a"
    assert seen.beside("raw") == [{"provider": "openai-chat", "delta": {"content": [reference]}}]


@pytest.mark.parametrize("thinking", [{"text": "a"}, 17, []])
def test_reasoning_of_another_shape_is_kept_whole_unless_it_says_nothing(thinking: Any) -> None:
    seen = openai(_content({"type": "thinking", "thinking": thinking}), END)

    kept = [] if thinking == [] else [{"type": "thinking", "thinking": thinking}]
    assert [part for said in seen.beside("raw") for part in said["delta"]["content"]] == kept

"""Whatever a provider does, the chunks obey the raw grammar: sizes, numbers of blocks, names, and broken Unicode."""

import json

import pytest

from conformance.recorded import Seen, judge
from runwire.adapters import adapter
from runwire.adapters.anthropic.messages import Anthropic
from runwire.adapters.openai_chat.chat import OpenAIChat
from unit.adapters.saying import Json, accepted, anthropic, block, chunk, message, openai, run, sse, tool

MIB = 1024 * 1024


@pytest.mark.parametrize("character", ["x", "\u0001", "ü", "🌍"])
def test_long_text_goes_on_in_a_block_of_its_own(character: str) -> None:
    text = character * (3 * MIB // len(json.dumps(character)) + 1)

    seen = Seen(run(OpenAIChat(), sse(chunk({"content": text}), chunk({"reasoning": text}), chunk(None, "stop"))))

    assert seen.text == text
    assert seen.reasoning == text
    assert len(seen.kinds) >= 4


def test_the_grammar_takes_long_text() -> None:
    events = [chunk({"content": "abc\n" * 20_000}) for _ in range(40)]
    wire = adapter("openai-chat")

    assert judge(run(wire, sse(*events, chunk(None, "stop"))), wire.usage)[1] == []


def test_text_and_reasoning_may_alternate_more_often_than_there_are_blocks() -> None:
    events = [chunk({"content": "t"} if n % 2 else {"reasoning": "r"}) for n in range(3000)]
    wire = adapter("openai-chat")
    emitted = run(wire, sse(*events, chunk(None, "stop")))

    seen = Seen(emitted)

    assert judge(emitted, wire.usage)[1] == []
    assert (seen.text, seen.reasoning, seen.finish) == ("t" * 1500, "r" * 1500, "stop")


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([chunk(tool("{}", index=n, id=f"c{n}", name="f")) for n in range(1100)], "too-many-blocks"),
        ([chunk(tool("x" * 200_000, index=0, id="c", name="f")) for _ in range(6)], "tool-arguments-too-large"),
        ([chunk(tool("x" * 10_000, index=0, id="c")) for _ in range(6)], "tool-name-missing"),
        ([chunk(tool("{}", index=0, id="c" * 100_000, name="f"))], "event-too-large"),
    ],
)
def test_what_no_call_may_hold_ends_it_with_the_reason(events: list[Json], code: str) -> None:
    wire = adapter("openai-chat")
    emitted = run(wire, sse(*events, chunk(None, "tool_calls")))

    seen = Seen(emitted)

    assert judge(emitted, wire.usage)[1] == []
    assert seen.finish == "error"
    assert f'"code":"{code}"' in emitted[-1].body.decode()


def test_an_event_has_a_limit_whatever_its_pieces() -> None:
    body = sse(chunk({"content": "a"}), chunk({"content": "x" * 3000}), chunk(None, "stop"))
    for size in (1, 100, len(body)):
        wire = OpenAIChat(limit=2000)
        emitted = [one for at in range(0, len(body), size) for one in wire.feed(body[at : at + size])]
        seen = Seen([*emitted, *wire.close()])
        assert (seen.text, seen.finish) == ("a", "error")
        assert "larger than 2000 bytes" in seen.failure


def test_a_result_that_is_too_large_for_a_block_is_kept_beside_it() -> None:
    result = {"type": "web_fetch_tool_result", "tool_use_id": "srv", "content": {"data": "x" * (2 * MIB)}}
    wire = Anthropic()
    emitted = run(wire, message(*block(0, result)))

    seen = Seen(emitted)

    assert judge(emitted, "required")[1] == []
    assert seen.beside("raw")[0]["toolResult"] == result["content"]
    assert json.loads(bytes(seen.results[0].content))["bytes"] > 2 * MIB


def test_images_are_blocks_and_large_ones_files() -> None:
    small, large = "data:image/png;base64,AAAA", "data:image/jpeg;base64," + "B" * MIB
    images = [{"type": "image_url", "image_url": {"url": url}} for url in (small, large)]

    seen = Seen(run(OpenAIChat(), sse(chunk({"images": images}), chunk(None, "stop"))))

    assert seen.kinds == ["image"]
    assert seen.beside("file") == [{"data": "B" * MIB, "mimeType": "image/jpeg"}]


def test_what_comes_before_the_first_raw_chunk_waits_for_it() -> None:
    seen = openai({"id": "", "model": "", "object": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
                  chunk({"content": "Hi"}), chunk(None, "stop"))  # fmt: skip

    assert seen.beside("raw") == [
        {"provider": "openai-chat", "chunk": {"prompt_filter_results": [{"prompt_index": 0}]}}
    ]


def test_what_was_kept_is_not_lost_when_nothing_else_comes() -> None:
    seen = openai({"id": "x", "choices": [], "prompt_filter_results": [1]}, chunk(None, "content_filter"))

    assert seen.beside("raw") == [{"provider": "openai-chat", "chunk": {"prompt_filter_results": [1]}}]
    assert (seen.text, seen.finish) == ("", "content_filter")


def test_more_facts_than_are_remembered_are_passed_on() -> None:
    deltas = [{"type": "message_delta", "delta": {f"fact{n}": n}} for n in range(100)]

    seen = anthropic(message(*deltas))

    remembered = seen.beside("response-metadata")[-1]["providerMetadata"]["anthropic"]
    passed_on = [kept["fact"] for kept in seen.beside("raw")]
    assert len(remembered) == 64
    assert {**remembered, **{name: value for fact in passed_on for name, value in fact.items()}}.keys() >= {
        f"fact{n}" for n in range(100)
    }


def test_members_that_repeat_on_every_chunk_are_kept_once() -> None:
    results = [{"title": "A", "url": "https://a", "date": None}, {"title": "B", "url": "https://b"}]
    more: Json = {"citations": ["https://a", "https://b"], "search_results": results, "images": ["i"]}

    seen = openai(*(chunk({"content": "x"}, **more) for _ in range(3)), chunk(None, "stop", **more))

    assert [(one["url"], one["title"]) for one in seen.beside("source")] == [("https://a", "A"), ("https://b", "B")]
    assert seen.beside("raw") == [{"provider": "openai-chat", "chunk": {"images": ["i"]}}]


def test_annotations_are_sources_and_logprobs_are_kept() -> None:
    note = {"type": "url_citation", "url_citation": {"url": "https://a", "title": "A", "start_index": 0}}
    body = sse(
        chunk({"content": "x", "annotations": [note]}, choice={"logprobs": {"content": ["HERE"]}}), chunk(None, "stop")
    )

    seen = accepted("openai-chat", body.replace(b'"HERE"', b"-1.50e-7"))

    assert seen.beside("source")[0]["providerMetadata"] == {"openai-chat": note}
    assert seen.beside("raw") == [{"provider": "openai-chat", "choice": {"logprobs": {"content": [-1.5e-7]}}}]


def test_halves_of_a_surrogate_pair_are_joined() -> None:
    body = sse(chunk({"content": "a HIGH"}), chunk({"content": "LOW b"}), chunk(None, "stop"))

    seen = accepted("openai-chat", body.replace(b"HIGH", b"\\ud83c").replace(b"LOW", b"\\uDF0D"))

    assert seen.text == "a 🌍 b"


@pytest.mark.parametrize("half", [b"\\ud83c", b"\\udf0d", b"\\\\ud83c", b"\\ud83cx"])
def test_a_lone_half_becomes_a_replacement_character(half: bytes) -> None:
    body = sse(
        chunk({"content": "a HALF"}), chunk(tool('{"k":"HALF"}', index=0, id="c", name="f")), chunk(None, "stop")
    )

    seen = accepted("openai-chat", body.replace(b"HALF", half))

    expected = {b"\\ud83cx": "\ufffdx", b"\\\\ud83c": "\\ud83c"}.get(half, "\ufffd")
    assert seen.text == f"a {expected}"
    assert seen.tools[0].arguments == f'{{"k":"{expected}"}}'


def test_broken_unicode_in_what_is_passed_on_is_replaced() -> None:
    body = sse(chunk({"content": "x"}, finding="HALF"), chunk(None, "stop")).replace(b"HALF", b"\\ud83c \xff")

    assert accepted("openai-chat", body).beside("raw")[0]["chunk"] == {"finding": "\ufffd \ufffd"}


def test_what_nests_too_deeply_is_passed_on_as_text() -> None:
    deep = "[" * 125 + "]" * 125
    result = {"type": "mcp_tool_result", "tool_use_id": "m", "content": "HERE"}

    seen = anthropic(message(*block(0, result)).replace(b'"HERE"', deep.encode()))

    assert json.loads(bytes(seen.results[0].content)) == deep


def test_nesting_without_end_ends_the_call() -> None:
    body = b"data: " + b'{"choices":' + b"[" * 200_000 + b"\n\n"

    assert accepted("openai-chat", body[:2000]).finish in {"error", "aborted"}
    assert Seen(run(OpenAIChat(), body)).finish == "error"

"""Text and reasoning parts of the AI SDK: blocks by id, signatures where they belong, and nothing lost beside them."""

import msgspec
import pytest

from conformance.recorded import Seen, decode_raw
from runwire.adapters import adapter
from runwire.adapters.writing.writer import MAX_BLOCK
from runwire_schemas.raw import BlockEnd, TextBlock, TextDelta, ThinkingDelta
from unit.adapters.saying import Json, run
from unit.adapters.sdk_parts import beside, body, part, said, text, v2, v3


def blocks(*parts: Json) -> list[str]:
    """The text blocks in their order."""
    emitted = run(adapter("ai-sdk"), body(*parts))
    chunks = [decode_raw(one.body) for one in emitted if one.kind == "provider"]
    return [one.block.text for one in chunks if isinstance(one, BlockEnd) and isinstance(one.block, TextBlock)]


def notes(*parts: Json) -> list[tuple[str, str, bytes]]:
    """The deltas with Gemini's metadata: kind, text, metadata."""
    emitted = run(adapter("ai-sdk"), body(*parts))
    chunks = [decode_raw(one.body) for one in emitted if one.kind == "provider"]
    deltas = [one for one in chunks if isinstance(one, TextDelta | ThinkingDelta)]
    return [(type(one).__name__, one.text, bytes(one.gemini)) for one in deltas if isinstance(one.gemini, msgspec.Raw)]


def test_text_and_reasoning() -> None:
    seen = said(
        part("stream-start", warnings=[]),
        part("reasoning-start", "0"),
        part("reasoning-delta", "0", delta="hm"),
        part("reasoning-end", "0"),
        *text("1", "Hel", "lo"),
        v2(),
    )

    assert (seen.text, seen.reasoning, seen.kinds) == ("Hello", "hm", ["thinking", "text"])


def test_each_id_is_a_block_of_its_own() -> None:
    assert blocks(*text("0", "a"), *text("1", "b"), v2()) == ["a", "b"]
    assert blocks(part("text-delta", "0", delta="a"), part("text-delta", "1", delta="b"), v2()) == ["a", "b"]
    assert blocks(*text("0", "a"), *text("0", "b"), v2()) == ["a", "b"]
    # The end of a block that is not written to ends no other.
    parts = (part("text-delta", "0", delta="a"), part("text-delta", "1", delta="b"), part("text-end", "0"))
    assert blocks(*parts, part("text-delta", "1", delta="c"), v2()) == ["a", "bc"]
    thoughts = [part("reasoning-delta", "0", delta="r"), part("reasoning-end", "0")] * 2
    assert [block.text for block in said(*thoughts, v2()).thinking] == ["r", "r"]
    mixed = [part("reasoning-delta", str(n), delta="rs"[n]) for n in range(2)]
    assert [block.text for block in said(*mixed, v2()).thinking] == ["r", "s"]
    # A second start under an id that is open begins anew.
    assert blocks(part("text-start", "0"), part("text-delta", "0", delta="a"), *text("0", "b"), v2()) == ["a", "b"]


def test_text_and_reasoning_may_have_the_same_id() -> None:
    seen = said(
        part("text-start", "0"),
        part("reasoning-start", "0"),
        part("text-delta", "0", delta="a"),
        part("reasoning-delta", "0", delta="r"),
        part("reasoning-end", "0"),
        part("text-delta", "0", delta="b"),
        part("text-end", "0"),
        v2(),
    )

    assert (seen.text, seen.reasoning) == ("ab", "r")


@pytest.mark.parametrize("kind", ["text", "reasoning"])
def test_blocks_may_interleave_more_often_than_there_are_blocks(kind: str) -> None:
    deltas = [part(f"{kind}-delta", str(n % 2), delta="ab"[n % 2]) for n in range(3000)]

    seen = said(part(f"{kind}-start", "0"), part(f"{kind}-start", "1"), *deltas, v2())

    assert (seen.text + seen.reasoning, seen.finish) == ("ab" * 1500, "stop")


def test_of_many_blocks_that_never_end_the_oldest_are_over() -> None:
    deltas = [part("text-delta", str(n), delta=f"{n},") for n in range(200)]
    seen = said(*deltas, part("text-delta", "0", delta="again"), v2())

    assert (seen.text, seen.finish) == ("".join(f"{n}," for n in range(200)) + "again", "stop")


def test_what_waits_for_the_end_of_one_of_many_blocks_is_passed_on() -> None:
    starts = [part("text-start", str(n), meta={"p": {"n": str(n)}}) for n in range(70)]

    emitted = adapter("ai-sdk").feed(body(*text("x", "a"), *starts))

    assert [meta["p"]["n"] for meta in beside(Seen(emitted), "providerMetadata")] == [str(n) for n in range(6)]


def test_an_id_that_is_too_long_ends_the_response() -> None:
    assert "id of a block is too long" in said(part("text-delta", "x" * 20_000, delta="a"), v2()).failure


def test_a_block_without_text_is_none() -> None:
    assert said(part("text-start", "0"), part("text-delta", "0", delta=""), *text("1"), v2()).kinds == []
    assert said(part("reasoning-delta", "0", delta=""), part("reasoning-end", "0"), v2()).kinds == []


def test_earlier_names_of_a_delta_are_read() -> None:
    seen = said(part("text-delta", "0", textDelta="a"), part("text-delta", "0", text="b"), v2())

    assert seen.text == "ab"


def test_a_delta_with_more_in_it_keeps_it() -> None:
    seen = said(part("text-delta", "0", delta="a", logprobs=[1]), part("reasoning-end", "9", more=2), v2())

    assert seen.text == "a"
    assert beside(seen, "part") == [
        {"type": "text-delta", "id": "0", "logprobs": [1]},
        {"type": "reasoning-end", "id": "9", "more": 2},
    ]


@pytest.mark.parametrize("kind", ["text", "reasoning", "tool-input"])
@pytest.mark.parametrize("place", ["start", "delta", "end"])
def test_members_that_are_not_known_are_kept_on_every_part(kind: str, place: str) -> None:
    odd = part(f"{kind}-{place}", "0", toolName="f", delta="{}", more=1)
    started = [part(f"{kind}-start", "0", toolName="f")] if place != "start" else []
    seen = said(*started, odd, v2())

    assert [one["more"] for one in beside(seen, "part") + beside(seen, "toolCall") if "more" in one] == [1]
    if place == "delta":
        assert "{}" in (seen.text, seen.reasoning, *(tool.arguments for tool in seen.tools))


@pytest.mark.parametrize(
    "parts",
    [
        # Anthropic: in an empty delta before the end.
        [part("reasoning-delta", "0", delta="", meta={"anthropic": {"signature": "sig"}}), part("reasoning-end", "0")],
        # Bedrock and Gemini's Interactions: with the end.
        [part("reasoning-end", "0", meta={"amazonBedrock": {"signature": "sig"}})],
        [part("reasoning-delta", "0", delta="", meta={"google": {"signature": "sig"}})],
    ],
)
def test_a_signature_signs_its_reasoning(parts: list[Json]) -> None:
    seen = said(part("reasoning-start", "0"), part("reasoning-delta", "0", delta="hm"), *parts, v2())

    assert [(block.text, block.signature) for block in seen.thinking] == [("hm", "sig")]
    assert beside(seen, "providerMetadata") == []


def test_a_signature_of_text_or_of_a_call_is_kept_as_it_came() -> None:
    meta = {"google": {"signature": "sig", "redactedData": "x"}}
    seen = said(
        part("text-delta", "0", delta="a"),
        part("text-end", "0", meta=meta),
        part("tool-call", toolCallId="c", toolName="f", input="{}", meta=meta),
        v2(),
    )

    assert (seen.kinds, beside(seen, "providerMetadata")) == (["text", "tool_use"], [meta])
    assert beside(seen, "toolCall") == [{"providerMetadata": meta}]


def test_a_signature_that_comes_after_other_text_is_kept() -> None:
    seen = said(
        part("reasoning-start", "0"),
        part("reasoning-delta", "0", delta="hm"),
        *text("1", "a"),
        part("reasoning-end", "0", meta={"anthropic": {"signature": "sig"}}),
        v2(),
    )

    assert [(block.text, block.signature) for block in seen.thinking] == [("hm", None), ("", "sig")]


@pytest.mark.parametrize(
    ("provider", "name"),
    [("anthropic", "redactedData"), ("bedrock", "redactedContent"), ("openai", "reasoningEncryptedContent")],
)
def test_reasoning_that_only_the_provider_can_read(provider: str, name: str) -> None:
    begun = {provider: {name: "half"}}
    whole = {provider: {name: "secret", "itemId": "rs_1"}}

    silent = said(part("reasoning-start", "0", meta=begun), part("reasoning-end", "0", meta=whole), v2())
    spoken = said(part("reasoning-delta", "0", delta="hm"), part("reasoning-end", "0", meta=whole), v2())

    assert [(block.text, block.redacted) for block in silent.thinking] == [("", "secret")]
    assert [(block.text, block.redacted) for block in spoken.thinking] == [("hm", "secret")]
    assert beside(silent, "providerMetadata") == [{provider: {"itemId": "rs_1"}}]


def test_encrypted_reasoning_that_each_summary_of_an_item_repeats_is_taken_once() -> None:
    meta = {"openai": {"reasoningEncryptedContent": "secret"}}
    other = {"openai": {"reasoningEncryptedContent": "another"}}
    seen = said(
        *(part("reasoning-start", f"rs:{n}") for n in range(2)),
        *(part("reasoning-delta", f"rs:{n}", delta="hm") for n in range(2)),
        *(part("reasoning-end", f"rs:{n}", meta=meta) for n in range(2)),
        part("reasoning-start", "rt:0", meta=other),
        part("reasoning-end", "rt:0", meta=other),
        v3(),
    )

    assert [block.redacted for block in seen.thinking if block.redacted] == ["secret", "another"]


@pytest.mark.parametrize("name", ["signature", "reasoningEncryptedContent", "thoughtSignature"])
def test_what_is_too_large_for_a_chunk_is_kept_beside(name: str) -> None:
    large = {"p": {name: "x" * (MAX_BLOCK + 1)}}
    seen = said(part("reasoning-delta", "0", delta="a", meta=large), part("reasoning-end", "0"), v2())

    assert (beside(seen, "providerMetadata"), seen.finish) == ([large], "stop")


def test_metadata_of_a_block_is_passed_on_once() -> None:
    meta = {"openai": {"itemId": "msg_1", "phase": None}}
    seen = said(
        part("text-start", "0", meta=meta),
        *(part("text-delta", "0", delta="a", meta=meta) for _ in range(5)),
        part("text-end", "0", meta={"openai": {"annotations": [1]}, "other": "x"}),
        v2(),
    )

    assert seen.text == "aaaaa"
    assert [(one["block"], one["providerMetadata"]) for one in seen.beside("raw")] == [
        ({"type": "text", "id": "0"}, {"openai": {"itemId": "msg_1", "annotations": [1]}, "other": {"": "x"}})
    ]


@pytest.mark.parametrize("size", [1, 100_000])
def test_what_waits_for_the_end_of_a_block_is_bounded_and_not_lost(size: int) -> None:
    metas = [{"p": {f"{n}": "x" * size}} for n in range(100)]
    parts = [part("text-delta", "0", delta="a", meta=meta) for meta in metas]

    kept = beside(Seen(run(adapter("ai-sdk"), body(*parts, v2()))), "providerMetadata")

    assert len(kept) == (2 if size == 1 else 34)
    assert [name for meta in kept for name in meta["p"]] == [str(n) for n in range(100)]


def test_metadata_of_a_block_that_was_cut_off_is_kept() -> None:
    seen = said(part("text-start", "0", meta={"openai": {"itemId": "msg_1"}}), part("text-delta", "0", delta="a"))

    assert seen.finish == "aborted"
    assert beside(seen, "providerMetadata") == [{"openai": {"itemId": "msg_1"}}]


@pytest.mark.parametrize(("kind", "delta"), [("text", "TextDelta"), ("reasoning", "ThinkingDelta")])
def test_geminis_signature_goes_with_its_part(kind: str, delta: str) -> None:
    meta = {"google": {"thoughtSignature": "s"}}
    signed = notes(
        part(f"{kind}-start", "0"),
        part(f"{kind}-delta", "0", delta="a"),
        part(f"{kind}-delta", "0", delta="", meta=meta),
        part(f"{kind}-end", "0", meta=meta),
        v2(),
    )

    assert signed == [(delta, "", b'{"thoughtSignature":"s"}')]


def test_geminis_signature_of_a_block_that_is_not_the_last_written() -> None:
    meta = {"vertex": {"thoughtSignature": "s"}}
    parts = (part("text-delta", "0", delta="a"), *text("1", "b"), part("text-end", "0", meta=meta))
    thoughts = (part("reasoning-start", "0"), *text("1", "b"), part("reasoning-end", "0", meta=meta))

    assert notes(*parts, v2()) == [("TextDelta", "", b'{"thoughtSignature":"s"}')]
    assert blocks(*parts, v2()) == ["a", "b", ""]
    begun = (part("text-delta", "0", delta="a"), part("text-delta", "1", delta="b"), part("text-end", "0", meta=meta))
    assert blocks(*begun, v2()) == ["a", "b", ""]
    assert blocks(part("text-delta", "0", delta="a", meta=meta), part("text-delta", "0", delta="b"), v2()) == ["ab"]
    deltas = [part("reasoning-delta", str(n), delta=delta) for n, delta in enumerate("ab")]
    assert [one.text for one in said(*deltas, part("reasoning-end", "0", meta=meta), v2()).thinking] == ["a", "b", ""]
    signed = part("reasoning-delta", "0", delta="a", meta=meta), part("reasoning-delta", "0", delta="b")
    assert [one.text for one in said(*signed, v2()).thinking] == ["ab"]
    assert notes(*thoughts, v2()) == [("ThinkingDelta", "", b'{"thoughtSignature":"s"}')]


def test_think_tags_are_reasoning_where_the_model_writes_them() -> None:
    parts = text("0", "<thi", "nk>hm</think>", "yes")

    known = said(part("response-metadata", id="r", modelId="deepseek-r1"), *parts, v3())
    other = said(part("response-metadata", id="r", modelId="gpt"), *parts, v3())
    asked = Seen(run(adapter("ai-sdk", think=True), body(*parts, v3())))

    assert [(seen.text, seen.reasoning) for seen in (known, other, asked)] == [
        ("yes", "hm"),
        ("<think>hm</think>yes", ""),
        ("yes", "hm"),
    ]


def test_what_is_held_back_for_a_tag_comes_before_what_follows() -> None:
    begun = [part("response-metadata", modelId="qwq"), part("text-delta", "0", delta="<thi")]

    for after in ([], [part("text-end", "0")], [part("tool-input-start", "t", toolName="f")]):
        assert said(*begun, *after, v3()).text == "<thi"
    assert said(*begun).text == "<thi"


def test_what_is_held_back_comes_in_its_order() -> None:
    model, tool = part("response-metadata", modelId="qwq"), part("tool-input-start", "t", toolName="f")
    held, more = part("text-delta", "0", delta="<thi"), part("tool-input-delta", "t", delta="{}")

    assert said(model, held, tool, v3()).kinds == ["text", "tool_use"]
    emitted = [one.body for one in run(adapter("ai-sdk"), body(model, tool, held, more, v3()))]
    texts, inputs = ([word in one for one in emitted].index(True) for word in (b"<thi", b'"argumentsDelta":"{}"'))
    assert texts < inputs


def test_what_is_held_back_belongs_to_its_block() -> None:
    model = part("response-metadata", modelId="qwq")
    thoughts = [part("reasoning-delta", str(n), delta=delta) for n, delta in enumerate(("a\n<thi", "b"))]

    assert blocks(model, *text("0", "<thi"), *text("1", "b"), v3()) == ["<thi", "b"]
    assert [block.text for block in said(model, *thoughts, v3()).thinking] == ["a\n<thi", "b"]


def test_a_tag_may_be_split_between_deltas_with_more_in_them() -> None:
    deltas = [part("text-delta", "0", delta=delta, more=1) for delta in ("<thi", "nk>hm</think>yes")]
    seen = said(part("response-metadata", modelId="qwq"), *deltas, v3())

    assert (seen.text, seen.reasoning) == ("yes", "hm")


def test_a_citation_is_a_source() -> None:
    document = {"source": {"type": "source", "sourceType": "document", "id": "0", "title": "D"}, "citedText": "x"}
    page = {"source": {"type": "source", "sourceType": "url", "id": "0", "url": "http://u", "title": "P"}}
    seen = said(
        part("response-metadata", id="r", modelId="m"),
        part("text-delta", "0", delta="a"),
        part("text-end", "0", citations=[document, page]),
        v3(),
    )

    assert seen.beside("source") == [
        {
            "id": "r:source:1",
            "sourceType": "document",
            "title": "D",
            "providerMetadata": {"ai-sdk": document},
        },
        {
            "id": "r:source:2",
            "sourceType": "url",
            "title": "P",
            "url": "http://u",
            "providerMetadata": {"ai-sdk": page},
        },
    ]

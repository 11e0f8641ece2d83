"""Reasoning in its spellings, doubled members, signatures, encrypted parts, and `<think>` tags."""

import pytest

from conformance.recorded import Seen
from runwire.adapters import adapter
from runwire.adapters.openai_chat.chat import OpenAIChat
from runwire.adapters.writing.think import THINK_MODELS
from runwire_schemas.raw import ThinkingBlock
from unit.adapters.saying import Json, chunk, openai, run, sse


def _detail(text: str, **more: object) -> Json:
    return {"type": "reasoning.text", "text": text, "index": 0, **more}


@pytest.mark.parametrize(
    "deltas",
    [
        [{"reasoning_content": "Let "}, {"reasoning_content": "me."}],
        [{"reasoning": "Let "}, {"reasoning": "me."}],
        [{"reasoning": text, "reasoning_details": [_detail(text)]} for text in ("Let ", "me.")],
        [{"reasoning_content": "Let me.", "reasoning_details": [_detail("Let me.")]}],
        [{"reasoning_content": "Let me.", "reasoning": "Let me."}],
        [{"reasoning_text": "Let "}, {"reasoning_text": "me.", "content": None}],
        [{"reasoning_text": "Let me.", "reasoning": "Let me.", "reasoning_content": "Let me."}],
        [{"reasoning_text": "Let me.", "unknown": {}}],
        [{"reasoning_details": [_detail("Let ")]}, {"reasoning_details": [_detail("me.")]}],
        [{"reasoning_details": [{"type": "reasoning.summary", "summary": "Let me."}]}],
        [{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Let me."}]}]}],
        [{"content": [{"type": "thinking", "thinking": "Let me."}]}],
    ],
)
def test_every_spelling_is_reasoning_once(deltas: list[Json]) -> None:
    seen = openai(*(chunk(delta) for delta in deltas), chunk({"content": "Yes."}), chunk(None, "stop"))

    assert (seen.reasoning, seen.text) == ("Let me.", "Yes.")
    assert seen.kinds == ["thinking", "text"]


def test_parts_of_content_keep_their_order() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "1"}]

    seen = openai(chunk({"content": parts}), chunk({"content": "44"}), chunk(None, "stop"))

    assert (seen.reasoning, seen.text) == ("hm", "144")


def test_a_part_that_is_not_known_is_kept() -> None:
    part = {"type": "reference", "reference_ids": [1, 2]}

    seen = openai(chunk({"content": [part, {"type": "text", "text": "x"}]}), chunk(None, "stop"))

    assert {"provider": "openai-chat", "delta": {"content": [part]}} in seen.beside("raw")


def test_a_signature_belongs_to_its_reasoning() -> None:
    seen = openai(
        chunk({"reasoning": "a", "reasoning_details": [_detail("a", signature="")]}),
        chunk({"reasoning_details": [_detail("", signature="SIG", format="anthropic-claude-v1")]}),
        chunk({"reasoning": "b", "reasoning_details": [_detail("b", index=1)]}),
        chunk({"content": "x"}, "stop"),
    )

    assert seen.thinking == [ThinkingBlock(text="a", signature="SIG"), ThinkingBlock(text="b")]


def test_encrypted_reasoning_is_a_block_of_its_own() -> None:
    detail = {"type": "reasoning.encrypted", "data": "AAAA", "id": "rs_1", "format": "openai-responses-v1", "index": 1}

    seen = openai(chunk({"reasoning": "a"}), chunk({"reasoning_details": [detail]}), chunk({"content": "x"}, "stop"))

    assert seen.thinking == [ThinkingBlock(text="a"), ThinkingBlock(text="", redacted="AAAA")]
    kept = {key: value for key, value in detail.items() if key != "data"}
    assert seen.beside("raw") == [{"provider": "openai-chat", "delta": {"reasoning_details": [kept]}}]


def test_venice_spells_encrypted_reasoning_otherwise() -> None:
    seen = openai(chunk({"reasoning_encrypted": "BBBB", "content": None}), chunk({"content": "x"}, "stop"))

    assert seen.thinking == [ThinkingBlock(text="", redacted="BBBB")]


def test_copilot_spells_both_otherwise() -> None:
    seen = openai(
        chunk({"content": None, "reasoning_text": "Let me."}),
        chunk({"content": None, "reasoning_opaque": "CCCC"}),
        chunk({"content": "x"}, "stop"),
    )

    assert seen.thinking == [ThinkingBlock(text="Let me."), ThinkingBlock(text="", redacted="CCCC")]
    assert (seen.text, seen.beside("raw")) == ("x", [])


def test_refusals_are_text() -> None:
    assert openai(chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk(None, "stop")).text == "I cannot."


def test_empty_reasoning_opens_no_block() -> None:
    seen = openai(chunk({"content": "", "reasoning_content": ""}), chunk({"content": "x"}, "stop"))

    assert seen.kinds == ["text"]


# `<think>` tags


def _thought(pieces: list[str], *, think: bool | None = True, model: str = "m") -> tuple[str, str]:
    events = [{**chunk({"content": piece}), "model": model} for piece in pieces]
    seen = Seen(run(OpenAIChat(think=think), sse(*events, chunk(None, "stop"))))
    return seen.reasoning, seen.text


TAGGED = "<think>\nWhy <b>?</th\n</think>\n\nBecause </think>."


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 100])
def test_tags_may_be_cut_anywhere(size: int) -> None:
    pieces = [TAGGED[at : at + size] for at in range(0, len(TAGGED), size)]

    assert _thought(pieces) == ("\nWhy <b>?</th\n", "\n\nBecause </think>.")


@pytest.mark.parametrize(
    "text", ["<thin", "<", "no tags", "a <think>b</think>", "", "  <thought>", " " * 300 + "<think>"]
)
def test_what_is_no_tag_at_the_beginning_is_text(text: str) -> None:
    assert _thought(list(text)) == ("", text)


def test_reasoning_that_never_closes_is_reasoning() -> None:
    assert _thought(["<think>half a tho", "ught</thi"]) == ("half a thought</thi", "")


def test_tags_are_text_unless_asked_for() -> None:
    assert _thought([TAGGED], think=False) == ("", TAGGED)
    assert _thought([TAGGED], think=None, model="gpt-4o") == ("", TAGGED)
    assert _thought([TAGGED], think=None, model="deepseek-ai/DeepSeek-R1") == (
        "\nWhy <b>?</th\n",
        "\n\nBecause </think>.",
    )


def test_a_tool_call_comes_after_text_that_was_held_back() -> None:
    call = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]}

    seen = Seen(run(OpenAIChat(think=True), sse(chunk({"content": "<thi"}), chunk(call), chunk(None, "tool_calls"))))

    assert seen.kinds == ["text", "tool_use"]
    assert seen.text == "<thi"


def test_that_there_were_tags_is_a_fact_about_the_response() -> None:
    def tags(text: str) -> object:
        seen = Seen(run(OpenAIChat(think=True), sse(chunk({"content": text}), chunk(None, "stop"))))
        facts = [said.get("providerMetadata", {}) for said in seen.beside("response-metadata")]
        return next((fact["openai-chat"]["thinkTags"] for fact in facts if "openai-chat" in fact), None)

    assert tags(TAGGED) == ["<think>", "</think>"]
    assert tags("<think>never closed") == ["<think>"]
    assert tags("none") is None


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 200])
def test_tags_inside_reasoning_of_its_own_are_dropped_wherever_a_line_begins(size: int) -> None:
    """Groq's compound: its reasoning has a member of its own, and tags, and a pair of them for every round."""
    said = "<think>\nI search <b>, or <think>?\n</think>\n<tool>\nsearch(x)\n</tool>\n <think>Found </thin.</think>\n"
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    events = [{**chunk({"reasoning": piece}), "model": "groq/compound"} for piece in pieces]

    seen = openai(*events, {**chunk({"content": "Yes <think>."}), "model": "groq/compound"}, chunk(None, "stop"))

    assert seen.reasoning == "\nI search <b>, or <think>?\n\n<tool>\nsearch(x)\n</tool>\n Found </thin.\n"
    assert seen.text == "Yes <think>."
    facts = seen.beside("response-metadata")[-1]["providerMetadata"]["openai-chat"]
    assert facts["thinkTags"] == ["<think>", "</think>"]


def test_talk_about_tags_in_reasoning_is_kept() -> None:
    events = [
        {**chunk({"reasoning": text}), "model": "groq/compound"} for text in ("I say <thi", "nk> and </think", "")
    ]

    assert openai(*events, chunk({"content": "x"}), chunk(None, "stop")).reasoning == "I say <think> and </think"


def test_reasoning_that_was_held_back_comes_before_what_follows() -> None:
    call = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]}
    model = {"model": "groq/compound"}

    seen = openai({**chunk({"reasoning": "hm <"}), **model}, chunk(call), chunk({"content": "<"}), chunk(None, "stop"))

    assert (seen.reasoning, seen.text, seen.kinds) == ("hm <", "<", ["thinking", "tool_use", "text"])


@pytest.mark.parametrize("model", sorted(THINK_MODELS))
def test_models_that_are_known_are_split_without_being_asked(model: str) -> None:
    assert _thought([TAGGED], think=None, model=f"some/{model.upper()}:8b") == (
        "\nWhy <b>?</th\n",
        "\n\nBecause </think>.",
    )
    assert len(THINK_MODELS[model]) > 10  # how it is known


@pytest.mark.parametrize("model", ["gpt-5", "claude-4", "deepseek-chat", "llama-3.3-70b", "gemini-3-pro", ""])
def test_models_that_are_not_known_are_never_split(model: str) -> None:
    assert _thought([TAGGED], think=None, model=model) == ("", TAGGED)


def test_a_model_that_is_named_too_late_changes_nothing() -> None:
    nameless = {**chunk({"content": "a"}), "model": "", "id": ""}

    assert openai(nameless, {**chunk({"content": "<think>b"}), "model": "qwq"}, chunk(None, "stop")).text == "a<think>b"


def test_the_option_is_one_of_the_registry() -> None:
    body = sse(chunk({"content": TAGGED}), chunk(None, "stop"))

    assert Seen(run(adapter("openai-chat", think=True), body)).reasoning != ""
    assert Seen(run(adapter("openai-chat", think=False), body)).reasoning == ""
    assert Seen(run(adapter("anthropic", think=True), body)).reasoning == ""


# What is held back, and when


KINDS = ["text", "thinking"]


def _qwq(*deltas: Json, **more: object) -> Seen:
    return openai(*({**chunk(delta), "model": "qwq", **more} for delta in deltas), chunk(None, "stop"))


def test_only_what_may_be_a_tag_is_held_back() -> None:
    for text, held in (("Hello", False), ("\n Hello", False), ("<think>Hello", False), ("<thi", True), ("\n", True)):
        wire = OpenAIChat(think=True)
        assert (Seen(wire.feed(sse(chunk({"content": text}), done=False))).kinds == []) is held


@pytest.mark.parametrize(
    ("deltas", "kinds", "text", "reasoning"),
    [
        ([{"reasoning": "hm <"}, {"content": "x"}], ["thinking", "text"], "x", "hm <"),
        ([{"content": "<"}, {"reasoning": "r"}], KINDS, "<", "r"),
        ([{"reasoning": "<think>"}, {"content": "x"}], ["text"], "x", ""),
        ([{"content": "<t"}, {"reasoning": "r"}, {"content": "<think>x"}], [*KINDS, "text"], "<t<think>x", "r"),
        ([{"content": "\n"}, {"reasoning": "r"}, {"content": "<think>s</think>x"}], [*KINDS, "text"], "\nx", "rs"),
    ],
)  # fmt: skip
def test_what_was_held_back_keeps_its_place(deltas: list[Json], kinds: list[str], text: str, reasoning: str) -> None:
    seen = _qwq(*deltas)

    assert (seen.kinds, seen.text, seen.reasoning) == (kinds, text, reasoning)


def test_servers_without_ids_name_their_model_on_each_chunk() -> None:
    seen = _qwq({"content": "<think>a"}, {"content": "b"}, {"content": "</think>c"}, id="")

    assert (seen.reasoning, seen.text) == ("ab", "c")


def test_a_model_that_is_named_after_reasoning_changes_nothing() -> None:
    nameless = {**chunk({"reasoning": "a"}), "model": "", "id": ""}

    assert openai(nameless, {**chunk({"content": "<think>b"}), "model": "qwq"}, chunk(None, "stop")).text == "<think>b"

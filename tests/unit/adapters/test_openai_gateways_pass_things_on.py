"""Gateways between a client and other providers' models: what they pass on, and how. Hand-written."""

import json

import pytest

from conformance.recorded import Seen
from runwire.adapters import adapter
from runwire_schemas.raw import Failed, ThinkingBlock
from unit.adapters.saying import Json, chunk, openai, run, sse

END = chunk(None, "stop")


def _kept(seen: Seen) -> list[Json]:
    return [{key: value for key, value in one.items() if key != "provider"} for one in seen.beside("raw")]


def test_litellm_says_reasoning_three_times() -> None:
    def delta(text: str, signature: str | None = None) -> Json:
        blocks = [{"type": "thinking", "thinking": text, **({"signature": signature} if signature else {})}]
        said = {"reasoning_content": text} if text else {}
        return chunk({**said, "thinking_blocks": blocks, "provider_specific_fields": {"thinking_blocks": blocks}})

    seen = openai(delta("I thi"), delta("nk"), delta("", "SIG"), chunk({"content": "Yes"}), END, END)

    assert (seen.thinking, seen.text) == ([ThinkingBlock(text="I think", signature="SIG")], "Yes")
    assert [kept["delta"] for kept in seen.beside("raw")] == [{"reasoning_details": [{"type": "thinking"}]}]


def test_litellm_may_have_reasoning_only_in_the_providers_fields() -> None:
    blocks = [{"type": "redacted_thinking", "data": "AAAA"}, {"type": "thinking", "thinking": "hm"}]

    seen = openai(chunk({"content": "", "provider_specific_fields": {"thinking_blocks": blocks, "mood": "calm"}}), END)

    assert seen.thinking == [ThinkingBlock(text="", redacted="AAAA"), ThinkingBlock(text="hm")]
    assert {"delta": {"provider_specific_fields": {"mood": "calm"}}} in _kept(seen)


def test_litellm_passes_anthropics_citations_on() -> None:
    citation = {"type": "web_search_result_location", "url": "https://a", "title": "A", "cited_text": "x"}

    seen = openai(
        chunk({"content": "", "provider_specific_fields": {"citation": citation}}), chunk({"content": "x"}, "stop")
    )

    assert [(one["url"], one["title"]) for one in seen.beside("source")] == [("https://a", "A")]
    assert seen.beside("raw") == []


def test_envoy_passes_bedrocks_reasoning_on() -> None:
    said: list[Json] = [{"text": "I thi"}, {"text": "nk"}, {"signature": "SIG"}, {"redactedContent": "AAAA"}]

    seen = openai(*(chunk({"reasoning_content": piece}) for piece in said), chunk({"content": "Yes"}, "stop"))

    assert seen.thinking == [ThinkingBlock(text="I think", signature="SIG"), ThinkingBlock(text="", redacted="AAAA")]


def test_members_of_a_reasoning_detail_that_are_not_known_are_kept() -> None:
    detail = {"type": "reasoning.text", "text": "hm", "index": 0, "mood": "calm"}

    seen = openai(chunk({"reasoning": "hm", "reasoning_details": [detail]}), END)

    assert (seen.reasoning, _kept(seen)) == ("hm", [{"delta": {"reasoning_details": [{"mood": "calm"}]}}])


def test_openrouter_comments_while_it_waits_and_ends_with_an_error() -> None:
    error = {"code": 502, "message": "Provider disconnected", "metadata": {"provider_name": "x"}}

    seen = openai(
        ": OPENROUTER PROCESSING\n\n",
        chunk({"content": "Hi"}),
        ": OPENROUTER PROCESSING\n\n",
        {**chunk({"content": ""}, "error"), "provider": "x", "error": error},
    )

    assert (seen.text, seen.failure) == ("Hi", "Provider disconnected")
    assert isinstance(seen.reason, Failed)
    assert (seen.reason.failure.status, seen.reason.failure.retryable, seen.reason.raw) == (502, True, "error")


def test_openrouter_sends_images_beside_the_text() -> None:
    image = {"type": "image_url", "index": 0, "image_url": {"url": "data:image/png;base64,AAAA"}}

    seen = openai(
        chunk({"content": "Here:"}), chunk({"content": "", "images": [image]}), chunk({"content": "Done."}), END
    )

    assert (seen.kinds, seen.text) == (["text", "image", "text"], "Here:Done.")


@pytest.mark.parametrize("delta", [{"role": "assistant", "content": ""}, {}, None])
def test_perplexity_answers_whole_beside_a_delta_that_says_nothing(delta: Json | None) -> None:
    whole = {"message": {"role": "assistant", "content": "Yes"}, "delta": delta}

    seen = openai(chunk(None, "stop", choice=whole), done=False)

    assert (seen.text, seen.finish) == ("Yes", "stop")


def test_a_message_that_grows_beside_its_deltas_is_not_taken_twice() -> None:
    def said(new: str, all_of_it: str, finish: str | None = None) -> Json:
        return chunk({"content": new}, finish, choice={"message": {"content": all_of_it}})

    assert openai(said("", ""), said("Y", "Y"), said("", "Y"), said("es", "Yes"), said("", "Yes", "stop")).text == "Yes"
    assert openai(said("Yes", "Yes", "stop")).text == "Yes"


@pytest.mark.parametrize("finish", ["error", None])
def test_an_error_may_lie_in_the_choice(finish: str | None) -> None:
    error = {"code": 502, "message": "Provider returned error", "metadata": {"provider_name": "x"}}

    seen = openai(chunk({"content": "a"}), chunk({"content": ""}, finish, choice={"error": error}))

    assert isinstance(seen.reason, Failed)
    assert (seen.reason.failure.message, seen.reason.failure.status) == ("Provider returned error", 502)
    assert _kept(seen) == [{"error": error}]


def test_an_error_in_another_choice_is_not_ours() -> None:
    other = chunk(None, "error", choice={"index": 1, "error": {"code": 502, "message": "gone"}})

    assert openai(chunk({"content": "a"}), other, END).finish == "stop"
    assert openai(chunk({"content": "a"}), other, END, choice=1).failure == "gone"


def test_what_only_a_message_beside_its_deltas_has_is_a_fact_once() -> None:
    def said(new: str, all_of_it: str, steps: int) -> Json:
        message = {
            "role": "assistant",
            "content": all_of_it,
            "reasoning_steps": [{"thought": "t"}] * steps,
            "nil": None,
        }
        return chunk({"content": new, "tone": "calm"}, choice={"message": {**message, "tone": "calm"}})

    seen = openai(said("Y", "Y", 1), said("es", "Yes", 2), END)

    facts = seen.beside("response-metadata")[-1]["providerMetadata"]["openai-chat"]
    assert facts["message"] == {"reasoning_steps": [{"thought": "t"}] * 2}
    assert (seen.text, _kept(seen)) == ("Yes", [{"delta": {"tone": "calm"}}] * 2)


def test_a_message_that_only_repeats_is_no_fact() -> None:
    message = {"role": "assistant", "content": "Yes", "tool_calls": None, "refusal": "", "graph_data": {"a": None}}

    seen = openai(chunk({"content": "Yes"}, choice={"message": message}), END)

    assert [said.keys() for said in seen.beside("response-metadata")] == [{"id", "modelId", "timestamp"}]


def test_annotations_of_every_delta_are_sources_once() -> None:
    cited = {"type": "url_citation", "url_citation": {"url": "https://example.com", "title": "T"}}

    seen = openai(
        chunk({"content": "a", "annotations": [cited]}), chunk({"annotations": [cited, "https://b.example"]}), END
    )

    assert [(said["url"], said["title"]) for said in seen.beside("source")] == [
        ("https://example.com", "T"),
        ("https://b.example", ""),
    ]
    assert _kept(seen) == []


@pytest.mark.parametrize(
    "name", ["prompt_progress", "perf_metrics", "usage_breakdown", "stats", "model_info", "runtime"]
)
def test_facts_that_grow_are_kept_once_as_they_were_last(name: str) -> None:
    seen = openai({**chunk({"content": "a"}), name: {"n": 1}}, {**chunk(), name: {"n": 2}}, END)

    assert seen.beside("response-metadata")[-1]["providerMetadata"]["openai-chat"] == {name: {"n": 2}}
    assert _kept(seen) == []


def test_as_many_kinds_of_metadata_as_are_remembered_are_passed_on_once() -> None:
    event = {**chunk({"content": "a"}), **{f"fact{n}": n for n in range(70)}}

    names = [next(iter(kept["chunk"])) for kept in _kept(openai(event, event, END))]

    # The 65th and later ones are passed on whenever they come.
    assert [name for name in dict.fromkeys(names) if names.count(name) == 2] == [f"fact{n}" for n in range(64, 70)]
    assert len(names) == 76


def test_metadata_is_passed_on_when_it_changes_and_says_something() -> None:
    values = ["a", "a", "b", "", None, "b", "a" * 5000, "a" * 5000, "a" * 4999 + "b"]
    many = {f"fact{n}": n for n in range(64)}

    seen = openai(*({**chunk(), **many, "fact0": value} for value in values), END)

    kept = [said["chunk"]["fact0"] for said in _kept(seen) if "fact0" in said["chunk"]]
    assert kept == ["a", "b", "a" * 5000, "a" * 4999 + "b"]


def test_filter_results_are_passed_on_when_they_change_and_say_something() -> None:
    values = [None, {}, {"hate": 0}, {"hate": 0}, {}, {"hate": 0}]

    seen = openai(*(chunk(choice={"content_filter_results": value}) for value in values), END)

    assert _kept(seen) == [{"choice": {"content_filter_results": {"hate": 0}}}] * 2


def test_what_another_choice_has_beside_is_not_ours() -> None:
    seen = openai(chunk({"content": "a"}), chunk({"tone": "calm"}, choice={"index": 1, "mood": "x"}), END)

    assert _kept(seen) == []


@pytest.mark.parametrize(
    ("url", "source"),
    [
        ("data:image/png;base64,AAAA", ("image/png", "data", "AAAA")),
        ("https://example.com/a.png", ("image/*", "url", "https://example.com/a.png")),
        ("https://example.com/a;base64,b", ("image/*", "url", "https://example.com/a;base64,b")),
        ("data:image/svg+xml,%3Csvg/%3E", ("image/*", "url", "data:image/svg+xml,%3Csvg/%3E")),
    ],
)
def test_an_image_is_its_data_or_its_address(url: str, source: tuple[str, str, str]) -> None:
    body = sse(chunk({"images": [{"type": "image_url", "image_url": {"url": url}}]}), END)

    ends = [json.loads(said) for _, said in run(adapter("openai-chat"), body) if b'"block-end"' in said]

    media_type, name, value = source
    assert [end["block"] for end in ends] == [{"kind": "image", "mediaType": media_type, name: value}]

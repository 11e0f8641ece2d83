"""What Responses says beside text and tools: kept, once, and in its place."""

import json
from typing import Any

import pytest

from unit.adapters.responding import (
    added,
    answered,
    created,
    done,
    ended,
    event,
    message,
    responses,
    so_far,
    text,
    text_done,
)
from unit.adapters.saying import Json

WEB = {"type": "url_citation", "url": "https://example.org/", "title": "Example", "start_index": 0, "end_index": 5}


def annotated(annotation: Any) -> Json:
    where = {"item_id": "msg-1", "output_index": 0, "content_index": 0, "annotation_index": 0}
    return event("output_text.annotation.added", annotation=annotation, **where)


def facts(*events: Json | str) -> Any:
    return responses(*events).beside("response-metadata")[-1]["providerMetadata"]["openai-responses"]


def test_a_citation_is_a_source_once() -> None:
    reordered = dict(reversed(WEB.items()))
    whole = message({"type": "output_text", "text": "Hello", "annotations": [reordered]})
    seen = responses(created(), added(message()), text("Hello"), annotated(WEB), done(whole), ended(whole))

    assert [(source["url"], source["title"]) for source in seen.beside("source")] == [
        ("https://example.org/", "Example")
    ]


def test_each_place_that_cites_a_page_is_a_source() -> None:
    seen = answered(text("Hello"), annotated(WEB), annotated({**WEB, "start_index": 3}))

    assert len(seen.beside("source")) == 2


def test_a_citation_that_only_the_finished_item_has_is_a_source() -> None:
    whole = message({"type": "output_text", "text": "Hello", "annotations": [WEB]})

    assert len(answered(done(whole)).beside("source")) == 1


def test_a_cited_file_is_a_document() -> None:
    file = {"type": "file_citation", "file_id": "f", "filename": "ai.pdf", "index": 3}
    [source] = answered(text("Hello"), annotated(file)).beside("source")

    assert (source["sourceType"], source["title"]) == ("document", "ai.pdf")
    assert source["providerMetadata"] == {"openai-responses": file}


def test_a_citation_may_be_nested_as_in_chat() -> None:
    nested = {"type": "url_citation", "url_citation": {"url": "https://example.org/", "title": "Example"}}

    assert [source["url"] for source in answered(annotated(nested)).beside("source")] == ["https://example.org/"]


def test_a_citation_that_is_none_is_kept() -> None:
    assert [raw["event"]["annotation"] for raw in answered(annotated("x")).beside("raw")] == ["x"]


def test_a_refusal_is_text_and_said_to_be_one() -> None:
    part = {"type": "refusal", "refusal": "No."}
    where = {"item_id": "msg-1", "output_index": 0, "content_index": 0}
    seen = responses(
        created(), added(message()), event("content_part.added", part={"type": "refusal", "refusal": ""}, **where),
        event("refusal.delta", delta="N", **where), event("refusal.delta", delta="o", **where),
        event("refusal.done", refusal="No.", **where), event("content_part.done", part=part, **where),
        done(message(part)), ended(message(part)),
    )  # fmt: skip

    assert (seen.text, seen.finish) == ("No.", "stop")
    assert [raw["part"] for raw in seen.beside("raw")] == [{"type": "refusal"}]


def test_log_probabilities_are_kept_as_they_come() -> None:
    one, two = ({"token": token, "logprob": -0.5} for token in ("Hel", "lo"))
    seen = answered(
        added(message()),
        text("Hel", logprobs=[one]),
        text("lo", logprobs=[two]),
        text_done("Hello", logprobs=[one, two]),
        done(message({"type": "output_text", "text": "Hello", "logprobs": [one, two]})),
    )

    assert [raw["logprobs"] for raw in seen.beside("raw")] == [[one], [two]]


def test_equal_log_probabilities_of_two_deltas_are_both_kept() -> None:
    one = {"token": "a", "logprob": -0.5}

    assert len(answered(text("a", logprobs=[one]), text("a", logprobs=[one])).beside("raw")) == 2


def test_log_probabilities_that_only_the_done_event_has_are_kept() -> None:
    one = {"token": "Hello", "logprob": -0.5}

    assert [raw["logprobs"] for raw in answered(text("Hello"), text_done("Hello", logprobs=[one])).beside("raw")] == [
        [one]
    ]


def test_a_phase_comes_before_its_text() -> None:
    seen = responses(
        created(),
        added(message(phase="commentary")),
        text("Hello"),
        done(message("Hello", phase="commentary")),
        ended(),
    )

    assert [raw["item"] for raw in seen.beside("raw")] == [{"type": "message", "id": "msg-1", "phase": "commentary"}]
    first = so_far(created(), added(message(phase="commentary")), text("H"), done(message("H", phase="final_answer")))
    assert [raw["item"]["phase"] for raw in first.beside("raw")] == ["commentary", "final_answer"]
    assert so_far(created(), done(message("H", phase="commentary"))).beside("raw") == first.beside("raw")[:1]


def test_unknown_parts_are_kept_once() -> None:
    part = {"type": "output_audio", "transcript": "Hello"}
    where = {"item_id": "msg-1", "output_index": 0, "content_index": 0}
    seen = responses(
        created(), event("content_part.done", part=part, **where), done(message(part)), ended(message(part))
    )

    assert [raw["part"] for raw in seen.beside("raw")] == [part]


def test_unknown_members_of_a_part_are_kept() -> None:
    seen = answered(done(message({"type": "output_text", "text": "Hello", "language": "en"})))

    assert [raw["part"] for raw in seen.beside("raw")] == [{"language": "en"}]


def test_unknown_members_of_a_delta_are_kept_once() -> None:
    seen = answered(text("Hel", provider="x"), text("lo", provider="x"))

    assert seen.text == "Hello"
    assert [raw["delta"] for raw in seen.beside("raw")] == [{"provider": "x"}]


@pytest.mark.parametrize(
    "strange",
    [
        event("strange", value=1),
        {"type": "codex.rate_limits", "limits": {"primary": 1}},
        event("web_search_call.completed", item_id="x", output_index=0, sources=["s"]),
        event("audio.delta", delta="UklGRg=="),
        event("output_item.added", item="x"),
        event("output_item.done", item=3),
        event("output_text.delta", delta={"text": "x"}),
        event("steer.failed", error={"message": "no", "code": "x"}),
        {"value": 1},
    ],
)
def test_unknown_events_are_kept(strange: Json) -> None:
    seen = answered(strange)

    assert [raw["event"] for raw in seen.beside("raw")] == [strange]
    assert seen.finish == "stop"


@pytest.mark.parametrize(
    "silent",
    [
        {"type": "keepalive", "sequence_number": 3},
        {"type": "ping"},
        event("output_text.delta", delta=None),
        event("output_text.done", item_id="msg-1", output_index=0),
        event("output_item.added", item=None),
        event("output_item.done", item=None),
        event("content_part.added", item_id="msg-1", output_index=0),
        event("content_part.done", item_id="msg-1", output_index=0),
        event("web_search_call.searching", item_id="x", output_index=0, sequence_number=1),
        event("mcp_call.in_progress", item_id="x", output_index=0),
        event("code_interpreter_call.interpreting", item_id="x", output_index=0),
        event("compaction.compacting", item_id="x", output_index=0),
    ],
)
def test_events_that_say_nothing_are_passed_over(silent: Json) -> None:
    assert answered(silent).agent == answered().agent


@pytest.mark.parametrize("value", ["1", '"x"', "[1]"])
def test_what_is_no_event_is_kept(value: str) -> None:
    assert len(answered(f"data: {value}\n\n").beside("raw")) == 1
    assert answered("data: null\n\n").beside("raw") == []


def test_what_a_response_says_of_itself_is_kept_and_what_it_repeats_is_not() -> None:
    end = ended(
        tools=[{"type": "function"}], instructions="Be kind.", service_tier="default", metadata={}, completed_at=1
    )

    said = facts(created(), end)

    assert (said["service_tier"], said["completed_at"]) == ("default", 1)
    assert not {"tools", "instructions", "metadata", "status"} & said.keys()


def test_facts_beside_the_response_are_kept() -> None:
    assert facts(created(), {**ended(), "copilot_usage": {"total": 1}})["copilot_usage"] == {"total": 1}


def test_a_model_that_is_named_otherwise_at_the_end_is_a_fact() -> None:
    assert facts(created(), ended(model="m-2024"))["model"] == "m-2024"


def test_who_answered_and_when_is_said_first() -> None:
    first = responses(created(created_at=1700000000.0), ended()).beside("response-metadata")[0]

    assert first == {"id": "resp-1", "modelId": "m", "timestamp": "2023-11-14T22:13:20Z"}


def test_a_stream_without_a_beginning_is_named_by_its_end() -> None:
    assert responses(text("Hello"), ended()).beside("response-metadata")[0]["id"] == "resp-1"


def test_a_refusal_is_said_to_be_one_however_it_comes() -> None:
    part = {"type": "refusal", "refusal": "No."}
    where = {"item_id": "msg-1", "output_index": 0, "content_index": 0}
    by_delta = answered(event("refusal.delta", delta="No.", **where))
    by_text = answered(event("refusal.done", refusal="No.", **where))
    by_part = answered(event("content_part.done", part=part, **where))
    by_item = answered(done(message(part)))

    for seen in (by_delta, by_text, by_part, by_item):
        assert (seen.text, [raw["part"] for raw in seen.beside("raw")]) == ("No.", [{"type": "refusal"}])


def test_each_message_that_refuses_is_said_to() -> None:
    part = {"type": "refusal", "refusal": "No."}

    assert len(answered(done(message(part)), done(message(part, id="m"), 1)).beside("raw")) == 2


def test_what_a_part_holds_is_kept_though_its_item_never_ends() -> None:
    part = {"type": "output_text", "text": "Hello", "annotations": [WEB], "logprobs": [{"token": "Hello"}]}
    where = {"item_id": "msg-1", "output_index": 0, "content_index": 0}
    seen = responses(created(), event("content_part.done", part=part, **where))

    assert len(seen.beside("source")) == 1
    assert [raw["logprobs"] for raw in seen.beside("raw")] == [[{"token": "Hello"}]]


def test_an_unknown_part_may_be_announced() -> None:
    where = {"item_id": "msg-1", "output_index": 0, "content_index": 0}

    assert answered(event("content_part.added", part={"type": "output_audio"}, **where)).finish == "stop"
    assert answered(event("content_part.added", part=3, **where)).finish == "stop"


def test_an_unusual_state_of_a_message_is_kept() -> None:
    assert [raw["item"]["status"] for raw in answered(done(message("Hello", status="blocked"))).beside("raw")] == [
        "blocked"
    ]


def test_a_message_without_an_id_keeps_its_phase() -> None:
    item = message("Hello", phase="commentary")
    del item["id"]

    assert [raw["item"] for raw in answered(done(item)).beside("raw")] == [{"type": "message", "phase": "commentary"}]


def test_what_is_null_is_not_kept() -> None:
    assert answered(done(message("Hello", phase=None))).beside("raw") == []


def test_a_delta_of_unusual_shape_keeps_its_log_probabilities() -> None:
    seen = answered(text("Hi", logprobs=[{"token": "Hi"}], strange=1))

    assert [raw["logprobs"] for raw in seen.beside("raw") if "logprobs" in raw] == [[{"token": "Hi"}]]


def test_the_facts_are_the_responses_own_and_no_more() -> None:
    end: Json = {**ended(background=False), "sequence_number": 9}

    assert facts(created(), end) == {"background": False, "usage": end["response"]["usage"]}


def test_a_response_that_was_not_streamed_has_the_same_facts() -> None:
    whole: Json = {**ended(background=False, tools=[{"type": "function"}])["response"], "created_at": 1700000000}
    first, last = responses(json.dumps(whole)).beside("response-metadata")

    assert (first["id"], first["modelId"]) == ("resp-1", "m")
    assert last["providerMetadata"]["openai-responses"] == {"background": False, "usage": whole["usage"]}


def test_a_response_without_an_id_has_its_model_as_a_fact() -> None:
    seen = responses(created(id=""), event("in_progress", response={"id": "", "model": "m"}), ended(id=""))

    [said] = seen.beside("response-metadata")
    assert said["providerMetadata"]["openai-responses"]["model"] == "m"


def test_counts_that_are_null_are_no_fact() -> None:
    assert "usage" not in facts(created(), text("x"), ended(state="failed", usage=None, background=False))

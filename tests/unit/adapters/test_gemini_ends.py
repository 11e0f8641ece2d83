"""How Gemini's responses end, what they count, and what lies beside their parts."""

import json
from typing import Any

import pytest

from conformance.recorded import Seen
from runwire.adapters import adapter, choices
from runwire_schemas.raw import Aborted, Failed, Usage
from unit.adapters.generating import COUNTS, body, call, end, event, gemini, metadata, raws, text, thought
from unit.adapters.saying import Json, accepted, run

RATINGS: list[Json] = [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW", "probabilityScore": 0.2}]


def _ended(*events: Json | str) -> Seen:
    """Without the usual end. Usage may be missing, so the grammar is not asked."""
    return Seen(run(adapter("gemini"), body(*events)))


# Ends


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "max_tokens"),
        ("CONTINUATION", "max_tokens"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("LANGUAGE", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("SPII", "content_filter"),
        ("MODEL_ARMOR", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("IMAGE_PROHIBITED_CONTENT", "content_filter"),
        ("IMAGE_RECITATION", "content_filter"),
        ("OTHER", "error"),
        ("IMAGE_OTHER", "error"),
        ("NO_IMAGE", "error"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("MALFORMED_RESPONSE", "error"),
        ("UNEXPECTED_TOOL_CALL", "error"),
        ("TOO_MANY_TOOL_CALLS", "error"),
        ("MISSING_THOUGHT_SIGNATURE", "error"),
        ("FINISH_REASON_UNSPECIFIED", "stop"),
        ("FAKE_ENUM", "stop"),
        (1, "stop"),
        (2, "max_tokens"),
        (3, "content_filter"),
        (4, "content_filter"),
        (5, "error"),
        (6, "content_filter"),
        (10, "error"),
        (11, "content_filter"),
        (99, "stop"),
        ("9" * 5000, "stop"),
    ],
)
def test_every_reason_has_a_kind_and_is_kept(word: str | int, kind: str) -> None:
    seen = gemini(event(text("x")), last=end(word))

    assert (seen.finish, seen.text, seen.usage) == (kind, "x", Usage(input_tokens=5, output_tokens=7))
    assert seen.reason is not None
    assert seen.reason.raw == str(word)


def test_a_reason_that_is_a_failure_says_why() -> None:
    plain = gemini(last=end("MALFORMED_FUNCTION_CALL"))
    worded = gemini(
        last=event(finish="MALFORMED_FUNCTION_CALL", usageMetadata=COUNTS, candidate={"finishMessage": "f("})
    )

    for seen in (plain, worded):
        assert isinstance(seen.reason, Failed)
        assert (seen.reason.failure.code, seen.reason.failure.retryable) == ("MALFORMED_FUNCTION_CALL", None)
    assert (plain.failure, worded.failure) == ("the model wrote a function call that the provider could not read", "f(")
    assert metadata(worded)["finishMessage"] == "f("


def test_what_follows_a_first_stop_is_not_lost() -> None:
    seen = gemini(event(text("a"), finish="STOP"), event(text("b")), event(text("c")), last=end("MAX_TOKENS"))

    assert (seen.text, seen.finish, seen.kinds) == ("abc", "max_tokens", ["text"])


def test_the_last_reason_counts() -> None:
    failed = event(finish="OTHER", candidate={"finishMessage": "why"})
    assert gemini(failed, event(candidate={"odd": 1}), last={"usageMetadata": COUNTS}).failure == "why"
    assert gemini(event(text("a"), finish="STOP"), last=end("RECITATION")).finish == "content_filter"
    assert gemini(event(text("a"), finish="STOP"), event(text("b")), last={"usageMetadata": COUNTS}).finish == "stop"


def test_a_body_without_a_reason_was_cut_off() -> None:
    for rest in ("", "data: [DONE]\n\n", 'data: {"candi'):
        seen = _ended(event(text("Hi"), usageMetadata=COUNTS), rest)
        assert (seen.text, seen.finish, seen.usage) == ("Hi", "aborted", Usage(input_tokens=5, output_tokens=7))
        assert isinstance(seen.reason, Aborted)
        assert "cut off" in seen.failure
    nothings: list[object] = [None, 0, "", {}, []]
    assert [_ended(event(finish=nothing)).finish for nothing in nothings] == ["aborted"] * 5
    assert _ended().finish == "aborted"


def test_done_ends_what_has_a_reason() -> None:
    assert gemini(event(text("a")), "data: [DONE]\n\n", event(text("b"))).text == "ab"
    assert gemini(end(), "data: [DONE]\n\n", event(text("late")), last=end()).text == ""
    blocked = _ended(
        {"promptFeedback": {"blockReason": "SAFETY"}}, "data: [DONE]\n\n", event(text("late"), finish="STOP")
    )
    assert (blocked.text, blocked.finish) == ("", "content_filter")


@pytest.mark.parametrize("reason", ["SAFETY", "OTHER", "JAILBREAK", 1])
def test_a_blocked_prompt_has_no_candidates(reason: str | int) -> None:
    feedback = {"blockReason": reason, "safetyRatings": RATINGS}
    blocked = {"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 5}}

    seen = accepted("gemini", body(blocked, {}))

    assert (seen.finish, seen.usage, seen.kinds) == ("content_filter", Usage(input_tokens=5, output_tokens=0), [])
    assert seen.reason is not None
    assert seen.reason.raw == str(reason)
    assert metadata(seen)["promptFeedback"] == feedback


def test_why_there_is_nothing_is_kept() -> None:
    """Facts alone open no step; without a report of usage there is nothing else."""
    assert raws(_ended({"promptFeedback": {"blockReason": "SAFETY"}})) == [
        {"promptFeedback": {"blockReason": "SAFETY"}}
    ]
    assert raws(_ended(event(finish="SAFETY", candidate={"safetyRatings": RATINGS}))) == [{"safetyRatings": RATINGS}]


def test_facts_about_an_answer_that_was_cut_are_facts() -> None:
    seen = _ended(event(text("x"), candidate={"safetyRatings": RATINGS}))

    assert (raws(seen), metadata(seen)) == ([], {"safetyRatings": RATINGS})


def test_feedback_without_a_reason_blocks_nothing() -> None:
    seen = gemini(event(text("x"), promptFeedback={"safetyRatings": RATINGS}))

    assert (seen.finish, metadata(seen)["promptFeedback"]) == ("stop", {"safetyRatings": RATINGS})


# Errors


@pytest.mark.parametrize(
    ("whole", "code", "status", "retryable"),
    [
        (b'data: {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}\n\n', "UNAVAILABLE", 503, True),
        (b'[{"error": {"code": 429, "message": "busy", "status": "ABORTED"}}]', "ABORTED", 429, True),
        (b'{\n "error": {\n "code": 404,\n "message": "busy",\n "status": "NOT_FOUND"\n }\n}', "NOT_FOUND", 404, False),
        (b'data: {"error": {"message": "busy", "status": "DEADLINE_EXCEEDED"}}\n\n', "DEADLINE_EXCEEDED", 504, True),
        (b'data: {"error": {"message": "busy", "status": "NEW_WORD"}}\n\n', "NEW_WORD", None, None),
        (b'data: {"error": {"code": 500, "message": "busy"}}\n\n', "500", 500, True),
        (b'data: {"error": "busy"}\n\n', None, None, None),
        (b'data: [{"error": {"code": 500, "message": "busy"}}]\n\n', "500", 500, True),
        (b'event: error\ndata: {"code": 500, "message": "busy"}\n\n', "500", 500, True),
        (b'event: error\ndata: "busy"\n\n', None, None, None),
        (b'event: error\ndata: {"error": {"code": 500, "message": "busy"}}\n\n', "500", 500, True),
    ],
)  # fmt: skip
def test_errors_of_every_shape(whole: bytes, code: str | None, status: int | None, retryable: bool | None) -> None:
    seen = accepted("gemini", whole)

    assert isinstance(seen.reason, Failed)
    failure = seen.reason.failure
    assert (failure.message, failure.code, failure.status, failure.retryable) == ("busy", code, status, retryable)


def test_an_event_that_is_called_an_error_is_one() -> None:
    assert accepted("gemini", b'event: error\ndata: {"reason": "down"}\n\n').failure == '{"reason":"down"}'


def test_an_error_after_text_keeps_it() -> None:
    error = '{\n  "error": {\n    "code": 499,\n    "message": "gone",\n    "details": [{"detail": "x"}]\n  }\n}\n'

    seen = accepted("gemini", body(event(text("Hi"), finish="STOP"), error))

    assert (seen.text, seen.finish, seen.failure) == ("Hi", "error", "gone")
    assert raws(seen) == [{"error": {"code": 499, "message": "gone", "details": [{"detail": "x"}]}}]


def test_an_error_may_stand_beside_candidates() -> None:
    nothings: list[object] = [None, {}, ""]
    seen = gemini(event(text("Hi"), error={"message": "gone"}))

    assert (seen.text, seen.failure) == ("Hi", "gone")
    assert [gemini(event(text("Hi"), error=nothing)).finish for nothing in nothings] == ["stop"] * 3


# Framing


def test_an_array_of_responses_is_read_as_its_elements() -> None:
    whole = json.dumps([event(text("a")), event(text("b")), end()], indent=2).encode()

    assert accepted("gemini", whole).text == "ab"
    assert accepted("gemini", body(json.dumps([event(text("a")), end()]).join(("data: ", "\n\n")))).text == "a"


def test_an_answer_that_was_not_streamed_is_read_all_the_same() -> None:
    whole = json.dumps(event(text("a"), call("f", {"n": 1}), finish="STOP", usageMetadata=COUNTS), indent=1).encode()

    seen = accepted("gemini", whole)

    assert (seen.text, seen.tools[0][1:], seen.finish) == ("a", ("f", '{"n":1}'), "tool_calls")


def test_a_response_may_lie_in_an_envelope() -> None:
    seen = accepted("gemini", body(*({"response": one, "traceId": "t"} for one in (event(text("a")), end()))))

    assert (seen.text, seen.finish, metadata(seen)) == ("a", "stop", {"traceId": "t", "usage": COUNTS})
    assert raws(gemini(event(text("a"), response={"b": 1}), {"response": 7})) == [{"response": {"b": 1}}]


def test_what_is_no_object_is_kept() -> None:
    seen = gemini("data: 7\n\n", "data: null\n\n", "data: [7]\n\n", "data: []\n\n", event(text("a")))

    assert (seen.text, raws(seen)) == ("a", [{"value": 7}, {"value": [7]}])


def test_candidates_that_are_no_objects_are_passed_over() -> None:
    assert gemini({"candidates": [7, None]}, {"candidates": 7}, event(text("a"))).text == "a"


# Who answers


def test_who_answers_is_said_once() -> None:
    seen = gemini(event(text("a"), createTime="2026-01-02T03:04:05Z"), event(text("b"), modelVersion="other"))

    assert seen.beside("response-metadata")[:-1] == [{"id": "r1", "modelId": "m", "timestamp": "2026-01-02T03:04:05Z"}]


def test_who_answers_may_be_known_later() -> None:
    late: Json = {"candidates": [{"content": {"parts": [text("b")]}}], "responseId": "r2", "odd": 1}

    seen = accepted("gemini", body({"candidates": [], "modelVersion": "m"}, late, {**end(), "responseId": "r2"}))

    assert seen.beside("response-metadata")[:-1] == [{"modelId": "m"}, {"id": "r2"}]


# Candidates


def test_one_of_several_candidates_is_taken() -> None:
    def both(first: Json, second: Json) -> Json:
        whole = event(first)
        return {**whole, "candidates": [*whole["candidates"], {"index": 1, "content": {"parts": [second]}}]}

    events = [both(text("a"), text("x")), both(call("f", {}), thought("y"))]
    last = event(finish="STOP", usageMetadata=COUNTS)
    last["candidates"].append({"index": 1, "finishReason": "MAX_TOKENS", "odd": 1})

    first, second = (gemini(*events, last=last, choice=choice) for choice in (0, 1))

    assert (first.text, first.reasoning, first.finish) == ("a", "", "tool_calls")
    assert (second.text, second.reasoning, second.finish) == ("x", "y", "max_tokens")
    assert ("odd" in metadata(first), "odd" in metadata(second)) == (False, True)
    assert first.usage == second.usage


def test_a_candidate_without_an_index_is_the_first() -> None:
    bare = {"candidates": [{"content": {"parts": [text("a")]}}]}

    assert gemini(bare).text == "a"
    seen = gemini(bare, last={"candidates": [{"finishReason": "STOP"}]}, choice=1)
    assert (seen.finish, seen.failure) == ("error", "the response has no choice 1")


@pytest.mark.parametrize("more", [{}, {"odd": 1}])
def test_every_candidate_may_have_a_call_of_its_own(more: Json) -> None:
    several = choices("gemini")
    whole = end()
    whole["candidates"] = [
        {"index": index, "content": {"parts": [text(str(index))]}, "finishReason": "STOP", **more} for index in (0, 1)
    ]

    chosen = several.feed(body(whole)) + several.close()

    assert [Seen(one.emitted for one in chosen if one.choice == choice).text for choice in (0, 1)] == ["0", "1"]


# Usage


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (COUNTS, Usage(input_tokens=5, output_tokens=7)),
        # Thoughts lie beside the candidates' tokens.
        (
            {**COUNTS, "thoughtsTokenCount": 3, "totalTokenCount": 15},
            Usage(input_tokens=5, output_tokens=10, reasoning_tokens=3),
        ),
        # A server that counts them in says so by its total.
        ({**COUNTS, "thoughtsTokenCount": 3}, Usage(input_tokens=5, output_tokens=7, reasoning_tokens=3)),
        # Cached tokens are a part of the prompt.
        (
            {**COUNTS, "cachedContentTokenCount": 4},
            Usage(input_tokens=1, output_tokens=7, cache_read_tokens=4),
        ),
        (
            {**COUNTS, "cachedContentTokenCount": 9},
            Usage(input_tokens=0, output_tokens=7, cache_read_tokens=9),
        ),
        # The prompts of tools are input.
        (
            {**COUNTS, "toolUsePromptTokenCount": 20, "totalTokenCount": 32},
            Usage(input_tokens=25, output_tokens=7),
        ),
        ({**COUNTS, "toolUsePromptTokenCount": 3}, Usage(input_tokens=5, output_tokens=7)),
        (
            {**COUNTS, "toolUsePromptTokenCount": 3, "thoughtsTokenCount": 2},
            Usage(input_tokens=5, output_tokens=7, reasoning_tokens=2),
        ),
        # No total, or one that no reading gives: they lie beside, as in all that was recorded.
        (
            {"promptTokenCount": 5, "candidatesTokenCount": 7, "thoughtsTokenCount": 3, "toolUsePromptTokenCount": 2},
            Usage(input_tokens=7, output_tokens=10, reasoning_tokens=3),
        ),
        (
            {**COUNTS, "thoughtsTokenCount": 3, "totalTokenCount": 99},
            Usage(input_tokens=5, output_tokens=10, reasoning_tokens=3),
        ),
        (
            {**COUNTS, "toolUsePromptTokenCount": 9},
            Usage(input_tokens=14, output_tokens=7),
        ),
        # What a report leaves out is 0 if its total says so.
        ({"promptTokenCount": 5, "totalTokenCount": 5}, Usage(input_tokens=5, output_tokens=0)),
        (
            {"promptTokenCount": 5, "toolUsePromptTokenCount": 20, "totalTokenCount": 25},
            Usage(input_tokens=25, output_tokens=0),
        ),
        (
            {"promptTokenCount": 5, "thoughtsTokenCount": 3, "totalTokenCount": 8},
            Usage(input_tokens=5, output_tokens=3, reasoning_tokens=3),
        ),
        ({**COUNTS, "totalTokenCount": None, "thoughtsTokenCount": None}, Usage(input_tokens=5, output_tokens=7)),
        ({**COUNTS, "promptTokenCount": "5", "candidatesTokenCount": 7.0}, Usage(input_tokens=5, output_tokens=7)),
        ({**COUNTS, "thoughtsTokenCount": -3}, Usage(input_tokens=5, output_tokens=7)),
        ({**COUNTS, "thoughtsTokenCount": 2**60}, Usage(input_tokens=5, output_tokens=7)),
    ],
)
def test_counts_are_disjoint(said: Json, expected: Usage) -> None:
    assert gemini(event(text("x")), last=end("STOP", said)).usage == expected


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        [],
        7,
        {"trafficType": "ON_DEMAND"},
        {"candidatesTokenCount": 7, "totalTokenCount": 12},
        {"promptTokenCount": 5},
        {"promptTokenCount": 5, "totalTokenCount": 9},
        {"promptTokenCount": 5, "thoughtsTokenCount": 3},
        {"promptTokenCount": 5, "thoughtsTokenCount": 3, "totalTokenCount": 5},
        {"promptTokenCount": None, "candidatesTokenCount": 7},
    ],
)
def test_what_is_no_whole_report_makes_no_usage(said: Any) -> None:
    assert _ended(event(text("x")), end("STOP", said)).usage is None


def test_no_report_is_no_fact() -> None:
    assert metadata(gemini(event(text("x"), usageMetadata=None), event(text("y"), usageMetadata={})))["usage"] == COUNTS
    assert len(_ended(event(text("x"), usageMetadata=None), event(finish="STOP")).beside("response-metadata")) == 1


def test_the_last_report_counts() -> None:
    first = {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 30, "totalTokenCount": 41}

    seen = gemini(event(text("x"), usageMetadata=first), event(text("y"), usageMetadata=first), last=end())

    assert seen.usage == Usage(input_tokens=5, output_tokens=7)
    assert metadata(seen)["usage"] == COUNTS


def test_a_report_of_some_counts_leaves_the_others() -> None:
    said = gemini(
        event(text("x"), usageMetadata={"promptTokenCount": 5, "trafficType": "ON_DEMAND"}),
        event(text("y"), usageMetadata={"candidatesTokenCount": 6, "promptTokenCount": None}),
        event(text("z"), usageMetadata=[]),
        last=end("STOP", {"candidatesTokenCount": 7}),
    )

    assert said.usage == Usage(input_tokens=5, output_tokens=7)
    assert metadata(said)["usage"] == {"promptTokenCount": 5, "trafficType": "ON_DEMAND", "candidatesTokenCount": 7}


def test_names_of_counts_are_bounded() -> None:
    reports = [event(text("x"), usageMetadata={f"n{n}": n}) for n in range(100)]

    assert 10 < len(metadata(_ended(*reports))["usage"]) <= 65


def test_a_response_that_was_cut_reports_what_it_counted() -> None:
    nothing_yet = {"promptTokenCount": 5, "totalTokenCount": 5}

    assert _ended(event(text("x"), usageMetadata=nothing_yet)).usage is None
    assert _ended(
        event(thought("x"), usageMetadata={**nothing_yet, "thoughtsTokenCount": 2, "totalTokenCount": 7})
    ).usage


def test_whatever_ends_a_response_what_is_known_is_said() -> None:
    known = event(text("Hi"), candidate={"safetyRatings": RATINGS}, usageMetadata=COUNTS)

    for rest in ("data: nonsense\n\n", 'data: {"error": "gone"}\n\n', event(call("f", "x" * 1_100_000))):
        seen = _ended(known, rest)
        assert (seen.finish, seen.usage) == ("error", Usage(input_tokens=5, output_tokens=7)), rest
        assert metadata(seen) == {"safetyRatings": RATINGS, "usage": COUNTS}


def test_a_reason_that_is_a_failure_is_an_end() -> None:
    assert gemini(last=end("OTHER", {"promptTokenCount": 5, "totalTokenCount": 5})).usage == Usage(
        input_tokens=5, output_tokens=0
    )


def test_usage_is_required_here() -> None:
    assert adapter("gemini").usage == "required"


# What lies beside


def _beside(*reports: Json) -> Seen:
    return gemini(*(event(text("x"), candidate=report) for report in reports))


def test_sources_of_all_kinds_are_cited() -> None:
    chunks = [
        {"web": {"uri": "https://a", "title": "A", "domain": "a"}, "maps": None},
        {"retrievedContext": {"uri": "gs://b", "title": "B", "text": "…"}},
        {"retrievedContext": {"text": "only text"}},
        {"web": None, "maps": {"uri": "https://c", "title": "C", "placeId": "p"}},
        {"image": {"sourceUri": "https://d", "imageUri": "https://d.png", "title": "D"}},
        {"image": {"imageUri": "https://e.png"}},
        {"web": {"title": "no address"}},
        {"web": 7},
        {"new": {"uri": "https://n"}},
    ]

    seen = _beside({"groundingMetadata": {"groundingChunks": chunks}})

    said = seen.beside("source")
    assert [(one["sourceType"], one.get("url"), one["title"]) for one in said] == [
        ("url", "https://a", "A"),
        ("url", "gs://b", "B"),
        ("document", None, ""),
        ("url", "https://c", "C"),
        ("url", "https://d", "D"),
        ("url", "https://e.png", ""),
    ]
    assert said[0]["id"] == "r1:source:1"
    assert said[0]["providerMetadata"] == {"gemini": chunks[0]}
    assert metadata(seen)["groundingMetadata"] == {"groundingChunks": chunks}


def test_a_source_that_later_events_repeat_is_one() -> None:
    first, second, third = ({"web": {"uri": f"https://{name}"}} for name in "abc")
    unnamed, other = ({"retrievedContext": {"text": name}} for name in ("x", "y"))

    seen = _beside(
        {"groundingMetadata": {"groundingChunks": [first, unnamed]}},
        {"groundingMetadata": {"groundingChunks": [first, unnamed, second, other]}},
        {"urlContextMetadata": {"urlMetadata": [{"retrievedUrl": "https://a"}]}},
        {"citationMetadata": {"citations": [{"uri": "https://b", "title": "B"}, {"uri": "https://c"}]}},
    )

    assert [one.get("url") for one in seen.beside("source")] == ["https://a", None, "https://b", None, "https://c"]
    assert third not in metadata(seen).values()


def test_pages_that_were_read_are_sources() -> None:
    pages = [
        {"retrievedUrl": "https://a", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"},
        {"retrievedUrl": "https://b", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_ERROR"},
        {"retrievedUrl": "https://c"},
    ]

    seen = _beside({"urlContextMetadata": {"urlMetadata": pages}})

    assert [one["url"] for one in seen.beside("source")] == ["https://a", "https://c"]
    assert metadata(seen)["urlContextMetadata"] == {"urlMetadata": pages}


def test_citations_have_two_names() -> None:
    for name in ("citations", "citationSources"):
        seen = _beside(
            {"citationMetadata": {name: [{"startIndex": 1, "endIndex": 2, "uri": "https://a"}, {"license": "mit"}]}}
        )
        assert [one["url"] for one in seen.beside("source")] == ["https://a"]


def test_a_report_that_grows_is_kept_once() -> None:
    reports: list[Json] = [
        {},
        {"webSearchQueries": ["a"]},
        {"webSearchQueries": ["a"], "groundingChunks": [], "searchEntryPoint": {"renderedContent": "c"}},
        {"webSearchQueries": ["a", "b"], "groundingChunks": [{}], "searchEntryPoint": {"renderedContent": "c"}},
        {},
    ]

    seen = _beside(*({"groundingMetadata": report} for report in reports))

    assert (metadata(seen)["groundingMetadata"], raws(seen)) == (reports[3], [])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"webSearchQueries": ["a"]}, {"webSearchQueries": ["b"]}),
        ({"webSearchQueries": ["a"]}, {"webSearchQueries": []}),
        ({"webSearchQueries": ["a"]}, {"webSearchQueries": ["b", "a"]}),
        ({"webSearchQueries": ["a"]}, {"imageSearchQueries": ["a"]}),
        ({"webSearchQueries": ["a"]}, {"webSearchQueries": "a"}),
        ({"webSearchQueries": "a"}, {"webSearchQueries": ["b"]}),
        ({"webSearchQueries": ["a"]}, ["a"]),
        (["a"], {"webSearchQueries": ["a"]}),
    ],
)
def test_a_report_that_another_replaces_is_kept_beside(first: Any, second: Any) -> None:
    seen = _beside({"groundingMetadata": first}, {"groundingMetadata": second})

    assert raws(seen) == [{"groundingMetadata": first}]
    assert metadata(seen)["groundingMetadata"] == second


def test_what_is_repeated_is_kept_once() -> None:
    assert raws(_beside({"odd": [1]}, {"odd": [1]})) == []


def test_reports_of_odd_types_are_survived() -> None:
    reports: list[Json] = [
        {"groundingMetadata": {"groundingChunks": [7, {"retrievedContext": {}}]}},
        {"citationMetadata": {"citations": [7]}},
        {"urlContextMetadata": {"urlMetadata": [7]}},
        {"safetyRatings": [7]},
        {"safetyRatings": [8]},
    ]

    seen = _beside(*reports)

    assert (seen.beside("source"), metadata(seen)["safetyRatings"]) == ([], [8])


def test_ratings_that_mean_the_same_are_kept_once() -> None:
    again = [{**RATINGS[0], "probabilityScore": 0.3}]
    worse = [{**RATINGS[0], "probability": "HIGH"}]

    same, changed = (_beside({"safetyRatings": RATINGS}, {"safetyRatings": later}) for later in (again, worse))

    assert (metadata(same)["safetyRatings"], raws(same)) == (again, [])
    assert (metadata(changed)["safetyRatings"], raws(changed)) == (worse, [{"safetyRatings": RATINGS}])


def test_logprobs_are_those_of_their_event() -> None:
    said = [{"chosenCandidates": [{"token": token}]} for token in "ab"]

    seen = _beside(*({"logprobsResult": one, "avgLogprobs": n} for n, one in enumerate([said[0], said[0], said[1]])))

    assert raws(seen) == [{"logprobsResult": one} for one in said]
    assert metadata(seen)["avgLogprobs"] == 2


def test_facts_that_are_not_known_are_kept() -> None:
    seen = gemini(event(text("x"), candidate={"odd": {"a": 1}}, modelStatus={"b": 2}, empty={}), last=end(odder="c"))

    said = metadata(seen)
    assert said == {"odd": {"a": 1}, "modelStatus": {"b": 2}, "odder": "c", "usage": COUNTS}


def test_more_or_larger_facts_than_are_held_go_beside() -> None:
    many = {f"n{n}": [n] for n in range(70)}
    large = {"odd": ["x" * 300_000]}

    grown = _beside({f"n{n}": {"a": [n]} for n in range(48)}, {"n0": {"a": [0, 1]}})
    assert raws(_beside(many)) == [{f"n{n}": [n]} for n in range(48, 70)]
    assert (raws(grown), metadata(grown)["n0"]) == ([], {"a": [0, 1]})
    assert [
        kept["odd"] for kept in raws(Seen(run(adapter("gemini"), body(event(text("x"), candidate=large), end()))))
    ] == [large["odd"]]

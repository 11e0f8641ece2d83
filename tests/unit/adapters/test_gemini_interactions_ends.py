"""Gemini's interactions: how they end, what they count, and whole ones. Hand-written from the documentation."""

import json
from typing import Any

import pytest

from conformance.recorded import Seen
from runwire.adapters import adapter
from runwire_schemas.raw import Aborted, Failed, ThinkingBlock, Usage
from unit.adapters.generating import (
    FUNCTION,
    OUTPUT,
    THOUGHT,
    TOTALS,
    completed,
    created,
    happened,
    interaction,
    metadata,
    raws,
    said,
    say,
    signature,
    step,
    summary,
)
from unit.adapters.saying import Json, accepted, run, sse


def _ended(*events: Json | str) -> Seen:
    """Without the usual end. Usage may be missing, so the grammar is not asked."""
    return Seen(run(adapter("gemini-interactions"), sse(*events, done=False)))


# Ends


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("completed", "stop"),
        ("requires_action", "tool_calls"),
        ("incomplete", "max_tokens"),
        ("budget_exceeded", "max_tokens"),
        ("requires_continuation", "max_tokens"),
        ("failed", "error"),
        ("cancelled", "aborted"),
        ("something_new", "stop"),
    ],
)
def test_every_status_has_a_kind_and_is_kept(status: str, kind: str) -> None:
    seen = interaction(*say("x"), last=completed(status))

    assert (seen.text, seen.finish, seen.usage) == ("x", kind, Usage(input_tokens=5, output_tokens=7))
    assert seen.reason is not None
    assert seen.reason.raw == status


def test_no_status_is_an_end_without_the_providers_word() -> None:
    seen = accepted("gemini-interactions", sse(*say("x"), completed(None)))

    assert (seen.finish, (seen.reason and seen.reason.raw) or None) == ("stop", None)


def test_a_failure_says_what_the_provider_said() -> None:
    error = {"code": 429, "message": "busy"}
    in_step = interaction(*step(0, {**OUTPUT, "error": error}), last=completed("failed"))
    in_whole = interaction(*say("x"), last=completed("failed", error=error))
    plain = interaction(*say("x"), last=completed("failed"))

    for seen in (in_step, in_whole):
        assert isinstance(seen.reason, Failed)
        failure = seen.reason.failure
        assert (failure.message, failure.status, failure.retryable) == ("busy", 429, True)
    assert isinstance(plain.reason, Failed)
    assert (plain.failure, plain.reason.failure.code) == ("the interaction failed", "failed")
    assert raws(in_step) == [{"step": {"error": error}}]


def test_the_last_status_counts() -> None:
    def updated(**more: Any) -> Json:
        return happened("interaction.status_update", **more)

    assert _ended(created(), updated(status="failed"), updated()).finish == "error"
    assert interaction(*say("x"), updated(status="requires_action"), last=completed(None)).finish == "tool_calls"
    assert interaction(*step(0, FUNCTION), last=completed("incomplete")).finish == "max_tokens"


def test_a_failure_is_an_end_too() -> None:
    usage = {"total_input_tokens": 5, "total_tokens": 5}

    assert _ended(created(), completed("failed", usage)).usage == Usage(input_tokens=5, output_tokens=0)
    assert _ended(created(metadata={"usage": usage})).usage is None


def test_the_end_ends_the_steps() -> None:
    call = step(0, {**FUNCTION, "arguments": {"n": 1}})[:-1]
    result = step(1, {"type": "function_result", "call_id": "x", "result": 1})[:-1]

    seen = interaction(*call, *result)

    assert (seen.tools, len(seen.results), seen.finish) == ([("x", "f", '{"n":1}')], 1, "stop")


def test_an_error_of_a_step_is_no_end_by_itself() -> None:
    assert interaction(*step(0, {**OUTPUT, "error": {"message": "odd"}}), *say("x")).finish == "stop"


def test_a_body_without_its_end_was_cut_off() -> None:
    for rest in ("", "data: [DONE]\n\n", 'data: {"event_ty', happened("interaction.status_update", status="completed")):
        seen = _ended(created(), *say("Hi"), rest)
        assert (seen.text, seen.finish) == ("Hi", "aborted")
        assert isinstance(seen.reason, Aborted)
        assert "cut off" in seen.failure


@pytest.mark.parametrize(("status", "kind"), [("failed", "error"), ("cancelled", "aborted")])
def test_a_status_may_end_it_for_good(status: str, kind: str) -> None:
    updated = happened("interaction.status_update", interaction_id="v1", status=status, usage=TOTALS)

    seen = _ended(created(), *say("Hi"), updated)

    assert (seen.finish, seen.failure) == (kind, f"the interaction {'failed' if kind == 'error' else 'was cancelled'}")
    assert seen.usage == Usage(input_tokens=5, output_tokens=7)


def test_a_cancelled_interaction_ends_at_once() -> None:
    seen = _ended(created(), *say("Hi"), happened("interaction.cancelled", usage=TOTALS), *say("late"))

    assert (seen.text, seen.finish, seen.usage) == ("Hi", "aborted", Usage(input_tokens=5, output_tokens=7))


def test_what_follows_the_end_means_nothing() -> None:
    assert accepted("gemini-interactions", sse(created(), completed(), *say("late"))).text == ""


@pytest.mark.parametrize(
    ("whole", "code", "status", "retryable"),
    [
        (b'data: {"event_type": "error", "error": {"code": "internal", "message": "down"}}\n\n', "internal", 500, True),
        (b'data: {"event_type": "error", "error": {"code": 400, "message": "down"}}\n\n', "400", 400, False),
        (b'event: error\ndata: {"error": {"code": "new", "message": "down"}}\n\n', "new", None, None),
        (b'{\n"error": {"code": 404, "message": "down", "status": "NOT_FOUND"}\n}', "NOT_FOUND", 404, False),
        (b'event: error\ndata: "down"\n\n', None, None, None),
        (b'data: {"event_type": "error", "message": "down"}\n\n', None, None, None),
    ],
)  # fmt: skip
def test_errors_of_every_shape(whole: bytes, code: str | None, status: int | None, retryable: bool | None) -> None:
    seen = accepted("gemini-interactions", whole)

    assert isinstance(seen.reason, Failed)
    failure = seen.reason.failure
    assert (failure.code, failure.status, failure.retryable) == (code, status, retryable)
    assert "down" in failure.message


def test_an_error_that_says_more_is_kept_whole() -> None:
    error = {"code": "c", "message": "down", "details": [1]}

    seen = _ended(created(), *say("Hi"), happened("error", error=error))

    assert (seen.text, seen.failure, raws(seen)) == ("Hi", "down", [{"error": error}])


def test_an_error_without_words_is_one() -> None:
    assert _ended(happened("error")).finish == "error"


# Usage and facts


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (TOTALS, Usage(input_tokens=5, output_tokens=7)),
        (
            {**TOTALS, "total_thought_tokens": 3, "total_tool_use_tokens": 20, "total_tokens": 35},
            Usage(input_tokens=25, output_tokens=10, reasoning_tokens=3),
        ),
        ({**TOTALS, "total_cached_tokens": 4}, Usage(input_tokens=1, output_tokens=7, cache_read_tokens=4)),
        ({**TOTALS, "total_thought_tokens": 3}, Usage(input_tokens=5, output_tokens=7, reasoning_tokens=3)),
        ({**TOTALS, "total_thought_tokens": None}, Usage(input_tokens=5, output_tokens=7)),
        ({"total_input_tokens": 5, "total_tokens": 5}, Usage(input_tokens=5, output_tokens=0)),
        (None, None),
        ([1], None),
        ({"total_tokens": 12}, None),
    ],
)
def test_counts_are_disjoint(said: Any, expected: Usage | None) -> None:
    assert _ended(created(), *say("x"), completed(usage=said)).usage == expected


def test_the_last_report_counts_wherever_it_stands() -> None:
    early, later = ({**TOTALS, "total_output_tokens": n, "total_tokens": n + 5} for n in (1, 2))
    first = {**happened("step.delta", index=0, delta=said("a")), "metadata": {"usage": early}}
    for last in (
        {**happened("step.delta", index=0, delta=said("b")), "metadata": {"usage": later}},
        {**happened("step.delta", index=0, delta=signature("")), "metadata": {"total_usage": later, "odd": 1}},
        happened("step.stop", index=0, usage=later),
        happened("interaction.status_update", usage=later),
    ):
        seen = _ended(created(), happened("step.start", index=0, step=OUTPUT), first, last)
        assert seen.usage == Usage(input_tokens=5, output_tokens=2)
        assert metadata(seen)["usage"] == later
        assert raws(seen) == ([{"metadata": {"odd": 1}}] if "total_usage" in json.dumps(last) else [])
    assert interaction(first).usage == Usage(input_tokens=5, output_tokens=7)


def test_usage_is_required_here() -> None:
    assert adapter("gemini-interactions").usage == "required"


def test_facts_about_the_interaction_are_kept() -> None:
    last = completed(created="2026-01-01T00:00:00Z", service_tier="standard", empty="", continuation_token="T")

    seen = interaction(*say("x"), last=last)

    assert seen.beside("response-metadata")[0] == {"id": "v1", "modelId": "m"}
    assert metadata(seen) == {
        "created": "2026-01-01T00:00:00Z",
        "service_tier": "standard",
        "continuation_token": "T",
        "usage": TOTALS,
    }


def test_when_it_was_made_is_said_if_it_is_known_at_the_start() -> None:
    body = sse(created(created="2026-01-01T00:00:00Z"), created(id="v2"), *say("x"), completed())

    assert accepted("gemini-interactions", body).beside("response-metadata")[:-1] == [
        {"id": "v1", "modelId": "m", "timestamp": "2026-01-01T00:00:00Z"}
    ]


def test_who_answers_may_be_known_later() -> None:
    seen = accepted("gemini-interactions", sse(created(id=""), *say("x"), completed()))

    assert seen.beside("response-metadata")[:-1] == [{"modelId": "m"}, {"id": "v1", "modelId": "m"}]


def test_an_event_without_an_index_is_of_the_first_step() -> None:
    events = [{key: value for key, value in one.items() if key != "index"} for one in step(0, FUNCTION)]

    assert [tool.id for tool in interaction(*events).tools] == ["x"]


def test_a_stream_that_was_resumed_has_its_id_from_elsewhere() -> None:
    updated = happened("interaction.status_update", interaction_id="v1", status="in_progress")

    seen = accepted("gemini-interactions", sse(updated, updated, *say("x"), completed()))

    assert seen.beside("response-metadata")[:-1] == [{"id": "v1"}]


def test_the_place_in_the_stream_is_kept() -> None:
    events = [{**one, "event_id": f"e{n}"} for n, one in enumerate([created(), *say("x"), completed()])]

    seen = _ended(*events[:-1])

    assert (seen.text, metadata(seen)["event_id"]) == ("x", "e3")


def test_events_that_are_not_known_are_kept() -> None:
    odd: list[Any] = [happened("interaction.new", a=1), {"b": 2}]

    seen = interaction(*odd, "data: 7\n\n", "data: null\n\n", {**say("x")[1], "mood": "calm"})

    assert (seen.text, [kept.get("event", kept.get("value")) for kept in raws(seen)]) == (
        "x",
        [*odd, 7, {"mood": "calm"}],
    )


def test_the_name_of_an_event_counts_where_it_has_no_type() -> None:
    events = [created(), *say("Hi"), completed()]
    named = "".join(
        f"event: {one['event_type']}\ndata: {json.dumps({**one, 'event_type': None})}\n\n" for one in events
    )

    assert accepted("gemini-interactions", named.encode()).text == "Hi"


# Whole interactions, and the first version of the API


def test_an_interaction_that_was_not_streamed_is_read_all_the_same() -> None:
    steps = [
        {"type": "user_input", "content": [said("Hi")]},
        {**THOUGHT, "summary": [{"type": "text", "text": "hm"}], "signature": "S"},
        {**OUTPUT, "content": [said("Hello")]},
        {**FUNCTION, "arguments": {"n": 1}},
    ]
    for name in ("steps", "outputs"):
        whole = {"id": "v1", "object": "interaction", "model": "m", "status": "requires_action", "usage": TOTALS}

        seen = accepted("gemini-interactions", json.dumps({**whole, name: steps}, indent=1).encode())

        assert (seen.thinking, seen.text) == ([ThinkingBlock(text="hm", signature="S")], "Hello")
        assert (seen.tools, seen.finish, seen.kinds) == (
            [("x", "f", '{"n":1}')],
            "tool_calls",
            ["thinking", "text", "tool_use"],
        )
        assert (seen.usage, raws(seen)) == (Usage(input_tokens=5, output_tokens=7), [])
        bare = {name: [{**OUTPUT, "content": [said("a")]}, 7], "status": "completed", "usage": TOTALS}
        assert raws(accepted("gemini-interactions", json.dumps(bare).encode())) == [{"step": 7}]
    assert accepted("gemini-interactions", json.dumps({**whole, "status": "failed"}).encode()).finish == "error"


def test_steps_that_the_end_repeats_are_not_doubled() -> None:
    steps = [
        {"type": "user_input", "content": [said("Hi")]},
        {**OUTPUT, "content": [said("a")]},
        {**OUTPUT, "content": [said("b")]},
        {**FUNCTION, "arguments": {"n": 1}},
    ]

    seen = interaction(*say("a"), last=completed(steps=steps))

    assert (seen.text, seen.tools) == ("ab", [("x", "f", '{"n":1}')])


def test_the_first_version_has_contents_for_steps() -> None:
    def content(index: int, start: Json, *deltas: Json) -> list[Json]:
        return [
            happened("content.start", index=index, content=start),
            *(happened("content.delta", index=index, delta=delta) for delta in deltas),
            happened("content.stop", index=index),
        ]

    start, last = (
        {**created(), "event_type": "interaction.start"},
        {**completed(), "event_type": "interaction.complete"},
    )
    body = sse(
        start,
        *content(0, THOUGHT, summary("hm"), signature("S")),
        *content(1, {"type": "text"}, said("a"), said("b", annotations=[{"source": "https://a"}])),
        *content(
            2, {"type": "function_call"}, {"type": "function_call", "id": "x", "name": "f", "arguments": {"n": 1}}
        ),
        *content(3, {"type": "image", "mime_type": "image/png", "data": "A"}),
        *content(4, said("c")),
        last,
    )

    seen = accepted("gemini-interactions", body)

    assert (seen.thinking, seen.text) == ([ThinkingBlock(text="hm", signature="S")], "abc")
    assert seen.kinds == ["thinking", "text", "tool_use", "image", "text"]
    assert (seen.tools, seen.finish, len(seen.beside("source"))) == ([("x", "f", '{"n":1}')], "tool_calls", 1)
    assert raws(seen) == []

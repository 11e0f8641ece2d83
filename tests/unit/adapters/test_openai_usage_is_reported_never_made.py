"""Usage of the OpenAI family: wherever it stands, the last report counts, and its numbers are disjoint."""

import pytest

from conformance.recorded import Seen
from runwire.adapters import adapter
from runwire_schemas.raw import Usage
from unit.adapters.saying import Json, chunk, openai, usage

HI = chunk({"content": "Hi"})
END = chunk(None, "stop")
FIVE_SEVEN = Usage(input_tokens=5, output_tokens=7)


def _empty(**more: object) -> Json:
    return {**chunk(), "choices": [], **more}


@pytest.mark.parametrize(
    "events",
    [
        [HI, END, _empty(usage=usage())],
        [HI, chunk(None, "stop", usage=usage())],
        [chunk({"content": "Hi"}, usage=usage(5, 1)), chunk(None, "stop", usage=usage(5, 7))],
        [chunk({"content": "Hi"}, usage=usage(5, 1)), END, chunk(usage=usage(5, 7))],
        [HI, chunk(None, "stop", x_groq={"usage": usage()}), _empty(usage=usage())],
        [HI, chunk(None, "stop", x_groq={"id": "r", "usage": usage()})],
        [HI, END, _empty(usage=usage()), _empty(moderation={"results": ["fine"]})],
        [HI, END, _empty(usage=usage()), chunk(), chunk(usage=None)],
        [chunk({"content": "Hi"}, usage={**usage(), "completion_tokens": None}), chunk(None, "stop", usage=usage())],
        [HI, END, _empty(usage={"prompt_tokens": "5", "completion_tokens": 7.0})],
        [HI, chunk(None, "stop", choice={"usage": usage()})],
        [HI, chunk(None, "stop", choice={"usage": usage(5, 1)}), _empty(usage=usage())],
        [HI, chunk(None, "stop", choice={"usage": usage(), "unknown": 1})],
    ],
    ids=[
        *("own chunk", "finish", "growing", "after finish", "groq twice", "groq"),
        *("moderation", "later", "null", "text"),
        *("Moonshot's, in the choice", "in the choice, then its own", "in an unusual choice"),
    ],
)
def test_the_last_report_counts_wherever_it_stands(events: list[Json]) -> None:
    assert openai(*events).usage == FIVE_SEVEN


@pytest.mark.parametrize(
    "report",
    [
        None,
        {},
        {"prompt_tokens": 5},
        {"completion_tokens": 7},
        {"prompt_tokens": -1, "completion_tokens": 7},
        {"prompt_tokens": 5, "completion_tokens": 2**60},
        "many",
        [1],
    ],
)
def test_what_is_no_report_makes_no_usage(report: object) -> None:
    assert openai(HI, END, _empty(usage=report)).usage is None


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 3}}, Usage(input_tokens=2, output_tokens=7, cache_read_tokens=3)),
        ({"prompt_tokens_details": {"cached_tokens": 9}}, Usage(input_tokens=0, output_tokens=7, cache_read_tokens=9)),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, Usage(input_tokens=5, output_tokens=7, cache_read_tokens=0)),
        ({"prompt_tokens_details": None}, FIVE_SEVEN),
        (
            {"prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 2}},
            Usage(input_tokens=2, output_tokens=7, cache_read_tokens=1, cache_write_tokens=2),
        ),
        ({"prompt_cache_hit_tokens": 4}, Usage(input_tokens=1, output_tokens=7, cache_read_tokens=4)),
        (
            {"completion_tokens_details": {"reasoning_tokens": 6}},
            Usage(input_tokens=5, output_tokens=7, reasoning_tokens=6),
        ),
        (
            {"completion_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 32},
            Usage(input_tokens=5, output_tokens=27, reasoning_tokens=20),
        ),
        (
            {"completion_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 12},
            Usage(input_tokens=5, output_tokens=7, reasoning_tokens=20),
        ),
        (
            {"completion_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 12},
            Usage(input_tokens=5, output_tokens=7, reasoning_tokens=0),
        ),
        ({"num_cached_tokens": 64}, FIVE_SEVEN),
    ],
)
def test_counts_are_disjoint(more: Json, expected: Usage) -> None:
    assert openai(HI, chunk(None, "stop", usage=usage(**more))).usage == expected


def test_reports_are_never_added_up() -> None:
    events = [chunk({"content": "x"}, usage=usage(5, n)) for n in (1, 2, 3)]

    assert openai(*events, END).usage == Usage(input_tokens=5, output_tokens=3)


def test_what_has_no_field_is_kept_in_the_metadata() -> None:
    seen = openai(HI, chunk(None, "stop", usage=usage(cost=0.0000100, queue_time=1e-3), service_tier="default"))

    said = seen.beside("response-metadata")[-1]["providerMetadata"]["openai-chat"]
    assert said["usage"]["cost"] == 0.00001
    assert said["service_tier"] == "default"


def test_usage_is_optional_here() -> None:
    assert adapter("openai-chat").usage == "optional"
    assert adapter("anthropic").usage == "required"


def _facts(seen: Seen) -> Json:
    facts: Json = seen.beside("response-metadata")[-1]["providerMetadata"]["openai-chat"]
    return facts


@pytest.mark.parametrize(
    "events",
    [
        [HI, END, chunk({"content": ""}, usage=usage(cost=0.5))],
        [HI, chunk({"content": "!"}, usage=usage(cost=0.5))],
        [chunk({"content": "Hi"}, usage=usage(5, 1, cost=0.1)), chunk({"content": "!"}, usage=usage(cost=0.5))],
        [HI, END, chunk({}, error={"message": "gone"}, usage=usage(cost=0.5))],
        [HI, chunk(None, "stop", choice={"usage": usage(cost=0.5)})],
        [HI, chunk(None, "stop", choice={"usage": usage(5, 1)}, usage=usage(cost=0.5))],
    ],
    ids=["after the finish", "no finish", "growing", "beside an error", "in the choice", "in both"],
)
def test_the_last_report_is_kept_whole(events: list[Json]) -> None:
    assert _facts(openai(*events))["usage"] == usage(cost=0.5)


def test_the_last_report_of_a_response_that_was_cut_off_is_kept_whole() -> None:
    seen = openai(HI, chunk({"content": "!"}, usage=usage(cost=0.5)), done=False)

    assert (seen.finish, _facts(seen)["usage"]) == ("aborted", usage(cost=0.5))

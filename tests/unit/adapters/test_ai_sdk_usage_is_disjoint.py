"""The AI SDK's counts, of which V2's mean what the provider's do, become disjoint ones."""

import pytest

from runwire.adapters import adapter
from runwire_schemas.raw import Usage
from unit.adapters.saying import Json
from unit.adapters.sdk_parts import part, said, text, v2, v3


def plain(usage: Json, **meta: Json) -> Usage | None:
    return said(*text("0", "a"), v2("stop", usage, meta=meta)).usage


def split(inputs: Json, outputs: Json, raw: Json | None = None) -> Usage | None:
    more = {} if raw is None else {"raw": raw}
    return said(*text("0", "a"), v3("stop", "end", {"inputTokens": inputs, "outputTokens": outputs, **more})).usage


def test_usage_is_optional() -> None:
    """The packages for OpenAI's protocol do not ask for it unless they are told to."""
    assert adapter("ai-sdk").usage == "optional"
    assert plain({}) is None
    silent = said(*text("0", "a"), part("finish", finishReason="stop", usage=None))
    assert (silent.usage, silent.beside("response-metadata")) == (None, [])
    assert split({}, {}) is None


def test_v3_says_what_is_cached() -> None:
    assert split(
        {"total": 9, "noCache": 5, "cacheRead": 3, "cacheWrite": 1}, {"total": 7, "text": 4, "reasoning": 3}
    ) == Usage(input_tokens=5, output_tokens=7, cache_read_tokens=3, cache_write_tokens=1, reasoning_tokens=3)
    assert split({"total": 9, "cacheRead": 3, "cacheWrite": 1}, {"total": 7}) == Usage(
        input_tokens=5, output_tokens=7, cache_read_tokens=3, cache_write_tokens=1
    )
    assert split({"noCache": 5}, {"total": 7}) == Usage(input_tokens=5, output_tokens=7)
    assert split({"total": 5}, {"total": 0}) == Usage(input_tokens=5, output_tokens=0)


def test_more_from_the_cache_than_input_lies_beside_it() -> None:
    expected = Usage(input_tokens=10, output_tokens=7, cache_read_tokens=64)

    assert split({"total": 10, "noCache": -54, "cacheRead": 64}, {"total": 7}) == expected
    assert plain({"inputTokens": 10, "outputTokens": 7, "cachedInputTokens": 64}) == expected


def test_v2_counts_as_its_provider_does() -> None:
    usage: Json = {"inputTokens": 10, "outputTokens": 7, "totalTokens": 17, "cachedInputTokens": 4}
    apart = Usage(input_tokens=10, output_tokens=7, cache_read_tokens=4)

    assert plain(usage) == Usage(input_tokens=6, output_tokens=7, cache_read_tokens=4)
    assert plain(usage, openai={}) == Usage(input_tokens=6, output_tokens=7, cache_read_tokens=4)
    assert plain(usage, anthropic={"usage": {}}) == apart
    assert plain(usage, bedrock={}) == apart


def test_v2_reports_what_was_written_to_a_cache_in_metadata() -> None:
    usage: Json = {"inputTokens": 10, "outputTokens": 7}
    expected = Usage(input_tokens=10, output_tokens=7, cache_write_tokens=3)

    assert plain(usage, anthropic={"cacheCreationInputTokens": 3}) == expected
    assert plain(usage, bedrock={"usage": {"cacheWriteInputTokens": 3}}) == expected
    assert plain(usage, anthropic={"cacheCreationInputTokens": None}) == Usage(input_tokens=10, output_tokens=7)


def test_reasoning_is_inside_the_output() -> None:
    usage: Json = {"inputTokens": 10, "outputTokens": 7, "reasoningTokens": 5}
    inside = Usage(input_tokens=10, output_tokens=7, reasoning_tokens=5)
    beside = Usage(input_tokens=10, output_tokens=12, reasoning_tokens=5)

    assert plain({**usage, "totalTokens": 17}) == inside
    assert plain({**usage, "totalTokens": 22}) == beside
    assert plain(usage) == inside
    assert plain({**usage, "totalTokens": 30}, google={}) == beside
    assert plain({**usage, "totalTokens": 30}, vertex={}) == beside


def test_a_total_of_the_provider_proves_that_reasoning_lies_beside() -> None:
    outputs = {"total": 7, "reasoning": 5}

    assert split({"total": 10}, outputs, {"prompt_tokens": 10, "total_tokens": 22}) == Usage(
        input_tokens=10, output_tokens=12, reasoning_tokens=5
    )
    for raw in ({"prompt_tokens": 10, "total_tokens": 17}, {"total_tokens": 22}, {"prompt_tokens": 10}):
        assert split({"total": 10}, outputs, raw) == Usage(input_tokens=10, output_tokens=7, reasoning_tokens=5)


@pytest.mark.parametrize("wrong", [-1, 2**53, 1.5, "many", None, [], {}, True])
def test_what_is_no_count_is_none(wrong: object) -> None:
    assert plain({"inputTokens": wrong, "outputTokens": 7}) is None
    assert plain({"inputTokens": 3, "outputTokens": wrong}) is None
    assert split({"total": wrong}, {"total": 7}) is None
    assert split({"total": 3, "cacheRead": wrong}, {"total": 7}) == Usage(input_tokens=3, output_tokens=7)


def test_counts_of_a_failed_response_are_kept() -> None:
    assert said(*text("0", "a"), v2("error")).usage == Usage(input_tokens=5, output_tokens=7)

"""ConverseStream: its usage, its ends, its errors, and the forms in which it comes. Hand-written."""

import json
from typing import Any

import pytest

from conformance.recorded import Seen, judge
from runwire.adapters import adapter, feed_event
from runwire_schemas.raw import Aborted, Stop, Usage
from unit.adapters.conversing import METADATA, USAGE, converse, ends, failure_of, lines_of, says, stops, tool
from unit.adapters.saying import Json, accepted, run

# Usage


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        (USAGE, Usage(input_tokens=3, output_tokens=5)),
        (
            {**USAGE, "cacheReadInputTokens": 7, "cacheWriteInputTokens": 0, "cacheReadInputTokenCount": 7},
            Usage(input_tokens=3, output_tokens=5, cache_read_tokens=7, cache_write_tokens=0),
        ),
        (
            {**USAGE, "cacheReadInputTokenCount": 1, "cacheWriteInputTokenCount": 2},
            Usage(input_tokens=3, output_tokens=5, cache_read_tokens=1, cache_write_tokens=2),
        ),
    ],
    ids=["plain", "cache", "long-names"],
)
def test_counts_are_disjoint_as_they_are(said: Json, usage: Usage) -> None:
    seen = converse(says(0, text="a"), end=[ends()[0], {"metadata": {"usage": said}}])

    assert seen.usage == usage
    assert seen.beside("response-metadata")[-1]["providerMetadata"]["bedrock-converse"]["usage"] == said


@pytest.mark.parametrize(
    "said", [{}, {"inputTokens": 1}, {"outputTokens": 1}, {"inputTokens": 1, "outputTokens": -1}, {"inputTokens": "x"}]
)
def test_a_report_without_its_main_counts_is_none(said: Json) -> None:
    body = lines_of(says(0, text="a"), ends()[0], {"metadata": {"usage": said}})
    emitted = run(adapter("bedrock-converse"), body)

    assert Seen(emitted).usage is None
    assert [finding.code for finding in judge(emitted, "required")[1]] == ["usage-missing"]


def test_facts_about_the_response_are_its_metadata() -> None:
    said = {
        "usage": USAGE,
        "metrics": {"latencyMs": 7},
        "trace": {"guardrail": {}},
        "performanceConfig": {"latency": "x"},
    }
    stop = {"messageStop": {"stopReason": "end_turn", "additionalModelResponseFields": {"s": 1}, "p": "a"}}
    start = {"messageStart": {"role": "assistant", "conversation": "c"}}

    seen = converse(start, says(0, text="a"), end=[stop, {"metadata": {**said, "p": "x"}}])

    assert seen.beside("response-metadata")[-1]["providerMetadata"]["bedrock-converse"] == {
        "conversation": "c",
        "additionalModelResponseFields": {"s": 1},
        **said,
    }


# Ends


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "max_tokens"),
        ("model_context_window_exceeded", "max_tokens"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        ("something_new", "stop"),
    ],
)
def test_reasons_to_stop(word: str, kind: str) -> None:
    seen = converse(says(0, text="a"), end=ends(word))

    assert (seen.finish, getattr(seen.reason, "raw", None)) == (kind, word)


@pytest.mark.parametrize("word", ["malformed_model_output", "malformed_tool_use"])
def test_output_that_bedrock_could_not_read_is_an_error(word: str) -> None:
    seen = converse(says(0, text="a"), end=ends(word))

    assert (failure_of(seen)[0], seen.usage) == (word, Usage(input_tokens=3, output_tokens=5))


def test_a_reason_that_is_missing_is_told_by_the_calls() -> None:
    seen = converse(*tool(0), end=ends(None))

    assert (seen.finish, converse(says(0, text="a"), end=ends(None)).reason) == ("tool_calls", Stop())


def test_usage_may_come_before_the_end() -> None:
    seen = converse(says(0, text="a"), METADATA, says(0, text="b"), stops(0), end=ends()[:1])

    assert (seen.text, seen.finish, seen.usage) == ("ab", "stop", Usage(input_tokens=3, output_tokens=5))


def test_what_follows_the_stop_is_taken_until_usage_comes() -> None:
    wire = adapter("bedrock-converse")
    emitted = wire.feed(lines_of(says(0, text="a"), ends()[0], says(1, text="b")))

    assert Seen(emitted).finish == ""
    emitted += wire.feed(lines_of(METADATA, says(2, text="c")))
    assert (Seen(emitted).text, Seen(emitted).finish) == ("ab", "stop")
    assert wire.close() == []


def test_a_body_that_ends_with_its_stop_lacks_usage() -> None:
    emitted = run(adapter("bedrock-converse"), lines_of(says(0, text="a"), ends()[0]))

    assert Seen(emitted).finish == "stop"
    assert [finding.code for finding in judge(emitted, "required")[1]] == ["usage-missing"]


def test_a_body_without_its_stop_was_cut_off() -> None:
    for end in ([], [METADATA], [stops(0)]):
        seen = converse(says(0, text="a"), end=end)
        assert isinstance(seen.reason, Aborted)
        assert "messageStop" in seen.failure
    assert converse(says(0, text="a"), end=[METADATA]).usage == Usage(input_tokens=3, output_tokens=5)


def test_a_message_that_begins_again_goes_on_in_new_blocks() -> None:
    again = {"messageStart": {"role": "assistant"}}

    seen = converse(says(0, text="a"), *tool(1, "{}")[:-1], again, says(0, text="b"))

    assert (seen.text, seen.kinds) == ("ab", ["text", "tool_use", "text"])
    assert converse(says(0, text="a"), again, says(0, text="b")).kinds == ["text", "text"]


# Errors


@pytest.mark.parametrize(
    ("name", "status", "retryable"),
    [
        ("internalServerException", 500, True),
        ("modelStreamErrorException", 424, True),
        ("validationException", 400, False),
        ("throttlingException", 429, True),
        ("serviceUnavailableException", 503, True),
        ("modelTimeoutException", 408, True),
        ("AccessDeniedException", 403, False),
        ("brandNewException", None, None),
    ],
)
def test_an_exception_ends_the_call(name: str, status: int | None, retryable: bool | None) -> None:
    seen = converse(says(0, text="a"), {name: {"message": "m", "p": "x"}}, says(0, text="b"))

    assert (seen.text, failure_of(seen)) == ("a", (name, "m", status, retryable))
    assert seen.beside("raw") == []


def test_an_exception_that_says_more_is_kept_whole() -> None:
    said = {"message": "m", "originalStatusCode": 503, "originalMessage": "busy"}

    seen = converse(says(0, text="a"), {"modelErrorException": said})

    # The model's server may do better next time, whatever Bedrock made of its failure.
    assert failure_of(seen) == ("modelErrorException", "m", 424, True)
    assert [raw["error"] for raw in seen.beside("raw")] == [{"modelErrorException": said}]


@pytest.mark.parametrize(
    ("event", "code", "message"),
    [
        (
            {"Error": {"Code": "throttlingException", "Message": "m"}, "ResponseMetadata": {}},
            "throttlingException",
            "m",
        ),
        (
            {"__type": "com.amazon.coral.service#AccessDeniedException:http://x", "Message": "m"},
            "AccessDeniedException",
            "m",
        ),
        ({"throttlingException": {}}, "throttlingException", "throttlingException"),
        ({"message": "The security token is expired"}, None, "The security token is expired"),
        ({"error": {"message": "m", "code": "c"}}, "c", "m"),
    ],
    ids=["botocore", "body", "silent", "message", "gateway"],
)
def test_errors_of_other_shapes(event: Json, code: str | None, message: str) -> None:
    wire = adapter("bedrock-converse")
    seen = Seen([*feed_event(wire, event), *wire.close()])

    assert failure_of(seen)[:2] == (code, message)


@pytest.mark.parametrize("data", ['{"text":"broken"}', '"broken"'])
def test_an_event_named_error_is_one(data: str) -> None:
    seen = accepted("bedrock-converse", f"event: error\ndata: {data}\n\n".encode())

    assert (seen.finish, "broken" in seen.failure) == ("error", True)


# Forms


@pytest.mark.parametrize("wrapped", [False, True])
def test_events_may_be_server_sent_under_their_names(wrapped: bool) -> None:
    events = [says(0, text="Hi"), *ends()]
    named = [next(iter(event.items())) for event in events]
    body = "".join(
        f"event: {name}\ndata: {json.dumps({name: payload} if wrapped else payload)}\n\n" for name, payload in named
    )

    seen = accepted("bedrock-converse", body.encode())

    assert (seen.text, seen.finish, seen.beside("raw")) == ("Hi", "stop", [])


def test_bytes_of_the_sdk_are_base64() -> None:
    wire = adapter("bedrock-converse")
    emitted = feed_event(wire, says(0, reasoningContent={"redactedContent": b"ABC"}))
    emitted += [one for event in ends() for one in feed_event(wire, event)]

    assert [block.redacted for block in Seen(emitted).thinking] == ["QUJD"]


def test_values_that_are_no_events_are_kept() -> None:
    body = b'[1]\n"x"\n""\n' + lines_of(says(0, text="a"), *ends())

    seen = accepted("bedrock-converse", b'{"contentBlockStop":{}}\n' + body)

    assert [raw["value"] for raw in seen.beside("raw")] == [[1], "x"]


@pytest.mark.parametrize("index", [None, -1, "x"])
def test_an_index_that_is_none_is_the_first(index: Any) -> None:
    seen = converse(says(0, text="a"), {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"text": "b"}}})

    assert (seen.text, seen.kinds) == ("ab", ["text"])


def test_an_answer_that_was_not_streamed_is_read() -> None:
    content = [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
        {"reasoningContent": {"redactedContent": "QUJD"}},
        {"text": "Hello"},
        {"citationsContent": {"content": [{"text": " cited"}], "citations": [{"title": "t"}]}},
        {"toolUse": {"toolUseId": "a", "name": "n", "input": {"x": 1}}},
        {"toolResult": {"toolUseId": "a", "content": [{"text": "r"}], "status": "success"}},
        {"image": {"format": "png", "source": {"bytes": "QUJD"}}},
        {"video": {"format": "mp4"}},
        {"text": "!"},
    ]
    whole = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use",
        "usage": USAGE,
        "metrics": {"latencyMs": 1},
    }

    seen = accepted("bedrock-converse", json.dumps(whole).encode())

    assert (seen.text, seen.reasoning, seen.finish) == ("Hello cited!", "hm", "tool_calls")
    assert seen.kinds == ["thinking", "thinking", "text", "text", "tool_use", "tool_result", "image", "text"]
    assert [(block.signature, block.redacted) for block in seen.thinking] == [("s", None), (None, "QUJD")]
    assert [tuple(tool) for tool in seen.tools] == [("a", "n", '{"x":1}')]
    assert [raw.get("block") for raw in seen.beside("raw")] == [{"video": {"format": "mp4"}}]
    assert seen.usage == Usage(input_tokens=3, output_tokens=5)
    assert len(seen.beside("source")) == 1

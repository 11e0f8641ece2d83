"""InvokeModelWithResponseStream: each family of models, what Bedrock adds to its events, and the ends.

Hand-written from the models' documentation, but for the shapes that recordings have too.
"""

import base64
import json

import pytest

from conformance.recorded import Seen, judge
from runwire.adapters import adapter, choices, feed_event
from runwire.adapters.bedrock_invoke.invoke import MAX_UNTOLD, BedrockInvoke
from runwire_schemas.raw import Aborted, Failed, Usage
from unit.adapters.conversing import lines_of, says, stops
from unit.adapters.invoking import COUNTED, METRICS, claude, invoke
from unit.adapters.saying import Json, accepted, run

# Models that continue a prompt


@pytest.mark.parametrize(
    ("events", "word", "kind"),
    [
        (
            [
                {"type": "completion", "completion": "H", "stop_reason": None, "stop": None},
                {"type": "completion", "completion": "i", "stop_reason": "stop_sequence", "stop": "\n\nHuman:"},
            ],
            "stop_sequence",
            "stop",
        ),
        (
            [
                {"outputText": "H", "index": 0, "totalOutputTextTokenCount": None, "completionReason": None},
                {"outputText": "i", "index": 1, "totalOutputTextTokenCount": 6, "completionReason": "LENGTH"},
            ],
            "LENGTH",
            "max_tokens",
        ),
        (
            [{"outputText": "Hi", "index": 0, "completionReason": "CONTENT_FILTERED"}],
            "CONTENT_FILTERED",
            "content_filter",
        ),
        (
            [
                {"generation": "H", "prompt_token_count": 4, "generation_token_count": 1, "stop_reason": None},
                {"generation": "i", "prompt_token_count": None, "generation_token_count": 2, "stop_reason": "length"},
            ],
            "length",
            "max_tokens",
        ),
        (
            [
                {"outputs": [{"text": "H", "stop_reason": None}]},
                {"outputs": [{"text": "i", "stop_reason": "stop"}]},
            ],
            "stop",
            "stop",
        ),
        (
            [{"text": "H", "is_finished": False}, {"text": "i", "is_finished": True, "finish_reason": "COMPLETE"}],
            "COMPLETE",
            "stop",
        ),
        (
            [{"generations": [{"id": "g", "text": "Hi", "finish_reason": "MAX_TOKENS"}], "id": "r"}],
            "MAX_TOKENS",
            "max_tokens",
        ),
        (
            [{"inputTextTokenCount": 4, "results": [{"outputText": "Hi", "completionReason": "FINISH"}]}],
            "FINISH",
            "stop",
        ),
    ],
    ids=["claude-2", "titan", "titan-filtered", "llama", "mistral", "command", "command-whole", "titan-whole"],
)
def test_each_has_words_of_its_own(events: list[Json], word: str, kind: str) -> None:
    seen = invoke(*events[:-1], {**events[-1], **METRICS})

    assert (seen.text, seen.finish, getattr(seen.reason, "raw", None)) == ("Hi", kind, word)
    assert (seen.usage, seen.beside("raw")) == (COUNTED, [])


def test_an_empty_piece_begins_nothing() -> None:
    assert invoke({"completion": ""}, {"generation": "", "is_finished": True}).kinds == []


def test_to_be_finished_is_an_end_without_a_reason() -> None:
    assert invoke({"text": "a", "is_finished": False}, {"text": "b", "is_finished": True}).finish == "stop"


def test_what_follows_the_metrics_is_taken_as_long_as_nothing_ended() -> None:
    seen = invoke({"generation": "a", **METRICS}, {"generation": "b", "stop_reason": "length"})

    assert (seen.text, seen.finish) == ("ab", "max_tokens")


def test_counts_of_the_model_stand_in_for_bedrocks() -> None:
    llama = [{"generation": "Hi", "prompt_token_count": 9, "generation_token_count": 1, "stop_reason": None}]
    llama += [{"generation": "", "prompt_token_count": None, "generation_token_count": 3, "stop_reason": "stop"}]
    titan = [
        {
            "outputText": "Hi",
            "index": 0,
            "inputTextTokenCount": 9,
            "totalOutputTextTokenCount": 3,
            "completionReason": "FINISH",
        }
    ]

    assert invoke(*llama).usage == invoke(*titan).usage == Usage(input_tokens=9, output_tokens=3)
    assert invoke(llama[0], {**llama[1], **METRICS}).usage == COUNTED


def test_usage_that_nobody_reported_is_not_made_up() -> None:
    seen = invoke({"generation": "Hi", "generation_token_count": 1, "stop_reason": "stop"})

    assert (seen.usage, seen.finish) == (None, "stop")


def test_cache_counts_of_bedrock_are_kept_apart() -> None:
    metrics = {
        **METRICS["amazon-bedrock-invocationMetrics"],
        "cacheReadInputTokenCount": 2,
        "cacheWriteInputTokenCount": 0,
    }

    seen = invoke({"generation": "Hi", "stop_reason": "stop", "amazon-bedrock-invocationMetrics": metrics})

    assert seen.usage == Usage(input_tokens=4, output_tokens=6, cache_read_tokens=2, cache_write_tokens=0)


@pytest.mark.parametrize("metrics", [{}, {"inputTokenCount": 1}, {"inputTokenCount": -1, "outputTokenCount": 2}])
def test_metrics_without_their_main_counts_say_nothing(metrics: Json) -> None:
    assert (
        invoke({"generation": "Hi", "stop_reason": "stop", "amazon-bedrock-invocationMetrics": metrics}).usage is None
    )


def test_what_was_said_beside_the_text_is_kept() -> None:
    seen = invoke(
        {"text": "Hi", "index": 0, "is_finished": False, "likelihood": -0.5, "more": None},
        {"id": "r1", "prompt": "asked", "is_finished": True, "finish_reason": "COMPLETE", **METRICS},
    )

    assert [raw["event"] for raw in seen.beside("raw")] == [{"likelihood": -0.5}]
    first, last = seen.beside("response-metadata")
    assert (first["id"], last["providerMetadata"]["bedrock-invoke"]) == ("r1", {"prompt": "asked", **METRICS})


def test_each_of_several_answers_is_a_call_of_its_own() -> None:
    pieces = [{"index": index, "is_finished": False, "text": f"{index}{piece}"} for index in (0, 1) for piece in "ab"]
    end = {"finish_reason": "MAX_TOKENS", "is_finished": True, **METRICS}

    assert [invoke(*pieces, end, choice=choice).text for choice in (0, 1)] == ["0a0b", "1a1b"]
    every = choices("bedrock-invoke")
    chosen = [*every.feed(lines_of(*pieces, end)), *every.close()]
    for choice, text in enumerate(("0a0b", "1a1b")):
        seen = Seen([one.emitted for one in chosen if one.choice == choice])
        assert (seen.text, seen.finish, seen.usage) == (text, "max_tokens", COUNTED)


def test_an_answer_may_end_before_the_others() -> None:
    events: list[Json] = [
        {"index": 0, "is_finished": False, "text": "a"},
        {"index": 0, "is_finished": True, "finish_reason": "COMPLETE"},
        {"index": 1, "is_finished": False, "text": "b"},
        {"index": 1, "is_finished": True, "finish_reason": "MAX_TOKENS", **METRICS},
    ]

    assert [invoke(*events, choice=choice).finish for choice in (0, 1)] == ["stop", "max_tokens"]


def test_a_choice_that_there_is_not_is_an_error() -> None:
    events = [
        {"index": 0, "is_finished": False, "text": "a"},
        {"is_finished": True, "finish_reason": "COMPLETE", **METRICS},
    ]

    seen = invoke(*events, choice=3)

    assert isinstance(seen.reason, Failed)
    assert seen.reason.failure.code == "no-such-choice"


def test_whole_generations_are_choices() -> None:
    event = {
        "generations": [{"text": "a", "finish_reason": "COMPLETE"}, {"text": "b", "finish_reason": "MAX_TOKENS"}],
        **METRICS,
    }

    assert [(one.text, one.finish) for one in (invoke(event, choice=0), invoke(event, choice=1))] == [
        ("a", "stop"),
        ("b", "max_tokens"),
    ]


def test_titans_index_counts_pieces() -> None:
    events = [{"outputText": piece, "index": index} for index, piece in enumerate("abc")]

    assert invoke(*events, {"outputText": "", "index": 3, "completionReason": "FINISH"}).text == "abc"


@pytest.mark.parametrize(
    ("word", "finish"), [("ERROR", "error"), ("ERROR_TOXIC", "content_filter"), ("USER_CANCEL", "aborted")]
)
def test_failures_of_command(word: str, finish: str) -> None:
    assert invoke({"text": "a", "is_finished": True, "finish_reason": word, **METRICS}).finish == finish


def test_the_end_waits_for_what_bedrock_counts() -> None:
    wire = adapter("bedrock-invoke")
    emitted = wire.feed(lines_of({"generation": "a", "stop_reason": "length"}))

    assert Seen(emitted).finish == ""
    emitted += wire.feed(lines_of({"generation": "", **METRICS}))
    assert (Seen(emitted).finish, Seen(emitted).usage) == ("max_tokens", COUNTED)
    assert wire.feed(lines_of({"generation": "late"})) + wire.close() == []


def test_metrics_alone_are_an_end() -> None:
    assert invoke({"generation": "a"}, METRICS).finish == "stop"


def test_a_body_with_neither_was_cut_off() -> None:
    seen = invoke({"completion": "a", "stop_reason": None})

    assert isinstance(seen.reason, Aborted)
    assert (seen.text, seen.reason.failure.code) == ("a", "cut-off")


# Guardrails


@pytest.mark.parametrize(
    "events",
    [
        [{"outputText": "Hi", "completionReason": "FINISH"}],
        claude(),
        [{"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}],
        [says(0, text="Hi"), {"messageStop": {"stopReason": "end_turn"}}],
    ],
    ids=["titan", "claude", "chat", "nova"],
)
def test_what_a_guardrail_did_is_told_for_every_model(events: list[Json]) -> None:
    trace: Json = {"amazon-bedrock-trace": {"guardrail": {"input": {}}}}
    for action, finish in (("NONE", "stop"), ("INTERVENED", "content_filter")):
        last = {**events[-1], "amazon-bedrock-guardrailAction": action, **trace, **METRICS}
        seen = invoke(*events[:-1], last)
        assert (seen.text, seen.finish) == ("Hi", finish)
        said = seen.beside("response-metadata")[-1]["providerMetadata"]["bedrock-invoke"]
        assert said["amazon-bedrock-guardrailAction"] == action
        assert {name: said[name] for name in (*trace, *METRICS)} == {**trace, **METRICS}
        assert seen.beside("raw") == []


def test_what_a_guardrail_says_in_mid_stream_ends_nothing() -> None:
    said = {"outputText": "a", "amazon-bedrock-guardrailAction": "NONE"}

    assert (invoke(said).text, invoke(said).finish) == ("a", "aborted")


def test_an_answer_that_fails_was_not_filtered() -> None:
    event = {
        "text": "a",
        "is_finished": True,
        "finish_reason": "ERROR",
        "amazon-bedrock-guardrailAction": "INTERVENED",
        **METRICS,
    }

    assert invoke(event).finish == "error"


def test_what_bedrock_says_in_any_event_of_claude_is_kept_by_its_own_adapter() -> None:
    events = claude()
    events[2] |= {"amazon-bedrock-guardrailAction": "NONE"}

    seen = accepted("anthropic", lines_of(*events))

    said = seen.beside("response-metadata")[-1]["providerMetadata"]["anthropic"]
    assert (seen.text, said["amazon-bedrock-guardrailAction"]) == ("Hi", "NONE")


# Models that speak another protocol


def test_claude_speaks_anthropics() -> None:
    seen = invoke(*claude("tool_use", **METRICS))

    assert (seen.text, seen.finish, seen.usage) == ("Hi", "tool_calls", Usage(input_tokens=3, output_tokens=9))


def test_claude_without_counts_has_bedrocks() -> None:
    events = claude(**METRICS)[1:]
    events[-2].pop("usage")

    assert invoke(*events).usage == COUNTED


def test_nova_speaks_converse_and_stops_a_block_after_each_delta() -> None:
    pieces = [event for index, text in enumerate(("He", "l", "lo")) for event in (says(index, text=text), stops(index))]
    usage = {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokenCount": 3, "cacheWriteInputTokenCount": 0}
    end: list[Json] = [
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": usage, "trace": {}}, **METRICS},
    ]

    seen = invoke({"messageStart": {"role": "assistant"}}, *pieces, *end)

    assert (seen.text, seen.kinds) == ("Hello", ["text"])
    assert seen.usage == Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=0)


def test_nova_without_counts_has_bedrocks() -> None:
    end: list[Json] = [{"messageStop": {"stopReason": "end_turn"}}, {"metadata": {"trace": {}}, **METRICS}]

    assert invoke(says(0, text="a"), *end).usage == COUNTED


def test_novas_reasoning_is_joined_until_it_is_signed() -> None:
    pieces = [says(0, reasoningContent={"text": "a"}), stops(0), says(1, reasoningContent={"text": "b"})]
    pieces += [
        says(1, reasoningContent={"signature": "s"}),
        stops(1),
        says(2, reasoningContent={"text": "c"}),
        stops(2),
    ]

    seen = invoke(*pieces, says(3, text="x"), {"messageStop": {"stopReason": "end_turn"}, **METRICS})

    assert [(one.text, one.signature) for one in seen.thinking] == [("ab", "s"), ("c", None)]


def test_what_nova_hides_is_a_block_of_its_own() -> None:
    pieces = [says(0, reasoningContent={"redactedContent": "QQ=="}), stops(0), says(1, reasoningContent={"text": "a"})]

    seen = invoke(*pieces, {"messageStop": {"stopReason": "end_turn"}, **METRICS})

    assert [(one.text, one.redacted) for one in seen.thinking] == [("", "QQ=="), ("a", None)]


def test_a_long_answer_of_nova_has_room() -> None:
    pieces = [event for index in range(3000) for event in (says(index, text="ab"), stops(index))]
    emitted = run(adapter("bedrock-invoke"), lines_of(*pieces, {"messageStop": {"stopReason": "end_turn"}}, METRICS))

    assert judge(emitted, "optional")[1] == []
    assert (Seen(emitted).text, Seen(emitted).finish, Seen(emitted).usage) == ("ab" * 3000, "stop", COUNTED)


def test_jamba_and_gpt_oss_speak_openais() -> None:
    usage = {"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10}
    events: list[Json] = [
        {
            "id": "c",
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": "H"}, "finish_reason": None}],
            "usage": usage,
        },
        {
            "id": "c",
            "choices": [{"index": 0, "delta": {"content": "i"}, "finish_reason": "length"}],
            "usage": usage,
            **METRICS,
        },
    ]

    seen = invoke(*events)

    assert (seen.text, seen.finish, seen.usage) == ("Hi", "max_tokens", Usage(input_tokens=8, output_tokens=2))
    events[1].pop("usage")
    assert invoke(*events).usage == Usage(input_tokens=8, output_tokens=2)
    events[0].pop("usage")
    assert invoke(*events).usage == COUNTED


@pytest.mark.parametrize(
    "pieces",
    [
        [
            {"index": 0, "message": {"role": "assistant", "content": "H"}},
            {"index": 0, "message": {"role": "assistant", "content": "i"}, "stop_reason": "length"},
        ],
        [{"index": 0, "text": "H", "stop_reason": None}, {"index": 0, "text": "i", "stop_reason": "length"}],
    ],
    ids=["mistral", "deepseek-r1"],
)
def test_some_have_words_of_their_own_in_it(pieces: list[Json]) -> None:
    events: list[Json] = [{"choices": [piece]} for piece in pieces]

    seen = invoke(*events[:-1], {**events[-1], **METRICS})

    assert (seen.text, seen.finish, seen.usage, seen.kinds) == ("Hi", "max_tokens", COUNTED, ["text"])


def test_mistrals_tool_calls_are_openais() -> None:
    call = {"id": "t", "type": "function", "function": {"name": "n", "arguments": "{}"}}
    said = {
        "index": 0,
        "message": {"role": "assistant", "content": "", "tool_calls": [call]},
        "stop_reason": "tool_calls",
    }

    seen = invoke({"choices": [said], **METRICS})

    assert ([tuple(one) for one in seen.tools], seen.finish) == ([("t", "n", "{}")], "tool_calls")


def test_think_tags_are_told_to_models_of_openais_protocol() -> None:
    body = lines_of({"choices": [{"index": 0, "text": "<think>a</think>b", "stop_reason": "stop"}]})

    seen = Seen(run(adapter("bedrock-invoke", think=True), body))

    assert (seen.reasoning, seen.text) == ("a", "b")


def test_coheres_second_version_has_its_own_adapter() -> None:
    start = {"id": "m1", "type": "message-start", "delta": {"message": {"role": "assistant"}}}
    piece = {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "Hi"}}}}

    seen = invoke(start, piece, {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}, **METRICS})

    assert (seen.text, seen.finish, seen.usage) == ("Hi", "stop", COUNTED)


# Errors


@pytest.mark.parametrize(
    "events",
    [
        [],
        [{"completion": "a"}],
        claude()[:3],
        [says(0, text="a")],
        [{"choices": [{"index": 0, "delta": {"content": "a"}}]}],
        [{"event_type": "text-generation", "text": "a"}],
    ],
    ids=["at-once", "completion", "claude", "nova", "chat", "command-r"],
)
def test_an_exception_ends_every_model(events: list[Json]) -> None:
    said = {"message": "gone", "originalMessage": "busy", "originalStatusCode": 500}

    seen = invoke(*events, {"modelStreamErrorException": said}, {"completion": "late"})

    assert isinstance(seen.reason, Failed)
    failure = seen.reason.failure
    assert (failure.code, failure.message, failure.status, failure.retryable) == (
        "modelStreamErrorException",
        "gone",
        424,
        True,
    )
    assert [raw["error"] for raw in seen.beside("raw") if "error" in raw] == [{"modelStreamErrorException": said}]
    assert "late" not in seen.text


def test_an_event_named_error_is_one() -> None:
    for data in ('"broken"', '{"text":"broken"}'):
        seen = accepted("bedrock-invoke", f"event: error\ndata: {data}\n\n".encode())
        assert (seen.finish, "broken" in seen.failure) == ("error", True)


# Forms and families


def test_dicts_of_boto3_have_bytes() -> None:
    wire = adapter("bedrock-invoke")
    inner = [{"completion": "Hi", "stop_reason": None}, {"completion": "", "stop_reason": "stop_sequence", **METRICS}]
    emitted = [one for event in inner for one in feed_event(wire, {"chunk": {"bytes": json.dumps(event).encode()}})]

    assert (Seen(emitted).text, Seen(emitted).finish) == ("Hi", "stop")


def test_lines_may_hold_the_envelope() -> None:
    inner = [{"outputText": "Hi", "index": 0}, {"outputText": "", "index": 0, "completionReason": "FINISH", **METRICS}]
    lines: list[Json] = [
        {"chunk": {"bytes": base64.b64encode(json.dumps(event).encode()).decode(), "p": "x"}} for event in inner
    ]

    assert (invoke(*lines).text, invoke(*lines).finish) == ("Hi", "stop")


@pytest.mark.parametrize(
    ("event", "reader"),
    [
        *(
            ({"type": kind}, "Claude")
            for kind in ("message_start", "message_delta", "message_stop", "content_block_start", "ping")
        ),
        *(
            ({"type": kind}, "Command")
            for kind in ("message-start", "content-delta", "tool-plan-delta", "citation-start")
        ),
        ({"event_type": "stream-start"}, "CommandR"),
        ({"choices": []}, "Chat"),
        *(
            ({kind: {}}, "Nova")
            for kind in (
                "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata",
                "output",
            )
        ),
        *(
            ({name: ""}, "Completions")
            for name in (
                "completion", "outputText", "generation", "outputs", "results", "generations", "is_finished", "text",
            )
        ),
        ({"throttlingException": {}}, "Completions"),
        ({"chunk": {"bytes": "eyJjaG9pY2VzIjpbXX0="}}, "Chat"),
    ],
)  # fmt: skip
def test_the_first_event_tells_the_model(event: Json, reader: str) -> None:
    wire = BedrockInvoke()
    wire.feed(lines_of(event))

    assert type(wire._model).__name__ == reader


def test_an_error_waits_for_no_model() -> None:
    wire = BedrockInvoke()

    assert Seen(wire.feed(b'event: error\ndata: "x"\n\n')).finish == "error"


def test_events_that_tell_nothing_wait_for_one_that_does() -> None:
    seen = invoke({"note": 1}, *claude())

    assert (seen.text, seen.finish) == ("Hi", "stop")
    assert [raw["event"] for raw in seen.beside("raw")] == [{"note": 1}]


def test_a_body_that_never_tells_its_model_is_kept_and_was_cut_off() -> None:
    notes: list[Json] = [{"note": at} for at in range(MAX_UNTOLD)]
    wire = BedrockInvoke()
    emitted = wire.feed(lines_of(*notes))

    # Who reads them has them now.
    assert wire._kept == []
    seen = Seen([*emitted, *wire.close()])
    assert ([raw["event"] for raw in seen.beside("raw")], seen.finish) == (notes, "aborted")
    assert invoke({"note": 1}).finish == "aborted"


def test_what_waits_for_a_model_is_bounded() -> None:
    wire = BedrockInvoke(limit=1000)

    for size, kept in ((400, 1), (700, 0)):
        wire.feed(lines_of({"note": "x" * size}))
        assert len(wire._kept) == kept


def test_an_event_that_is_too_large_ends_the_call() -> None:
    wire = BedrockInvoke(limit=1000)
    emitted = [*wire.feed(lines_of({"completion": "a"}) + b'{"completion":"' + b"x" * 2000), *wire.close()]

    assert isinstance(Seen(emitted).reason, Failed)
    assert (Seen(emitted).text, Seen(emitted).finish) == ("a", "error")


def test_values_that_are_no_events_are_kept() -> None:
    seen = accepted("bedrock-invoke", b'{"completion":"a"}\n[1]\n""\n{"completion":"","stop_reason":"stop_sequence"}\n')

    assert ([raw["value"] for raw in seen.beside("raw")], seen.finish) == ([[1]], "stop")


def test_closing_twice_says_nothing_new() -> None:
    wire = adapter("bedrock-invoke")

    assert len(wire.close()) == 1
    assert wire.close() == []

"""Servers that speak OpenAI's protocol with an accent, hand-written from their documentation and known bugs."""

import json
from typing import Any

import pytest

from conformance.recorded import Seen
from runwire.adapters.openai_chat.chat import OpenAIChat
from runwire_schemas.raw import Failed, ThinkingBlock, Usage
from unit.adapters.saying import Json, accepted, chunk, openai, run, sse, tool, usage

END = chunk(None, "stop")


def _empty(**more: Any) -> Json:
    return {**chunk(), "choices": [], **more}


def _bare(**choice: Any) -> Json:
    """A choice without delta."""
    return {**chunk(), "choices": [{"index": 0, "finish_reason": None, **choice}]}


def _facts(seen: Seen) -> Json:
    found: Json = seen.beside("response-metadata")[-1]["providerMetadata"]["openai-chat"]
    return found


def _kept(seen: Seen) -> list[Json]:
    return [{key: value for key, value in one.items() if key != "provider"} for one in seen.beside("raw")]


# OpenAI and Azure


def test_azure_filters_asynchronously_in_choices_without_a_delta() -> None:
    results = {"hate": {"filtered": False, "severity": "safe"}}
    offsets = {"check_offset": 44, "start_offset": 44, "end_offset": 198}
    first = {"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": [{"a": 1}]}

    seen = openai(
        first,
        chunk({"content": "Hi"}),
        _bare(content_filter_results=results, content_filter_offsets=offsets, finish_reason="stop"),
    )

    assert (seen.text, seen.finish) == ("Hi", "stop")
    assert _kept(seen) == [
        {"chunk": {"prompt_filter_results": [{"a": 1}]}},
        {"choice": {"content_filter_results": results}},
        {"choice": {"content_filter_offsets": offsets}},
    ]
    assert seen.beside("response-metadata")[0]["id"] == "resp-1"


def test_the_first_id_that_is_not_empty_stays() -> None:
    events = [{**chunk({"content": "x"}), "id": identity} for identity in ("", "a", "b", "stub")]

    seen = openai(*events, {**chunk(tool("{}", name="f"), "stop"), "id": "c"})

    assert {said["id"] for said in seen.beside("response-metadata")} == {"a"}
    assert seen.tools[0].id == "generated-a-1"


def test_audio_is_kept_as_it_comes() -> None:
    pieces = [{"id": "audio-1", "transcript": "Hel"}, {"data": "AAAA"}, {"expires_at": 1_700_000_000}]

    seen = openai(*(chunk({"audio": piece}) for piece in pieces), END)

    assert [kept["delta"]["audio"] for kept in seen.beside("raw")] == pieces


def test_the_deprecated_function_call_may_follow_text() -> None:
    seen = openai(
        chunk({"content": "Let me look."}),
        chunk({"content": None, "function_call": {"name": "f", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"n":'}}),
        chunk({"function_call": {"arguments": "1}"}}),
        chunk(None, "function_call"),
    )

    assert (seen.text, seen.finish) == ("Let me look.", "tool_calls")
    assert [call[1:] for call in seen.tools] == [("f", '{"n":1}')]


def test_the_input_of_a_custom_tool_is_any_text() -> None:
    first = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "shell", "input": ""}}
    rest = [{"index": 0, "custom": {"input": piece}} for piece in ('echo "hi"', "\n", "")]

    seen = openai(*(chunk({"tool_calls": [piece]}) for piece in (first, *rest)), chunk(None, "tool_calls"))

    assert [(call.id, call.name, json.loads(call.arguments)) for call in seen.tools] == [
        ("c", "shell", {"input": 'echo "hi"\n'})
    ]


def test_completions_are_text() -> None:
    events = [{**chunk(), "object": "text_completion", "choices": [{"index": 0, "text": text}]} for text in ("a", "b")]

    assert openai(*events, _bare(text="", finish_reason="stop")).text == "ab"


def test_text_beside_a_delta_repeats_it() -> None:
    """Together: object completion.chunk with both."""
    assert openai(chunk({"content": "a", "token_id": 7}, choice={"text": "a"}), END).text == "a"


# Whole messages


def test_a_message_beside_a_delta_repeats_it() -> None:
    """Perplexity and Writer: cumulative, on every chunk."""
    events = [chunk({"content": text}, choice={"message": {"content": "ab"}}) for text in ("a", "b")]

    assert openai(*events, END).text == "ab"


def test_a_whole_message_after_its_deltas_is_not_said_twice() -> None:
    """MiniMax ends its stream with the answer as a whole."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Hello", "reasoning_content": "hm", "tool_calls": [call]}
    deltas = [chunk({"reasoning_content": "hm"}), chunk({"content": "Hel"}), chunk({"content": "lo"})]

    seen = openai(*deltas, chunk(tool("{}", index=0, id="c", name="f")), _bare(message=message, finish_reason="stop"))

    assert (seen.text, seen.reasoning, seen.tools) == ("Hello", "hm", [("c", "f", "{}")])


def test_what_only_the_whole_message_says_is_not_lost() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Hello", "reasoning_content": "hm", "tool_calls": [call]}

    seen = openai(chunk({"reasoning_content": "hm"}), _bare(message=message, finish_reason="tool_calls"))

    assert (seen.text, seen.reasoning, seen.tools) == ("Hello", "hm", [("c", "f", "{}")])


@pytest.mark.parametrize(
    ("delta", "member", "said"),
    [
        ({"content": "a"}, {"refusal": "b"}, ("a", "", 0)),
        ({"reasoning": "r"}, {"refusal": "b"}, ("b", "r", 0)),
        ({"content": "a"}, {"reasoning": "r"}, ("a", "r", 0)),
        ({"reasoning": "r"}, {"reasoning": "r"}, ("", "r", 0)),
        ({"content": "a"}, {"function_call": {"name": "f", "arguments": "{}"}}, ("a", "", 1)),
        ({"function_call": {"name": "f", "arguments": "{}"}}, {"function_call": {"name": "f"}}, ("", "", 1)),
    ],
)
def test_a_whole_message_adds_only_kinds_of_content(delta: Json, member: Json, said: tuple[str, str, int]) -> None:
    seen = openai(chunk(delta), _bare(message={"role": "assistant", **member}, finish_reason="stop"))

    assert (seen.text, seen.reasoning, len(seen.tools)) == said


# Gemini's endpoint


def _thought(text: str) -> Json:
    return chunk({"content": text, "extra_content": {"google": {"thought": True}}})


@pytest.mark.parametrize(
    "events",
    [
        [
            _thought("<thought>**Plan**\n"),
            _thought("more"),
            chunk({"content": "</thought>Yes"}),
            chunk({"content": "."}),
        ],
        [
            _thought("<tho"),
            _thought("ught>**Plan**\nmore"),
            chunk({"content": "</thou"}),
            chunk({"content": "ght>Yes."}),
        ],
        [_thought("**Plan**\nmore"), chunk({"content": "Yes."})],
        [_thought("<thought>**Plan**\nmore</thought>Yes"), chunk({"content": "."})],
        [_thought("<thought>**Plan**\nmore</thought>"), chunk({"content": "Yes."})],
    ],
)
def test_geminis_endpoint_marks_thoughts_and_tags_them(events: list[Json]) -> None:
    seen = openai(*events, END)

    assert (seen.reasoning, seen.text, seen.beside("raw")) == ("**Plan**\nmore", "Yes.", [])


def test_geminis_tags_are_text_where_nothing_is_marked() -> None:
    assert openai(chunk({"content": "<thought>a</thought>b"}), END).text == "<thought>a</thought>b"
    assert openai(_thought("<thought>a"), chunk({"content": "</thought>b"}), chunk({"content": "</thought>"})).text == (
        "b</thought>"
    )


def test_geminis_tags_are_taken_out_once_and_are_facts() -> None:
    seen = openai(_thought("<thought>a</thought>b"), chunk({"content": "</thought>c"}), END)
    alone = openai(_thought("<thought>a"), chunk({"content": "</thought>"}), END)
    none = openai(_thought("a"), chunk({"content": "b"}), END)

    assert (seen.reasoning, seen.text) == ("a", "b</thought>c")
    assert (alone.reasoning, alone.text) == ("a", "")
    assert _facts(seen)["thinkTags"] == _facts(alone)["thinkTags"] == ["<thought>", "</thought>"]
    assert "thinkTags" not in json.dumps(none.agent)


def test_what_geminis_endpoint_held_back_is_not_lost() -> None:
    assert openai(_thought("<thou"), END).reasoning == "<thou"
    assert openai(_thought("<thought>a"), chunk({"content": "</tho"}), END).text == "</tho"


def test_a_signature_of_text_is_kept() -> None:
    google = {"google": {"thought_signature": "SIG"}, "other": 1}

    seen = openai(chunk({"content": "x", "extra_content": google}), END)

    assert (seen.text, seen.kinds) == ("x", ["text"])
    assert _kept(seen) == [
        {"delta": {"extra_content": {"google": {"thought_signature": "SIG"}}}},
        {"delta": {"extra_content": {"other": 1}}},
    ]


def test_nothing_opens_no_block_and_is_not_kept() -> None:
    nothing = {"google": {"thought": True, "thought_signature": ""}, "other": None}
    parts = [{"type": "text", "text": ""}, {"type": "thinking", "thinking": ""}]
    deltas: list[Json] = [{"extra_content": nothing}, {"content": None, "extra_content": nothing}, {"content": parts}]

    seen = openai(*(chunk(delta) for delta in deltas), _thought("<thought></thought>"), END)

    assert (seen.kinds, seen.beside("raw")) == ([], [])


def test_geminis_own_words_follow_a_colon() -> None:
    assert openai(chunk({"content": "x"}, "content_filter: PROHIBITED_CONTENT")).finish == "content_filter"
    seen = openai(chunk(None, "function_call_filter: MALFORMED_FUNCTION_CALL"))
    assert isinstance(seen.reason, Failed)
    assert (seen.reason.failure.code, seen.reason.raw) == (
        "function_call_filter",
        "function_call_filter: MALFORMED_FUNCTION_CALL",
    )


# Groq


def test_tools_that_groq_runs_itself_are_calls_with_their_results() -> None:
    search = {"index": 0, "type": "search", "arguments": '{"query":"x"}', "output": "", "search_results": None}
    found = {**search, "output": "Title: X", "search_results": {"images": None, "results": [{"url": "https://x"}]}}
    code = {"index": 1, "type": "python", "arguments": '{"code":"1"}', "code_results": [{"text": "1"}]}
    events = [chunk({"executed_tools": tools}) for tools in ([search], [found], [found, code])]

    seen = openai(chunk({"reasoning": "hm"}), *events, chunk({"content": "X."}), END)

    assert [call[1:] for call in seen.tools] == [("search", '{"query":"x"}'), ("python", '{"code":"1"}')]
    assert seen.executed == {call.id for call in seen.tools}
    assert [(one.tool_call_id, json.loads(bytes(one.content))) for one in seen.results] == [
        (
            seen.tools[0].id,
            {"output": "Title: X", "search_results": {"images": None, "results": [{"url": "https://x"}]}},
        ),
        (seen.tools[1].id, {"code_results": [{"text": "1"}]}),
    ]
    assert (seen.text, seen.finish, seen.beside("raw")) == ("X.", "stop", [])


def test_an_executed_tool_ends_before_its_result() -> None:
    tools = [{"index": 0, "type": "search", "arguments": "{}", "output": "x"}]
    emitted = run(OpenAIChat(), sse(chunk({"executed_tools": tools}), END))

    types = [json.loads(one.body)["type"] for one in emitted if one.kind == "provider"]
    assert types == [
        "block-start", "tool-call-delta", "tool-call-delta", "block-end", "block-start", "block-end", "finish",
    ]  # fmt: skip


def test_executed_tools_of_any_shape_are_survived_and_kept() -> None:
    seen = openai(chunk({"executed_tools": ["odd", {"arguments": {"a": 1}}, {"output": "x"}]}), END)

    assert _kept(seen) == [{"delta": {"executed_tools": ["odd"]}}]
    assert [call[1:] for call in seen.tools] == [("tool", '{"a":1}'), ("tool", "")]
    assert [json.loads(bytes(one.content)) for one in seen.results] == [{"output": "x"}]


# Mistral and Databricks


def test_references_in_a_content_array_are_kept_between_texts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "reference", "reference_ids": [1]}, {"type": "text", "text": "b"}]

    seen = openai(chunk({"content": parts}), END)

    assert (seen.text, seen.kinds) == ("ab", ["text"])
    assert _kept(seen) == [{"delta": {"content": [parts[1]]}}]


def test_databricks_reasons_in_summaries_with_signatures() -> None:
    def reasoning(**summary: str) -> Json:
        return chunk({"content": [{"type": "reasoning", "summary": [{"type": "summary_text", **summary}]}]})

    seen = openai(
        reasoning(text="I thi", signature=""),
        reasoning(text="nk", signature=""),
        reasoning(text="", signature="SIG"),
        chunk({"content": [{"type": "text", "text": "Yes"}]}),
        END,
    )

    assert (seen.thinking, seen.text) == ([ThinkingBlock(text="I think", signature="SIG")], "Yes")


def test_databricks_counts_are_null_until_the_end() -> None:
    early = {"prompt_tokens": 5, "completion_tokens": None, "total_tokens": None}

    seen = openai(chunk({"content": "x"}, usage=early), chunk(None, "stop", usage=usage(5, 7)))

    assert seen.usage == Usage(input_tokens=5, output_tokens=7)


# vLLM and llama.cpp


def test_vllm_stops_with_a_token_and_numbers_its_tokens() -> None:
    choice = {"stop_reason": 151645, "token_ids": [1, 2], "logprobs": None}

    seen = openai(
        chunk({"role": "assistant", "content": ""}, choice={"token_ids": None}, prompt_token_ids=[7, 8]),
        chunk({"reasoning": "hm", "reasoning_content": "hm"}, choice={"stop_reason": None, "token_ids": None}),
        chunk({"content": "Hi", "tool_calls": []}, "stop", choice=choice, kv_transfer_params=None),
        _empty(usage=usage(4, 2, prompt_tokens_details={"cached_tokens": None})),
    )

    assert (seen.reasoning, seen.text, seen.finish) == ("hm", "Hi", "stop")
    assert seen.usage == Usage(input_tokens=4, output_tokens=2)
    assert _kept(seen) == [{"choice": {"token_ids": [1, 2]}}]
    assert (_facts(seen)["stop_reason"], _facts(seen)["prompt_token_ids"]) == (151645, [7, 8])


@pytest.mark.parametrize(
    "error",
    [
        {"object": "error", "message": "too long", "type": "BadRequestError", "param": None, "code": 400},
        {"error": {"message": "too long", "type": "BadRequestError", "param": None, "code": 400}},
    ],
)
def test_vllm_writes_its_errors_into_the_stream(error: Json) -> None:
    seen = openai(chunk({"content": "Hi"}), error)

    assert isinstance(seen.reason, Failed)
    assert (seen.failure, seen.reason.failure.code, seen.reason.failure.status) == ("too long", "BadRequestError", 400)


def test_vllm_sends_the_rest_of_the_arguments_with_the_finish() -> None:
    seen = openai(
        chunk(tool("", index=0, id="chatcmpl-tool-1", name="f", type="function")),
        chunk(tool('{"a": ', index=0)),
        chunk(tool("1}", index=0), "tool_calls", choice={"stop_reason": None}),
    )

    assert seen.tools == [("chatcmpl-tool-1", "f", '{"a": 1}')]


def test_llamacpp_tells_how_far_it_has_read() -> None:
    progress = [{"total": 100, "cache": 0, "processed": n, "time_ms": n} for n in (50, 100)]
    events = [_empty(prompt_progress=one) for one in progress]
    timings = {"prompt_n": 100, "predicted_n": 2, "predicted_per_second": 40.5}

    seen = openai(*events, chunk({"content": "Hi"}), END, _empty(usage=usage(), timings=timings))

    assert (seen.text, seen.beside("raw")) == ("Hi", [])
    assert (_facts(seen)["prompt_progress"], _facts(seen)["timings"]) == (progress[1], timings)


@pytest.mark.parametrize("start", ["error: ", "error:", "data: "])
def test_llamacpp_writes_its_errors_under_a_name_of_their_own(start: str) -> None:
    error = {"code": 500, "message": "context shift is disabled", "type": "server_error"}
    body = json.dumps(error if start.startswith("error") else {"error": error})

    seen = openai(chunk({"content": "Hi"}), f"{start}{body}\n\n", done=False)

    assert isinstance(seen.reason, Failed)
    assert (seen.text, seen.failure) == ("Hi", "context shift is disabled")
    assert (seen.reason.failure.code, seen.reason.failure.status) == ("server_error", 500)


def test_text_generation_inference_names_the_type_of_its_errors() -> None:
    body = (
        sse(chunk({"content": "Hi"}), done=False)
        + b'data:{"error":"Model is overloaded","error_type":"overloaded"}\n\n'
    )

    seen = accepted("openai-chat", body)

    assert isinstance(seen.reason, Failed)
    assert (seen.failure, seen.reason.failure.code) == ("Model is overloaded", "overloaded")


# Others


def test_fireworks_adds_its_measurements() -> None:
    seen = openai(chunk({"content": "Hi"}), chunk(None, "stop", usage=usage(), perf_metrics={"server-ttft": 0.1}))

    assert (_facts(seen)["perf_metrics"], seen.beside("raw")) == ({"server-ttft": 0.1}, [])


def test_fireworks_may_send_what_the_model_wrote_before_it_was_read() -> None:
    raw = {"completion": "<tool>", "prompt_token_ids": [1]}

    assert {"choice": {"raw_output": raw}} in _kept(
        openai(chunk({"content": "Hi"}, "stop", choice={"raw_output": raw}))
    )


def test_perplexity_repeats_everything_on_each_chunk() -> None:
    results = [{"title": "A", "url": "https://a", "snippet": "…"}]
    more: Json = {
        "citations": ["https://a"],
        "search_results": results,
        "usage": usage(5, 1),
        "object": "chat.completion",
    }
    last: Json = {**more, "usage": usage(5, 7), "object": "chat.completion.done"}

    seen = openai(
        *(chunk({"content": text}, choice={"message": {"content": text}}, **more) for text in ("a", "b")),
        chunk({"content": ""}, "stop", choice={"message": {"content": "ab"}}, **last),
        done=False,
    )

    assert (seen.text, seen.finish, seen.usage) == ("ab", "stop", Usage(input_tokens=5, output_tokens=7))
    assert [(one["url"], one["title"]) for one in seen.beside("source")] == [("https://a", "A")]


def test_zai_searches_the_web_and_has_words_of_its_own() -> None:
    found = [{"title": "A", "link": "https://a", "refer": "ref_1"}]

    seen = openai(chunk({"reasoning_content": "hm"}), chunk({"content": "x"}, "sensitive", web_search=found))

    assert [(one["url"], one["title"]) for one in seen.beside("source")] == [("https://a", "A")]
    assert (seen.reasoning, seen.finish) == ("hm", "content_filter")
    assert openai(chunk(None, "network_error")).finish == "error"
    assert openai(chunk({"content": "x"}, "model_context_window_exceeded")).finish == "max_tokens"


def test_xai_lists_its_citations_at_the_end() -> None:
    seen = openai(chunk({"content": "x"}), chunk(None, "stop", citations=["https://a", "https://b"]))

    assert [one["url"] for one in seen.beside("source")] == ["https://a", "https://b"]


@pytest.mark.parametrize("size", [10, 10_000])
def test_what_repeats_is_kept_once_and_again_when_it_changes(size: int) -> None:
    values = ["a" * size, "a" * size, "b" * size, "b" * size, "a" * size]

    seen = openai(*(chunk({"content": "x"}, mood=value) for value in values), END)

    assert [kept["chunk"]["mood"] for kept in _kept(seen)] == [values[0], values[2], values[4]]


def test_citations_that_are_no_list_are_kept() -> None:
    assert _kept(openai(chunk({"content": "x"}, "stop", citations={"1": "https://a"}))) == [
        {"chunk": {"citations": {"1": "https://a"}}}
    ]


def test_writer_begins_a_call_with_null_arguments_and_goes_on_with_null_names() -> None:
    head = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": None}}
    rest = [{"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": p}} for p in ('{"a"', ":1}")]

    seen = openai(
        *(chunk({"content": "", "tool_calls": [piece]}) for piece in (head, *rest)), chunk(None, "tool_calls")
    )

    assert seen.tools == [("c", "f", '{"a":1}')]


@pytest.mark.parametrize(("word", "kind"), [("tool_calls", "tool_calls"), ("length", "max_tokens")])
def test_a_call_whose_arguments_never_come_is_left_blank(word: str, kind: str) -> None:
    """The enforcer makes `{}` of it, or calls it truncated: the finish tells which."""
    seen = openai(chunk(tool("", index=0, id="c", name="f")), chunk(None, word))

    assert (seen.tools, seen.finish) == ([("c", "f", "")], kind)

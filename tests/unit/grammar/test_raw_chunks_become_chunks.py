"""Golden bytes: what readers get for raw chunks, key by key and in the order of the contract."""

from typing import Any

import pytest

from runwire.grammar import Limits, RunMachine
from runwire_schemas.record import Record
from unit.grammar.story import (
    USAGE,
    Story,
    encoded,
    end,
    finish,
    loop,
    result,
    start,
    text,
    text_block,
    thinking,
    tool,
    tool_block,
    tool_end,
)


def payloads(story: Story, *, after: int = 2) -> list[tuple[str, str]]:
    """Type and payload, as text, without the made `start` and `step-start`."""
    found: list[tuple[str, str]] = []
    for type_, raw in list(zip(story.types, story.raw, strict=True))[after:]:
        head = f'{{"type":"{type_}","runId":"r","from":"AGENT","payload":'
        assert raw.decode().startswith(head)
        found.append((type_, raw.decode()[len(head) : -1]))
    return found


def told(*bodies: Any) -> Story:
    story = Story()
    story.all(bodies)
    assert story.codes == []
    return story


def test_a_whole_call() -> None:
    story = told(*text_block("hé"), USAGE, finish(raw="end_turn"))
    usage = '{"inputTokens":3,"outputTokens":4,"totalTokens":7}'
    result = '"stepResult":{"reason":"stop","rawReason":"end_turn","isContinued":false,"warnings":[]}'
    step = f'{{"messageId":"r:1",{result},"output":{{"usage":{usage}}},"totalUsage":{usage},"metadata":{{}}}}'
    messages = '{"all":[],"user":[],"nonUser":[]}'
    last = f'{{{result},"output":{{"usage":{usage}}},"metadata":{{}},"messages":{messages}}}'
    assert [raw.decode() for raw in story.raw] == [
        '{"type":"start","runId":"r","from":"AGENT","payload":{}}',
        '{"type":"step-start","runId":"r","from":"AGENT","payload":{"messageId":"r:1","request":{},"warnings":[]}}',
        '{"type":"text-start","runId":"r","from":"AGENT","payload":{"id":"1"}}',
        '{"type":"text-delta","runId":"r","from":"AGENT","payload":{"id":"1","text":"hé"}}',
        '{"type":"text-end","runId":"r","from":"AGENT","payload":{"id":"1"}}',
        f'{{"type":"step-finish","runId":"r","from":"AGENT","payload":{step}}}',
        f'{{"type":"finish","runId":"r","from":"AGENT","payload":{last}}}',
    ]


def test_start_has_the_ids_that_are_known() -> None:
    story = Story()
    story.control({"type": "run-start", "threadId": "t", "agentId": "a", "resourceId": "é"})
    assert story.raw == []
    story.write(start())
    assert story.of("start") == [{"agentId": "a", "threadId": "t", "resourceId": "é"}]
    assert b'{"agentId":"a","threadId":"t","resourceId":"\xc3\xa9"}' in story.raw[0]


def test_an_awkward_run_id_is_escaped() -> None:
    machine = RunMachine('a"b\\é', Limits())
    machine.feed(Record("1-0", 'a"b\\é', "provider", "p", 0, 1, encoded(start()), "c"))
    machine.feed(Record("2-0", 'a"b\\é', "provider", "p", 0, 2, encoded(text('"')), "c"))
    produced = machine.take()
    assert produced.chunks[-1].decode() == (
        r'{"type":"text-delta","runId":"a\"b\\é","from":"AGENT","payload":{"id":"1","text":"\""}}'
    )
    assert b'"messageId":"a\\"b\\\\\xc3\xa9:1"' in produced.chunks[1]


def test_reasoning_has_its_signature_on_its_end() -> None:
    story = told(start(0, "thinking"), thinking("hm"), end(0, "thinking", text="hm", signature="s", redacted="r"))
    assert payloads(story) == [
        ("reasoning-start", '{"id":"1"}'),
        ("reasoning-delta", '{"id":"1","text":"hm"}'),
        ("reasoning-end", '{"id":"1","signature":"s","providerMetadata":{"runwire":{"redacted":"r"}}}'),
    ]


def test_a_block_without_a_delta_gives_one_and_an_empty_one_none() -> None:
    story = told(start(), text(""), end(text="all"), start(1), text("", 1), end(1, text=""))
    assert payloads(story) == [
        ("text-start", '{"id":"1"}'),
        ("text-delta", '{"id":"1","text":"all"}'),
        ("text-end", '{"id":"1"}'),
        ("text-start", '{"id":"2"}'),
        ("text-end", '{"id":"2"}'),
    ]


def test_an_empty_delta_is_kept_for_its_metadata() -> None:
    story = told(start(), b'{"type":"text-delta","index":0,"text":"","gemini":{"n" : 1.00, "s": "a b"}}', text(""))
    assert payloads(story)[1:] == [
        ("text-delta", '{"id":"1","text":"","providerMetadata":{"google":{"n":1.00,"s":"a b"}}}')
    ]


def test_metadata_null_is_absent() -> None:
    assert payloads(told(start(), text("", gemini=None), text("x", gemini=None)))[1:] == [
        ("text-delta", '{"id":"1","text":"x"}')
    ]


def test_a_streamed_tool_call() -> None:
    story = told(
        start(0, "tool_use"),
        tool("", name="f", providerWireName="w", gemini={"sig": 1}),
        tool('{"a": '),
        tool("1}"),
        tool_end('{"a": 1}', providerExecuted=True),
    )
    meta = '"providerMetadata":{"google":{"sig":1},"runwire":{"providerWireName":"w"}}'
    assert payloads(story) == [
        ("tool-call-input-streaming-start", f'{{"toolCallId":"t1","toolName":"f",{meta}}}'),
        ("tool-call-delta", f'{{"argsTextDelta":"","toolCallId":"t1","toolName":"f",{meta}}}'),
        ("tool-call-delta", r'{"argsTextDelta":"{\"a\": ","toolCallId":"t1","toolName":"f"}'),
        ("tool-call-delta", '{"argsTextDelta":"1}","toolCallId":"t1","toolName":"f"}'),
        ("tool-call-input-streaming-end", '{"toolCallId":"t1"}'),
        ("tool-call", f'{{"toolCallId":"t1","toolName":"f","args":{{"a":1}},"providerExecuted":true,{meta}}}'),
    ]


def test_a_wire_name_that_comes_with_the_end() -> None:
    story = told(start(0, "tool_use"), tool("{}", name="f"), tool_end("{}", providerWireName="w"))
    assert story.of("tool-call")[0]["providerMetadata"] == {"runwire": {"providerWireName": "w"}}
    assert "providerMetadata" not in story.of("tool-call-delta")[0]


def test_deltas_wait_for_the_name() -> None:
    story = told(start(0, "tool_use"), tool('{"a"'), tool("", gemini=1), tool(":2}"))
    assert payloads(story) == []
    story.all([tool("", name="f"), tool_end('{"a":2}')])
    assert [type_ for type_, _ in payloads(story)] == [
        "tool-call-input-streaming-start",
        "tool-call-delta",
        "tool-call-delta",
        "tool-call-delta",
        "tool-call-input-streaming-end",
        "tool-call",
    ]
    assert [delta["argsTextDelta"] for delta in story.of("tool-call-delta")] == ['{"a"', "", ":2}"]
    assert story.of("tool-call")[0]["providerMetadata"] == {"google": 1}


def test_a_tool_call_without_arguments_has_no_delta() -> None:
    story = told(start(0, "tool_use"), tool("", name="f"), tool_end(""))
    assert [type_ for type_, _ in payloads(story)] == [
        "tool-call-input-streaming-start",
        "tool-call-input-streaming-end",
        "tool-call",
    ]


def test_a_tool_call_that_comes_whole_at_its_end() -> None:
    story = told(start(0, "tool_use"), tool_end('{"a":1}'))
    assert [type_ for type_, _ in payloads(story)] == [
        "tool-call-input-streaming-start",
        "tool-call-delta",
        "tool-call-input-streaming-end",
        "tool-call",
    ]


@pytest.mark.parametrize(
    ("given", "args"),
    [
        ("", "{}"),
        (" \n", "{}"),
        ("{}", "{}"),
        ('{ "b" : 1.0 , "a" : [ 1e400, -0, 12345678901234567890 ] }', '{"b":1.0,"a":[1e400,-0,12345678901234567890]}'),
        (r'{"a": "x \" \\", "b": "\u00e9 \ud83d\ude00"}', r'{"a":"x \" \\","b":"\u00e9 \ud83d\ude00"}'),
        ('{"a": 1, "a": 2}', '{"a":1,"a":2}'),
    ],
)
def test_arguments_keep_their_spelling(given: str, args: str) -> None:
    story = told(start(0, "tool_use"), tool_end(given))
    assert payloads(story)[-1] == ("tool-call", f'{{"toolCallId":"t1","toolName":"f","args":{args}}}')


@pytest.mark.parametrize(
    "given",
    [
        "[]",
        "null",
        "1",
        "{",
        '{"a":1}x',
        "{'a':1}",
        '{"a":NaN}',
        r'{"a":"\ud800"}',
        "\u00a0",
        '{"a":' * 200 + "1" + "}" * 200,
    ],
)
def test_arguments_that_are_no_object_make_a_bad_call(given: str) -> None:
    story = Story()
    story.all([start(0, "tool_use"), tool_end(given), USAGE, finish("tool_calls")])
    assert story.codes == []
    assert story.of("tool-call") == []
    assert story.of("tool-error") == [
        {
            "toolCallId": "t1",
            "toolName": "f",
            "error": {
                "code": "tool-arguments-invalid",
                "message": "the arguments of the tool call are no JSON object",
                "argsText": given,
            },
        }
    ]
    assert story.types[-3:] == ["tool-error", "step-finish", "finish"]
    assert story.reason == "tool-calls"


@pytest.mark.parametrize(
    ("given", "said"),
    [('"isError":true,', "true"), ('"isError":false,', "false"), ('"isError":null,', "false"), ("", "false")],
)
def test_a_tool_result(given: str, said: str) -> None:
    block = b'{"kind":"tool_result","toolCallId":"t1",%s"content":[ 1.0 ]}' % given.encode()
    story = told(*tool_block(), start(1, "tool_result"), b'{"type":"block-end","index":1,"block":%s}' % block)
    assert payloads(story)[-1] == (
        "tool-result",
        f'{{"toolCallId":"t1","toolName":"f","result":[1.0],"isError":{said},"providerExecuted":true}}',
    )


@pytest.mark.parametrize(("more", "name"), [({}, "unknown"), ({"toolName": "g"}, "g")])
def test_a_result_that_nobody_asked_for_is_an_orphan(more: dict[str, Any], name: str) -> None:
    story = told(*result(**more))
    tail = '"providerExecuted":true,"metadata":{"orphan":true}'
    assert payloads(story) == [
        (
            "tool-result",
            f'{{"toolCallId":"t1","toolName":"{name}","result":null,"isError":false,{tail}}}',
        )
    ]


def test_a_call_may_be_answered_while_its_block_is_open() -> None:
    story = told(start(0, "tool_use"), tool("{", name="f"), *result(), tool("}"), tool_end("{}"), USAGE, finish())
    assert story.types.count("tool-call") == 1
    assert story.machine.finished


@pytest.mark.parametrize(
    ("given", "payload"),
    [
        ({"data": "QQ=="}, '{"mimeType":"image/png","data":"QQ==","base64":"QQ=="}'),
        ({"url": "https://x/y"}, '{"mimeType":"image/png","data":"https://x/y"}'),
        ({"sha256": "ab"}, '{"mimeType":"image/png","data":"sha256:ab"}'),
    ],
)
def test_an_image_is_a_file(given: dict[str, str], payload: str) -> None:
    story = told(start(0, "image"), end(0, "image", mediaType="image/png", **given))
    assert payloads(story) == [("file", payload)]


def test_blocks_are_numbered_over_the_run() -> None:
    story = loop()
    story.all([*text_block(), start(1, "thinking"), end(1, "thinking", text=""), USAGE, finish()], call="1")
    story.all([start(), start(1, "tool_use"), start(2)], call="2")
    ids = [
        chunk["payload"]["id"] for chunk in story.chunks if chunk["type"].endswith(("text-start", "reasoning-start"))
    ]
    assert ids == ["1", "2", "3", "4"]
    assert [step["messageId"] for step in story.of("step-start")] == ["r:1", "r:2"]


def test_a_tool_call_id_that_was_used_before_is_numbered() -> None:
    story = loop()
    story.all([*tool_block(), *result(), USAGE, finish()], call="1")
    story.all([*tool_block('{"k":2}'), *result(), USAGE, finish()], call="2")
    story.all([start(0, "tool_use"), tool("", name="f")], call="3")
    assert [call["toolCallId"] for call in story.of("tool-call")] == ["t1", "t1~2"]
    assert [answer["toolCallId"] for answer in story.of("tool-result")] == ["t1", "t1~2"]
    assert story.of("tool-call-input-streaming-start")[-1]["toolCallId"] == "t1~3"
    first, again = story.evidence
    assert (first.code, first.cls) == ("tool-call-id-renamed", "repaired")
    assert (again.count, again.body) == (1, None)


def test_an_id_stays_numbered_when_its_first_use_is_forgotten() -> None:
    story = loop(Story(Limits(answered_calls=2)))
    story.all([*tool_block(), *result(), USAGE, finish()], call="1")
    story.all([*tool_block(), USAGE, finish()], call="2")
    story.all([*result("x", index=0), *result("y", index=1), USAGE, finish()], call="3")
    story.all([*tool_block(), USAGE, finish()], call="4")
    assert [call["toolCallId"] for call in story.of("tool-call")] == ["t1", "t1~2", "t1~3"]


def test_a_numbered_id_never_meets_a_given_one() -> None:
    story = loop()
    story.all([*tool_block(id="t"), *tool_block(index=1, id="t~2"), USAGE, finish()], call="1")
    story.all([*tool_block(id="t"), USAGE, finish()], call="2")
    ids = [call["toolCallId"] for call in story.of("tool-call")]
    assert ids == ["t", "t~2", "t~3"]


@pytest.mark.parametrize(
    ("usage", "out"),
    [
        ({"inputTokens": 5, "outputTokens": 0}, {"inputTokens": 5, "outputTokens": 0, "totalTokens": 5}),
        (
            {"inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 10, "cacheWriteTokens": 0, "reasoningTokens": 1},
            {
                "inputTokens": 11,
                "cachedInputTokens": 10,
                "cacheCreationInputTokens": 0,
                "outputTokens": 2,
                "reasoningTokens": 1,
                "totalTokens": 13,
            },
        ),
        (
            {"inputTokens": 1, "outputTokens": 2, "cacheReadTokens": None},
            {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3},
        ),
    ],
)
def test_usage(usage: dict[str, int], out: dict[str, int]) -> None:
    story = told({"type": "usage", "usage": usage}, finish())
    assert list(story.of("step-finish")[0]["output"]["usage"].items()) == list(out.items())


def test_usage_is_added_field_by_field_over_steps_and_legs() -> None:
    story = loop(usage="optional")
    story.all([{"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 2}}, finish()], call="1")
    story.all([finish()], call="2")
    story.control({"type": "run-end", "reason": "suspended"})
    report = {"inputTokens": 10, "outputTokens": 20, "reasoningTokens": 5}
    story.all([{"type": "usage", "usage": report}, finish()], call="3")
    story.control({"type": "run-end", "reason": "stop"})
    sums = {"inputTokens": 11, "outputTokens": 22, "reasoningTokens": 5, "totalTokens": 33}
    first = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}
    assert [step["output"]["usage"] for step in story.of("step-finish")][:2] == [first, {}]
    assert [step["totalUsage"] for step in story.of("step-finish")] == [first, first, sums]
    assert story.of("finish")[0]["output"]["usage"] == sums


def test_sums_may_pass_what_any_integer_of_a_store_holds() -> None:
    story = loop()
    most = 2**53 - 1
    usage = {"inputTokens": most, "outputTokens": most, "cacheReadTokens": most, "cacheWriteTokens": most}
    for number in range(700):
        story.all([{"type": "usage", "usage": usage}, finish()], call=str(number))
    story.reload()
    story.control({"type": "run-end", "reason": "stop"})
    assert story.of("finish")[0]["output"]["usage"]["totalTokens"] == most * 4 * 700


# --- what adapters send beside ---------------------------------------------------------------------------------------


def test_agent_chunks_of_a_call_are_passed_on_inside_its_step() -> None:
    story = Story()
    story.agent({"type": "response-metadata", "payload": {"id": "x", "modelId": "m"}})
    story.all([start(), text("a")])
    story.agent(b'{"type":"source","runId":"r","from":"SYSTEM","payload":{ "id":"s", "sourceType":"url"},"n" : 1.0}')
    story.agent({"type": "source", "id": "s2", "sourceType": "document", "title": None, "filename": "f"})
    story.agent({"type": "file", "payload": {"data": "QQ==", "mimeType": "image/png"}})
    story.agent({"type": "raw", "chunk": {"a": [1]}})
    story.all([end(text="a"), USAGE, finish()])
    assert story.codes == []
    beside = [
        raw.decode() for raw in story.raw if not raw.startswith((b'{"type":"text', b'{"type":"st', b'{"type":"fini'))
    ]
    assert beside == [
        '{"type":"response-metadata","runId":"r","from":"AGENT","payload":{"id":"x","modelId":"m"}}',
        '{"type":"source","runId":"r","from":"SYSTEM","payload":{"id":"s","sourceType":"url","title":""},"n":1.0}',
        '{"type":"source","runId":"r","from":"AGENT","payload":{"id":"s2","sourceType":"document","title":"","filename":"f"}}',
        '{"type":"file","runId":"r","from":"AGENT","payload":{"data":"QQ==","mimeType":"image/png"}}',
        '{"type":"raw","runId":"r","from":"AGENT","payload":{"chunk":{"a":[1]}}}',
    ]
    assert story.types[:3] == ["start", "step-start", "response-metadata"]


def test_an_agent_chunk_may_be_larger_than_a_raw_one() -> None:
    story = Story(Limits(chunk_bytes=100, agent_chunk_bytes=1000))
    story.agent({"type": "raw", "payload": {"x": "y" * 500}})
    assert story.codes == []
    story.agent({"type": "raw", "payload": {"x": "y" * 1500}})
    assert story.codes == ["chunk-too-large"]

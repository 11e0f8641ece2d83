"""ConverseStream: what a message holds. Hand-written from the documentation."""

import base64
import json

import pytest

from conformance.recorded import Seen, decode_raw, judge
from runwire.adapters import adapter
from runwire.adapters.bedrock_converse.converse import BedrockConverse
from runwire.adapters.writing.call import MAX_OPEN_TOOLS
from runwire.adapters.writing.writer import MAX_AGENT, MAX_BLOCK
from runwire_schemas.raw import BlockEnd, ImageBlock
from unit.adapters.conversing import begins, converse, ends, failure_of, lines_of, says, stops, tool
from unit.adapters.saying import Json, run

# Text and reasoning


def test_text_begins_without_a_start_and_each_index_is_a_block() -> None:
    seen = converse(says(0, text="He"), says(0, text="llo"), stops(0), says(1, text=" you"), stops(1))

    assert (seen.text, seen.kinds) == ("Hello you", ["text", "text"])


def test_blocks_are_told_apart_by_their_index_also_without_stops() -> None:
    seen = converse(says(0, text="a"), says(1, text="b"), says(2, reasoningContent={"text": "c"}))

    assert (seen.text, seen.reasoning, seen.kinds) == ("ab", "c", ["text", "text", "thinking"])


def test_an_empty_delta_begins_nothing() -> None:
    seen = converse(says(0, text=""), says(0, reasoningContent={"text": ""}), stops(0), says(1, text="a"))

    assert seen.kinds == ["text"]


def test_a_start_that_starts_nothing_is_passed_over() -> None:
    event = {"contentBlockStart": {"contentBlockIndex": 0}}

    seen = converse(event, begins(0), says(0, text="a"), stops(0))

    assert (seen.text, seen.kinds, seen.beside("raw")) == ("a", ["text"], [])


def test_a_block_that_begins_again_is_another_one() -> None:
    seen = converse(says(0, text="a"), begins(0), says(0, text="b"))

    assert (seen.text, seen.kinds) == ("ab", ["text", "text"])


def test_a_signature_may_come_in_pieces() -> None:
    pieces = [says(0, reasoningContent={"signature": piece}) for piece in ("ab", "cd")]

    seen = converse(says(0, reasoningContent={"text": "hm"}), *pieces, stops(0), says(1, text="x"))

    assert [(block.text, block.signature) for block in seen.thinking] == [("hm", "abcd")]


def test_each_block_of_reasoning_has_its_own_signature() -> None:
    blocks = [
        event
        for index in (0, 1)
        for event in (
            says(index, reasoningContent={"text": "t"}),
            says(index, reasoningContent={"signature": f"s{index}"}),
        )
    ]

    assert [block.signature for block in converse(*blocks).thinking] == ["s0", "s1"]


def test_a_signature_may_stand_alone() -> None:
    seen = converse(says(0, reasoningContent={"signature": "s"}), stops(0))

    assert [(block.text, block.signature) for block in seen.thinking] == [("", "s")]


@pytest.mark.parametrize("name", ["redactedContent", "data"])
def test_redacted_reasoning_is_kept_as_it_came(name: str) -> None:
    seen = converse(says(0, reasoningContent={name: "QUJD"}), stops(0), says(1, text="x"))

    assert [(block.text, block.redacted) for block in seen.thinking] == [("", "QUJD")]
    assert seen.beside("raw") == []


def test_each_block_hides_its_own() -> None:
    blocks = [event for index, data in enumerate(("QQ==", "Qg==")) for event in _hidden(index, data)]

    assert [block.redacted for block in converse(*blocks).thinking] == ["QQ==", "Qg=="]


def _hidden(index: int, data: str) -> list[Json]:
    return [says(index, reasoningContent={"redactedContent": data}), stops(index)]


def test_reasoning_under_two_indices_is_two_blocks() -> None:
    seen = converse(*(says(index, reasoningContent={"text": "a"}) for index in (0, 0, 1)))

    assert [block.text for block in seen.thinking] == ["aa", "a"]


def test_redacted_reasoning_in_pieces_is_joined_as_bytes() -> None:
    pieces = [
        says(0, reasoningContent={"redactedContent": base64.b64encode(piece).decode()}) for piece in (b"A", b"BC")
    ]

    assert [block.redacted for block in converse(*pieces).thinking] == [base64.b64encode(b"ABC").decode()]


def test_pieces_that_are_no_base64_are_joined_as_text() -> None:
    pieces = [says(0, reasoningContent={"redactedContent": piece}) for piece in ("A?", "B")]

    assert [block.redacted for block in converse(*pieces).thinking] == ["A?B"]


def test_members_that_are_not_known_are_kept() -> None:
    seen = converse(
        says(0, reasoningContent={"text": "hm", "effort": "low"}),
        says(0, audio={"x": 1}, video=None),
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "a"}, "more": 1, "p": "x"}},
        {"contentBlockStop": {"contentBlockIndex": 0, "why": "w", "p": "x"}},
        begins(1, video={"format": "mp4"}),
        begins(1, toolUse="x", toolResult=[1], image=5, text=None),
        {"contentBlockStart": {"contentBlockIndex": 2, "start": {}, "note": "n"}},
        {"surprise": {"a": 1}, "p": "padding"},
    )

    kept = [{name: value for name, value in raw.items() if name != "provider"} for raw in seen.beside("raw")]
    assert kept == [
        {"reasoningContent": {"effort": "low"}, "index": 0},
        {"delta": {"audio": {"x": 1}}, "index": 0},
        {"contentBlockDelta": {"more": 1}, "index": 0},
        {"contentBlockStop": {"why": "w"}, "index": 0},
        {"start": {"video": {"format": "mp4"}}, "index": 1},
        {"start": {"toolUse": "x"}, "index": 1},
        {"start": {"toolResult": [1]}, "index": 1},
        {"start": {"image": 5}, "index": 1},
        {"contentBlockStart": {"note": "n"}, "index": 2},
        {"event": {"surprise": {"a": 1}}},
    ]


def test_many_blocks_of_text_share_the_last_ones() -> None:
    many = [event for index in range(1200) for event in (says(index, text="a"), stops(index))]

    emitted = run(adapter("bedrock-converse"), lines_of(*many, *ends()))
    seen = Seen(emitted)

    assert judge(emitted, "required")[1] == []
    assert (seen.text, seen.finish) == ("a" * 1200, "stop")
    assert 900 <= len(seen.kinds) <= 1024


# Tool calls


def test_a_tool_call_has_its_arguments_from_deltas() -> None:
    seen = converse(says(0, text="ok"), *tool(1, "", '{"q":', ' "x"}'), end=ends("tool_use"))

    assert [tuple(tool) for tool in seen.tools] == [("tooluse_1", "search", '{"q": "x"}')]
    assert (seen.finish, seen.kinds, seen.beside("raw")) == ("tool_calls", ["text", "tool_use"], [])


def test_a_call_without_input_has_an_empty_object() -> None:
    assert converse(*tool(0), *tool(1, ""), end=ends("tool_use")).tools[1].arguments == "{}"


def test_a_call_that_was_cut_off_before_its_input_has_none() -> None:
    assert converse(tool(0)[0], end=ends("max_tokens")).tools[0].arguments == ""


def test_a_call_that_is_not_stopped_ends_with_the_message() -> None:
    seen = converse(*tool(0, '{"a":1}')[:-1], end=ends("tool_use"))

    assert [tool.arguments for tool in seen.tools] == ['{"a":1}']


def test_the_input_may_come_with_the_start_or_as_an_object() -> None:
    seen = converse(*tool(0, input={"a": 1}), tool(1)[0], says(1, toolUse={"input": {"b": 2}}), end=ends("tool_use"))

    assert [json.loads(tool.arguments) for tool in seen.tools] == [{"a": 1}, {"b": 2}]


def test_calls_may_interleave_and_never_mix() -> None:
    starts = [tool(index)[0] for index in (0, 1)]
    deltas = [says(index, toolUse={"input": piece}) for piece in ("{", "}") for index in (1, 0)]

    assert [tool.arguments for tool in converse(*starts, *deltas, end=ends("tool_use")).tools] == ["{}", "{}"]


def test_a_call_under_the_index_of_an_open_one_ends_that() -> None:
    seen = converse(*tool(0, "{}")[:-1], *tool(0, '{"a":1}', name="other"), end=ends("tool_use"))

    assert [(tool.name, tool.arguments) for tool in seen.tools] == [("search", "{}"), ("other", '{"a":1}')]


def test_text_under_the_index_of_an_open_call_ends_that() -> None:
    call = tool(0, "{}")[:-1]

    for before in ([], [says(0, text="a"), stops(0)]):
        seen = converse(*before, *call, says(0, text="x"), says(0, toolUse={"input": "}"}))
        assert (seen.tools[0].arguments, seen.text[-1], seen.finish) == ("{}", "x", "error")


def test_a_stop_that_says_more_ends_its_block() -> None:
    call = tool(0, "{}")
    call[-1]["contentBlockStop"]["more"] = 1

    seen = converse(*call, says(0, toolUse={"input": "}"}), end=ends("tool_use"))

    assert (seen.tools[0].arguments, seen.finish) == ("{}", "error")


def test_a_piece_of_arguments_that_says_more_is_read_and_kept() -> None:
    seen = converse(tool(0)[0], says(0, toolUse={"input": "{}", "more": 1}), end=ends("tool_use"))

    assert (seen.tools[0].arguments, [raw["toolUse"] for raw in seen.beside("raw")]) == ("{}", [{"more": 1}])


def test_arguments_without_their_call_end_in_an_error() -> None:
    seen = converse(says(3, toolUse={"input": ""}), says(3, toolUse={"input": "{"}))

    code, message, *_ = failure_of(seen)
    assert (code, "block 3" in message) == ("tool-name-missing", True)
    assert converse(says(3, toolUse={"input": ""})).finish == "stop"


def test_more_calls_than_may_be_open_are_ended_in_their_order() -> None:
    starts = [tool(index)[0] for index in range(300)]

    assert len(converse(*starts, end=ends("tool_use")).tools) == 300


def test_what_is_open_is_bounded() -> None:
    wire = BedrockConverse()
    emitted = run(wire, lines_of(*(begins(index, toolResult={"toolUseId": str(index)}) for index in range(300))))

    # The oldest ones were ended for the newer.
    assert len(wire._blocks._open) == MAX_OPEN_TOOLS
    assert [one.tool_call_id for one in Seen(emitted).results] == [str(index) for index in range(300 - MAX_OPEN_TOOLS)]


def test_the_provider_runs_its_own_tools() -> None:
    result = {"toolUseId": "tooluse_0", "type": "nova_code_interpreter_result", "status": "success"}

    seen = converse(
        *tool(0, "{}", name="nova_code_interpreter", type="server_tool_use"),
        begins(1, toolResult=result),
        says(1, toolResult=[{"json": {"n": 1.50}}]),
        says(1, toolResult=[{"text": "ok"}]),
        stops(1),
        *tool(2, "{}", name="mine", type="tool_use"),
        end=ends("tool_use"),
    )

    assert seen.executed == {"tooluse_0"}
    assert [(one.tool_call_id, bytes(one.content), one.is_error) for one in seen.results] == [
        ("tooluse_0", b'[{"json":{"n":1.5}},{"text":"ok"}]', False)
    ]
    assert seen.beside("raw") == [
        {"provider": "bedrock-converse", "toolCallId": "tooluse_0", "block": {"type": "nova_code_interpreter_result"}}
    ]


def test_other_types_of_tools_are_kept() -> None:
    seen = converse(*tool(0, "{}", type="strange", more=1), end=ends("tool_use"))

    assert [raw["toolUse"] for raw in seen.beside("raw")] == [{"type": "strange", "more": 1}]
    assert seen.executed == set()


def test_a_result_may_be_an_error_or_say_nothing() -> None:
    seen = converse(
        begins(0, toolResult={"toolUseId": "a", "status": "error", "type": None}),
        says(0, toolResult={"text": "no list"}),
        stops(0),
        begins(1, toolResult={"toolUseId": "b"}),
    )

    said = [(bytes(one.content), one.is_error) for one in seen.results]
    assert said == [(b'[{"text":"no list"}]', True), (b"[]", None)]
    assert seen.beside("raw") == []


def test_a_result_without_its_start_is_kept() -> None:
    seen = converse(says(0, toolResult=[{"text": "x"}]), says(1, toolResult={"text": "y"}))

    assert [raw["delta"] for raw in seen.beside("raw")] == [
        {"toolResult": [{"text": "x"}]},
        {"toolResult": {"text": "y"}},
    ]


# Images and citations


def _images(seen: Seen, body: bytes) -> list[ImageBlock]:
    chunks = [decode_raw(one.body) for one in run(adapter("bedrock-converse"), body) if one.kind == "provider"]
    assert seen.finish
    return [chunk.block for chunk in chunks if isinstance(chunk, BlockEnd) and isinstance(chunk.block, ImageBlock)]


def test_an_image_may_come_in_pieces() -> None:
    pieces = [says(0, image={"source": {"bytes": base64.b64encode(piece).decode()}}) for piece in (b"A", b"BC")]
    events = [begins(0, image={"format": "png"}), *pieces, stops(0)]

    found = _images(converse(*events), lines_of(*events, *ends()))

    assert [(one.media_type, one.data) for one in found] == [("image/png", base64.b64encode(b"ABC").decode())]


def test_an_image_may_begin_with_its_data_and_ends_what_was_open_there() -> None:
    events = [tool(0, "{}")[0], says(0, image={"source": {"bytes": "QUJD"}}), stops(0), says(0, toolUse={"input": "}"})]
    seen = converse(*events)

    assert [one.data for one in _images(seen, lines_of(*events, *ends()))] == ["QUJD"]
    assert (seen.kinds, seen.finish) == (["tool_use", "image"], "error")


def test_an_image_may_lie_elsewhere_or_be_missing() -> None:
    place = {"s3Location": {"uri": "s3://bucket/key"}}
    owned = {"s3Location": {"uri": "s3://bucket/key", "bucketOwner": "1"}}
    events = [says(0, image={"source": place}), stops(0), says(1, image={"source": owned}), stops(1)]
    events += [begins(2, image={"format": "jpeg"}), says(2, image={"error": {"message": "m"}}), stops(2)]

    seen = converse(*events)
    found = _images(seen, lines_of(*events, *ends()))

    assert [(one.media_type, one.url) for one in found] == [("image/*", "s3://bucket/key")]
    assert [raw["image"] for raw in seen.beside("raw")] == [{"source": owned}, {"error": {"message": "m"}}]


def test_citations_lie_in_a_block_of_text_and_are_sources() -> None:
    page: Json = {
        "title": "facts",
        "location": {"documentPage": {"documentIndex": 0}},
        "sourceContent": [{"text": "quote"}],
    }
    web: Json = {"location": {"web": {"url": "https://a.example/x", "domain": "a.example"}}}
    found: Json = {"title": "t", "source": "https://b.example", "location": {"searchResultLocation": {"start": 0}}}
    named: Json = {"source": "handbook"}

    seen = converse(says(0, text="a"), *(says(0, citation=one) for one in (page, web, found, named)), says(0, text="b"))

    assert (seen.text, seen.kinds, seen.beside("raw")) == ("ab", ["text"], [])
    sources = seen.beside("source")
    assert [(one["id"], one["sourceType"], one["title"], one.get("url")) for one in sources] == [
        ("source:1", "document", "facts", None),
        ("source:2", "url", "", "https://a.example/x"),
        ("source:3", "url", "t", "https://b.example"),
        ("source:4", "document", "handbook", None),
    ]
    assert sources[0]["providerMetadata"] == {"bedrock-converse": page}


# Limits


@pytest.mark.parametrize("name", ["signature", "redactedContent"])
def test_what_only_the_provider_reads_is_bounded(name: str) -> None:
    pieces = [says(0, reasoningContent={name: "A" * (MAX_BLOCK // 2)})] * 3

    assert failure_of(Seen(run(adapter("bedrock-converse"), lines_of(*pieces))))[0] == "event-too-large"


@pytest.mark.parametrize(
    ("start", "delta"),
    [
        ({"toolResult": {"toolUseId": "a"}}, {"toolResult": [{"text": "x" * (MAX_AGENT // 3)}]}),
        ({"image": {"format": "png"}}, {"image": {"source": {"bytes": "A" * (MAX_AGENT // 3)}}}),
    ],
    ids=["results", "images"],
)
def test_what_waits_for_its_end_is_bounded_together(start: Json, delta: Json) -> None:
    events = [event for index in range(4) for event in (begins(index, **start), says(index, **delta))]
    wire = adapter("bedrock-converse")
    emitted = run(wire, lines_of(*events))

    assert failure_of(Seen(emitted))[0] == "event-too-large"
    # What has ended waits no more.
    ended = [event for index in range(4) for event in (begins(index, **start), says(index, **delta), stops(index))]
    assert Seen(run(adapter("bedrock-converse"), lines_of(*ended, *ends()))).finish == "stop"

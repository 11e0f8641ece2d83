"""`auto` is told by the first events, whatever their framing, and never falls back on anything."""

import json
from typing import Any

import pytest

from conformance.eventstream import conversed, error, exception, invoked
from conformance.recorded import Seen, judge
from runwire.adapters import PROVIDERS, Emitted, adapter, feed_event
from runwire.adapters.auto import MAX_EVENTS, Auto, Head
from runwire.adapters.signs import RAW, RECORD, SIGNS
from unit.adapters.saying import block, chunk, message, sse

Json = dict[str, Any]


def typed(*types: str, **more: Any) -> list[Json]:
    return [{"type": kind, **more} for kind in types]


FIRST: dict[str, list[Json]] = {
    "openai-chat": [
        {"id": "", "choices": [], "prompt_filter_results": []},
        *({"id": "x", "choices": [], "usage": {}, name: "x"} for name in ("model", "object", "created")),
        {"choices": [{"delta": {}}], "error": {"message": "m"}},
        {"object": "chat.completion.chunk", "id": "x"},
        {"error": {"message": "no such model", "type": "invalid_request_error", "code": None}},
        {"error": {"message": "m", "code": 502, "metadata": {}}},
        {"object": "error", "message": "m", "code": 404},
        {"detail": "Not Found"},
        {"message": "no"},
        {"id": "e-1", "message": "invalid api token"},
        {"errors": [{"message": "no route"}], "success": False},
    ],
    "openai-responses": [
        {"type": "response.created", "response": {}},
        {"type": "response.output_text.delta", "sequence_number": 17, "delta": "a"},
        {"type": "error", "sequence_number": 2, "error": {"type": "server_error", "message": "m"}},
        {"type": "error", "code": "server_error", "message": "m", "param": None},
        {"object": "response", "output": []},
        {"type": "keepalive", "sequence_number": 3},
    ],
    "anthropic": [
        *typed("message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "ping"),
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        {"type": "message", "content": [], "role": "assistant"},
    ],
    "gemini": [
        {"candidates": [{"content": {}}]},
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"usageMetadata": {"trafficType": "ON_DEMAND"}},
        {"response": {"candidates": [{"content": {}}]}, "traceId": "t"},
        {"prompt_feedback": {"block_reason": "SAFETY"}},
        {"usage_metadata": {"prompt_token_count": 1}},
        {"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}},
    ],
    "gemini-interactions": [
        {"event_type": "interaction.created", "interaction": {}},
        {"event_type": "step.delta", "index": 0},
        {"event_type": "content.delta", "index": 0},
        {"object": "interaction", "outputs": None},
        {"event_type": "error", "error": {"message": "m"}},
    ],
    "bedrock-converse": [
        {"messageStart": {"p": "abc", "role": "assistant"}},
        {"messageStart": {"role": "assistant"}},
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {}}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "a"}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": {}}},
        {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": "end_turn"},
        {"throttlingException": {"message": "m"}},
        {"validationException": {"message": "m"}},
        {"internalServerException": {"message": "m"}},
        {"modelStreamErrorException": {"message": "m"}},
        {"serviceUnavailableException": {"message": "m"}},
    ],
    "bedrock-invoke": [
        {"type": "completion", "completion": " The", "stop_reason": None, "stop": None},
        {"completion": " The", "stop_reason": "stop_sequence"},
        {"chunk": {"bytes": "e30="}},
        {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 1}},
        {"index": 0, "is_finished": False, "text": " In"},
        {"outputText": "a", "index": 0, "totalOutputTextTokenCount": None},
        {"generation": "a", "prompt_token_count": 5, "generation_token_count": 1, "stop_reason": None},
        {"outputs": [{"text": "a", "stop_reason": None}]},
        {"generations": [{"text": "a"}]},
        {"inputTextTokenCount": 3, "results": [{"outputText": "a"}]},
        {"contentBlockDelta": {"delta": {"text": "a"}, "contentBlockIndex": 0}},
        {"modelTimeoutException": {"message": "m"}},
        {"id": "x", "choices": [{"index": 0, "delta": {}}], "usage": {"prompt_tokens": 1}},
    ],
    "cohere-v2": [
        *typed("message-start", "message-end", "content-start", "content-delta", "content-end", "tool-plan-delta"),
        *typed("tool-call-start", "tool-call-end", "citation-start", "citation-end"),
        *typed("tool-call-delta", index=0, delta={"message": {}}),
        {"id": "x", "message": {"role": "assistant", "content": []}, "finish_reason": "COMPLETE"},
    ],
    "ollama": [
        {"model": "m", "created_at": "t", "message": {"role": "assistant"}, "done": False},
        {"model": "m", "created_at": "t", "response": "a", "done": False},
        {"error": "model not found"},
    ],
    "ai-sdk": [
        *typed("stream-start", warnings=[]),
        *typed("text-start", "text-delta", "text-end", "reasoning-start", "reasoning-delta", "reasoning-end", id="0"),
        *typed("tool-input-start", "tool-input-delta", "tool-input-end", id="c", toolName="f"),
        *typed("tool-call", "tool-result", toolCallId="c", toolName="f"),
        {"type": "response-metadata", "modelId": "m"},
        {"type": "source", "sourceType": "url"},
        {"type": "file", "mediaType": "image/png"},
        {"type": "finish", "finishReason": "stop", "usage": {}},
        {"type": "raw", "rawValue": {}},
    ],
    RAW: [
        {"type": "block-start", "index": 0, "blockKind": "text"},
        *typed("text-delta", "thinking-delta", index=0, text="a"),
        {"type": "tool-call-delta", "index": 0, "id": "c", "argumentsDelta": ""},
        {"type": "block-end", "index": 0, "block": {}},
        {"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 1}},
        {"type": "finish", "reason": {"kind": "stop"}},
    ],
    RECORD: [
        {"kind": "provider", "call": "c", "body": {"type": "finish"}},
        {"kind": "control", "body_base64": ""},
        {"kind": "x"},
    ],
}
EVENTS = [(provider, event) for provider, events in FIRST.items() for event in events]


def told(body: bytes) -> Head:
    head = Head()
    head.feed(body)
    head.close()
    return head


def bodies(event: Json) -> list[bytes]:
    """The event in every framing, with what may come before it."""
    line = json.dumps(event).encode()
    return [
        b"data: " + line + b"\n\n",
        b": comment\r\n\r\nevent: x\r\ndata: " + line + b"\r\n\r\ndata: [DONE]\r\n\r\n",
        b"data: [DONE]\n\ndata: " + line,
        b"\xef\xbb\xbf" + line + b"\n" + line + b"\n",
        b"[" + line + b"," + line + b"]",
        b"[\n" + json.dumps(event, indent=1).encode() + b"\n,\r\n" + line + b"\n]\n",
        json.dumps(event, indent=1).encode(),
        line,
    ]


@pytest.mark.parametrize(("provider", "event"), EVENTS, ids=[f"{name}:{json.dumps(e)[:40]}" for name, e in EVENTS])
def test_the_first_event_tells_in_every_framing(provider: str, event: Json) -> None:
    assert {guess.provider if (guess := told(body).guess) else "" for body in bodies(event)} == {provider}


def test_every_provider_has_a_sign_and_every_sign_a_provider() -> None:
    assert {sign.provider for sign in SIGNS} == FIRST.keys()
    assert {*PROVIDERS} <= FIRST.keys()


def test_every_sign_tells_one_of_these_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sign that tells none could be deleted without a test noticing."""

    def guesses() -> list[object]:
        return [told(bodies(event)[0]).guess for _, event in EVENTS]

    whole = guesses()
    needless = []
    for sign in SIGNS:
        monkeypatch.setattr("runwire.adapters.auto.SIGNS", tuple(one for one in SIGNS if one is not sign))
        if guesses() == whole:
            needless.append(sign)
    assert needless == []


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"candidates": []}, "the first event has candidates"),
        ({"type": "response.created"}, "the first event is of type response.created"),
        ({"done": False, "message": {}}, "the first event has done and message"),
        ({"event_type": "step.stop"}, "the first event has event_type step.stop"),
        ({"error": {"message": "m"}}, "the first event has error (several protocols send errors like this one)"),
    ],
)
def test_the_reason_names_what_was_seen(event: Json, reason: str) -> None:
    guess = told(sse(event)).guess
    assert guess is not None
    assert guess.reason == reason


def test_a_ping_tells_only_if_nothing_better_comes() -> None:
    ping = {"type": "ping"}
    alone = told(sse(ping, done=False)).guess
    followed = told(sse(ping, {"type": "message_start"})).guess
    other = told(sse(ping, {"choices": []})).guess

    assert alone is not None
    assert alone.provider == "anthropic"
    assert followed is not None
    assert followed.reason == "event 2 is of type message_start"
    assert other is not None
    assert (other.provider, other.reason) == ("openai-chat", "event 2 has choices")


def test_converse_and_nova_begin_alike_and_are_told_by_the_second_event() -> None:
    start, stop = {"messageStart": {"role": "assistant"}}, {"messageStop": {"stopReason": "end_turn"}}
    converse = {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "a"}}}
    nova = {"contentBlockDelta": {"delta": {"text": "a"}, "contentBlockIndex": 0}}

    guesses = [told(sse(start, *more, done=False)).guess for more in ([], [stop], [converse], [nova])]
    names = [guess.provider if guess else "" for guess in guesses]

    assert names == ["bedrock-converse", "bedrock-converse", "bedrock-converse", "bedrock-invoke"]


def test_an_event_of_an_sdk_has_no_order() -> None:
    head = Head()
    head.event(b'{"contentBlockDelta":{"delta":{"text":"a"},"contentBlockIndex":0}}')
    assert head.guess is not None
    assert head.guess.provider == "bedrock-converse"


def test_binary_frames_are_told_by_what_they_carry() -> None:
    converse = [b'{"messageStart":{"role":"assistant"}}', b'{"contentBlockDelta":{"contentBlockIndex":0,"delta":{}}}']
    nova = [b'{"messageStart":{"role":"assistant"}}', b'{"contentBlockDelta":{"delta":{},"contentBlockIndex":0}}']
    claude = [b'{"type":"message_start","message":{}}']
    bodies = [conversed(converse), invoked(nova), invoked(claude), exception("throttlingException", message="m")]
    guesses = [told(body).guess for body in [*bodies, error("InternalError", "m")]]

    assert [guess.provider if guess else "" for guess in guesses] == [
        "bedrock-converse",
        "bedrock-invoke",
        "bedrock-invoke",
        "bedrock-converse",
        "bedrock-invoke",
    ]
    assert guesses[2] is not None
    assert guesses[2].reason == "the first event is of type message_start, in a frame of Bedrock's"


UNCLEAR = {
    b"": "an empty body",
    b"hello\n": "a body that begins with 'hello",
    b"<html>502 Bad Gateway</html>": "a body that begins with '<html>502",
    b"{}\n": "an event without members",
    b'{"type":"text"}\n': "an event of type 'text'",
    b'{"a":1,"b":2}\n{"c":3}\n': "an event with a, b, an event with c",
    b"data: [1]\n\n": "an event that is no JSON object ('[1]')",
    b"\xff\xfe": "no event",
    b'{"type":': "no event, in a body that begins with '{\"type\":'",
    b"data: [DONE]\n\n": "no event",
    b"\0\0\0\x10 no frame at all": "binary data that are no frames of AWS's",
}


@pytest.mark.parametrize(("body", "seen"), UNCLEAR.items())
def test_what_nobody_can_tell_fails_and_says_what_was_seen(body: bytes, seen: str) -> None:
    wire = adapter("auto")
    emitted = wire.feed(body) + wire.close()
    result = Seen(emitted)

    assert wire.guess is None
    assert seen in result.failure
    assert result.finish in ("error", "aborted")
    if result.finish == "error":
        assert ", ".join((*PROVIDERS, RAW)) in result.failure
    assert seen in wire.unclear
    assert judge(emitted, wire.usage)[1] == []
    assert (wire.feed(sse(chunk())), wire.close()) == ([], [])


def test_a_body_that_is_cut_inside_its_first_event_was_cut_off() -> None:
    body = sse(chunk({"content": "Hi"}), done=False)
    for end in range(len(body) - 3):
        wire = adapter("auto")
        assert Seen(wire.feed(body[:end]) + wire.close()).finish == "aborted", end


def test_records_are_told_but_have_no_adapter() -> None:
    wire = adapter("auto")
    seen = Seen(wire.feed(b'{"kind":"provider","call":"c","body":{}}\n') + wire.close())
    assert "looks like record, which has no adapter" in seen.failure


def test_the_wait_for_an_event_that_tells_is_bounded() -> None:
    body = sse(*({"n": n} for n in range(MAX_EVENTS)), chunk({"content": "late"}), chunk(None, "stop"))
    wire = adapter("auto")
    assert Seen(wire.feed(body) + wire.close()).finish == "error"

    comments = Head(limit=100)
    comments.feed(b": still here\n\n" * 10)
    assert (comments.over, comments.guess) == (True, None)
    one = Head(limit=100)
    one.feed(b"data: " + b"x" * 200)
    assert (one.over, one.guess) == (True, None)


CASES = [
    ("openai-chat", sse(chunk({"content": "Hé"}), chunk(None, "stop"))),
    ("anthropic", message(*block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hé"}))),
    (RAW, b'[{"type":"block-start","index":0,"blockKind":"text"},{"type":"text-delta","index":0,"text":"H\xc3\xa9"}]'),
]


@pytest.mark.parametrize(("provider", "body"), CASES, ids=[name for name, _ in CASES])
def test_auto_reads_what_the_named_adapter_reads_under_every_split(provider: str, body: bytes) -> None:
    named = adapter(provider, framing="json" if provider == RAW else None)
    whole = named.feed(body) + named.close()
    for at in range(len(body)):
        wire = adapter("auto")
        emitted = wire.feed(body[:at]) + wire.feed(body[at:]) + wire.close()
        assert emitted == whole, at
        assert wire.guess is not None
        assert wire.guess.provider == provider
    slow = adapter("auto")
    assert [one for at in range(len(body)) for one in slow.feed(body[at : at + 1])] + slow.close() == whole


def test_usage_is_that_of_the_guessed_protocol_at_the_first_chunk() -> None:
    for provider, body in CASES:
        wire = adapter("auto")
        rules = {wire.usage for at in range(len(body)) if wire.feed(body[at : at + 1])}
        assert rules == {adapter(provider).usage}


ERRORS = [
    event
    for provider, event in EVENTS
    if provider in PROVIDERS
    and (
        "error" in str(event) or "xception" in str(event) or "detail" in event or isinstance(event.get("message"), str)
    )
]


@pytest.mark.parametrize("event", ERRORS, ids=lambda event: json.dumps(event)[:60])
def test_an_error_alone_is_a_failed_call_whoever_sent_it(event: Json) -> None:
    wire = adapter("auto")
    emitted: list[Emitted] = wire.feed(sse(event, done=False)) + wire.close()
    assert Seen(emitted).finish == "error"
    assert wire.guess is not None


def test_events_of_an_sdk_are_told_too() -> None:
    wire = adapter("auto")
    emitted = [one for event in (chunk({"content": "Hi"}), chunk(None, "stop")) for one in feed_event(wire, event)]
    emitted += wire.close()
    assert (Seen(emitted).text, isinstance(wire, Auto), wire.usage) == ("Hi", True, "optional")

"""All choices of a response come from one reading, each exactly as an adapter for it alone would give it."""

import json
from typing import Any

import pytest

from conformance.recorded import Seen, convert, judge
from runwire.adapters import Chosen, Emitted, adapter, choices
from runwire.adapters.several import KEPT_EVENTS
from unit.adapters.saying import block, chunk, message, sse, tool, usage

Json = dict[str, Any]


def of(choice: int, delta: Json | None = None, finish: str | None = None) -> Json:
    return chunk(delta, finish, choice={"index": choice})


def both(*inner: Json) -> Json:
    """One chunk with several choices."""
    return {**chunk(), "choices": [one["choices"][0] for one in inner]}


BODY = sse(
    {**chunk(), "choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
    both(of(0, {"role": "assistant", "content": "A"}), of(1, {"content": "B"})),
    of(1, tool("{}", index=0, id="call-1", name="f")),
    of(0, tool('{"a"', index=0, id="call-1", name="f")),
    of(2, {"content": "C"}),
    of(0, tool(":1}", index=0)),
    of(1, None, "tool_calls"),
    of(0, None, "tool_calls"),
    of(2, None, "length"),
    {**chunk(), "choices": [], "usage": usage()},
)


def split(chosen: list[Chosen]) -> dict[int, list[Emitted]]:
    calls: dict[int, list[Emitted]] = {}
    for choice, emitted in chosen:
        calls.setdefault(choice, []).append(emitted)
    return calls


def read(provider: str, body: bytes, step: int = 1 << 30) -> dict[int, list[Emitted]]:
    several = choices(provider)
    chosen = [one for at in range(0, len(body), step) for one in several.feed(body[at : at + step])]
    chosen += several.close()
    assert several.close() == []
    return split(chosen)


@pytest.mark.parametrize("provider", ["openai-chat", "auto"])
@pytest.mark.parametrize("step", [1, 7, 1 << 30])
def test_each_call_is_what_its_own_adapter_would_give(provider: str, step: int) -> None:
    calls = read(provider, BODY, step)

    assert calls == {choice: convert("openai-chat", [BODY], choice=choice) for choice in (0, 1, 2)}


def test_the_same_tool_call_id_in_two_choices_stays_two_calls() -> None:
    calls = read("openai-chat", BODY)

    tools = {choice: Seen(emitted).tools for choice, emitted in calls.items()}
    assert tools == {0: [("call-1", "f", '{"a":1}')], 1: [("call-1", "f", "{}")], 2: []}
    assert [Seen(calls[choice]).text for choice in (0, 1, 2)] == ["A", "B", "C"]
    assert [Seen(calls[choice]).finish for choice in (0, 1, 2)] == ["tool_calls", "tool_calls", "max_tokens"]
    assert all(judge(emitted, "optional")[1] == [] for emitted in calls.values())


def test_events_of_an_sdk_give_the_same() -> None:
    several = choices("openai-chat")
    events = [line[6:] for line in BODY.split(b"\n\n") if line]
    calls = split([one for event in events for one in several.feed_json(event)] + several.close())

    assert calls == read("openai-chat", BODY)


def test_a_protocol_without_choices_has_choice_0() -> None:
    body = message(*block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"}))
    raw = b'{"type":"block-start","index":0,"blockKind":"text"}\n{"type":"finish","reason":{"kind":"stop"}}\n'

    for provider, content in (("anthropic", body), ("raw", raw)):
        several, wire = choices(provider), adapter(provider)
        assert several.usage == wire.usage
        assert split(several.feed(content) + several.close()) == {0: wire.feed(content) + wire.close()}


def test_a_response_without_choice_0_has_no_call_for_it() -> None:
    calls = read("openai-chat", sse(of(1, {"content": "B"}), of(1, None, "stop")))

    assert calls.keys() == {1}
    assert Seen(calls[1]).text == "B"


def test_an_empty_response_is_one_call_that_was_cut_off() -> None:
    calls = read("openai-chat", b"")
    assert {choice: Seen(emitted).finish for choice, emitted in calls.items()} == {0: "aborted"}


def test_a_body_that_stops_ends_every_call() -> None:
    calls = read("openai-chat", BODY[: BODY.rindex(b"data:", 0, BODY.index(b'"length"'))])
    assert {choice: Seen(emitted).finish for choice, emitted in calls.items()} == {
        0: "tool_calls",
        1: "tool_calls",
        2: "aborted",
    }


def test_an_error_ends_every_call() -> None:
    body = sse(both(of(0, {"content": "A"}), of(1, {"content": "B"})), {"error": {"message": "m"}}, of(0, {}, "stop"))
    assert {choice: Seen(emitted).failure for choice, emitted in read("openai-chat", body).items()} == {0: "m", 1: "m"}


def test_an_event_that_is_too_large_ends_every_call() -> None:
    several = choices("openai-chat")
    chosen = several.feed(sse(both(of(0, {"content": "A"}), of(1, {"content": "B"})), done=False))
    chosen += several.feed(b"data: " + b"x" * 9_000_000)
    chosen += several.feed(sse(of(0, None, "stop"))) + several.close()

    assert {choice: Seen(emitted).finish for choice, emitted in split(chosen).items()} == {0: "error", 1: "error"}


def test_a_choice_that_comes_late_knows_how_the_response_began() -> None:
    """What is kept for it is bounded: facts stand at the beginning, and nothing of it came before it was seen."""
    words = [of(0, {"content": f"{n} "}) for n in range(KEPT_EVENTS * 3)]
    body = sse(*words, of(1, {"content": "B"}), of(1, None, "stop"), of(0, None, "stop"))

    late = Seen(read("openai-chat", body)[1])

    assert (late.text, late.finish) == ("B", "stop")
    assert late.beside("response-metadata")[0]["id"] == "resp-1"


def test_the_number_of_choices_is_bounded() -> None:
    """As many as one request may ask for; an index that is no number of a choice makes none."""
    body = sse(*(of(n, {"content": "x"}) for n in range(300)), of(-1, {"content": "x"}), of(1 << 40, {"content": "x"}))

    assert read("openai-chat", body).keys() == set(range(128))


def test_what_nobody_can_tell_is_one_failed_call() -> None:
    calls = read("auto", json.dumps({"a": 1}).encode())
    assert {choice: Seen(emitted).finish for choice, emitted in calls.items()} == {0: "error"}

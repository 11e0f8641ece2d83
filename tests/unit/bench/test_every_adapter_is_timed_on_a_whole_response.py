"""What the adapters are timed on is a whole response of each protocol, framed as its provider does."""

import json
from pathlib import Path

import pytest

from conformance.recorded import Seen, convert, judge
from runwire.adapters import PROVIDERS, adapter
from runwire.adapters.base import MAX_EVENT
from runwire.adapters.framing.framed import Framed
from runwire.adapters.framing.sse import WireEvent
from runwire.bench.bodies import bodies, in_frames
from runwire.bench.made_up import ARGUMENTS, made_up, pieces

# Titan calls no tools.
WITHOUT_TOOLS = ("bedrock-invoke",)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_made_up_response_says_the_same_in_every_protocol(provider: str) -> None:
    body = made_up()[provider]
    emitted = convert(provider, [body])
    seen = Seen(emitted)

    assert judge(emitted, adapter(provider).usage)[1] == []
    assert (seen.text, seen.reasoning) == ("".join(pieces()), "")
    assert seen.usage is not None
    assert (seen.usage.input_tokens, seen.usage.output_tokens) == (20, len(pieces()))
    if provider in WITHOUT_TOOLS:
        assert seen.finish == "stop"
    else:
        assert seen.finish == "tool_calls"
        assert [(tool.name, json.loads(tool.arguments)) for tool in seen.tools] == [("weather", json.loads(ARGUMENTS))]
    assert convert("auto", [body]) == emitted


def test_recorded_bodies_get_their_framing_back(tmp_path: Path) -> None:
    folder = tmp_path / "providers" / "anthropic"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text('{"type":"message_stop"}\n\n')
    (folder / "b.sse").write_text("data: {}\n\n")
    (folder / "NOTES.md").write_text("no body")
    framed = [b'event: message_stop\ndata: {"type":"message_stop"}\n\n', b"data: {}\n\n"]

    assert bodies(["anthropic", "ollama"], tmp_path) == {"anthropic": framed, "ollama": [made_up()["ollama"]]}
    assert bodies(["anthropic"], tmp_path / "providers") == {"anthropic": framed}


def test_decoded_events_become_frames_again() -> None:
    for provider in ("bedrock-converse", "bedrock-invoke"):
        whole = made_up()[provider]
        (body,) = in_frames(provider, [whole])
        found: list[WireEvent] = []
        Framed("eventstream", MAX_EVENT).feed(body, found)
        assert [json.loads(event.data) for event in found] == [json.loads(line) for line in whole.splitlines()]
        assert convert(provider, [body]) == convert(provider, [whole])
    assert in_frames("ollama", [made_up()["ollama"]]) == []

"""Names of providers, events as SDKs hand them out, and raw chunks that are passed on."""

import json
import subprocess
import sys
from typing import Any

import pytest

from conformance.recorded import Seen
from runwire.adapters import PROVIDERS, UnknownProvider, adapter, feed_event
from unit.adapters.saying import block, chunk, message, run

CHUNKS = [chunk({"content": "Hi"}), chunk(None, "stop")]


class _Model:
    """As pydantic models of SDKs behave: only what was sent is dumped."""

    def __init__(self, **members: Any) -> None:
        self.__dict__.update(members)
        self._members = members

    def model_dump_json(self, *, exclude_unset: bool, by_alias: bool, warnings: bool) -> str:
        assert (exclude_unset, by_alias, warnings) == (True, True, False)
        return json.dumps(self._members, default=lambda model: model._members)


def test_an_unknown_provider_names_the_known_ones() -> None:
    with pytest.raises(UnknownProvider) as raised:
        adapter("opanai")
    assert str(raised.value) == f"unknown provider 'opanai'; known are {', '.join(PROVIDERS)}, raw, auto"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_name_leads_to_its_adapter_and_options_reach_it(provider: str) -> None:
    wire: Any = adapter(provider, choice=3, framing="ndjson", think=True)

    assert wire.provider == provider
    assert wire._framed.framing == "ndjson"
    assert wire.usage in ("required", "optional")
    with pytest.raises(UnknownProvider):
        adapter(f"{provider}x")


def test_a_protocol_is_imported_when_it_is_asked_for() -> None:
    """All of them together take as long to import as the rest of a client, and a client uses one or two."""
    code = (
        "import json, sys, runwire.adapters as adapters\n"
        "folders = {name.replace('-', '_') for name in adapters.PROVIDERS}\n"
        "loaded = lambda: sorted(folders & {name.split('.')[2] for name in sys.modules if name.count('.') > 1})\n"
        "before = loaded(); adapters.adapter('ollama'); print(json.dumps([before, loaded()]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert json.loads(done.stdout) == [[], ["ollama"]]


@pytest.mark.parametrize(
    "form", [dict, lambda event: _Model(**event), json.dumps, lambda event: json.dumps(event).encode()]
)
def test_events_of_sdks_may_be_mappings_models_or_json(form: Any) -> None:
    wire = adapter("openai-chat")
    emitted = [one for event in CHUNKS for one in feed_event(wire, form(event))]

    assert Seen([*emitted, *wire.close()]).text == "Hi"


def test_the_stream_helper_of_openai_wraps_chunks_and_derives_events() -> None:
    wire = adapter("openai-chat")
    events: list[object] = [_Model(type="content.delta", delta="Hi"), {"type": "content.done", "content": "Hi"}]
    events += [_Model(type="chunk", chunk=_Model(**event), snapshot=None) for event in CHUNKS]
    emitted = [one for event in events for one in feed_event(wire, event)]

    assert Seen([*emitted, *wire.close()]).text == "Hi"


def test_the_stream_helper_of_anthropic_derives_events_too() -> None:
    wire = adapter("anthropic")
    lines = [line[6:] for line in message(*block(0, {"type": "text", "text": ""})).split(b"\n") if line[:5] == b"data:"]
    events = [json.loads(line) for line in lines]
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
    events[2:2] = [text, {"type": "text", "text": "Hi", "snapshot": "Hi"}]
    events[-1]["message"] = {"content": [{"type": "text", "text": "Hi"}]}

    seen = Seen([one for event in events for one in feed_event(wire, event)])

    assert (seen.text, seen.finish) == ("Hi", "stop")
    assert seen.beside("raw") == []


def test_an_object_without_json_is_refused() -> None:
    with pytest.raises(TypeError):
        feed_event(adapter("openai-chat"), object())


RAW = [
    b'{"type":"block-start","index":0,"blockKind":"text"}',
    b'{"type":"text-delta","index":0,"text":"Hi"}',
    b'{"type":"finish","reason":{"kind":"aborted","failure":{"message":"m"}}}',
]


def test_raw_chunks_are_passed_on_byte_for_byte() -> None:
    lines = [*RAW[:2], b"not json", b'{ "type" : "unknown" }', RAW[2]]

    emitted = run(adapter("raw"), b"\n\n".join(lines) + b"\r\n")

    assert [one.body for one in emitted] == lines
    assert {one.kind for one in emitted} == {"provider"}


def test_raw_chunks_without_finish_were_cut_off() -> None:
    emitted = run(adapter("raw"), b"\n".join(RAW[:2]))

    assert Seen(emitted).finish == "aborted"


def test_a_raw_line_without_end_is_passed_on_as_too_large() -> None:
    wire = adapter("raw")
    emitted = [one for _ in range(9) for one in wire.feed(b"x" * 1024 * 1024)] + wire.close()

    assert len(emitted[0].body) > 1024 * 1024
    assert len(emitted) == 2

"""SSE, NDJSON, a JSON array, or one JSON body over several lines: told by the first byte that is not blank."""

import json
import time

import pytest

from conformance.recorded import Seen
from runwire.adapters import adapter
from unit.adapters.saying import accepted, chunk, run, sse

EVENTS = [chunk({"content": "Hel"}), chunk({"content": 'lo "}{" ['}), chunk(None, "stop")]
LINES = [json.dumps(event) for event in EVENTS]


@pytest.mark.parametrize(
    "body",
    [
        sse(*EVENTS),
        b"\n\n \r\n" + sse(*EVENTS),
        b": comment first\n\n" + sse(*EVENTS),
        "\n".join(LINES).encode(),
        "\r\n\r\n".join(LINES).encode() + b"\r\n",
        ("\n".join(LINES) + "\n[DONE]\n").encode(),
        ("[" + ",\n".join(LINES) + "]").encode(),
        ("[\n" + ",\r\n".join(json.dumps(event, indent=2) for event in EVENTS) + "\n]\n").encode(),
        "\n".join(json.dumps(event, indent=2) for event in EVENTS).encode(),
    ],
    ids=["sse", "blank-first", "comment-first", "ndjson", "crlf", "done", "array", "pretty-array", "pretty"],
)
def test_the_framing_is_guessed(body: bytes) -> None:
    seen = accepted("openai-chat", body)

    assert seen.text == 'Hello "}{" ['
    assert seen.finish == "stop"


def test_a_framing_that_is_named_is_not_guessed() -> None:
    body = json.dumps(EVENTS[0]).encode() + b"\n" + json.dumps(EVENTS[2]).encode()

    assert Seen(run(adapter("openai-chat", framing="ndjson"), body)).text == "Hel"
    assert Seen(run(adapter("openai-chat", framing="json"), "".join(LINES).encode())).text == 'Hello "}{" ['
    assert Seen(run(adapter("openai-chat", framing="sse"), sse(*EVENTS))).finish == "stop"


def test_an_error_body_over_several_lines_is_an_error() -> None:
    body = json.dumps({"error": {"message": "no such model", "type": "invalid_request_error", "code": 404}}, indent=2)

    seen = accepted("openai-chat", body.encode())

    assert (seen.finish, seen.failure) == ("error", "no such model")


def test_an_answer_that_was_not_streamed_is_read_all_the_same() -> None:
    whole = {
        "id": "x",
        "object": "chat.completion",
        "model": "m",
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
    }

    seen = accepted("openai-chat", json.dumps(whole, indent=1).encode())

    assert (seen.text, seen.finish) == ("Hello", "stop")


def test_the_work_grows_with_the_body_not_with_its_square() -> None:
    """A huge body in one piece, and a word and a value without end in small ones, are cut in a moment."""
    many = ("[" + ",".join([LINES[0]] * 50_000) + "]").encode()
    started = time.process_time()

    assert len(Seen(run(adapter("openai-chat"), many)).text) == 50_000 * 3
    for endless in (b"[" + b"x" * 3_000_000, b'{\n"a": "' + b"x" * 3_000_000, b"data: {}\n\n{" + b'"a":1,\n' * 300_000):
        wire = adapter("openai-chat")
        for at in range(0, len(endless), 1000):
            wire.feed(endless[at : at + 1000])

    assert time.process_time() - started < 8


@pytest.mark.parametrize("body", [b"", b"   \n\n", b"data: \n\n", b": only a comment\n"])
def test_an_empty_body_is_cut_off(body: bytes) -> None:
    for provider in ("openai-chat", "anthropic"):
        assert accepted(provider, body).finish == "aborted"


@pytest.mark.parametrize("body", [b"<html>502 Bad Gateway</html>", b"data: <html>\n\n"])
def test_a_body_that_is_no_stream_fails(body: bytes) -> None:
    assert accepted("openai-chat", body).finish in ("aborted", "error")

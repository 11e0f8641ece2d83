"""SSE, NDJSON, a JSON array, or one JSON body over several lines: told by the first byte that is not blank."""

import json
import re
from typing import Any

import pytest

from conformance.recorded import Seen
from runwire.adapters import Framing, adapter
from runwire.adapters.framing import framed, values
from runwire.adapters.framing import sse as sse_framing
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


def _counting(work: "_Work") -> type[bytearray]:
    """A bytearray that counts what goes into it and what is copied out of it."""

    class Buffer(bytearray):
        def __iadd__(self, other: Any) -> Any:
            work.bytes += len(other)
            return super().__iadd__(other)

        def __add__(self, other: Any) -> Any:
            work.bytes += len(self) + len(other)
            return Buffer(super().__add__(other))

        def __getitem__(self, at: Any) -> Any:
            found = super().__getitem__(at)
            if not isinstance(at, slice):
                return found
            work.bytes += len(found)
            return Buffer(found)

    return Buffer


class _Work:
    """Counts the bytes that the framing looks at, appends and copies, in place of a clock."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.bytes = 0
        for module in (framed, sse_framing, values):
            patch.setattr(module, "bytearray", _counting(self), raising=False)
        for name in ("_OUTSIDE", "_INSIDE", "_WORD_END", "_VALUE"):
            patch.setattr(values, name, _Search(getattr(values, name), self))
        guess = framed.guess

        def counted(head: bytes, *, over: bool) -> Framing | None:
            self.bytes += len(head)
            return guess(head, over=over)

        patch.setattr(framed, "guess", counted)


class _Search:
    """A pattern that counts what it passes."""

    def __init__(self, pattern: re.Pattern[bytes], work: _Work) -> None:
        self._pattern = pattern
        self._work = work

    def search(self, data: bytes, at: int = 0) -> re.Match[bytes] | None:
        found = self._pattern.search(data, at)
        self._work.bytes += (len(data) if found is None else found.end()) - at
        return found


MANY = ("[" + ",".join([LINES[0]] * 2_000) + "]").encode()
ENDLESS = {
    "a word": b"[" + b"x" * 300_000,
    "a value over lines": b'{\n"a": "' + b"x" * 300_000,
    "a value in one line": b'{"a": "' + b"x" * 300_000,
    "a value in a stream": b"data: {}\n\n{" + b'"a":1,\n' * 30_000,
    "an event": b"data: " + b"x" * 300_000,
    "blank space": b" " * 300_000,
}


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS.keys())
def test_what_never_ends_is_looked_at_once(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    work = _Work(monkeypatch)
    wire = adapter("openai-chat")

    for at in range(0, len(body), 1000):
        wire.feed(body[at : at + 1000])

    # Each byte is appended, looked at by a pattern or two, and moved on; its square would be 150 times that.
    assert len(body) <= work.bytes <= 6 * len(body)


@pytest.mark.parametrize("size", [len(MANY), 1000])
def test_many_values_are_each_looked_at_once(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    work = _Work(monkeypatch)
    wire = adapter("openai-chat")

    emitted = [one for at in range(0, len(MANY), size) for one in wire.feed(MANY[at : at + size])]

    assert len(Seen(emitted).text) == 2_000 * 3
    assert len(MANY) <= work.bytes <= 6 * len(MANY)


@pytest.mark.parametrize("body", [b"", b"   \n\n", b"data: \n\n", b": only a comment\n"])
def test_an_empty_body_is_cut_off(body: bytes) -> None:
    for provider in ("openai-chat", "anthropic"):
        assert accepted(provider, body).finish == "aborted"


@pytest.mark.parametrize("body", [b"<html>502 Bad Gateway</html>", b"data: <html>\n\n"])
def test_a_body_that_is_no_stream_fails(body: bytes) -> None:
    assert accepted("openai-chat", body).finish in ("aborted", "error")

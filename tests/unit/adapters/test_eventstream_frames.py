"""AWS's binary frames: cut on any split, checked by their checksums, bounded, and opened where they are envelopes."""

import base64
import json
import struct
import sys
import zlib
from typing import Any

import botocore.eventstream
import pytest

from conformance.eventstream import chunk, error, event, exception, frame, sealed
from conformance.recorded import Seen
from runwire.adapters import Framing, adapter
from runwire.adapters.framing.eventstream import EventstreamFramer, opened
from runwire.adapters.framing.framed import Framed
from runwire.adapters.framing.sse import WireEvent
from runwire.adapters.framing.values import TooLarge
from runwire.errors import ExtraMissing, PublishError
from runwire_schemas.raw import Aborted, Failed
from unit.adapters.saying import accepted, block, message, run

LIMIT = 100_000
HI = [
    event("messageStart", b'{"role":"assistant"}'),
    event("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"Hi"}}'),
    event("messageStop", b'{"stopReason":"end_turn"}'),
    event("metadata", b'{"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}'),
]
ENDED = HI[2] + HI[3]
LINES = b'{"messageStop":{"stopReason":"end_turn"}}\n{"metadata":{"usage":{"inputTokens":1,"outputTokens":2}}}\n'


def cut(body: bytes, *, framing: Framing | None = None, limit: int = LIMIT) -> list[WireEvent]:
    """The events of a body, the same byte by byte."""
    whole, slow = Framed(framing, limit), Framed(framing, limit)
    found: list[WireEvent] = []
    again: list[WireEvent] = []
    whole.feed(body, found)
    for at in range(len(body)):
        slow.feed(body[at : at + 1], again)
    whole.close(found)
    slow.close(again)
    assert again == found
    return found


def broken(body: bytes) -> Failed:
    """How ConverseStream ends on a body that is no valid series of frames."""
    reason = accepted("bedrock-converse", body).reason
    assert isinstance(reason, Failed)
    assert reason.failure.code == "undecodable"
    return reason


# What a frame says


def test_a_frame_is_the_event_that_the_sdks_hand_out() -> None:
    assert cut(event("messageStop", b'{"stopReason":"end_turn"}')) == [
        WireEvent("", b'{"messageStop":{"stopReason":"end_turn"}}')
    ]


def test_an_exception_is_an_event_of_its_name() -> None:
    assert cut(exception("throttlingException", message="slow down")) == [
        WireEvent("", b'{"throttlingException":{"message": "slow down"}}')
    ]


def test_an_exception_without_a_name_is_still_one() -> None:
    seen = accepted("bedrock-converse", frame({":message-type": "exception"}, b'{"message":"m"}'))

    assert (seen.finish, seen.failure) == ("error", "m")


def test_an_event_without_a_name_is_no_exception() -> None:
    assert cut(frame({":message-type": "event"}, b"{}")) == [WireEvent("", b'{"":{}}')]


def test_an_error_frame_has_no_payload() -> None:
    assert cut(error("BadThing", 'a "message"')) == [
        WireEvent("error", b'{"error":{"code":"BadThing","message":"a \\"message\\""}}')
    ]


def test_a_payload_may_be_empty_or_text() -> None:
    plain = event("note", "grün".encode()).replace(b"application/json", b"text/plain;utf-8")
    plain = sealed(plain[12 : -4 - len("grün".encode())], "grün".encode())

    assert cut(event("ping", b"") + plain) == [WireEvent("", b'{"ping":{}}'), WireEvent("", '{"note":"grün"}'.encode())]


def test_headers_may_be_of_every_type() -> None:
    headers = b"".join(
        bytes([len(name)]) + name + value
        for name, value in (
            (b"true", b"\x00"), (b"false", b"\x01"), (b"byte", b"\x02\x05"), (b"short", b"\x03\x00\x05"),
            (b"int", b"\x04\x00\x00\x00\x05"), (b"long", b"\x05" + bytes(8)), (b"bytes", b"\x06\x00\x01z"),
            (b"time", b"\x08" + bytes(8)), (b"uuid", b"\x09" + bytes(16)), (b":event-type", b"\x04\x00\x00\x00\x07"),
        )
    )  # fmt: skip

    assert cut(sealed(headers, b"{}")) == [WireEvent("", b'{"7":{}}')]


# The envelope


def test_the_envelope_of_invoke_model_is_opened() -> None:
    assert cut(chunk(b'{"completion":"a"}')) == [WireEvent("", b'{"completion":"a"}')]


def test_what_lies_beside_the_bytes_is_kept() -> None:
    payload = {"bytes": "e30=", "p": "abc", "more": 1}

    assert cut(event("chunk", json.dumps(payload).encode())) == [
        WireEvent("", b"{}"),
        WireEvent("", b'{"chunk":{"more":1}}'),
    ]
    assert opened(b'{"chunk":{"bytes":"e30="},"other":[1]}') == [b"{}", b'{"other":[1]}']
    assert opened(b'{"chunk":{"bytes":"e30=","more":null},"p":"abc","other":null}') == [b"{}"]


@pytest.mark.parametrize(
    "data",
    [b'{"chunk":1}', b'{"chunk":{}}', b'{"chunk":{"bytes":5}}', b'{"chunk":{"bytes":"Q==="}}', b'{"chunk"', b"[]"],
)
def test_what_is_no_envelope_stays_as_it_is(data: bytes) -> None:
    assert opened(data) is None
    body = data if data != b'{"chunk"' else b"{}"
    assert cut(event("chunk", b'{"bytes":5}')) == [WireEvent("", b'{"chunk":{"bytes":5}}')]
    assert cut(event("chunk", b"")) == [WireEvent("", b'{"chunk":{}}')]
    assert accepted("bedrock-converse", body + b"\n").finish == "aborted"


def test_bytes_that_somebody_took_for_text_are_read_too() -> None:
    assert opened(b'{"chunk":{"bytes":"{\\"a\\":1}"}}') == [b'{"a":1}']


def test_an_envelope_in_an_envelope_is_opened_too() -> None:
    inner = b'{"completion":" deep","stop_reason":"stop_sequence"}'

    assert accepted("bedrock-invoke", _line(_line(inner))).text == " deep"


def _line(inner: bytes) -> bytes:
    return json.dumps({"chunk": {"bytes": base64.b64encode(inner).decode()}}, separators=(",", ":")).encode()


@pytest.mark.parametrize("form", ["frames", "lines", "dicts"])
def test_claude_on_invoke_model_is_anthropics_protocol(form: str) -> None:
    body = message(*block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"}))
    events = [line[6:] for line in body.splitlines() if line.startswith(b"data: ")]
    if form == "frames":
        seen = accepted("anthropic", b"".join(chunk(one) for one in events))
    elif form == "lines":
        seen = accepted("anthropic", b"\n".join(_line(one) for one in events))
    else:
        wire = adapter("anthropic")
        emitted = [one for inner in events for one in wire.feed_json(_line(inner))]
        seen = Seen([*emitted, *wire.close()])

    assert (seen.text, seen.finish) == ("Hi", "stop")


def test_an_exception_ends_claude_too() -> None:
    begun = message(*block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"})).partition(
        b"event: message_delta"
    )[0]
    events = [line[6:] for line in begun.splitlines() if line.startswith(b"data: ")]
    body = b"".join(chunk(one) for one in events)
    raised = exception("modelStreamErrorException", message="gone", originalStatusCode=500, originalMessage="oh")

    seen = accepted("anthropic", body + raised)

    assert (seen.text, seen.finish, seen.failure) == ("Hi", "error", "gone")
    assert "originalMessage" in json.dumps(seen.beside("raw"))


# The framing is told


def test_the_first_byte_tells_the_framing() -> None:
    framed = Framed(None, LIMIT)
    framed.feed(HI[0][:1], [])

    assert framed.framing == "eventstream"
    assert cut(b"".join(HI), framing="eventstream") == cut(b"".join(HI))


def test_text_is_no_frame() -> None:
    assert accepted("bedrock-converse", b"\n" + LINES).finish == "stop"


# Broken frames


def test_a_wrong_checksum_ends_the_call_and_says_which() -> None:
    for at, which in (
        (8, "prelude"),
        (1, "prelude"),
        (40, "of a frame does not"),
        (len(HI[1]) - 1, "of a frame does not"),
    ):
        wrong = bytearray(HI[1])
        wrong[at] ^= 1
        reason = broken(HI[0] + bytes(wrong) + ENDED)
        assert "checksum" in reason.failure.message
        assert which in reason.failure.message


def test_what_came_before_a_broken_frame_is_kept() -> None:
    seen = accepted("bedrock-converse", HI[0] + HI[1] + HI[2][:-1] + b"\0" + HI[3])

    assert (seen.text, seen.finish) == ("Hi", "error")


def test_nothing_is_read_after_a_broken_frame() -> None:
    framer = EventstreamFramer(LIMIT)
    found: list[WireEvent] = []
    framer.feed(HI[0][:-1] + b"\0" + HI[1], found)
    framer.feed(HI[2], found)
    framer.close(found)

    assert [one.name for one in found] == ["error"]


@pytest.mark.parametrize("total", [0, 11, 15])
def test_a_length_that_no_frame_can_have_is_broken(total: int) -> None:
    prelude = struct.pack("!II", total, 0)

    assert "headers" in broken(prelude + struct.pack("!I", zlib.crc32(prelude)) + bytes(20)).failure.message


def test_headers_larger_than_their_frame_are_broken() -> None:
    prelude = struct.pack("!II", 40, 30)

    assert "30" in broken(prelude + struct.pack("!I", zlib.crc32(prelude)) + bytes(40)).failure.message
    assert "checksum" in broken(prelude + bytes(44)).failure.message


def test_headers_larger_than_botocore_takes_are_broken() -> None:
    prelude = struct.pack("!II", 200_000, 150_000)

    assert "Header length" in broken(prelude + struct.pack("!I", zlib.crc32(prelude))).failure.message


@pytest.mark.parametrize(
    "headers",
    [
        b"\x01a\x0a",
        b"\x01a\x07\x00",
        b"\x01a",
        b"\x02\xff\xfe\x00",
        b"\x01a\x00\x01a\x00",
        b"\x01a\x07\x00\x02\xff\xfe",
    ],
    ids=["no-such-type", "cut-value", "no-type", "name-no-text", "twice", "value-no-text"],
)
def test_headers_that_cannot_be_read_are_broken(headers: bytes) -> None:
    assert "cannot be read" in broken(sealed(headers, b"{}")).failure.message


def test_a_payload_that_is_no_json_is_broken() -> None:
    assert broken(HI[0] + event("contentBlockDelta", b"{nonsense")).failure.code == "undecodable"


# Limits


def test_half_a_frame_at_the_end_is_a_body_that_was_cut() -> None:
    for at in (1, 11, 12, 30, len(HI[1]) - 1):
        reason = accepted("bedrock-converse", HI[0] + HI[1][:at]).reason
        assert isinstance(reason, Aborted)
        assert reason.failure.code == "cut-off"
    # Also after the protocol's end: half a report of usage is no report.
    assert "inside an event" in accepted("bedrock-converse", b"".join(HI[:3]) + HI[3][:20]).failure


def test_a_frame_over_the_limit_is_known_by_its_length() -> None:
    large = event("contentBlockDelta", json.dumps({"contentBlockIndex": 0, "delta": {"text": "x" * LIMIT}}).encode())
    found: list[WireEvent] = []
    framed = Framed(None, LIMIT)
    framed.feed(HI[0], found)

    with pytest.raises(TooLarge):
        framed.feed(large[:12], found)
    assert len(found) == 1
    with pytest.raises(TooLarge):
        Framed(None, LIMIT).feed(HI[0] + large, found)
    assert len(found) == 2


def test_a_length_that_its_checksum_denies_is_not_waited_for() -> None:
    assert "prelude" in broken(b"\0\x7f\xff\xff" + bytes(8)).failure.message


def test_a_body_of_too_large_a_frame_ends_as_too_large() -> None:
    prelude = struct.pack("!II", 9 * 1024 * 1024, 0)
    seen = accepted("bedrock-converse", HI[0] + HI[1] + prelude + struct.pack("!I", zlib.crc32(prelude)))

    assert isinstance(seen.reason, Failed)
    assert (seen.text, seen.reason.failure.code) == ("Hi", "event-too-large")


def test_a_large_frame_is_checked_once_however_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    buffer = botocore.eventstream.EventStreamBuffer

    def counted() -> Any:
        made.append(1)
        return buffer()

    monkeypatch.setattr(botocore.eventstream, "EventStreamBuffer", counted)
    body = event("x", json.dumps({"a": "x" * 50_000}).encode())
    framer = EventstreamFramer(LIMIT)
    found: list[WireEvent] = []
    for at in range(0, len(body), 100):
        framer.feed(body[at : at + 100], found)

    # One parser for the frames, and one that looked at the prelude.
    assert (len(found), len(made)) == (1, 2)


class _Counting:
    """A header parser that counts what it parses."""

    def __init__(self) -> None:
        self.parsed = 0
        self._inner = botocore.eventstream.EventStreamHeaderParser()

    def parse(self, data: bytes) -> Any:
        self.parsed += 1
        return self._inner.parse(data)


def test_headers_are_parsed_once_as_long_as_they_are_few_and_short(monkeypatch: pytest.MonkeyPatch) -> None:
    counting = _Counting()
    monkeypatch.setattr(botocore.eventstream, "EventStreamHeaderParser", lambda: counting)

    same = cut(HI[1] * 50)
    assert (len(same), counting.parsed) == (50, 2)  # `cut` reads the body twice
    long = cut(event("x" * 1000, b"{}") * 50)
    assert (len(long), counting.parsed) == (50, 2 + 100)
    many = [event(f"e{number}", b"{}") for number in range(100)]
    assert len(cut(b"".join(many) * 2)) == 200
    # 64 of them are remembered.
    assert counting.parsed == 2 + 100 + 2 * (100 + 36)


def test_a_botocore_that_keeps_its_header_parser_elsewhere_reads_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere:
        def __init__(self) -> None:
            self.inner = botocore_buffer()
            self.add_data = self.inner.add_data
            self.next = self.inner.next

    botocore_buffer = botocore.eventstream.EventStreamBuffer
    monkeypatch.setattr(botocore.eventstream, "EventStreamBuffer", Elsewhere)

    assert accepted("bedrock-converse", b"".join(HI)).text == "Hi"


# The extra


def test_who_has_no_botocore_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.eventstream", None)
    wire = adapter("bedrock-converse")

    with pytest.raises(ExtraMissing, match=r"pip install 'runwire\[bedrock\]'") as raised:
        wire.feed(HI[0])

    assert not isinstance(raised.value, PublishError)
    # Its caller may end the call all the same.
    assert Seen(wire.close()).finish == "aborted"


def test_who_reads_no_frames_needs_no_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.eventstream", None)

    assert Seen(run(adapter("bedrock-converse"), LINES)).finish == "stop"

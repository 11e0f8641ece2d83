"""AWS's binary event streams, `application/vnd.amazon.eventstream`, cut by botocore's own parser.

A frame (a prelude with its lengths, headers, a payload, and a CRC-32 after the prelude and at the end) becomes the
event that AWS's SDKs hand out: an object with one member, named after the event, that holds the payload. An exception
looks the same, an error frame is `{"error": {"code": …, "message": …}}`. InvokeModel's `chunk` is no event but an
envelope around one of the model's own: it is opened here, so that adapters meet the model's protocol whichever way it
came.

botocore is the extra `bedrock`; who never reads binary frames does not need it.
"""

import binascii
import importlib
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol, cast

import msgspec

from runwire.adapters.framing.sse import WireEvent
from runwire.adapters.framing.values import TooLarge
from runwire.adapters.opaque import compact, fields_of, present, quote, text_of
from runwire.errors import ExtraMissing

# No text begins so, and each frame below 16 MiB does: its length comes first.
FIRST: Final = b"\0"
# What an envelope begins with, as compact JSON and as Python's own encoder writes it.
ENVELOPE: Final = b'{"chunk"'
_PRELUDE: Final = struct.Struct("!III")
_LAST_CRC: Final = 4
_SMALLEST: Final = _PRELUDE.size + _LAST_CRC
_NULL: Final = msgspec.Raw(b"null")
_CHUNK: Final = "chunk"
_HEADER_PARSER: Final = "_header_parser"
# A service has about ten types of events, and their headers about a hundred bytes.
_REMEMBERED: Final = 64
_SHORT: Final = 1024


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What lies in an envelope, its base64 undone."""

    bytes: bytes
    p: msgspec.Raw = _NULL


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    chunk: _Part


class _Message(Protocol):
    """botocore's EventStreamMessage."""

    headers: Mapping[str, object]
    payload: bytes


class _Parser(Protocol):
    """botocore's EventStreamBuffer."""

    def add_data(self, data: bytes) -> None: ...
    def next(self) -> _Message: ...


class _HeaderParser(Protocol):
    """botocore's EventStreamHeaderParser."""

    def parse(self, data: bytes) -> Mapping[str, object]: ...


class _Botocore(Protocol):
    """What is used of `botocore.eventstream`."""

    EventStreamBuffer: Callable[[], _Parser]
    ParserError: type[Exception]
    ChecksumMismatch: type[Exception]


class EventstreamFramer:
    """Cuts frames. `limit` bounds one frame in bytes, which is known from its first twelve.

    What follows a broken frame cannot be told apart any more: its error is the last event.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._checked = False  # the prelude of the frame that the buffer begins with
        self._broken = False
        self._botocore: _Botocore | None = None

    def feed(self, data: bytes, events: list[WireEvent]) -> None:
        """Appends the events that are complete. Raises TooLarge, after what was complete before; ExtraMissing."""
        if self._botocore is None:
            self._botocore = _botocore()
            self._parser = _remembering(self._botocore.EventStreamBuffer())
        if self._broken:
            return
        buffer, at = self._buffer, 0
        buffer += data
        try:
            while end := self._end_of_frame(self._botocore, at, events):
                self._frame(self._botocore, bytes(buffer[at:end]), events)
                at = end
                self._checked = False
        finally:
            del buffer[:at]

    def close(self, events: list[WireEvent]) -> None:
        """The body is over. Half a frame is handed out as it is, for its reader to judge."""
        if self._buffer:
            events.append(WireEvent("", bytes(self._buffer)))

    def _end_of_frame(self, botocore: _Botocore, at: int, events: list[WireEvent]) -> int:
        """Where the frame ends that begins there; 0 if it is not whole, or broken: nothing is left then."""
        left = len(self._buffer) - at
        if left < _PRELUDE.size:
            return 0
        total, headers, _ = _PRELUDE.unpack_from(self._buffer, at)
        if _SMALLEST + headers <= total <= min(left, self._limit):
            return at + int(total)
        fault = ""
        if total >= _SMALLEST and not self._checked:
            # Only a length that its checksum confirms is believed, and it is looked at once.
            fault = _fault(botocore, bytes(self._buffer[at : at + _PRELUDE.size]))
        if not fault and _SMALLEST + headers > total:
            fault = f"a frame says that it has {total} bytes, and its headers {headers}"
        if fault:
            self._break(fault, events)
        elif total > self._limit:
            raise TooLarge
        self._checked = True
        return 0

    def _frame(self, botocore: _Botocore, frame: bytes, events: list[WireEvent]) -> None:
        try:
            self._parser.add_data(frame)
            message = self._parser.next()
        except botocore.ChecksumMismatch:
            prelude = _fault(botocore, frame[: _PRELUDE.size])
            self._break(prelude or "the checksum of a frame does not match", events)
        except (botocore.ParserError, KeyError, ValueError, struct.error) as error:
            # Among others headers of a type that there is not, or that end in the middle.
            self._break(f"a frame cannot be read: {error}", events)
        else:
            events.extend(_events(message.headers, message.payload))

    def _break(self, message: str, events: list[WireEvent]) -> None:
        self._broken = True
        self._buffer.clear()
        events.append(_error("undecodable", f"the stream is broken: {message}"))


def _botocore() -> _Botocore:
    # By name: botocore has no types, and is there only with its extra.
    try:
        found: Any = importlib.import_module("botocore.eventstream")
    except ImportError:
        raise ExtraMissing(
            "This body is a binary event stream of AWS, and botocore, which reads those, is not installed: "
            "pip install 'runwire[bedrock]'"
        ) from None
    return cast("_Botocore", found)


class _Headers:
    """Remembers headers that were parsed: nearly all frames have one of a few, and parsing them is most of the work."""

    def __init__(self, inner: _HeaderParser) -> None:
        self._inner = inner
        self._known: dict[bytes, Mapping[str, object]] = {}

    def parse(self, data: bytes) -> Mapping[str, object]:
        found = self._known.get(data)
        if found is None:
            found = self._inner.parse(data)
            if len(self._known) < _REMEMBERED and len(data) < _SHORT:
                self._known[data] = found
        return found


def _remembering(parser: _Parser) -> _Parser:
    """The parser, three times as fast. One that keeps its header parser elsewhere parses headers as it always did."""
    inner: _HeaderParser | None = getattr(parser, _HEADER_PARSER, None)
    if inner is not None:
        setattr(parser, _HEADER_PARSER, _Headers(inner))
    return parser


def _fault(botocore: _Botocore, prelude: bytes) -> str:
    """What is wrong with a prelude, "" if nothing is."""
    parser = botocore.EventStreamBuffer()
    parser.add_data(prelude)
    try:
        parser.next()
    except StopIteration:
        return ""
    except botocore.ChecksumMismatch:
        return "the checksum of a frame's prelude does not match"
    except (botocore.ParserError, struct.error) as error:
        return f"a frame cannot be read: {error}"
    return ""


def opened(data: bytes) -> list[bytes] | None:
    """The model's event in an envelope, `{"chunk": {"bytes": …}}` with its JSON in base64; None if it is no envelope.

    Members beside it come after it, as an event of their own; padding (`p`) says nothing.
    """
    try:
        return [_envelope_of(data).chunk.bytes]
    except msgspec.ValidationError:
        # That says nothing yet about what comes after the member that was not as usual.
        with suppress(msgspec.DecodeError, RecursionError):
            return _opened(data)
    except (msgspec.DecodeError, RecursionError):
        pass
    return None


def _opened(data: bytes) -> list[bytes] | None:
    top = fields_of(data) or {}
    part = fields_of(top.get("chunk", _NULL)) or {}
    text = text_of(part.get("bytes"))
    if text is None:
        return None
    try:
        # A decoder may have taken the bytes for text already; no base64 begins with a brace.
        inner = text.encode() if text.startswith("{") else binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return None
    rest = {name: raw for name, raw in part.items() if name not in ("bytes", "p") and present(raw)}
    around = {name: raw for name, raw in top.items() if name not in ("chunk", "p") and present(raw)}
    if rest:
        around["chunk"] = msgspec.Raw(msgspec.json.encode(rest))
    return [inner, compact(msgspec.json.encode(around))] if around else [inner]


def _events(headers: Mapping[str, object], payload: bytes) -> list[WireEvent]:
    """What one frame says."""
    kind = headers.get(":message-type")
    if kind == "error":
        return [_error(_word(headers, ":error-code"), _word(headers, ":error-message"))]
    name = _word(headers, ":exception-type" if kind == "exception" else ":event-type")
    if name == _CHUNK:
        return [WireEvent("", data) for data in _chunk(payload)]
    if kind == "exception" and not name:
        name = "unknownException"
    return [WireEvent("", b"{%s:%s}" % (quote(name), _json(headers, payload)))]


def _chunk(payload: bytes) -> list[bytes]:
    """InvokeModel's envelope, or what it turns out to be."""
    try:
        return [_part_of(payload).bytes]
    except (msgspec.DecodeError, RecursionError):
        event = b'{"chunk":%s}' % (payload or b"{}")
        return opened(event) or [event]


def _json(headers: Mapping[str, object], payload: bytes) -> bytes:
    """The payload as JSON: it is, unless its type says otherwise."""
    if not payload:
        return b"{}"
    content_type = _word(headers, ":content-type")
    return payload if not content_type or "json" in content_type else quote(payload.decode(errors="replace"))


def _word(headers: Mapping[str, object], name: str) -> str:
    """A header's text. AWS's own parser gives integers and bytes for headers of those types."""
    value = headers.get(name)
    return value if isinstance(value, str) else "" if value is None else repr(value)


def _error(code: str, message: str) -> WireEvent:
    return WireEvent("error", b'{"error":{"code":%s,"message":%s}}' % (quote(code), quote(message)))


_part_of = msgspec.json.Decoder(_Part).decode
_envelope_of = msgspec.json.Decoder(_Envelope).decode

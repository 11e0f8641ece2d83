"""AWS's binary framing, written by the tests: `application/vnd.amazon.eventstream` frames from the JSON they carry."""

import base64
import json
import struct
import zlib
from collections.abc import Iterable
from typing import Any


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """One frame, all of whose headers are strings."""
    packed = b"".join(_string(name, 1) + b"\x07" + _string(value, 2) for name, value in headers.items())
    return sealed(packed, payload)


def sealed(headers: bytes, payload: bytes) -> bytes:
    """One frame around headers that are packed already, with both of its checksums."""
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    begun = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + payload
    return begun + struct.pack("!I", zlib.crc32(begun))


def _string(text: str, size: int) -> bytes:
    raw = text.encode()
    return len(raw).to_bytes(size, "big") + raw


def event(name: str, payload: bytes, **more: str) -> bytes:
    """A frame with the headers of an event."""
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    return frame({**headers, **{f":{key.replace('_', '-')}": value for key, value in more.items()}}, payload)


def exception(name: str, **payload: Any) -> bytes:
    """A frame with the headers of an exception."""
    headers = {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps(payload).encode())


def error(code: str, message: str) -> bytes:
    """A frame of an error that no service has modelled: it has no payload."""
    return frame({":error-code": code, ":error-message": message, ":message-type": "error"}, b"")


def chunk(inner: bytes, padding: str = "abc") -> bytes:
    """A frame of InvokeModelWithResponseStream: one event of the model's protocol in base64."""
    payload = {"bytes": base64.b64encode(inner).decode(), "p": padding}
    return event("chunk", json.dumps(payload).encode())


def conversed(lines: Iterable[bytes]) -> bytes:
    """A body of ConverseStream from its decoded lines, `{"<event type>": <payload>}`."""
    return b"".join(
        event(name, json.dumps(payload, ensure_ascii=False).encode())
        for line in lines
        for name, payload in json.loads(line).items()
    )


def invoked(lines: Iterable[bytes]) -> bytes:
    """A body of InvokeModelWithResponseStream from the events of the model's protocol."""
    return b"".join(chunk(line) for line in lines)

"""AWS's binary frames, written: what Bedrock sends and botocore reads."""

import base64
import json
import struct
import zlib
from collections.abc import Sequence
from typing import Final

# Bedrock pads its events, so that their length says nothing.
PADDING: Final = "abcdefghijklmnopqrstuvwxyz"


def _frame(name: str, payload: bytes) -> bytes:
    headers = b""
    for key, value in ((":event-type", name), (":content-type", "application/json"), (":message-type", "event")):
        # 7 is a string, with its length in two bytes.
        headers += bytes([len(key)]) + key.encode() + b"\7" + struct.pack("!H", len(value)) + value.encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    begun = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + payload
    return begun + struct.pack("!I", zlib.crc32(begun))


def conversed(lines: Sequence[bytes]) -> bytes:
    """A body of Converse from its decoded events, each an object with one member."""
    events = [event for line in lines for event in json.loads(line).items()]
    return b"".join(_frame(name, json.dumps(payload).encode()) for name, payload in events)


def invoked(lines: Sequence[bytes]) -> bytes:
    """A body of InvokeModel from the events of its model."""
    payloads = ({"bytes": base64.b64encode(line).decode(), "p": PADDING} for line in lines)
    return b"".join(_frame("chunk", json.dumps(payload).encode()) for payload in payloads)

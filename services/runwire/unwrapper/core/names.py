"""Names of child runs."""

from base64 import b32encode
from collections.abc import Collection
from hashlib import sha256
from typing import Final

import msgspec

from runwire_schemas.record import MAX_NAME_BYTES

_DIGITS: Final = 26  # 130 bits
_TASK: Final = "background-task-"
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encode: Final = msgspec.json.Encoder().encode


def made_name(parent: str, wrapper: str, key: str) -> str:
    """The id of a child that names a run above it: the same for the same place, and for no other."""
    digest = sha256(f"{parent}\0{wrapper}\0{key}".encode()).digest()
    return "~" + b32encode(digest).decode()[:_DIGITS]


def unfit(run_id: str) -> str | None:
    """Why no producer may name a run so, or None."""
    if run_id.startswith("~"):
        return "it begins with ~, which is reserved"
    size = len(run_id.encode(errors="replace"))
    if not 1 <= size <= MAX_NAME_BYTES:
        return f"it has {size} bytes, not 1 to {MAX_NAME_BYTES}"
    if any(c < " " or "\x7f" <= c <= "\x9f" for c in run_id):
        return "it has a control character"
    return None


def renamed(chunk_type: str, body: bytes, run_id: str) -> bytes:
    """The chunk with another run id. Whatever else it holds stays as it is spelled."""
    found = _members.decode(body)
    found["runId"] = msgspec.Raw(_encode(run_id))
    payload = found.get("payload")
    if chunk_type.startswith(_TASK) and payload is not None and bytes(payload).startswith(b"{"):
        # Its payload says once more whose it is.
        inner = _members.decode(payload)
        if "runId" in inner:
            inner["runId"] = found["runId"]
            found["payload"] = msgspec.Raw(_encode(inner))
    return _encode(found)


def is_above(run_id: str, own: str, ancestors: Collection[str]) -> bool:
    """Whether it names the run itself or one above it: a cycle."""
    return run_id == own or run_id in ancestors

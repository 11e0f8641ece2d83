"""Agent chunks: so far the four that adapters send beside the raw chunks of a call. They are passed on inside its step.

The machine of the other agent chunks replaces `TYPES`, `WITHOUT_CALL` and `unsupported`; the rules here stay.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from runwire.grammar import normalize
from runwire.grammar.input import Input, View
from runwire.grammar.jsontext import Json, compact

SENDERS: Final = ("AGENT", "USER", "SYSTEM", "WORKFLOW", "NETWORK")

# Type -> required payload fields that are strings; `source` gets an empty title if it has none.
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "source": ("id", "sourceType"),
    "file": ("mimeType",),
    "response-metadata": (),
    "raw": (),
}
TYPES: Final = tuple(_REQUIRED)
WITHOUT_CALL: Final = (
    f"agent chunks are not supported yet, except {', '.join(TYPES)} with the `call` that they belong to"
)

_ENVELOPE: Final = ("type", "runId", "from", "payload")
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def unsupported(x: Input) -> str | None:
    """Why an agent record of a call is refused as a whole, or None."""
    if x.fault is None and x.type not in _REQUIRED:
        return f"agent chunks of type {x.type} are not supported yet, only {', '.join(TYPES)}"
    return None


def run_mismatch(view: View, x: Input) -> str | None:
    given = x.tree.get("runId")
    return None if given is None or given == view.run_id else f"runId is {given}, the record's run is {view.run_id}"


def payload_invalid(_: View, x: Input) -> str | None:
    sender = x.tree.get("from")
    if sender is not None and sender not in SENDERS:
        return f"from is none of {', '.join(SENDERS)}"
    payload = _payload(x)
    if not isinstance(payload, dict):
        return "payload is no object"
    for name in _REQUIRED[x.type or ""]:
        if not isinstance(payload.get(name), str):
            return f"payload.{name} is no string"
    return _not_as_listed(x.type or "", payload)


def _payload(x: Input) -> Json:
    """The payload; if there is none (null counts as none), the fields beside it are taken for it."""
    given = x.tree.get("payload")
    return x.tree if given is None else given


def _not_as_listed(type_: str, payload: Mapping[str, Json]) -> str | None:
    if type_ == "source" and payload.get("sourceType") not in ("url", "document"):
        return "payload.sourceType is neither url nor document"
    # A Uint8Array arrives as an array or object of numbers, so only absence is wrong.
    if type_ == "file" and payload.get("data") is None:
        return "payload.data is missing"
    return None


def normalized(x: Input, run_id: str) -> bytes:
    """The chunk with its envelope complete; extra fields stay where they are, opaque parts as they were spelled."""
    members = {name: compact(bytes(value)) for name, value in _members(x.record.body).items()}
    outside = [(name, value) for name, value in members.items() if name not in _ENVELOPE]
    if x.tree.get("payload") is not None:
        payload = members["payload"]
    else:
        payload, outside = _object(outside), []
    titled = _payload(x)
    if x.type == "source" and isinstance(titled, dict) and titled.get("title") is None:
        payload = _titled(payload)
    sender = x.tree.get("from") or "AGENT"
    head = normalize.envelope(x.type or "", run_id, str(sender)) + payload
    return head + b"".join(b",%s:%s" % (normalize.text(name), value) for name, value in outside) + b"}"


def _object(members: list[tuple[str, bytes]]) -> bytes:
    return b"{" + b",".join(normalize.text(name) + b":" + value for name, value in members) + b"}"


def _titled(payload: bytes) -> bytes:
    """A payload whose title is absent or null, with an empty one at its end."""
    kept = [(name, bytes(value)) for name, value in _members(payload).items() if name != "title"]
    return _object([*kept, ("title", b'""')])

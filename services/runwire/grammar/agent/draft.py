"""An agent chunk on its way to readers: its members as JSON text, so that what nobody looks into stays as spelled."""

from collections.abc import Mapping
from typing import Final

import msgspec

from runwire.grammar import normalize
from runwire.grammar.agent.types import UNKNOWN, type_of
from runwire.grammar.input import Input

_ENVELOPE: Final = ("type", "runId", "from", "payload")
_CUT_FIELDS: Final = ("request", "inputMessages", "messages")
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def members(data: bytes) -> dict[str, bytes]:
    """The members of an object of compact JSON, in order."""
    return {name: bytes(value) for name, value in _decode(data).items()}


def object_of(pairs: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join([normalize.text(name) + b":" + value for name, value in pairs.items()]) + b"}"


def inner(pairs: Mapping[str, bytes], name: str) -> dict[str, bytes]:
    """The members of an object that is a member; of anything else none."""
    given = pairs.get(name, b"")
    return members(given) if given.startswith(b"{") else {}


class Draft:
    """`payload` is None for types that have none; `beside` is everything else but the envelope."""

    __slots__ = ("beside", "payload", "sender", "type")

    def __init__(self, x: Input) -> None:
        self.type = x.type or ""
        self.sender = sender(x)
        kind = type_of(self.type)
        found = members(msgspec.json.format(x.record.body, indent=-1))
        self.beside = {name: value for name, value in found.items() if name not in _ENVELOPE}
        self.payload: dict[str, bytes] | None = None
        if kind.place == "payload":
            if x.tree.get("payload") is None:
                self.payload, self.beside = self.beside, {}
            else:
                self.payload = members(found["payload"])
        elif kind.place == "open" and "payload" in found:
            self.beside = {"payload": found["payload"], **self.beside}
        elif kind.place in self.beside:
            self.beside = {kind.place: self.beside[kind.place], **self.beside}
        for name, value in kind.filled:
            self.fill(name, value)
        if self.payload is not None and "suspendPayload" in self.payload:
            # The runtimes' word; the seed's is suspendData.
            self.fill("suspendData", self.payload["suspendPayload"])

    def fill(self, name: str, value: bytes | None) -> None:
        """Give a payload field its value where it is absent or null."""
        assert self.payload is not None, "only payloads are filled"
        if value is not None and self.payload.get(name, b"null") == b"null":
            self.payload[name] = value

    def put(self, name: str, value: bytes) -> None:
        assert self.payload is not None, "only payloads are changed"
        self.payload[name] = value

    def note(self, name: str, value: bytes, *, within: bool) -> None:
        """Add to the chunk's `metadata`: the payload's, or the one beside it, which chunks without a payload have."""
        place = self.payload if within and self.payload is not None else self.beside
        place["metadata"] = object_of({**inner(place, "metadata"), name: value})

    def has_metadata(self) -> bool:
        """Whether an empty delta must be kept for what it carries."""
        return (self.payload or {}).get("providerMetadata", b"null") not in (b"null", b"{}")

    def encode(self, run_id: str) -> bytes:
        head = [
            b'{"type":', normalize.text(self.type), b',"runId":', normalize.text(run_id),
            b',"from":"', self.sender.encode(), b'"',
        ]  # fmt: skip
        if self.payload is not None:
            head += (b',"payload":', object_of(self.payload))
        for name, value in self.beside.items():
            head += (b",", normalize.text(name), b":", value)
        head.append(b"}")
        return b"".join(head)


def sender(x: Input) -> str:
    """Who says it; whoever says something of an unknown type counts as the agent."""
    given = x.tree.get("from")
    return given if isinstance(given, str) and type_of(x.type) is not UNKNOWN else "AGENT"


def wrapped_unknown(x: Input, run_id: str) -> bytes:
    """A chunk whose type nobody knows, as `raw` {type, chunk: the whole}."""
    whole = msgspec.json.format(x.record.body, indent=-1)
    payload = b'{"type":%s,"chunk":%s}' % (normalize.text(x.type or ""), whole)
    return normalize.envelope("raw", run_id) + payload + b"}"


def shortened(body: bytes, limit: int) -> bytes | None:
    """The body without what may be cut, if only so it keeps its limit; else None."""
    try:
        found = members(msgspec.json.format(body, indent=-1))
        payload = inner(found, "payload") or found
        for name in _CUT_FIELDS:
            payload.pop(name, None)
        output = inner(payload, "output")
        if output.pop("steps", None) is not None:
            payload["output"] = object_of(output)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if payload is not found:
        found["payload"] = object_of(payload)
    cut = object_of(found)
    return cut if len(cut) <= limit else None

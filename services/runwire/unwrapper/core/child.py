"""A child as its parent's log shows it: how many records it got, and whether it waits for somebody."""

from hashlib import blake2b
from typing import Any, Final

import msgspec

from runwire.unwrapper.core.wrappers import read, text_of
from runwire_schemas.chunks import DATA_PREFIX

# A child that waits for more calls than this counts as waiting until something else happens in it.
MAX_WAITS: Final = 256
_TASK: Final = "background-task-"
_SUSPENDS: Final = frozenset({"tool-call-approval", "tool-call-suspended"})
_PAUSES: Final = frozenset({"workflow-paused", "workflow-step-suspended"})
_ANSWERS: Final = frozenset({"tool-result", "tool-error", "tool-output-denied"})
# What calls that still run may say while others wait.
_BESIDE: Final = frozenset({"tool-output"})
_ENDS: Final = frozenset({"finish", "workflow-canceled"})
_WORKFLOW_END: Final = "workflow-finish"
_WAITING_STATUS: Final = frozenset({"suspended", "paused", "waiting"})


class _Payload(msgspec.Struct, rename="camel"):
    tool_call_id: Any = None
    workflow_status: Any = None


class _Chunk(msgspec.Struct):
    payload: _Payload = msgspec.field(default_factory=_Payload)


_chunk: Final = msgspec.json.Decoder(_Chunk)


class Child(msgspec.Struct, array_like=True):
    """`seq` is its last record, `channel` what carried it last. `waits` are digests of suspended tool calls.

    `attempt` is the parent's: what is stored of a child in an older one is not about this one.
    """

    ordinal: int
    channel: str
    attempt: int
    seq: int = 0
    finished: bool = False
    paused: bool = False
    waits: list[bytes] = msgspec.field(default_factory=list[bytes])

    @property
    def suspended(self) -> bool:
        return self.paused or bool(self.waits)

    @property
    def must_end(self) -> bool:
        """Whether somebody has to end it when what carries it is over."""
        return not self.finished and not self.suspended

    def note(self, chunk_type: str, body: bytes) -> None:
        """Another chunk of its own. What this gets wrong is harmless: the child's own grammar is the judge."""
        if chunk_type.startswith(_TASK):
            return
        self.finished = chunk_type in _ENDS or (chunk_type == _WORKFLOW_END and not _waiting(body))
        if chunk_type in _SUSPENDS:
            call = _call(body)
            if call not in self.waits and len(self.waits) < MAX_WAITS:
                self.waits.append(call)
        elif chunk_type in _ANSWERS and self.waits:
            call = _call(body)
            self.waits = [waiting for waiting in self.waits if waiting != call]
        elif not (self.waits and (chunk_type in _BESIDE or chunk_type.startswith(DATA_PREFIX))):
            self.waits.clear()
            self.paused = chunk_type in _PAUSES or (chunk_type == _WORKFLOW_END and not self.finished)


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Child).decode


def dump(child: Child) -> bytes:
    """A child that is done, as it is stored beside its parent's state."""
    return _encode(child)


def load(data: bytes) -> Child:
    """Raises msgspec.DecodeError."""
    return _decode(data)


def _waiting(body: bytes) -> bool:
    found = read(_chunk, body)
    return found is not None and found.payload.workflow_status in _WAITING_STATUS


def _call(body: bytes) -> bytes:
    found = read(_chunk, body)
    call = text_of(found.payload.tool_call_id) if found is not None else ""
    return blake2b(call.encode(), digest_size=8).digest()

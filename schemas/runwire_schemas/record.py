"""A record: what a producer writes into a partition's raw stream. One record carries one raw or agent chunk.

On the wire a record is a stream entry whose fields are named as below; `body` is the JSON exactly as produced.
"""

from typing import Literal, NamedTuple

import msgspec

Kind = Literal["provider", "agent", "control"]
UsageRule = Literal["required", "optional"]

WIRE_VERSION = 1
ENFORCER_SRC = "~enforcer"
ADMIN_SRC = "~admin"


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One well-formed record. `id` is its stream id, `<ms>-<n>`: its place in the partition."""

    id: str
    run: str
    kind: Kind
    src: str
    epoch: int
    seq: int
    body: bytes
    call: str | None = None
    usage: UsageRule | None = None
    ts: int | None = None
    traceparent: str | None = None


class Malformed(NamedTuple):
    """An entry that is no record. It is refused with `record-invalid`; what could be read of it is kept."""

    id: str
    reason: str
    run: str | None
    src: str | None
    epoch: int | None
    seq: int | None
    body: bytes


def parse(entry_id: bytes, fields: list[bytes]) -> Record | Malformed:
    """Read a stream entry (its flat list of names and values, as Redis sends it). Never raises."""
    raise NotImplementedError


def fields_of(record: Record) -> list[bytes | str | int]:
    """The flat list of names and values that XADD takes; absent optional fields are left out."""
    raise NotImplementedError

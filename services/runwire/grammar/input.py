"""What rules look at: one record, decoded once and only as far as a rule needs it, and the run it comes to."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from runwire.grammar.jsontext import Json, JsonFault, parse
from runwire.grammar.limits import Limits
from runwire.grammar.state import Call, State
from runwire_schemas.raw import (
    BlockEnd,
    BlockStart,
    Finish,
    RawChunk,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageReport,
)
from runwire_schemas.record import Record

_DECODERS: Final[Mapping[str, msgspec.json.Decoder[Any]]] = {
    "block-start": msgspec.json.Decoder(BlockStart),
    "text-delta": msgspec.json.Decoder(TextDelta),
    "thinking-delta": msgspec.json.Decoder(ThinkingDelta),
    "tool-call-delta": msgspec.json.Decoder(ToolCallDelta),
    "block-end": msgspec.json.Decoder(BlockEnd),
    "usage": msgspec.json.Decoder(UsageReport),
    "finish": msgspec.json.Decoder(Finish),
}

RAW_TYPES: Final = frozenset(_DECODERS)


class Input:
    """A record with its body. `fault` tells why the body is no JSON object with a type; then `tree` is empty."""

    def __init__(self, record: Record, depth: int) -> None:
        self.record = record
        self.depth = depth

    @cached_property
    def parsed(self) -> tuple[dict[str, Json], str | None]:
        try:
            tree = parse(self.record.body, self.depth)
        except JsonFault as fault:
            return {}, str(fault)
        if not isinstance(tree, dict):
            return {}, "not a JSON object"
        if not isinstance(tree.get("type"), str):
            return {}, "no string `type`"
        return tree, None

    @property
    def tree(self) -> dict[str, Json]:
        return self.parsed[0]

    @property
    def fault(self) -> str | None:
        return self.parsed[1]

    @cached_property
    def type(self) -> str | None:
        given = self.tree.get("type")
        return given if isinstance(given, str) else None

    @property
    def index(self) -> int | None:
        """The block index, if it is an integer."""
        given = self.tree.get("index")
        return given if isinstance(given, int) and not isinstance(given, bool) else None

    @property
    def block_kind(self) -> str | None:
        """The kind that a block-start or block-end names."""
        block = self.tree.get("block")
        given = block.get("kind") if isinstance(block, dict) else self.tree.get("blockKind")
        return given if isinstance(given, str) else None

    @cached_property
    def payload(self) -> Mapping[str, Json]:
        """An agent chunk's payload; if there is none (null counts as none), what stands beside it."""
        given = self.tree.get("payload")
        if given is None:
            return self.tree
        return given if isinstance(given, dict) else {}

    def text(self, name: str) -> str:
        """A string of the payload, "" for anything else."""
        given = self.payload.get(name)
        return given if isinstance(given, str) else ""

    @cached_property
    def chunk(self) -> RawChunk:
        """The typed chunk. Raises msgspec.ValidationError where the tables of fields were not asked before."""
        chunk: RawChunk = _DECODERS[self.type or ""].decode(self.record.body)
        return chunk


class View(NamedTuple):
    """What a rule may look at: the run, and the call that the record belongs to (None: it would begin one)."""

    run_id: str
    limits: Limits
    state: State
    call: Call | None
    usage_optional: bool

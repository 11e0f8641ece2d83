"""What the quick way of the machine needs: strict decoders of plain deltas, and the bytes around a delta's text."""

from typing import Final, NamedTuple

import msgspec

from runwire.grammar import normalize
from runwire.grammar.state import Block


# Unknown fields are forbidden, so everything that decodes was also checked: nothing is skipped unread. A chunk with
# more fields (metadata, a name) takes the general way.
class TextDelta(msgspec.Struct, frozen=True, tag_field="type", tag="text-delta", forbid_unknown_fields=True, gc=False):
    index: int
    text: str


class ThinkingDelta(
    msgspec.Struct, frozen=True, tag_field="type", tag="thinking-delta", forbid_unknown_fields=True, gc=False
):
    index: int
    text: str


class ToolDelta(
    msgspec.Struct,
    frozen=True,
    tag_field="type",
    tag="tool-call-delta",
    forbid_unknown_fields=True,
    gc=False,
):
    index: int
    id: str
    text: str = msgspec.field(name="argumentsDelta")


Delta = TextDelta | ThinkingDelta | ToolDelta
decode_delta: Final = msgspec.json.Decoder(Delta).decode


class HotBlock(NamedTuple):
    """An open block; `accepts` is the delta that it takes the quick way, None if it takes none yet."""

    block: Block
    accepts: type[Delta] | None
    head: bytes
    tail: bytes

    @property
    def live(self) -> bool:
        """False once the block takes deltas that it did not take before."""
        return self.accepts is not None or not self.block.started


def hot_block(block: Block, run_id: str) -> HotBlock:
    """The chunk of a delta is `head`, the JSON string of its text, `tail`."""
    match block.kind:
        case "text" | "thinking":
            stem, accepts = ("text", TextDelta) if block.kind == "text" else ("reasoning", ThinkingDelta)
            head = normalize.envelope(f"{stem}-delta", run_id)
            return HotBlock(block, accepts, head + b'{"id":"%d","text":' % block.number, b"}}")
        case "tool_use" if block.started:
            head = normalize.envelope("tool-call-delta", run_id) + b'{"argsTextDelta":'
            names = b',"toolCallId":%s,"toolName":%s}}' % (normalize.text(block.out), normalize.text(block.name))
            return HotBlock(block, ToolDelta, head, names)
        case _:
            return HotBlock(block, None, b"", b"")

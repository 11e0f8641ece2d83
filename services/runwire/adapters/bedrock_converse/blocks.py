"""The content blocks of one message of Converse, by the index that its events give.

Text and reasoning begin with their first delta: only tool calls, tool results and images have a start.
"""

from dataclasses import dataclass, field
from typing import Final

import msgspec

from runwire.adapters.bedrock_converse.wire import NULL, Members, joined
from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, quote, text_of
from runwire.adapters.writing.call import MAX_OPEN_TOOLS, Call
from runwire.adapters.writing.sources import Sources
from runwire.adapters.writing.writer import MANY_BLOCKS, MAX_AGENT, MAX_BLOCK, Block
from runwire_schemas.raw import Failure

_TOOL_READ: Final = frozenset({"toolUseId", "name", "type", "input"})
_TOOL_TYPES: Final = frozenset({"tool_use", "server_tool_use"})
_RESULT_READ: Final = frozenset({"toolUseId", "status", "content"})
_DELTA_READ: Final = frozenset({"text", "toolUse", "reasoningContent", "citation", "toolResult", "image"})
_REASONING_READ: Final = frozenset({"text", "signature", "redactedContent", "data", "reasoningText"})
_NOWHERE: Final = -1


@dataclass(slots=True)
class _Tool:
    block: Block
    given: bytes  # its arguments, if they came with its start


@dataclass(slots=True)
class _Result:
    """A tool's result, collected until its block stops."""

    start: Members
    pieces: list[bytes] = field(default_factory=list[bytes])


@dataclass(slots=True)
class _Image:
    """An image, collected until its block stops."""

    media_type: str
    pieces: list[str] = field(default_factory=list[str])


class Blocks:
    """Starts, deltas and stops of blocks, written to the call.

    `joined`: blocks of text that follow each other are one. Nova, asked through InvokeModel, stops its block after
    each delta and goes on under the next index.
    """

    def __init__(self, call: Call, *, joined: bool = False) -> None:
        self._call = call
        self._sources = Sources(call)
        self._joined = joined
        self._open: dict[int, _Tool | _Result | _Image] = {}
        self._prose = _NOWHERE  # the block of text or reasoning that is open
        self._signature = ""
        self._hidden: list[str] = []
        self._held = 0  # bytes of what is collected

    # Text and reasoning ---------------------------------------------------------------------------------------------

    def text(self, index: int, text: str) -> None:
        if index != self._prose:
            self._enter(index)
        if text:
            self._call.text(text)

    def reasoning(self, index: int, text: str) -> None:
        if index != self._prose:
            self._enter(index)
        if text:
            self._call.thinking(text)

    def _reasoning(self, index: int, said: Members) -> None:
        """Reasoning that has more than its text."""
        self.reasoning(index, text_of(said.get("text")) or "")
        signature = text_of(said.get("signature"))
        # The Converse API and AWS's own agents say `redactedContent`, one gateway `data`.
        hidden = text_of(said.get("redactedContent")) or text_of(said.get("data"))
        if signature and self._room(len(self._signature) + len(signature), MAX_BLOCK):
            # Like everything in a delta it may come in pieces.
            self._signature += signature
            self._call.sign(self._signature)
        if hidden and self._room(sum(map(len, self._hidden)) + len(hidden), MAX_BLOCK):
            self._hidden.append(hidden)
            self._call.hide(joined(self._hidden))
        self._rest("reasoningContent", index, said, _REASONING_READ)

    def _enter(self, index: int) -> None:
        """Text or reasoning begins under this index."""
        self._leave()
        self.stop(index)
        self._prose = index

    def _leave(self) -> None:
        """Nothing is mixed that came under two indices, as long as there are blocks for all of them."""
        if not self._joined and self._call.opened < MANY_BLOCKS:
            self._call.end_text()
        if self._signature or self._hidden or not self._joined:
            self._call.end_thinking()
        self._prose = _NOWHERE
        self._signature = ""
        self._hidden = []

    # Events ---------------------------------------------------------------------------------------------------------

    def start(self, event: Members) -> None:
        """`contentBlockStart`."""
        index = index_of(event)
        self.leave(index)
        start = fields_of(event.get("start", NULL)) or {}
        for kind, raw in start.items():
            said = fields_of(raw)
            if said is not None and kind == "toolUse":
                self._start_tool(index, said)
            elif said is not None and kind == "toolResult":
                self._keep_open(index, _Result(said))
            elif said is not None and kind == "image":
                self._keep_open(index, _Image(_media_type(said)))
            elif present(raw):
                self._beside("start", index, {kind: raw})
        self._rest("contentBlockStart", index, event, frozenset({"contentBlockIndex", "start", "p"}))

    def delta(self, event: Members) -> None:
        """`contentBlockDelta` in any shape."""
        index = index_of(event)
        delta = fields_of(event.get("delta", NULL)) or {}
        if (text := text_of(delta.get("text"))) is not None:
            self.text(index, text)
        if (reasoning := fields_of(delta.get("reasoningContent", NULL))) is not None:
            self._reasoning(index, reasoning)
        if (tool := fields_of(delta.get("toolUse", NULL))) is not None:
            self._tool_delta(index, tool)
        if present(citation := delta.get("citation", NULL)):
            self._sources.placed(citation)
        if present(results := delta.get("toolResult", NULL)):
            self._result_delta(index, results)
        if (image := fields_of(delta.get("image", NULL))) is not None:
            self._image_delta(index, image)
        self._rest("delta", index, delta, _DELTA_READ)
        self._rest("contentBlockDelta", index, event, frozenset({"contentBlockIndex", "delta", "p"}))

    def arguments(self, index: int, text: str) -> None:
        """The usual delta of a tool call."""
        opened = self._open.get(index)
        if not text:
            return
        if isinstance(opened, _Tool):
            self._call.tool_arguments(opened.block, text)
        else:
            message = f"arguments of a tool call came without the call (block {index})"
            self._call.fail(Failure(message=message, code="tool-name-missing"))

    def stopped(self, event: Members) -> None:
        """`contentBlockStop` in any shape."""
        index = index_of(event)
        self.leave(index)
        self._rest("contentBlockStop", index, event, frozenset({"contentBlockIndex", "p"}))

    def leave(self, index: int) -> None:
        """The usual `contentBlockStop`; one that stops nothing means nothing."""
        if index == self._prose:
            self._leave()
        else:
            self.stop(index)

    def stop(self, index: int, *, cut: bool = False) -> None:
        """Ends what is open under an index. `cut`: the model was stopped, so a call without arguments lacks them."""
        opened = self._open.pop(index, None)
        match opened:
            case _Tool():
                self._call.end_tool(opened.block, opened.given or (b"" if cut else b"{}"))
            case _Result():
                self._held -= sum(map(len, opened.pieces))
                self._result(opened.start, b"[%s]" % b",".join(opened.pieces))
            case _Image():
                self._held -= sum(map(len, opened.pieces))
                if opened.pieces:
                    self._call.image(opened.media_type, "data", joined(opened.pieces))
            case None:
                pass

    def close(self, *, cut: bool = False) -> None:
        """The message is over, or another begins in its place: ends what was not stopped."""
        self._leave()
        for index in list(self._open):
            self.stop(index, cut=cut)

    def whole(self, content: list[msgspec.Raw]) -> None:
        """The content of an answer that was not streamed."""
        for index, raw in enumerate(content):
            said = fields_of(raw) or {}
            reasoning = fields_of(said.get("reasoningContent", NULL)) or {}
            cited = fields_of(said.get("citationsContent", NULL))
            result = fields_of(said.get("toolResult", NULL))
            image = fields_of(said.get("image", NULL))
            if (text := text_of(said.get("text"))) is not None:
                self.text(index, text)
            elif reasoning:
                self._reasoning(index, {**reasoning, **(fields_of(reasoning.get("reasoningText", NULL)) or {})})
            elif (tool := fields_of(said.get("toolUse", NULL))) is not None:
                self._start_tool(index, tool)
            elif result is not None:
                self._result(result, compact(result.get("content", msgspec.Raw(b"[]"))))
            elif image is not None:
                self._image_delta(index, image)
            elif cited is not None:
                self._cited(index, cited)
            else:
                self._call.beside("raw", {"block": compact(raw)})
            self.leave(index)

    # Kinds of blocks ------------------------------------------------------------------------------------------------

    def _start_tool(self, index: int, said: Members) -> None:
        kind = text_of(said.get("type")) or ""
        given = said.get("input", NULL)
        identity, name = text_of(said.get("toolUseId")) or "", text_of(said.get("name")) or ""
        block = self._call.open_tool(identity, name, executed=kind == "server_tool_use")
        self._keep_open(index, _Tool(block, compact(given) if present(given) else b""))
        self._rest("toolUse", index, said, _TOOL_READ if kind in _TOOL_TYPES else _TOOL_READ - {"type"})

    def _tool_delta(self, index: int, said: Members) -> None:
        raw = said.get("input", NULL)
        text = text_of(raw)
        self.arguments(index, compact(raw).decode() if text is None and present(raw) else text or "")
        self._rest("toolUse", index, said, frozenset({"input"}))

    def _result_delta(self, index: int, results: msgspec.Raw) -> None:
        opened = self._open.get(index)
        pieces = [compact(piece) for piece in items_of(results) or [results]]
        if not isinstance(opened, _Result):
            self._beside("delta", index, {"toolResult": results})
        elif self._room(self._held + sum(map(len, pieces)), MAX_AGENT):
            self._held += sum(map(len, pieces))
            opened.pieces += pieces

    def _result(self, said: Members, content: bytes) -> None:
        identity, status = text_of(said.get("toolUseId")) or "", text_of(said.get("status"))
        is_error = None if status is None else status == "error"
        self._call.tool_result(identity, content, is_error=is_error)
        rest = {name: raw for name, raw in said.items() if name not in _RESULT_READ and present(raw)}
        if rest:
            # Its type, which has to be sent back with it.
            self._call.beside("raw", {"toolCallId": quote(identity), "block": _object(rest)})

    def _image_delta(self, index: int, image: Members) -> None:
        opened = self._open.get(index)
        if not isinstance(opened, _Image):
            opened = _Image(_media_type(image))
            self._keep_open(index, opened)
        source = fields_of(image.get("source", NULL)) or {}
        data = text_of(source.get("bytes"))
        place = fields_of(source.get("s3Location", NULL)) or {}
        if data and self._room(self._held + len(data), MAX_AGENT):
            self._held += len(data)
            opened.pieces.append(data)
        elif (url := text_of(place.get("uri"))) and place.keys() == {"uri"}:
            self._call.image(opened.media_type, "url", url)
        elif present(image.get("source")):
            self._beside("image", index, {"source": image["source"]})
        self._rest("image", index, image, frozenset({"source", "format"}))

    def _cited(self, index: int, said: Members) -> None:
        for raw in items_of(said.get("content", NULL)):
            self.text(index, text_of((fields_of(raw) or {}).get("text")) or "")
        for citation in items_of(said.get("citations", NULL)):
            self._sources.placed(citation)

    def _keep_open(self, index: int, opened: _Tool | _Result | _Image) -> None:
        self.stop(index)
        if len(self._open) >= MAX_OPEN_TOOLS:
            self.stop(next(iter(self._open)))
        self._open[index] = opened

    def _room(self, size: int, limit: int) -> bool:
        """What is collected stays within what a chunk can hold."""
        if size > limit:
            self._call.fail(Failure(message="the provider sent a part that is too large", code="event-too-large"))
        return size <= limit

    def _rest(self, level: str, index: int, members: Members, read: frozenset[str]) -> None:
        rest = {name: raw for name, raw in members.items() if name not in read and present(raw)}
        if rest:
            self._beside(level, index, rest)

    def _beside(self, level: str, index: int, members: Members) -> None:
        self._call.beside("raw", {level: _object(members), "index": b"%d" % index})


def index_of(event: Members) -> int:
    index = integer_of(event.get("contentBlockIndex"))
    return index if index is not None and index >= 0 else 0


def _media_type(said: Members) -> str:
    return f"image/{text_of(said.get('format')) or '*'}"


def _object(members: Members) -> bytes:
    return compact(msgspec.json.encode(members))

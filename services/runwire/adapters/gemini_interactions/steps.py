"""The steps of an interaction: thoughts, output, calls and results, by the index that their events give."""

from typing import Final

import msgspec

from runwire.adapters.gemini.media import write_media
from runwire.adapters.gemini.wire import object_of, rest_of
from runwire.adapters.gemini_interactions.tools import CALL, RESULT, ToolCall, ToolResult
from runwire.adapters.gemini_interactions.wire import NULL, Members
from runwire.adapters.opaque import compact, fields_of, items_of, present, quote, text_of
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.sources import Sources
from runwire_schemas.raw import Failure

# Steps that are open at the same time; real streams have one.
_MAX_OPEN: Final = 64
# Types of steps that are counted; there are about twenty.
_MANY: Final = 64
_MEDIA: Final = frozenset({"image", "audio", "video", "document"})
_MEDIA_READ: Final = frozenset({"type", "data", "uri", "mime_type"})
_TEXT_READ: Final = frozenset({"type", "text", "annotations"})
_THOUGHT_READ: Final = frozenset({"type", "summary", "signature", "content"})
_OUTPUT_READ: Final = frozenset({"type", "content"})
# What annotations say where; those of speech tell about words, and name no source.
_URLS: Final = ("url", "document_uri", "source")
_TITLES: Final = ("title", "file_name", "name", "source")
_WEB: Final = ("https://", "http://")
_SPEECH: Final = ("word_info", "speech_metadata")


class _Open:
    """A step that was not stopped yet."""

    __slots__ = ("kind", "tool")

    def __init__(self, kind: str, tool: ToolCall | ToolResult | None = None) -> None:
        self.kind = kind
        self.tool = tool


class Steps:
    """What one interaction puts out. `seen`: how many steps of each type there were."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._sources = Sources(call)
        self._open: dict[int, _Open] = {}
        # Both hold at most as many ids as a call may have blocks. A result without an id is of a call without one.
        self._ids: dict[str, str] = {}  # of calls without a result: the provider's id, and what it is here
        self._unanswered: set[str] = set()  # functions that the client must run
        self.seen: dict[str, int] = {}

    @property
    def waiting(self) -> bool:
        """Somebody must run a function."""
        return bool(self._unanswered)

    def start(self, index: int, step: Members) -> None:
        """`step.start`, or a step that came whole."""
        kind = text_of(step.get("type")) or ""
        opened = self._begin(index, kind)
        if len(self.seen) < _MANY:
            self.seen[kind] = self.seen.get(kind, 0) + 1
        if opened.tool is not None:
            opened.tool.say(step)
        elif kind == "thought":
            self._thought(step)
        elif kind == "model_output":
            for content in items_of(step.get("content", NULL)):
                self._content(fields_of(content) or {}, content)
            self._rest("step", step, _OUTPUT_READ)
        elif kind == "text" or kind in _MEDIA:
            # The first version of the API has contents for steps. Most say only their type, and the rest in deltas.
            if rest_of(step, frozenset({"type"})):
                self._content(step, msgspec.Raw(object_of(step)))
        elif step:
            # A kind that is not known here, or what the client itself put in: kept whole.
            self._call.beside("raw", {"step": object_of(step)})

    def text(self, text: str) -> None:
        """More of the answer."""
        if text:
            self._call.text(text)

    def arguments(self, index: int, text: str) -> None:
        """More of a call's arguments."""
        opened = self._open.get(index)
        if opened is not None and isinstance(opened.tool, ToolCall):
            opened.tool.arguments(text)
        elif text:
            message = f"arguments of a tool call came without the call (step {index})"
            self._call.fail(Failure(message=message, code="tool-name-missing"))

    def delta(self, index: int, delta: Members) -> None:
        """A delta that is none of the usual ones, or has more in it."""
        kind = text_of(delta.get("type")) or ""
        if kind == "arguments_delta":
            self.arguments(index, text_of(delta.get("arguments")) or "")
            self._rest("delta", delta, frozenset({"type", "arguments"}))
        elif kind == "thought_summary":
            self._summary(delta.get("content", NULL))
            self._rest("delta", delta, _THOUGHT_READ)
        elif kind == "thought_signature":
            self._signature(index, text_of(delta.get("signature")) or "")
            self._rest("delta", delta, _THOUGHT_READ)
        elif kind == "text_annotation_delta":
            self._annotations(delta)
            self._rest("delta", delta, frozenset({"type", "annotations"}))
        elif kind.endswith((CALL, RESULT)):
            self._tool_delta(index, kind, delta)
        else:
            self._content(delta, msgspec.Raw(object_of(delta)))

    def stop(self, index: int) -> None:
        """`step.stop`; one without a start means nothing."""
        opened = self._open.pop(index, None)
        if opened is None:
            return
        if isinstance(opened.tool, ToolCall):
            self._end_call(opened.tool)
        elif isinstance(opened.tool, ToolResult):
            identity = self._ids.pop(opened.tool.id, opened.tool.id)
            self._unanswered.discard(identity)
            opened.tool.end(identity)
        else:
            self._end_prose()

    def close(self) -> None:
        """The interaction is over: ends what was not stopped."""
        for index in list(self._open):
            self.stop(index)

    def _begin(self, index: int, kind: str) -> _Open:
        self.stop(index)
        if len(self._open) >= _MAX_OPEN:
            self.stop(next(iter(self._open)))
        tool: ToolCall | ToolResult | None = None
        if kind.endswith(CALL):
            tool = ToolCall(self._call, kind)
        elif kind.endswith(RESULT):
            tool = ToolResult(self._call, kind)
        else:
            self._end_prose()
        self._open[index] = opened = _Open(kind, tool)
        return opened

    def _end_prose(self) -> None:
        self._call.end_text()
        self._call.end_thinking()

    # Thoughts and output --------------------------------------------------------------------------------------------

    def _thought(self, step: Members) -> None:
        for content in items_of(step.get("summary", NULL)):
            self._summary(content)
        self._sign(text_of(step.get("signature")) or "")
        self._rest("step", step, _THOUGHT_READ)

    def _summary(self, raw: msgspec.Raw) -> None:
        """A piece of what the model thought, as it is told."""
        content = fields_of(raw) or {}
        if self._call.signed:
            # Each signature is of what came before it.
            self._call.end_thinking()
        text = text_of(content.get("text"))
        if text is not None:
            if text:
                self._call.thinking(text)
            self._rest("summary", content, _TEXT_READ)
        elif present(raw) and not self._media(content, "reasoning-file"):
            self._call.beside("raw", {"summary": compact(raw)})

    def _signature(self, index: int, signature: str) -> None:
        """A signature in a delta is of its step, which need not be a thought."""
        opened = self._open.get(index)
        if signature and opened is not None and opened.tool is not None:
            opened.tool.say({"signature": msgspec.Raw(quote(signature))})
        elif signature and opened is not None and opened.kind in ("model_output", "text"):
            self._call.note_text(b'{"signature":%s}' % quote(signature))
        else:
            self._sign(signature)

    def _sign(self, signature: str) -> None:
        """Most signatures are empty: the real one comes last."""
        if not signature:
            return
        if self._call.signed:
            self._call.end_thinking()
        self._call.sign(signature)

    def _content(self, content: Members, raw: msgspec.Raw) -> None:
        """Text or media of the answer."""
        text = text_of(content.get("text"))
        if text is not None and text_of(content.get("type")) in ("text", None):
            self.text(text)
            self._annotations(content)
            self._rest("content", content, _TEXT_READ)
        elif not self._media(content) and present(raw):
            self._call.beside("raw", {"content": compact(raw)})

    def _media(self, content: Members, kind: str = "file") -> bool:
        if text_of(content.get("type")) not in _MEDIA:
            return False
        data, url, media_type = (text_of(content.get(name)) or "" for name in ("data", "uri", "mime_type"))
        return write_media(self._call, media_type, data, url, rest_of(content, _MEDIA_READ), kind)

    def _annotations(self, members: Members) -> None:
        for raw in items_of(members.get("annotations", NULL)):
            said = fields_of(raw) or {}
            if text_of(said.get("type")) in _SPEECH or not said:
                self._call.beside("raw", {"annotation": compact(raw)})
                continue
            named = [text_of(said.get(name)) or "" for name in _URLS]
            url = next((text for text in named if text.startswith(_WEB)), "")
            title = next((text for name in _TITLES if (text := text_of(said.get(name))) and text != url), "")
            self._sources.quoted(url, title, raw)

    def _rest(self, level: str, members: Members, read: frozenset[str]) -> None:
        rest = rest_of(members, read)
        if rest:
            self._call.beside("raw", {level: object_of(rest)})

    # Calls and results ----------------------------------------------------------------------------------------------

    def _tool_delta(self, index: int, kind: str, delta: Members) -> None:
        """What a call or result says about itself, which its start need not have said."""
        opened = self._open.get(index)
        if opened is None or opened.kind != kind or opened.tool is None:
            self.start(index, delta)
        else:
            opened.tool.say(delta)

    def _end_call(self, tool: ToolCall) -> None:
        self._ids[tool.id] = identity = tool.end()
        if tool.function:
            self._unanswered.add(identity)

"""What the deltas of one choice say: text, reasoning, tool calls, images."""

from typing import Final

import msgspec

from runwire.adapters.opaque import compact, fields_of, present, quote
from runwire.adapters.openai_chat.beside import Beside
from runwire.adapters.openai_chat.parts import Part, parts_of
from runwire.adapters.openai_chat.reasoning import Reasoning
from runwire.adapters.openai_chat.tools import Tools
from runwire.adapters.openai_chat.wire import UNREAD, Delta, ToolPart
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.think import Think, Thoughts

# The deprecated `function_call` has neither id nor index; an index that no server sends keeps it apart.
_FUNCTION_CALL: Final = -1
_TRUE: Final = b"true"


class Content:
    """The content of one choice, written to its call."""

    def __init__(self, call: Call, think: Think, beside: Beside) -> None:
        self._call = call
        self._think = think
        self._beside = beside
        self._reasoning = Reasoning(call, think)
        self._thoughts: Thoughts | None = None
        self._tools = Tools(call)

    def delta(self, delta: Delta, parts: list[Part] | None) -> None:
        """`parts`: content that came as an array and was read part by part."""
        if delta.reasoning_content or delta.reasoning or delta.reasoning_details or delta.reasoning_text:
            self._reasoning.feed(delta)
        content = delta.content
        if delta.extra_content is not UNREAD and self._google(delta.extra_content, content):
            content = None
        if content:
            if isinstance(content, str):
                self.text(content)
            else:
                self._parts(parts_of(content))
        if parts:
            self._parts(parts)
        if delta.refusal:
            self.text(delta.refusal)
        if delta.tool_calls:
            self.flush()
            for part in delta.tool_calls:
                self._tool(part)
        if delta.function_call is not None:
            self.flush()
            self._tools.feed(ToolPart(index=_FUNCTION_CALL, function=delta.function_call))

    def repeated(self, delta: Delta) -> None:
        """A message as a whole, after its deltas: only kinds of content that no delta had are taken from it."""
        self.flush()
        said = self._call.kinds
        text, thought = b"text" in said, b"thinking" in said
        rest = Delta(
            content=None if text else delta.content,
            refusal=None if text else delta.refusal,
            reasoning_content=None if thought else delta.reasoning_content,
            reasoning=None if thought else delta.reasoning,
            reasoning_text=None if thought else delta.reasoning_text,
            tool_calls=None if self._call.has_tools else delta.tool_calls,
            function_call=None if self._call.has_tools else delta.function_call,
        )
        self.delta(rest, None)

    def text(self, text: str) -> None:
        """More of the answer."""
        if self._thoughts is not None:
            text = self._thoughts.answer(text)
            if self._thoughts.over:
                self._thoughts = None
        if text:
            self._think.text(text)

    def flush(self) -> None:
        """Text that was held back, since it might have been a tag, comes before what follows."""
        if self._thoughts is not None:
            thought, text = self._thoughts.pause()
            self._said(thought, text)
        self._think.flush()

    def finish(self) -> None:
        """The response is over."""
        self.flush()
        self._tools.finish()

    def _google(self, raw: msgspec.Raw, content: object) -> bool:
        """Gemini's endpoint says of a delta that it is a thought. Whether the content was taken for one."""
        extra = fields_of(raw) or {}
        google = fields_of(extra.get("google", UNREAD)) or {}
        taken = isinstance(content, str) and bytes(google.get("thought", UNREAD)) == _TRUE
        if taken:
            self._thoughts = self._thoughts or Thoughts(self._think.dropped)
            self._said(*self._thoughts.thought(str(content)))
        rest = {name: value for name, value in google.items() if name != "thought" and present(value)}
        if rest:
            self._call.beside("raw", {"delta": b'{"extra_content":{"google":%s}}' % _object(rest)})
        others = {name: value for name, value in extra.items() if name != "google" and present(value)}
        if others:
            self._call.beside("raw", {"delta": b'{"extra_content":%s}' % _object(others)})
        return taken

    def _said(self, thought: str, text: str) -> None:
        if thought:
            self._think.thinking(thought)
        if text:
            self._think.text(text)

    def _parts(self, parts: list[Part]) -> None:
        for part in parts:
            if part.kind == "text" and part.text:
                self.text(part.text)
            elif part.kind == "thinking" and part.text:
                self._think.thinking(part.text)
            elif part.kind == "signature":
                self.flush()
                self._call.sign(part.text)
            elif part.kind == "image":
                self.flush()
                self._beside.image(part.text)
            elif part.kind == "other":
                self._call.beside("raw", {"delta": b'{"content":[%s]}' % part.raw})

    def _tool(self, part: ToolPart) -> None:
        extra = fields_of(part.extra_content) or {}
        google = extra.get("google", UNREAD)
        if extra.keys() - {"google"}:
            self._call.beside("raw", {"toolCall": b'{"extra_content":%s}' % compact(part.extra_content)})
        self._tools.feed(part, compact(google) if present(google) else b"")


def _object(members: dict[str, msgspec.Raw]) -> bytes:
    return b"{%s}" % b",".join(quote(name) + b":" + compact(raw) for name, raw in members.items())

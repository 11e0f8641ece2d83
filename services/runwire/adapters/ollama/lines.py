"""Ollama's /api/chat and /api/generate: one JSON object a line.

The end is the line with `"done": true`; a body without one was cut off. Nothing tells whether it ends for a tool
call (`done_reason` is `stop` then too), so a call that was made says so.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

import msgspec

from runwire.adapters.base import MAX_EVENT, Framing
from runwire.adapters.failures import cut_off, failure_in, rest_of
from runwire.adapters.ollama.wire import COUNTS, NULL, Members, decode_line, usage_of
from runwire.adapters.opaque import compact, fields_of, items_of, present, quote, text_of, unread
from runwire.adapters.wire import WireAdapter
from runwire.adapters.writing.call import StopKind
from runwire.adapters.writing.think import Think
from runwire_schemas.record import UsageRule

# `load` and `unload` are answers to a request without a prompt. A word that is not here ends the call as `stop`.
STOP: Final[dict[str, StopKind]] = {"stop": "stop", "length": "max_tokens", "load": "stop", "unload": "stop"}
# Members that are read, and what the JSON of their shapes begins with (`b""`: any).
_READ: Final = {
    **dict.fromkeys((*COUNTS, "model", "created_at", "done", "done_reason", "error", "logprobs"), b""),
    **dict.fromkeys(("response", "thinking", "image"), b'"'),
    **dict.fromkeys(("images", "tool_calls"), b"["),
    "message": b"{",
}
_MESSAGE_READ: Final = {"role": b"", "content": b'"', "thinking": b'"', "tool_calls": b"[", "images": b"["}
_CALL_READ: Final = {"id": b'"', "type": b"", "function": b"{"}
_FUNCTION_READ: Final = {"name": b'"', "arguments": b"", "index": b""}
# What images begin with in base64.
_MEDIA_TYPES: Final = {"iVBOR": "image/png", "/9j/": "image/jpeg", "UklGR": "image/webp", "R0lGOD": "image/gif"}


class Ollama(WireAdapter):
    """One answer. Protocols without choices ignore `choice`.

    `think`: `<think>` tags are reasoning; None: if the model is known to write them.
    """

    provider: ClassVar[str] = "ollama"
    usage: UsageRule = "optional"

    def __init__(
        self,
        choice: int = 0,
        framing: Framing | None = None,
        *,
        limit: int = MAX_EVENT,
        think: bool | None = None,
    ) -> None:
        super().__init__(framing, limit)
        del choice
        self._think = Think(self._call, think=think)
        self._model = ""
        self._created = ""

    def _read(self, name: str, data: bytes) -> None:
        try:
            line = decode_line(data)
        except msgspec.ValidationError:
            self._loose(name, data)
            return
        if line.done:
            self._loose(name, data)
            return
        if line.model != self._model or not self._created:
            self._identify(line.model or "", line.created_at or "")
        message = line.message
        if message is not None:
            self._words(message.thinking, message.content)
        self._words(line.thinking, line.response)

    def _loose(self, name: str, data: bytes) -> None:
        del name
        top = fields_of(data)
        if top is None:
            if present(msgspec.Raw(data)):
                self._call.beside("raw", {"value": compact(data)})
            return
        self._identify(text_of(top.get("model")) or "", text_of(top.get("created_at")) or "")
        self._message(fields_of(top.get("message", NULL)) or {})
        self._words(text_of(top.get("thinking")), text_of(top.get("response")))
        self._parts(top)
        for fact, raw in unread(top, _READ).items():
            self._call.remember(fact, compact(raw))
        failure = failure_in(top)
        if failure is not None:
            self._think.flush()
            self._kept("error", rest_of(top.get("error")))
            self._call.fail(failure)
        elif bytes(top.get("done", NULL)) == b"true":
            self._done_line(top)

    def _identify(self, model: str, created: str) -> None:
        if not self._model and model:
            self._model = model
            self._think.model(model)
            self._call.identify("", model, created)
        self._created = self._created or created

    # Content --------------------------------------------------------------------------------------------------------

    def _words(self, thinking: str | None, text: str | None) -> None:
        if thinking:
            self._think.thinking(thinking)
        if text:
            self._think.text(text)

    def _message(self, message: Members) -> None:
        self._words(text_of(message.get("thinking")), text_of(message.get("content")))
        self._parts(message)
        self._rest("message", message, _MESSAGE_READ)

    def _parts(self, members: Members) -> None:
        """Images, tool calls and logprobs, of a chat's message or of a line."""
        images = [*items_of(members.get("images", NULL)), members.get("image", NULL)]
        for data in (text for raw in images if (text := text_of(raw))):
            self._think.flush()
            self._call.image(_media_type(data), "data", data)
        for raw in items_of(members.get("tool_calls", NULL)):
            self._tool(fields_of(raw) or {})
        logprobs = members.get("logprobs", NULL)
        self._kept("logprobs", compact(logprobs) if present(logprobs) else None)

    def _tool(self, call: Members) -> None:
        """A call comes whole. Its arguments are an object; text is taken for JSON."""
        self._think.flush()
        function = fields_of(call.get("function", NULL)) or {}
        raw = function.get("arguments", NULL)
        arguments = text_of(raw)
        if arguments is None:
            arguments = "" if bytes(raw) == b"null" else compact(raw).decode()
        # Older versions give no id, and no version gives one for the response: its first line's time tells apart the
        # calls of several responses of a run.
        made = f"generated-{self._created}-{self._call.opened}" if self._created else ""
        block = self._call.open_tool(text_of(call.get("id")) or made, text_of(function.get("name")) or "")
        if arguments:
            self._call.tool_arguments(block, arguments)
        self._call.end_tool(block, b"{}")
        self._rest("toolCall", call, _CALL_READ)
        self._rest("toolCall", function, _FUNCTION_READ)

    def _rest(self, level: str, members: Members, read: Mapping[str, bytes]) -> None:
        rest = unread(members, read)
        self._kept(level, compact(msgspec.json.encode(rest)) if rest else None)

    def _kept(self, name: str, value: bytes | None) -> None:
        if value is not None:
            self._call.beside("raw", {name: value})

    # Ends -----------------------------------------------------------------------------------------------------------

    def _done_line(self, top: Members) -> None:
        self._think.flush()
        counts = [b"%s:%s" % (quote(name), compact(top[name])) for name in top if name in COUNTS]
        if counts:
            self._call.remember("usage", b"{%s}" % b",".join(counts))
        self._call.usage = usage_of(top)
        word = text_of(top.get("done_reason")) or ""
        kind = STOP.get(word, "stop")
        self._call.finish("tool_calls" if kind == "stop" and self._call.has_tools else kind, word)

    def _end_of_body(self) -> None:
        self._think.flush()
        self._call.fail(cut_off('it ended before the line that is "done"'), "aborted")


def _media_type(data: str) -> str:
    return next((kind for start, kind in _MEDIA_TYPES.items() if data.startswith(start)), "image/*")

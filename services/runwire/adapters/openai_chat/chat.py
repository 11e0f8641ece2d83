"""OpenAI Chat Completions, and the many servers that speak it with an accent.

The end: `[DONE]`, or the end of the body after a `finish_reason`. Until then `finish` is held, since usage, a second
finish chunk or another tool call may follow the first one. `[DONE]` without any `finish_reason` is the protocol's end
all the same (Snowflake): the call ends as `tool_calls` if it called a tool, else as `stop`, without the provider's
word. A body with neither of the two was cut off.
"""

from datetime import UTC, datetime
from typing import ClassVar, Final

import msgspec

from runwire.adapters.base import MAX_EVENT, Framing
from runwire.adapters.failures import cut_off, failure_in, failure_of, rest_of
from runwire.adapters.opaque import compact, fields_of, integer_of, present
from runwire.adapters.openai_chat.beside import Beside
from runwire.adapters.openai_chat.reasoning import Reasoning
from runwire.adapters.openai_chat.tools import Tools
from runwire.adapters.openai_chat.usage import usage_of
from runwire.adapters.openai_chat.wire import (
    UNREAD,
    Choice,
    Chunk,
    Delta,
    Part,
    ToolPart,
    UsageIn,
    decode_chunk,
    loose,
    parts_of,
    usage_in,
)
from runwire.adapters.wire import WireAdapter
from runwire.adapters.writing.call import FailedKind, StopKind
from runwire.adapters.writing.think import Think
from runwire_schemas.raw import Failure
from runwire_schemas.record import UsageRule

# The provider's words by what they mean. A word that is not here ends the call as `stop` and is kept as `raw`.
FINISH: Final[dict[str, StopKind]] = {
    "stop": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
}
FAILED: Final[dict[str, tuple[FailedKind, Failure]]] = {
    "error": ("error", Failure(message="the provider ended the response with an error", code="provider-error")),
    "insufficient_system_resource": (
        "error",
        Failure(message="the provider ran out of resources", code="insufficient_system_resource", retryable=True),
    ),
    "abort": ("aborted", Failure(message="the provider aborted the response", code="provider-abort")),
}
# The deprecated `function_call` has neither id nor index; an index that no server sends keeps it apart.
_FUNCTION_CALL: Final = -1


class OpenAIChat(WireAdapter):
    """One choice of one response. `think`: `<think>` tags are reasoning; None: if the model is known to write them."""

    provider: ClassVar[str] = "openai-chat"
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
        self._choice = choice
        self._think = Think(self._call, think=think)
        self._reasoning = Reasoning(self._call, self._think)
        self._tools = Tools(self._call)
        self._beside = Beside(self._call, choice)
        self._reason = ""
        self._model = ""
        self._named = False
        self._first = True
        self._seen = False  # our choice was seen
        self._others = False

    # Events ---------------------------------------------------------------------------------------------------------

    def _read(self, name: str, data: bytes) -> None:
        if name != "error":
            try:
                chunk = decode_chunk(data)
            except msgspec.ValidationError:
                pass
            else:
                self._chunk(chunk, {}, data)
                return
        self._loose(name, data)

    def _loose(self, name: str, data: bytes) -> None:
        top = fields_of(data)
        if top is None:
            if name == "error":
                self._fail("error", failure_of(data))
            elif present(msgspec.Raw(data)):
                self._call.beside("raw", {"value": compact(data)})
            return
        groq = fields_of(top.get("x_groq", UNREAD)) or {}
        failure = failure_in(top) or (failure_of(data, top) if name == "error" else None)
        if failure is None and present(groq.get("error")):
            failure = failure_of(groq["error"], groq)
        read = loose(top)
        usage = usage_in(groq.get("usage"))
        if usage is not None:
            self._usage(usage)
        self._chunk(read.chunk, read.parts, data)
        if failure is None:
            if any(extra.level == "delta" and extra.name == "images" for extra in read.extras):
                self._think.flush()
            self._beside.extras(read.extras)
            return
        rest = rest_of(top.get("error"))
        if rest is not None:
            self._call.beside("raw", {"error": rest})
        self._fail("error", failure)

    def _chunk(self, chunk: Chunk, parts: dict[int, list[Part]], data: bytes) -> None:
        if not self._named and (chunk.id or chunk.model):
            self._name(chunk)
        edge = self._first or not chunk.choices
        self._first = False
        for choice in chunk.choices or ():
            index = choice.index or 0
            if index == self._choice:
                self._take(choice, parts.get(index))
                edge = edge or choice.finish_reason is not None
            else:
                self._others = True
                self._saw(index)
        if chunk.usage is not None:
            self._usage(chunk.usage)
        if edge:
            self._beside.metadata(data)

    def _name(self, chunk: Chunk) -> None:
        self._model = chunk.model or self._model
        self._think.model(self._model)
        if chunk.id:
            self._named = True
            self._call.identify(chunk.id, self._model, _timestamp(integer_of(chunk.created)))

    def _take(self, choice: Choice, parts: list[Part] | None) -> None:
        if not self._seen:
            self._seen = True
            self._saw(self._choice)
        delta = choice.delta
        if delta is not None:
            self._delta(delta, parts)
        if choice.text and (delta is None or delta.content is None):
            self._think.text(choice.text)
        if choice.finish_reason:
            self._reason = choice.finish_reason
        if choice.logprobs and any(present(raw) for raw in choice.logprobs.values()):
            self._call.beside("raw", {"choice": b'{"logprobs":%s}' % compact(msgspec.json.encode(choice.logprobs))})
        if choice.content_filter_results is not UNREAD:
            self._beside.repeated("choice", "content_filter_results", bytes(choice.content_filter_results))

    def _delta(self, delta: Delta, parts: list[Part] | None) -> None:
        if delta.reasoning_content or delta.reasoning or delta.reasoning_details:
            self._reasoning.feed(delta)
        content = delta.content
        if content:
            if isinstance(content, str):
                self._think.text(content)
            else:
                self._parts(parts_of(content))
        if parts:
            self._parts(parts)
        if delta.refusal:
            self._think.text(delta.refusal)
        if delta.tool_calls:
            self._think.flush()
            for part in delta.tool_calls:
                self._tool(part)
        if delta.function_call is not None:
            self._think.flush()
            self._tools.feed(ToolPart(index=_FUNCTION_CALL, function=delta.function_call))

    # Content --------------------------------------------------------------------------------------------------------

    def _parts(self, parts: list[Part]) -> None:
        for part in parts:
            if part.kind == "text" and part.text:
                self._think.text(part.text)
            elif part.kind == "thinking" and part.text:
                self._think.thinking(part.text)
            elif part.kind == "image":
                self._think.flush()
                self._beside.image(part.text)
            elif part.kind == "other":
                self._call.beside("raw", {"delta": b'{"content":[%s]}' % part.raw})

    def _tool(self, part: ToolPart) -> None:
        extra = fields_of(part.extra_content) or {}
        google = extra.get("google", UNREAD)
        if extra.keys() - {"google"}:
            self._call.beside("raw", {"toolCall": b'{"extra_content":%s}' % compact(part.extra_content)})
        self._tools.feed(part, compact(google) if present(google) else b"")

    def _usage(self, said: UsageIn) -> None:
        """The last report wins. Reports are never added up: they are totals, or repeat each other."""
        self._call.usage = usage_of(said) or self._call.usage

    # Ends -----------------------------------------------------------------------------------------------------------

    def _done(self) -> None:
        self._finish()

    def _end_of_body(self) -> None:
        if self._reason or (self._others and not self._seen):
            self._finish()
        else:
            self._fail("aborted", cut_off("it ended with neither a finish_reason nor [DONE]"))

    def _finish(self) -> None:
        if self._others and not self._seen:
            message = f"the response has no choice {self._choice}"
            self._fail("error", Failure(message=message, code="no-such-choice", retryable=False))
        elif self._reason.lower() in FAILED:
            self._fail(*FAILED[self._reason.lower()])
        else:
            self._think.flush()
            self._tools.finish()
            self._name_late()
            kind = FINISH.get(self._reason.lower(), "stop")
            self._call.finish("tool_calls" if not self._reason and self._call.has_tools else kind, self._reason)

    def _fail(self, kind: FailedKind, failure: Failure) -> None:
        self._think.flush()
        self._name_late()
        self._call.fail(failure, kind, self._reason)

    def _name_late(self) -> None:
        """Servers that give no id still name their model."""
        if not self._named and self._model:
            self._call.identify("", self._model, "")


def _timestamp(created: int | None) -> str:
    """ISO 8601 from seconds since 1970, or milliseconds, as one server sends; "" if there is none."""
    if created is None or not 0 < created < _MAX_CREATED:
        return ""
    seconds = created / 1000 if created > _MILLISECONDS else created
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


_MILLISECONDS: Final = 10**11  # as seconds this is the year 5138, as milliseconds 1973
_MAX_CREATED: Final = 10**14

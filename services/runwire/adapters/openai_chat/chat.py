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
from runwire.adapters.failures import cut_off, details_in, failure_in, failure_of, rest_of
from runwire.adapters.opaque import compact, fields_of, integer_of, present
from runwire.adapters.openai_chat.beside import Beside
from runwire.adapters.openai_chat.content import Content
from runwire.adapters.openai_chat.ends import failed, stopped
from runwire.adapters.openai_chat.loose import Loose, loose, usage_in
from runwire.adapters.openai_chat.usage import usage_of
from runwire.adapters.openai_chat.wire import UNREAD, Choice, Chunk, Delta, UsageIn, decode_chunk
from runwire.adapters.wire import WireAdapter
from runwire.adapters.writing.call import FailedKind
from runwire.adapters.writing.think import Think
from runwire_schemas.raw import Failure
from runwire_schemas.record import UsageRule


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
        self._beside = Beside(self._call, choice)
        self._content = Content(self._call, self._think, self._beside)
        self._reason = ""
        self._model = ""
        self._named = False
        self._first = True
        self._seen = False  # our choice was seen
        self._others = False
        self._unkept = b""  # the last chunk with a report of usage whose facts were not kept yet
        self._call.closing = self._keep_facts

    # Events ---------------------------------------------------------------------------------------------------------

    def _read(self, name: str, data: bytes) -> None:
        if name != "error":
            try:
                chunk = decode_chunk(data)
            except msgspec.ValidationError:
                pass
            else:
                self._chunk(chunk, None, data)
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
        read = loose(top, fresh=not self._call.opened)
        rest = details_in(top)
        own = self._error_in(read)
        if failure is None and own is not None:
            failure, rest = failure_of(own), rest_of(msgspec.Raw(own))
        usage = usage_in(groq.get("usage"))
        if usage is not None:
            self._usage(usage)
        self._chunk(read.chunk, read, data)
        if failure is None:
            self._beside.extras(read.extras, self._content.flush)
            return
        # What lies beside the choices of an error is the error itself.
        besides = [extra for extra in read.extras if extra.choice is not None and extra.raw is not own]
        self._beside.extras(besides, self._content.flush)
        if rest is not None:
            self._call.beside("raw", {"error": rest})
        self._fail("error", failure)

    def _error_in(self, read: Loose) -> bytes | None:
        """An error of our choice alone: OpenRouter's place for one."""
        ours = (self._choice, "choice", "error")
        return next((extra.raw for extra in read.extras if extra[:3] == ours and extra.raw != b"false"), None)

    def _chunk(self, chunk: Chunk, read: Loose | None, data: bytes) -> None:
        if not self._named and (chunk.id or chunk.model):
            self._name(chunk)
        edge = self._first or not chunk.choices
        self._first = False
        for choice in chunk.choices or ():
            index = choice.index or 0
            if index == self._choice:
                self._take(choice, read)
                edge = edge or choice.finish_reason is not None
            else:
                self._others = True
                self._saw(index)
        if chunk.usage is not None:
            self._usage(chunk.usage)
            self._unkept = data
        if edge:
            self._unkept = b""
            self._beside.metadata(data)

    def _keep_facts(self) -> None:
        if self._unkept:
            self._beside.metadata(self._unkept)

    def _name(self, chunk: Chunk) -> None:
        self._model = chunk.model or self._model
        self._think.model(self._model)
        if chunk.id:
            self._named = True
            self._call.identify(chunk.id, self._model, _timestamp(integer_of(chunk.created)))

    def _take(self, choice: Choice, read: Loose | None) -> None:
        if not self._seen:
            self._seen = True
            self._saw(self._choice)
        delta = choice.delta
        if delta is not None:
            self._say(delta, read)
        if choice.text and (delta is None or delta.content is None):
            self._content.text(choice.text)
        if choice.finish_reason:
            self._reason = choice.finish_reason
        if choice.usage is not None:
            self._usage(choice.usage)
        if choice.logprobs and any(present(raw) for raw in choice.logprobs.values()):
            self._call.beside("raw", {"choice": b'{"logprobs":%s}' % compact(msgspec.json.encode(choice.logprobs))})
        if choice.content_filter_results is not UNREAD:
            self._beside.repeated("choice", "content_filter_results", bytes(choice.content_filter_results))

    def _say(self, delta: Delta, read: Loose | None) -> None:
        if read is not None and self._choice in read.whole:
            self._content.flush()
            if self._call.opened:
                self._content.repeated(delta)
                return
        self._content.delta(delta, None if read is None else read.parts.get(self._choice))

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
        failure = failed(self._reason)
        if self._others and not self._seen:
            message = f"the response has no choice {self._choice}"
            self._fail("error", Failure(message=message, code="no-such-choice", retryable=False))
        elif failure is not None:
            self._fail(*failure)
        else:
            self._content.finish()
            self._name_late()
            kind = "tool_calls" if not self._reason and self._call.has_tools else stopped(self._reason)
            self._call.finish(kind, self._reason)

    def _fail(self, kind: FailedKind, failure: Failure) -> None:
        self._content.flush()
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

"""Gemini's streamGenerateContent: server-sent events, or without `alt=sse` one JSON array; and generateContent.

Nothing in the protocol says that it is over: the body ends, and some event before has said a `finishReason`. Several
may say one, and the last counts, since some models go on after their first. A body without any was cut off.
"""

from typing import ClassVar, Final

import msgspec

from runwire.adapters.base import MAX_EVENT, Framing
from runwire.adapters.failures import cut_off, failure_of
from runwire.adapters.failures import rest_of as rest_of_error
from runwire.adapters.gemini.beside import Beside
from runwire.adapters.gemini.content import Content
from runwire.adapters.gemini.ends import error_in, failed, stopped
from runwire.adapters.gemini.usage import Metered, counts_in
from runwire.adapters.gemini.wire import NULL, Members, decode_event, inner, members_of
from runwire.adapters.opaque import compact, integer_of, items_of, present, text_of
from runwire.adapters.wire import WireAdapter
from runwire.adapters.writing.call import FailedKind
from runwire_schemas.raw import Failure
from runwire_schemas.record import UsageRule

_READ: Final = frozenset(
    {"candidates", "usageMetadata", "modelVersion", "responseId", "createTime", "error"}
    # What Google's SDK adds to a response of its own accord.
    | {"sdkHttpResponse", "automaticFunctionCallingHistory", "parsed"}
)
_CANDIDATE_READ: Final = frozenset({"content", "index", "finishReason"})


class Gemini(WireAdapter):
    """One candidate of one response."""

    provider: ClassVar[str] = "gemini"
    usage: UsageRule = "required"

    def __init__(self, choice: int = 0, framing: Framing | None = None, *, limit: int = MAX_EVENT) -> None:
        super().__init__(framing, limit)
        self._choice = choice
        self._content = Content(self._call)
        self._beside = Beside(self._call)
        self._metered = Metered(counts_in)
        self._who = ("", "", "")  # id, model, time
        self._reason = ""
        self._message = ""
        self._blocked = ""
        self._over = False  # the response reached its end
        self._call.closing = self._close

    def _read(self, name: str, data: bytes) -> None:
        try:
            event = decode_event(data)
        except msgspec.ValidationError:
            self._loose(name, data)
            return
        who = (event.response_id or "", event.model_version or "", event.create_time or "")
        if who != self._who:
            self._identify(*who)
        for candidate in event.candidates:
            self._saw(candidate.index)
            if candidate.index == self._choice:
                for part in candidate.content.parts:
                    if part.thought:
                        self._content.thought(part.text)
                    else:
                        self._content.text(part.text)
                self._reason = candidate.finish_reason or self._reason
                self._beside.member("groundingMetadata", candidate.grounding_metadata)
        self._metered.report(event.usage_metadata)

    def _loose(self, name: str, data: bytes) -> None:
        top = members_of(data)
        if top is not None:
            self._event(top)
            if name == "error":
                self._fail(failure_of(data))
        elif name == "error":
            self._fail(failure_of(data))
        elif (events := items_of(data)) and all(members_of(event) is not None for event in events):
            # A whole array where one of its elements belongs.
            for event in events:
                self._event(members_of(event) or {})
        elif present(msgspec.Raw(data)):
            self._call.beside("raw", {"value": compact(data)})

    def _event(self, top: Members) -> None:
        wrapped = inner(top, "response")
        if wrapped and "candidates" not in top:
            # Google's endpoint for code assistants puts a response into an envelope.
            top = {**{name: raw for name, raw in top.items() if name != "response"}, **wrapped}
        self._identify(*(text_of(top.get(name)) or "" for name in ("responseId", "modelVersion", "createTime")))
        for raw in items_of(top.get("candidates", NULL)):
            candidate = members_of(raw)
            if candidate is not None:
                self._candidate(candidate)
        self._blocked = _word(inner(top, "promptFeedback"), "blockReason") or self._blocked
        for name, raw in top.items():
            if name not in _READ:
                self._beside.member(name, raw)
        self._metered.report(top.get("usageMetadata", NULL))
        failure = error_in(top)
        if failure is not None:
            self._fail(failure, rest_of_error(top.get("error")))

    def _candidate(self, candidate: Members) -> None:
        index = integer_of(candidate.get("index")) or 0
        self._saw(index)
        if index != self._choice:
            return
        self._content.loose(inner(candidate, "content"))
        self._reason = _word(candidate, "finishReason") or self._reason
        self._message = text_of(candidate.get("finishMessage")) or self._message
        for name, raw in candidate.items():
            if name not in _CANDIDATE_READ:
                self._beside.member(name, raw)

    def _identify(self, *who: str) -> None:
        """The first of each that is not empty stays."""
        before = self._who
        kept = [old or word for old, word in zip(before, who, strict=True)]
        self._who = (kept[0], kept[1], kept[2])
        self._call.identify(*("" if old else word for old, word in zip(before, who, strict=True)))

    # Ends -----------------------------------------------------------------------------------------------------------

    def _done(self) -> None:
        """`[DONE]`, which some gateways add. It is no end of the protocol's own: without a reason it says nothing."""
        if self._reason or self._blocked:
            self._end_of_body()

    def _end_of_body(self) -> None:
        word = self._reason or self._blocked
        if self.choices and self._choice not in self.choices:
            message = f"the response has no choice {self._choice}"
            self._fail(Failure(message=message, code="no-such-choice", retryable=False))
            return
        if not word:
            self._fail(cut_off("it ended before a finishReason"), None, "aborted")
            return
        failure = failed(self._reason, self._message)
        if failure is not None:
            self._fail(failure, None, "error", word)
            return
        kind = stopped(self._reason) if self._reason else "content_filter"
        self._content.calls.close(complete=kind == "stop")
        self._over = True
        self._call.finish("tool_calls" if kind == "stop" and self._content.calls.made else kind, word)

    def _fail(self, failure: Failure, rest: bytes | None = None, kind: FailedKind = "error", word: str = "") -> None:
        if rest is not None:
            self._call.beside("raw", {"error": rest})
        self._over = bool(word)
        self._call.fail(failure, kind, word)

    def _close(self) -> None:
        """What was counted and reported so far, whatever ends the call."""
        whole = self._metered.whole
        if whole:
            self._call.remember("usage", whole)
        self._call.usage = self._metered.usage(over=self._over)
        self._beside.close(alone=self._call.usage is None and not self._call.opened)


def _word(members: Members, name: str) -> str:
    """A word of an enumeration; some clients ask for numbers."""
    raw = members.get(name, NULL)
    return text_of(raw) or (compact(raw).decode() if integer_of(raw) else "")

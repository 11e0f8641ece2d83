"""The AI SDK's LanguageModelV2, V3 and V4 stream parts, as `doStream` of a model gives them: one part a line.

The end is the `finish` part; a stream without it was cut off. The packages write a `finish` also when their provider's
stream stopped early. V4 says so (`interrupted`); V3 gives no word of the provider then, and V2 neither a reason nor,
in most cases, the usage. An `error` part ends nothing: more parts may follow, so it is told with the `finish` part.
"""

from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple, assert_never

import msgspec

from runwire.adapters.ai_sdk.beside import Beside
from runwire.adapters.ai_sdk.failing import Reported, reported
from runwire.adapters.ai_sdk.prose import REASONING, TEXT, Prose
from runwire.adapters.ai_sdk.tools import Tools
from runwire.adapters.ai_sdk.usage import usage_of
from runwire.adapters.ai_sdk.wire import (
    NULL,
    InputDelta,
    Members,
    ReasoningDelta,
    TextDelta,
    decode_delta,
    inner_of,
    object_of,
    rest_of,
    word_of,
)
from runwire.adapters.base import MAX_EVENT, Framing
from runwire.adapters.failures import cut_off
from runwire.adapters.opaque import compact, fields_of, items_of, present, quote, text_of
from runwire.adapters.wire import WireAdapter
from runwire.adapters.writing.call import FailedKind, StopKind
from runwire.adapters.writing.think import Think
from runwire_schemas.raw import Failure
from runwire_schemas.record import UsageRule

# A word that is neither here nor below ends the call as `stop`.
STOP: Final[dict[str, StopKind]] = {
    "stop": "stop",
    "tool-calls": "tool_calls",
    "length": "max_tokens",
    "content-filter": "content_filter",
}
# V2's word for none, which is also the one for a word that the package does not know.
_SILENT: Final = frozenset({"unknown", ""})
# What a response is that is not over, in the words of Google and OpenAI.
_GOING_ON: Final = frozenset({"in_progress", "queued"})
# Whose packages know all words of their provider, by their names in metadata. V2 of other such packages has none.
_OWN: Final = frozenset({"anthropic", "bedrock", "deepseek", "google", "googleVertex", "perplexity", "vertex", "xai"})
_ERROR: Final = Failure(message="the provider ended the response with an error", code="provider-error")
_PROSE_READ: Final = frozenset({"type", "id", "delta", "text", "textDelta", "providerMetadata", "citations"})
_FINISH_READ: Final = frozenset({"type", "usage", "finishReason", "providerMetadata"})


class _Reason(NamedTuple):
    """`word` is the AI SDK's; `raw` the provider's; `told`: the response came to its end."""

    word: str
    raw: str
    told: bool


class AiSdk(WireAdapter):
    """One response of one model. There are no choices, so `choice` is ignored.

    `think`: `<think>` tags are reasoning; None: if the model is known to write them. Usage is optional: the packages
    for OpenAI's protocol do not ask the server for it unless they are told to, and then report none.
    """

    provider: ClassVar[str] = "ai-sdk"
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
        self._prose = Prose(self._call, self._think)
        self._tools = Tools(self._call)
        self._beside = Beside(self._call)
        self._failure: tuple[Failure, FailedKind] | None = None  # the first error that was reported
        self._complaint: Failure | None = None  # the first event that the package could not read
        self._handlers: dict[str, Callable[[Members], None]] = {
            "text-start": self._text_start,
            "text-delta": self._text_delta,
            "text-end": self._text_end,
            "reasoning-start": self._reasoning_start,
            "reasoning-delta": self._reasoning_delta,
            "reasoning-end": self._reasoning_end,
            "tool-input-start": self._tools.start,
            "tool-input-delta": self._input_delta,
            "tool-input-end": self._tools.stop,
            "tool-call": self._tools.call,
            "tool-result": self._tools.result,
            "file": self._beside.file,
            "reasoning-file": self._beside.reasoning_file,
            "source": self._beside.source,
            "stream-start": self._beside.warnings,
            "response-metadata": self._response_metadata,
            "raw": self._beside.raw,
            "ping": self._ping,
            "error": self._error,
            "finish": self._finish,
        }

    # Parts ----------------------------------------------------------------------------------------------------------

    def _read(self, name: str, data: bytes) -> None:
        try:
            part = decode_delta(data)
        except msgspec.ValidationError:
            self._loose(name, data)
            return
        match part:
            case TextDelta():
                self._prose.text(part.id, part.delta, part.provider_metadata)
            case ReasoningDelta():
                self._prose.reasoning(part.id, part.delta, part.provider_metadata)
            case InputDelta():
                self._think.flush()
                self._tools.delta(part.id, part.delta, part.provider_metadata)
            case _:
                assert_never(part)

    def _loose(self, name: str, data: bytes) -> None:
        top = fields_of(data)
        if top is None:
            if present(msgspec.Raw(data)):
                self._call.beside("raw", {"value": compact(data)})
            return
        kind = text_of(top.get("type")) or name
        handle = self._handlers.get(kind)
        if not kind.startswith((TEXT, REASONING)):
            self._think.flush()
        if handle is not None:
            handle(top)
        elif not kind and present(top.get("error")):
            # A server's error body, in place of the parts.
            self._report(reported(top["error"]))
        else:
            self._call.beside("raw", {"part": compact(data)})

    def _text_start(self, part: Members) -> None:
        self._prose.start(TEXT, word_of(part, "id"), part.get("providerMetadata", NULL))
        self._rest(part)

    def _text_delta(self, part: Members) -> None:
        self._prose.text(word_of(part, "id"), _delta(part), part.get("providerMetadata", NULL))
        self._rest(part)

    def _text_end(self, part: Members) -> None:
        self._prose.end(TEXT, word_of(part, "id"), part.get("providerMetadata", NULL))
        for citation in items_of(part.get("citations", NULL)):
            self._beside.citation(citation)
        self._rest(part)

    def _reasoning_start(self, part: Members) -> None:
        self._prose.start(REASONING, word_of(part, "id"), part.get("providerMetadata", NULL))
        self._rest(part)

    def _reasoning_delta(self, part: Members) -> None:
        self._prose.reasoning(word_of(part, "id"), _delta(part), part.get("providerMetadata", NULL))
        self._rest(part)

    def _reasoning_end(self, part: Members) -> None:
        self._prose.end(REASONING, word_of(part, "id"), part.get("providerMetadata", NULL))
        self._rest(part)

    def _input_delta(self, part: Members) -> None:
        self._tools.delta(word_of(part, "id"), _delta(part), part.get("providerMetadata", NULL))
        self._rest(part)

    def _rest(self, part: Members) -> None:
        rest = rest_of(part, _PROSE_READ)
        if rest:
            about = {name: raw for name, raw in part.items() if name in ("type", "id")}
            self._call.beside("raw", {"part": object_of({**about, **rest})})

    def _response_metadata(self, part: Members) -> None:
        self._think.model(word_of(part, "modelId"))
        self._beside.metadata(part)

    def _ping(self, part: Members) -> None:
        """A sign of life."""

    # Ends -----------------------------------------------------------------------------------------------------------

    def _error(self, part: Members) -> None:
        self._report(reported(part.get("error", NULL)))

    def _report(self, error: Reported) -> None:
        if error.complaint:
            self._complaint = self._complaint or error.failure
        elif self._failure is None:
            self._failure = error.failure, error.kind
        elif error.whole is None:
            self._call.beside("raw", {"error": quote(error.failure.message)})
        if error.whole is not None:
            self._call.beside("raw", {"error": error.whole})

    def _finish(self, part: Members) -> None:
        usage, metadata = part.get("usage", NULL), inner_of(part, "providerMetadata")
        if present(usage):
            self._call.remember("usage", compact(usage))
            self._call.usage = usage_of(fields_of(usage) or {}, metadata)
        self._beside.remember({**metadata, **rest_of(part, _FINISH_READ)})
        # Any server may answer the packages for OpenAI's protocol, in words of its own; those have metadata.
        foreign = self._call.usage is not None and bool(metadata.keys() - _OWN)
        reason = _reason(part.get("finishReason", NULL), foreign=foreign)
        failed = self._failed(reason)
        if failed is not None:
            self._fail(*failed, reason.raw)
            return
        self._prose.close()
        self._tools.close()
        self._open_step()
        silent = reason.word in _SILENT and self._call.has_tools
        self._call.finish("tool_calls" if silent else STOP.get(reason.word, "stop"), reason.raw)

    def _failed(self, reason: _Reason) -> tuple[Failure, FailedKind] | None:
        """Why the call failed, or None. An event that the package could not read fails a call only if the finish part
        does not say that the response came to its end all the same.
        """
        if self._failure is not None:
            return self._failure
        if reason.word == "error":
            return self._complaint or _ERROR, "error"
        if reason.told:
            return None
        if self._complaint is not None:
            return self._complaint, "error"
        return cut_off("the provider's stream ended without a finish reason"), "aborted"

    def _end_of_body(self) -> None:
        if self._failure is not None:
            self._fail(*self._failure)
        elif self._complaint is not None:
            self._fail(self._complaint, "error")
        else:
            self._fail(cut_off("it ended without a finish part"), "aborted")

    def _fail(self, failure: Failure, kind: FailedKind, raw: str = "") -> None:
        self._prose.abandon()
        self._tools.abandon()
        self._open_step()
        self._call.fail(failure, kind, raw)

    def _open_step(self) -> None:
        """A response without content or usage says in its metadata why: a prompt that was blocked, for example."""
        if self._beside.facts and not self._call.opened and self._call.usage is None:
            self._call.begin()


def _delta(part: Members) -> str:
    """`delta`, as V2 and later call it, or one of the two names of earlier versions and of the SDK's own streams."""
    return next((text for name in ("delta", "textDelta", "text") if (text := text_of(part.get(name)))), "")


def _reason(raw: msgspec.Raw, *, foreign: bool) -> _Reason:
    """V2's reason is a word. V3's has the provider's beside it, unless the provider gave none.

    `foreign`: usage says that the provider came to its end, in a word that V2's package may not know.
    """
    members = fields_of(raw)
    if members is None:
        word = text_of(raw) or ""
        return _Reason(word, word, word not in _SILENT or foreign)
    word, provider = word_of(members, "unified"), word_of(members, "raw")
    if word in ("other", ""):
        return _Reason(word, provider, provider not in ("", *_GOING_ON))
    return _Reason(word, provider, word != "interrupted")

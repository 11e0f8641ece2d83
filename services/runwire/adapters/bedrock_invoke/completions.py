"""Models on Bedrock that continue a prompt, each in words of its own: Claude 2, Titan, Llama, Mistral, Command.

The end is the reason to stop, and Bedrock's metrics in the same event; a body with neither was cut off. Only Command
gives several answers, and the event that ends it belongs to all of them.
"""

from typing import Annotated, ClassVar, Final

import msgspec

from runwire.adapters.base import MAX_EVENT, Framing
from runwire.adapters.bedrock_invoke.told import NULL, Members, Told, count_of
from runwire.adapters.cohere_v2.chat import FAILED
from runwire.adapters.failures import cut_off, details_in, failure_in, failure_of
from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, text_of
from runwire.adapters.wire import WireAdapter
from runwire.adapters.writing.call import StopKind
from runwire_schemas.raw import Failure, Usage
from runwire_schemas.record import UsageRule

# The words in lower case. One that is neither here nor among Cohere's failures ends the call as `stop`.
STOP: Final[dict[str, StopKind]] = {
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "content_filtered": "content_filter",
    "error_toxic": "content_filter",
}
_TEXT: Final = ("completion", "outputText", "generation", "text")
_REASON: Final = ("stop_reason", "completionReason", "finish_reason")
_LISTS: Final = ("outputs", "results", "generations")
# Counts of the model's own: of the prompt, and of the output so far.
_PROMPT: Final = ("inputTextTokenCount", "prompt_token_count")
_OUTPUT: Final = ("totalOutputTextTokenCount", "generation_token_count")
# Facts about the response. `stop` is the sequence that Claude 2 stopped at.
_FACTS: Final = frozenset({*_PROMPT, *_OUTPUT, "stop", "prompt"})
_READ: Final = frozenset({*_TEXT, *_REASON, *_FACTS, "type", "id", "index", "is_finished"})


class _Piece(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One more piece of an answer; each model has one of the first four. What is null here is not, where it says
    something.
    """

    completion: str | None = None
    output_text: str | None = msgspec.field(default=None, name="outputText")
    generation: str | None = None
    text: str | None = None
    index: int | None = None
    type: str | None = None
    is_finished: bool = False
    stop_reason: None = None
    stop: None = None
    finish_reason: None = None
    completion_reason: None = msgspec.field(default=None, name="completionReason")
    input_count: None = msgspec.field(default=None, name="inputTextTokenCount")
    output_count: None = msgspec.field(default=None, name="totalOutputTextTokenCount")
    prompt_token_count: None = None
    generation_token_count: Annotated[int, msgspec.Meta(ge=0, lt=2**53)] | None = None


class Completions(WireAdapter):
    """One answer, or one of several."""

    provider: ClassVar[str] = "bedrock-invoke"
    usage: UsageRule = "optional"

    def __init__(self, choice: int = 0, framing: Framing | None = None, *, limit: int = MAX_EVENT) -> None:
        super().__init__(framing, limit)
        self._choice = choice
        self._told = Told(self._call)
        self._reason = ""
        self._ended = False
        self._counts: dict[str, int] = {}

    def _read(self, name: str, data: bytes) -> None:
        try:
            piece = decode_piece(data)
        except msgspec.ValidationError:
            self._loose(name, data)
            return
        if piece.is_finished or name == "error":
            self._loose(name, data)
            return
        # Titan's index is that of the piece.
        text = piece.completion or piece.output_text or piece.generation or piece.text
        if text and self._ours(piece.index if piece.output_text is None else None):
            self._call.text(text)
        if piece.generation_token_count is not None:
            self._counts["output"] = piece.generation_token_count

    def _loose(self, name: str, data: bytes) -> None:
        top = fields_of(self._told.without(data))
        if top is None:
            if name == "error":
                self._call.fail(failure_of(data))
            elif present(msgspec.Raw(data)):
                self._call.beside("raw", {"value": compact(data)})
            return
        failure = failure_in(top) or (failure_of(data) if name == "error" else None)
        if failure is not None:
            details = details_in(top)
            if details is not None:
                self._call.beside("raw", {"error": details})
            self._call.fail(failure)
            return
        self._call.identify(text_of(top.get("id")) or "", "", "")
        self._facts(top)
        self._part(top, integer_of(top.get("index")) if "outputText" not in top else None)
        for kind in _LISTS:
            for index, raw in enumerate(items_of(top.get(kind, NULL))):
                self._part(fields_of(raw) or {}, index)
        if self._ended and self._told.metered:
            self._finish()

    def _facts(self, top: Members) -> None:
        for side, names in (("prompt", _PROMPT), ("output", _OUTPUT)):
            for count in (count_of(top, name) for name in names):
                if count is not None:
                    self._counts[side] = count
        for name in _FACTS:
            if present(raw := top.get(name, NULL)):
                self._call.remember(name, compact(raw))

    def _part(self, part: Members, index: int | None) -> None:
        """An event, or one element of its list."""
        if not self._ours(index):
            return
        for name in _TEXT:
            if text := text_of(part.get(name)):
                self._call.text(text)
        reason = next((word for name in _REASON if (word := text_of(part.get(name)))), "")
        self._reason = reason or self._reason
        self._ended = self._ended or reason != "" or bytes(part.get("is_finished", NULL)) == b"true"
        rest = {name: raw for name, raw in part.items() if name not in _READ and name not in _LISTS and present(raw)}
        if rest:
            self._call.beside("raw", {"event": compact(msgspec.json.encode(rest))})

    def _ours(self, index: int | None) -> bool:
        """An event without an index belongs to every answer."""
        if index is None:
            return True
        if index not in self.choices:
            self._saw(index)
        return index == self._choice

    # Ends -----------------------------------------------------------------------------------------------------------

    def _end_of_body(self) -> None:
        if self._ended or self._told.metered:
            self._finish()
        else:
            self._call.fail(cut_off("it ended without a reason to stop"), "aborted")

    def _finish(self) -> None:
        word = self._reason
        if self._call.usage is None and self._counts.keys() == {"prompt", "output"}:
            self._call.usage = Usage(input_tokens=self._counts["prompt"], output_tokens=self._counts["output"])
        failed = FAILED.get(word.upper())
        if self.choices and self._choice not in self.choices:
            message = f"the response has no choice {self._choice}"
            self._call.fail(Failure(message=message, code="no-such-choice", retryable=False))
        elif failed is not None:
            kind, failure = failed
            self._call.fail(failure, kind, word)
        else:
            self._call.finish(STOP.get(word.lower(), "stop"), word)


decode_piece = msgspec.json.Decoder(_Piece).decode

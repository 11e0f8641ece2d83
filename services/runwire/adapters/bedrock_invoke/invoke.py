"""Bedrock's InvokeModelWithResponseStream: the events of whichever model was asked, in an envelope of Bedrock's.

The model's family is told from its first event that says it. What Bedrock adds (metrics, what a guardrail did) is read
for all of them alike.
"""

from collections.abc import Callable
from typing import ClassVar, Final

import msgspec

from runwire.adapters.base import MAX_EVENT, Emitted, EventAdapter, Framing, Next
from runwire.adapters.bedrock_invoke.command_r import CommandR
from runwire.adapters.bedrock_invoke.completions import Completions
from runwire.adapters.bedrock_invoke.guests import Chat, Claude, Command, Nova
from runwire.adapters.failures import failure_in
from runwire.adapters.framing.eventstream import opened
from runwire.adapters.framing.framed import Framed
from runwire.adapters.framing.sse import WireEvent
from runwire.adapters.framing.values import TooLarge
from runwire.adapters.opaque import fields_of, repaired, text_of
from runwire_schemas.record import UsageRule

# So many events may come before one that tells the family. All known ones tell it in the first.
MAX_UNTOLD: Final = 32

_CLAUDE: Final = ("message_", "content_block_", "ping")
_COMMAND: Final = ("message-", "content-", "tool-", "citation-")
_NOVA: Final = frozenset(
    {"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata", "output"}
)
_COMPLETIONS: Final = frozenset(
    {"completion", "outputText", "generation", "outputs", "results", "generations", "is_finished", "text"}
)


class BedrockInvoke:
    """One answer, or one of several. `think`: `<think>` tags are reasoning, where the model speaks as OpenAI's do."""

    provider: ClassVar[str] = "bedrock-invoke"
    # Bedrock reports it for every model, but beside the model's protocol: an answer without it is whole all the same.
    usage: UsageRule = "optional"

    def __init__(
        self,
        choice: int = 0,
        framing: Framing | None = None,
        *,
        limit: int = MAX_EVENT,
        think: bool | None = None,
    ) -> None:
        self._families: dict[str, Callable[[], EventAdapter]] = {
            "claude": lambda: Claude(choice, framing, limit=limit),
            "nova": lambda: Nova(choice, framing, limit=limit),
            "chat": lambda: Chat(choice, framing, limit=limit, think=think),
            "command": lambda: Command(choice, framing, limit=limit),
            "command-r": lambda: CommandR(choice, framing, limit=limit),
            "completions": lambda: Completions(choice, framing, limit=limit),
        }
        self._framed = Framed(framing, limit)
        self._limit = limit
        self._kept: list[WireEvent] = []
        self._model: EventAdapter | None = None
        self.choices: set[int] = set()

    def feed(self, data: bytes) -> list[Emitted]:
        """See `Adapter.feed`."""
        events: list[WireEvent] = []
        try:
            self._framed.feed(data, events)
        except TooLarge:
            return self.read(events, "too-large")
        return self.read(events)

    def feed_json(self, event: bytes) -> list[Emitted]:
        """See `Adapter.feed_json`."""
        return self.read([WireEvent("", event)])

    def close(self) -> list[Emitted]:
        """See `Adapter.close`."""
        events: list[WireEvent] = []
        try:
            self._framed.close(events)
        except TooLarge:
            return self.read(events, "too-large")
        return self.read(events, "over")

    def read(self, events: list[WireEvent], then: Next = "more") -> list[Emitted]:
        """See `EventAdapter.read`."""
        if self._model is None:
            self._kept += events
            family = next((told for event in events if (told := _family(event))), "")
            size = sum(len(event.data) for event in self._kept)
            if not family and then == "more" and len(self._kept) < MAX_UNTOLD and size < self._limit:
                return []
            self._model = self._families[family or "completions"]()
            # The same set: which choices there are is told by who reads them.
            self.choices = self._model.choices
            events, self._kept = self._kept, []
        return self._model.read(events, then)


def _family(event: WireEvent) -> str:
    """The family that an event tells, "" if it tells none."""
    data = next(iter(opened(event.data) or [event.data]))
    try:
        top = fields_of(repaired(data)) or {}
    except (msgspec.DecodeError, RecursionError):
        return ""
    kind = text_of(top.get("type")) or event.name
    told = (
        ("claude", kind.startswith(_CLAUDE)),
        ("command", kind.startswith(_COMMAND)),
        ("command-r", "event_type" in top),
        ("chat", "choices" in top),
        ("nova", not _NOVA.isdisjoint({*top, event.name})),
        ("completions", not _COMPLETIONS.isdisjoint(top)),
        ("completions", event.name == "error" or failure_in(top) is not None),
    )
    return next((family for family, fits in told if fits), "")

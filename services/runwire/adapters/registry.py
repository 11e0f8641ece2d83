"""Name → adapter. A new protocol is one module and one line here."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Literal, Protocol, TypeVar, cast, overload

import msgspec

from runwire.adapters.ai_sdk.parts import AiSdk
from runwire.adapters.anthropic.messages import Anthropic
from runwire.adapters.auto import Auto, Reads
from runwire.adapters.base import Adapter, Emitted, EventAdapter, Framing
from runwire.adapters.bedrock_converse.converse import BedrockConverse
from runwire.adapters.bedrock_invoke.invoke import BedrockInvoke
from runwire.adapters.cohere_v2.chat import CohereV2
from runwire.adapters.gemini.stream import Gemini
from runwire.adapters.gemini_interactions.stream import GeminiInteractions
from runwire.adapters.ollama.lines import Ollama
from runwire.adapters.openai_chat.chat import OpenAIChat
from runwire.adapters.openai_responses.responses import OpenAIResponses
from runwire.adapters.rawchunks import RawChunks
from runwire.adapters.several import Choices, Chosen
from runwire.errors import UnknownProvider
from runwire_schemas.record import UsageRule

T = TypeVar("T")


class Thinking(Protocol):
    """How an adapter is made that knows `<think>` tags."""

    def __call__(self, choice: int, framing: Framing | None, *, think: bool | None) -> EventAdapter: ...


_ADAPTERS: Final[dict[str, Callable[[int, Framing | None], EventAdapter]]] = {
    "openai-chat": OpenAIChat,
    "openai-responses": OpenAIResponses,
    "anthropic": Anthropic,
    "gemini": Gemini,
    "gemini-interactions": GeminiInteractions,
    "cohere-v2": CohereV2,
    "ollama": Ollama,
    "ai-sdk": AiSdk,
    "bedrock-converse": BedrockConverse,
    "bedrock-invoke": BedrockInvoke,
}
# Protocols whose models may write `<think>` tags into their text.
_THINKING: Final[dict[str, Thinking]] = {
    "openai-chat": OpenAIChat,
    "ollama": Ollama,
    "ai-sdk": AiSdk,
    "bedrock-invoke": BedrockInvoke,
}
# The names of providers. Beside them `raw` takes raw chunks as they are, and `auto` tells the provider by itself.
PROVIDERS: Final[tuple[str, ...]] = tuple(_ADAPTERS)
RAW: Final = "raw"
AUTO: Final = "auto"
_NAMES: Final = (*PROVIDERS, RAW)


@overload
def adapter(
    provider: Literal["auto"], *, choice: int = 0, framing: Framing | None = None, think: bool | None = None
) -> Auto[Emitted]: ...
@overload
def adapter(
    provider: str, *, choice: int = 0, framing: Framing | None = None, think: bool | None = None
) -> Adapter: ...
def adapter(provider: str, *, choice: int = 0, framing: Framing | None = None, think: bool | None = None) -> Adapter:
    """A new adapter for one call. `choice`: which of several answers (n > 1); protocols without choices ignore it.

    `provider` `auto`: told from the first events; the adapter's `guess` says which and why. `framing` None: told by the
    first byte of the body that is not blank. `think`: what a model writes between `<think>` tags is reasoning; None: if
    the model is known to write them; protocols without such tags ignore it. Raises UnknownProvider.
    """

    def made(name: str, told: Framing | None) -> tuple[Adapter, UsageRule]:
        wire = _made(name, choice, told, think=think)
        return wire, wire.usage

    return Auto(_NAMES, made, lambda one: one, framing) if provider == AUTO else made(provider, framing)[0]


def choices(provider: str, *, framing: Framing | None = None, think: bool | None = None) -> Choices | Auto[Chosen]:
    """All answers of one response, each a call of its own: like `adapter`, but what comes out names its choice."""

    def made(name: str, told: Framing | None) -> tuple[Choices, UsageRule]:
        # Raw chunks are lines unless somebody says otherwise.
        told = told or ("ndjson" if name == RAW else None)
        several = Choices(lambda choice: _made(name, choice, told, think=think), told)
        return several, several.usage

    wrap = partial(Chosen, 0)
    return Auto(_NAMES, made, wrap, framing) if provider == AUTO else made(provider, framing)[0]


def _made(provider: str, choice: int, framing: Framing | None, *, think: bool | None) -> EventAdapter:
    if provider == RAW:
        return RawChunks(framing)
    make = _ADAPTERS.get(provider)
    if make is None:
        raise UnknownProvider(f"unknown provider {provider!r}; known are {', '.join((*_NAMES, AUTO))}")
    thinking = _THINKING.get(provider)
    return make(choice, framing) if thinking is None else thinking(choice, framing, think=think)


# Types of the events that OpenAI's stream helper derives from chunks; events of Responses begin with `response.`.
_DERIVED: Final = ("content.", "refusal.", "tool_calls.", "logprobs.")


def feed_event(adapter: Reads[T], event: object) -> list[T]:
    """One event of a provider SDK's stream: a pydantic model, a mapping, or its JSON as text or bytes.

    The stream helper of OpenAI Chat wraps each chunk in a `chunk` event, which is opened, and derives others from it,
    which are passed over. Raises TypeError for an object that has no JSON.
    """
    kind = _member(event, "type")
    if kind == "chunk":
        return feed_event(adapter, _member(event, "chunk"))
    if isinstance(kind, str) and kind.startswith(_DERIVED):
        return []
    return adapter.feed_json(_json_of(event))


def _member(event: object, name: str) -> object:
    if isinstance(event, Mapping):
        return cast("Mapping[str, object]", event).get(name)
    return getattr(event, name, None)


def _json_of(event: object) -> bytes:
    if isinstance(event, bytes | bytearray):
        return bytes(event)
    if isinstance(event, str):
        return event.encode()
    dump = getattr(event, "model_dump_json", None)
    if dump is not None:
        # What was not sent is not set: it must not come back as null.
        return str(dump(exclude_unset=True, by_alias=True, warnings=False)).encode()
    return msgspec.json.encode(event)

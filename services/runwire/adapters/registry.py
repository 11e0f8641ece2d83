"""Name → adapter. A new protocol is one module and one line here."""

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Final, Literal, Protocol, TypeVar, cast, overload

import msgspec

from runwire.adapters.auto import Auto, Reads
from runwire.adapters.base import Adapter, Emitted, EventAdapter, Framing
from runwire.adapters.rawchunks import RawChunks
from runwire.adapters.several import Choices, Chosen
from runwire.errors import UnknownProvider
from runwire_schemas.record import UsageRule

T = TypeVar("T")


class Makes(Protocol):
    """How an adapter is made. Those of `_THINKING` take `think` as well."""

    def __call__(self, choice: int, framing: Framing | None, **think: bool | None) -> EventAdapter: ...


# Name -> the adapter's class, in a module of this package. It is imported when it is first asked for: all of them
# together take as long as the rest of a client, which uses one or two.
_ADAPTERS: Final[dict[str, str]] = {
    "openai-chat": "openai_chat.chat:OpenAIChat",
    "openai-responses": "openai_responses.responses:OpenAIResponses",
    "anthropic": "anthropic.messages:Anthropic",
    "gemini": "gemini.stream:Gemini",
    "gemini-interactions": "gemini_interactions.stream:GeminiInteractions",
    "bedrock-converse": "bedrock_converse.converse:BedrockConverse",
    "bedrock-invoke": "bedrock_invoke.invoke:BedrockInvoke",
    "cohere-v2": "cohere_v2.chat:CohereV2",
    "ollama": "ollama.lines:Ollama",
    "ai-sdk": "ai_sdk.parts:AiSdk",
}
# Protocols whose models may write `<think>` tags into their text.
_THINKING: Final = frozenset({"openai-chat", "bedrock-invoke", "ollama", "ai-sdk"})
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
    place = _ADAPTERS.get(provider)
    if place is None:
        raise UnknownProvider(f"unknown provider {provider!r}; known are {', '.join((*_NAMES, AUTO))}")
    module, _, name = place.partition(":")
    make = cast("Makes", getattr(import_module(f"runwire.adapters.{module}"), name))
    return make(choice, framing, think=think) if provider in _THINKING else make(choice, framing)


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

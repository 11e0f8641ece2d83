"""Models on Bedrock whose events are those of a protocol that has an adapter of its own."""

from typing import ClassVar

import msgspec

from runwire.adapters.anthropic.messages import Anthropic
from runwire.adapters.base import MAX_EVENT, Framing
from runwire.adapters.bedrock_converse.converse import BedrockConverse
from runwire.adapters.bedrock_invoke.told import NOTHING, NULL, Members, Told
from runwire.adapters.cohere_v2.chat import CohereV2
from runwire.adapters.opaque import fields_of, items_of, text_of
from runwire.adapters.openai_chat.chat import OpenAIChat
from runwire_schemas.record import UsageRule


class Claude(Anthropic):
    """Claude since version 3: Anthropic Messages."""

    provider: ClassVar[str] = "bedrock-invoke"
    usage: UsageRule = "optional"

    def __init__(self, choice: int = 0, framing: Framing | None = None, *, limit: int = MAX_EVENT) -> None:
        super().__init__(choice, framing, limit=limit)
        self._told = Told(self._call)

    def _loose(self, name: str, data: bytes) -> None:
        rest = self._told.without(data)
        if rest != NOTHING:
            super()._loose(name, rest)


class Command(CohereV2):
    """Cohere's Command A: Cohere's chat, version 2."""

    provider: ClassVar[str] = "bedrock-invoke"
    usage: UsageRule = "optional"

    def __init__(self, choice: int = 0, framing: Framing | None = None, *, limit: int = MAX_EVENT) -> None:
        super().__init__(choice, framing, limit=limit)
        self._told = Told(self._call)

    def _loose(self, name: str, data: bytes) -> None:
        rest = self._told.without(data)
        if rest != NOTHING:
            super()._loose(name, rest)


class Nova(BedrockConverse):
    """Amazon Nova: the events of Converse. The last one has Bedrock's metrics in it."""

    provider: ClassVar[str] = "bedrock-invoke"
    usage: UsageRule = "optional"
    joined: ClassVar[bool] = True

    def __init__(self, choice: int = 0, framing: Framing | None = None, *, limit: int = MAX_EVENT) -> None:
        super().__init__(choice, framing, limit=limit)
        self._told = Told(self._call)

    def _loose(self, name: str, data: bytes) -> None:
        rest = self._told.without(data)
        self._reported = self._reported or self._told.metered
        super()._loose(name, rest)


class Chat(OpenAIChat):
    """Jamba, gpt-oss, Qwen, DeepSeek, Palmyra: chat completion chunks. Mistral and DeepSeek R1 have two words of their
    own in them, `message` for `delta` and `stop_reason` for `finish_reason`.
    """

    provider: ClassVar[str] = "bedrock-invoke"
    usage: UsageRule = "optional"

    def __init__(
        self,
        choice: int = 0,
        framing: Framing | None = None,
        *,
        limit: int = MAX_EVENT,
        think: bool | None = None,
    ) -> None:
        super().__init__(choice, framing, limit=limit, think=think)
        self._told = Told(self._call)

    def _read(self, name: str, data: bytes) -> None:
        if b'"stop_reason"' in data:
            self._loose(name, data)
        else:
            super()._read(name, data)

    def _loose(self, name: str, data: bytes) -> None:
        rest = self._told.without(data)
        if rest != NOTHING:
            super()._loose(name, _usual(rest))


def _usual(data: bytes) -> bytes:
    """The same chunk in OpenAI's words."""
    top = fields_of(data) or {}
    choices = [fields_of(raw) for raw in items_of(top.get("choices", NULL))]
    if not any(choice and ("message" in choice or "stop_reason" in choice) for choice in choices):
        return data
    said = [None if choice is None else _choice(choice) for choice in choices]
    return msgspec.json.encode({**top, "choices": said})


def _choice(choice: Members) -> Members:
    renamed = dict(choice)
    if "delta" not in renamed and "message" in renamed:
        renamed["delta"] = renamed.pop("message")
    if text_of(renamed.get("finish_reason")) is None and "stop_reason" in renamed:
        renamed["finish_reason"] = renamed.pop("stop_reason")
    return renamed

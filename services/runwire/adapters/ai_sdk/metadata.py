"""What providers add to parts: `providerMetadata` is `{provider: {name: value}}`. Some of it has a place of its own."""

from typing import Final

import msgspec

from runwire.adapters.opaque import compact, fields_of, present, text_of
from runwire.adapters.writing.writer import MAX_BLOCK

# So much of one block's metadata waits for its end, in names and in bytes: real ones have four names and a kilobyte.
MANY: Final = 64
MUCH: Final = 256 * 1024
# A part's metadata of this length is compared with the one before it; longer ones are rare.
_COMPARED: Final = 16 * 1024
# Reasoning that only the provider can read, as Anthropic, Bedrock and OpenAI call it.
_REDACTED: Final = frozenset({"redactedData", "redactedContent", "reasoningEncryptedContent"})
# With it Gemini's metadata is one opaque whole, which must come back with its part.
_GEMINI: Final = "thoughtSignature"


class Metadata:
    """What one block's parts carried, the last value of each name. Parts repeat it, and it is passed on once."""

    __slots__ = ("_count", "_last", "_members", "_size", "_thinking", "gemini", "redacted", "signature")

    def __init__(self, *, thinking: bool = False) -> None:
        """`thinking`: of reasoning, which has a place for its signature and for what only the provider can read."""
        self._thinking = thinking
        self.signature = ""
        self.redacted = ""
        self.gemini = b""  # compact JSON
        self._members: dict[str, dict[str, msgspec.Raw]] = {}
        self._last = b"null"
        self._count = self._size = 0

    def take(self, raw: msgspec.Raw) -> None:
        """The metadata of one more part."""
        said = bytes(raw)
        if said == self._last:
            return
        self._last = said if len(said) <= _COMPARED else b""
        for provider, inner in (fields_of(raw) or {"": raw}).items():
            members = fields_of(inner)
            if members is None:
                self._keep(provider, "", inner)
            elif present(members.get(_GEMINI)) and len(bytes(inner)) <= MAX_BLOCK:
                self.gemini = compact(inner)
            else:
                for name, value in members.items():
                    self._member(provider, name, value)

    @property
    def full(self) -> bool:
        """What has no place of its own must be handed out before more of it comes."""
        return self._count > MANY or self._size > MUCH

    def rest(self) -> bytes | None:
        """What has no place of its own and was not handed out yet, as compact JSON of the same form."""
        members, self._members = self._members, {}
        self._count = self._size = 0
        return compact(msgspec.json.encode(members)) if members else None

    def _member(self, provider: str, name: str, value: msgspec.Raw) -> None:
        text = text_of(value)
        if not self._thinking or not text or len(text) > MAX_BLOCK:
            self._keep(provider, name, value)
        elif name == "signature":
            self.signature = text
        elif name in _REDACTED:
            self.redacted = text
        else:
            self._keep(provider, name, value)

    def _keep(self, provider: str, name: str, value: msgspec.Raw) -> None:
        if present(value):
            self._count += 1
            self._size += len(name) + len(bytes(value))
            self._members.setdefault(provider, {})[name] = value

"""What providers add to parts: `providerMetadata` is `{provider: {name: value}}`. Some of it has a place of its own."""

from typing import Final

import msgspec

from runwire.adapters.opaque import compact, fields_of, present, text_of

# Names of one block's metadata that are kept: real ones have up to four.
_MANY: Final = 64
# Reasoning that only the provider can read, as Anthropic, Bedrock and OpenAI call it.
_REDACTED: Final = frozenset({"redactedData", "redactedContent", "reasoningEncryptedContent"})
# With it Gemini's metadata is one opaque whole, which must come back with its part.
_GEMINI: Final = "thoughtSignature"


class Metadata:
    """What one block's parts carried, the last value of each name. Parts repeat it, and it is passed on once."""

    __slots__ = ("_last", "_members", "gemini", "redacted", "signature")

    def __init__(self) -> None:
        self.signature = ""
        self.redacted = ""
        self.gemini = b""  # compact JSON
        self._members: dict[str, dict[str, msgspec.Raw]] = {}
        self._last = b"null"

    def take(self, raw: msgspec.Raw) -> None:
        """The metadata of one more part."""
        said = bytes(raw)
        if said == self._last:
            return
        self._last = said
        for provider, inner in (fields_of(raw) or {"": raw}).items():
            members = fields_of(inner)
            if members is None:
                self._keep(provider, "", inner)
            elif present(members.get(_GEMINI)):
                self.gemini = compact(inner)
            else:
                for name, value in members.items():
                    self._member(provider, name, value)

    def rest(self) -> bytes | None:
        """What has no place of its own and was not handed out yet, as compact JSON of the same form."""
        members, self._members = self._members, {}
        return compact(msgspec.json.encode(members)) if members else None

    def _member(self, provider: str, name: str, value: msgspec.Raw) -> None:
        text = text_of(value)
        if name == "signature" and text:
            self.signature = text
        elif name in _REDACTED and text:
            self.redacted = text
        else:
            self._keep(provider, name, value)

    def _keep(self, provider: str, name: str, value: msgspec.Raw) -> None:
        if present(value) and sum(map(len, self._members.values())) < _MANY:
            self._members.setdefault(provider, {})[name] = value

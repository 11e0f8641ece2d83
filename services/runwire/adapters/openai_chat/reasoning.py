"""Reasoning of the OpenAI family in its many spellings: taken once, with its signatures and encrypted parts."""

from runwire.adapters.opaque import quote
from runwire.adapters.openai_chat.wire import Delta, Detail
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.think import Think


class Reasoning:
    """The reasoning of one choice."""

    def __init__(self, call: Call, think: Think) -> None:
        self._call = call
        self._think = think
        self._detail: int | None = None

    def feed(self, delta: Delta) -> None:
        """One delta may say the same in several members: it is taken once."""
        details = delta.reasoning_details or []
        said = "".join(detail.text or detail.summary or "" for detail in details)
        words = delta.reasoning_content or ""
        for more in (delta.reasoning, delta.reasoning_text):
            if more and more != words:
                words += more
        if words:
            self._thought(words, details[0].index if details else None)
        if words and said and said not in (words, delta.reasoning, delta.reasoning_content):
            self._call.beside("raw", {"delta": b'{"reasoning_details":[{"text":%s}]}' % quote(said)})
        for detail in details:
            if not words and (text := detail.text or detail.summary):
                self._thought(text, detail.index)
            if detail.data or detail.signature:
                self._sign(detail)

    def _thought(self, text: str, index: int | None) -> None:
        if self._call.signed and index != self._detail:
            self._call.open_thinking()
        self._detail = index
        self._think.thinking(text)

    def _sign(self, detail: Detail) -> None:
        self._think.flush()
        if detail.data:
            self._call.redacted(detail.data)
        if detail.signature:
            self._call.sign(detail.signature)
            self._detail = detail.index
        # What a client must send back beside the data itself.
        about = {"type": detail.type, "id": detail.id, "format": detail.format}
        said = [b"%s:%s" % (quote(key), quote(value)) for key, value in about.items() if value is not None]
        if detail.index is not None:
            said.append(b'"index":%d' % detail.index)
        self._call.beside("raw", {"delta": b'{"reasoning_details":[{%s}]}' % b",".join(said)})

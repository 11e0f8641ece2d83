"""Reasoning that a model writes into its answer between `<think>` and `</think>`, also cut anywhere between deltas."""

from collections.abc import Callable
from typing import Final, Literal

from runwire.adapters.opaque import quote
from runwire.adapters.writing.call import Call

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"
_OPEN_THOUGHT: Final = "<thought>"
_CLOSE_THOUGHT: Final = "</thought>"
# White space before the tag is waited out up to here.
_BLANK_BEFORE: Final = 256

# Models that are known to write the tags, by a part of their name in lower case, and how that is known. Where a server
# takes the reasoning out itself (DeepSeek's own, Groq's parsed format) no tag comes, and nothing is split.
THINK_MODELS: Final[dict[str, str]] = {
    "deepseek-r1": "recorded on Groq and Together; the documentation of Together, Vertex, SambaNova and Ollama",
    "r1-1776": "Perplexity's DeepSeek R1",
    "sonar-reasoning": "Perplexity's documentation: the reasoning stands in the content, in <think>",
    "qwq": "Groq's and Cloudflare's documentation, its chat template",
    "qwen3": "Groq's raw format, Ollama before it had a field for reasoning, servers without a reasoning parser",
    "qwen-3": "how Cerebras spells qwen3",
    "groq/compound": "recorded: the tags stand in the reasoning deltas",
    "compound-beta": "the earlier name of Groq's compound",
    "magistral": "Mistral's documentation of the 2506 versions, and Ollama's template",
    "minimax-m2": "MiniMax' own API unless reasoning_split is set, and vLLM's parser, which adds the opening tag",
    "phi-4-reasoning": "its model card: <think>, then the solution",
    "phi4-reasoning": "how Ollama spells phi-4-reasoning",
}

Kind = Literal["text", "thinking"]


def writes_tags(model: str) -> bool:
    """The model of this name is known to write `<think>` tags."""
    name = model.lower()
    return any(part in name for part in THINK_MODELS)


class Think:
    """The text and the reasoning of one call. `think`: split tags; None: if the model is known to write them."""

    def __init__(self, call: Call, *, think: bool | None) -> None:
        self._call = call
        self._open = think is None  # whether to split is not decided yet
        self._answer: ThinkSplitter | None = None
        self._thoughts: TagsDropped | None = None
        self._tags: list[str] = []
        if think:
            self._split()

    def model(self, name: str) -> None:
        """Who answers, as soon as it is known."""
        if self._open and name:
            self._open = False
            if writes_tags(name):
                self._split()

    def text(self, text: str) -> None:
        """More of the answer."""
        self._open = False  # a model that is named only now would be too late
        if self._thoughts is not None:
            self._flush_thoughts(self._thoughts)
        if self._answer is None:
            self._call.text(text)
            return
        self._write(self._answer.feed(text))
        if self._answer.over:
            self._answer = None

    def thinking(self, text: str) -> None:
        """More reasoning, from a member of its own."""
        self._open = False
        if self._answer is not None:
            self._write(self._answer.pause())
        if self._thoughts is not None:
            text = self._thoughts.feed(text)
        if text:
            self._call.thinking(text)

    def flush(self) -> None:
        """Text that was held back, since it might have been a tag, comes before what follows."""
        if self._thoughts is not None:
            self._flush_thoughts(self._thoughts)
        if self._answer is not None:
            self._write(self._answer.pause())

    def _split(self) -> None:
        self._answer = ThinkSplitter(self.dropped)
        self._thoughts = TagsDropped(self.dropped)

    def dropped(self, tag: str) -> None:
        """That the reasoning stood between tags is a fact about the response: who sends it back may need them."""
        if tag not in self._tags:
            self._tags.append(tag)
            self._call.remember("thinkTags", b"[%s]" % b",".join(quote(tag) for tag in self._tags))

    def _flush_thoughts(self, thoughts: "TagsDropped") -> None:
        held = thoughts.pause()
        if held:
            self._call.thinking(held)

    def _write(self, pieces: list[tuple[Kind, str]]) -> None:
        for kind, text in pieces:
            if kind == "text":
                self._call.text(text)
            else:
                self._call.thinking(text)


class ThinkSplitter:
    """Splits one answer. Only a tag at the very beginning opens reasoning: later ones are talk about tags."""

    def __init__(self, dropped: Callable[[str], None]) -> None:
        """`dropped` is called with each tag that was taken out."""
        self._dropped = dropped
        self._state: Literal["begin", "inside", "after"] = "begin"
        self._held = ""

    @property
    def over(self) -> bool:
        """Everything that follows is text."""
        return self._state == "after"

    def feed(self, text: str) -> list[tuple[Kind, str]]:
        """The pieces that are sure, in order. The tags themselves are dropped."""
        self._held += text
        if self._state == "begin" and not self._begin():
            return []
        if self._state == "inside":
            return self._inside()
        return self._rest("text")

    def pause(self) -> list[tuple[Kind, str]]:
        """What was held back since a tag might have followed: something else follows."""
        if self._state == "begin" and self._held.strip():
            self._state = "after"
        return self._rest("thinking" if self._state == "inside" else "text")

    def _begin(self) -> bool:
        start = self._held.lstrip()
        if start.startswith(_OPEN):
            self._dropped(_OPEN)
            self._state = "inside"
            self._held = start[len(_OPEN) :]
            return True
        if _OPEN.startswith(start) and len(self._held) < _BLANK_BEFORE:
            return False
        self._state = "after"
        return True

    def _inside(self) -> list[tuple[Kind, str]]:
        thought, found, rest = self._held.partition(_CLOSE)
        if found:
            self._dropped(_CLOSE)
            self._state = "after"
            self._held = rest
            return [*_piece("thinking", thought), *self._rest("text")]
        keep = _begun(thought, _CLOSE)
        self._held = thought[len(thought) - keep :]
        return _piece("thinking", thought[: len(thought) - keep])

    def _rest(self, kind: Kind) -> list[tuple[Kind, str]]:
        held, self._held = self._held, ""
        return _piece(kind, held)


class TagsDropped:
    """Reasoning that has a member of its own and the tags all the same: its text without them.

    `<think>` counts where a line begins, `</think>` only after it: others are talk about tags. There may be several
    pairs, since a server that runs tools itself thinks again after each.
    """

    def __init__(self, dropped: Callable[[str], None]) -> None:
        self._dropped = dropped
        self._inside = False
        self._blank = True  # nothing but white space since the line began
        self._held = ""

    def feed(self, text: str) -> str:
        """What is sure to be no part of a tag."""
        rest, self._held = self._held + text, ""
        sure: list[str] = []
        while True:
            tag = _CLOSE if self._inside else _OPEN
            before, found, after = rest.partition(tag)
            if not found:
                break
            self._pass(before)
            sure.append(before)
            if self._inside or self._blank:
                self._dropped(tag)
                self._inside = not self._inside
            else:
                sure.append(tag)
            rest = after
        keep = _begun(rest, tag)
        self._held = rest[len(rest) - keep :]
        sure.append(rest[: len(rest) - keep])
        self._pass(sure[-1])
        return "".join(sure)

    def pause(self) -> str:
        """What was held back: something else follows."""
        held, self._held = self._held, ""
        self._pass(held)
        return held

    def _pass(self, text: str) -> None:
        _, found, line = text.rpartition("\n")
        self._blank = not line.strip() and (self._blank or bool(found))


class Thoughts:
    """Deltas of Gemini's endpoint: it says which are thoughts, and has `<thought>` tags in their text as well.

    The first thought begins with the opening tag, and what follows the last one with the closing tag.
    """

    def __init__(self, dropped: Callable[[str], None]) -> None:
        self._dropped = dropped
        self._state: Literal["begin", "inside", "over"] = "begin"
        self._held = ""

    @property
    def over(self) -> bool:
        """No tag can follow any more."""
        return self._state == "over"

    def thought(self, text: str) -> tuple[str, str]:
        """The reasoning in a delta that is a thought, and the answer that follows it in the same delta."""
        text, self._held = self._held + text, ""
        if self._state == "begin":
            if _OPEN_THOUGHT.startswith(text):
                self._held = text
                return "", ""
            text = self._without(_OPEN_THOUGHT, text)
        self._state = "inside"
        thought, found, answer = text.partition(_CLOSE_THOUGHT)
        if found:
            self._dropped(_CLOSE_THOUGHT)
            self._state = "over"
        return thought, answer

    def answer(self, text: str) -> str:
        """The answer in a delta that is no thought; "" while it may be a tag."""
        text, self._held = self._held + text, ""
        if self._state == "inside":
            if text != _CLOSE_THOUGHT and _CLOSE_THOUGHT.startswith(text):
                self._held = text
                return ""
            text = self._without(_CLOSE_THOUGHT, text)
        self._state = "over"
        return text

    def pause(self) -> tuple[str, str]:
        """What was held back, reasoning and answer: something else follows."""
        held, self._held = self._held, ""
        return (held, "") if self._state == "begin" else ("", held)

    def _without(self, tag: str, text: str) -> str:
        if text.startswith(tag):
            self._dropped(tag)
        return text.removeprefix(tag)


def _begun(text: str, tag: str) -> int:
    """How many characters at the end of the text may be the beginning of the tag."""
    if tag[0] not in text[-len(tag) :]:
        return 0
    return next((n for n in range(len(tag) - 1, 0, -1) if text.endswith(tag[:n])), 0)


def _piece(kind: Kind, text: str) -> list[tuple[Kind, str]]:
    return [(kind, text)] if text else []

"""What an agent's step-finish and finish say, read and rewritten: reason, usage, and what they must have."""

from collections.abc import Mapping
from typing import Final, NamedTuple, get_args

from runwire.grammar import normalize, usage
from runwire.grammar.agent.draft import Draft, inner, object_of
from runwire.grammar.input import Input
from runwire.grammar.jsontext import Json, parse
from runwire.grammar.normalize import text
from runwire.grammar.state import Word
from runwire_schemas.raw import Failure

_WORDS: Final[Mapping[str, Word]] = {word: word for word in get_args(Word)}
# An agent that does not say whether it goes on: after these it does.
_GO_ON: Final[frozenset[Word]] = frozenset(("tool-calls", "retry"))


class Result(NamedTuple):
    """`raw` is the word that stands behind the reason, if it is another one."""

    reason: Word
    raw: str | None
    continued: bool

    def forced(self, reason: Word | None) -> "Result":
        """The reason that the run's ending asks for; what was sent instead is kept."""
        if reason is None or reason == self.reason:
            return self._replace(continued=False)
        return Result(reason, self.raw or self.reason, continued=False)


def result_of(x: Input) -> Result | None:
    """The chunk's reason; None if it has none."""
    given = x.payload.get("stepResult")
    said = given if isinstance(given, dict) else {}
    reason, raw, goes_on = said.get("reason"), said.get("rawReason"), said.get("isContinued")
    if not isinstance(reason, str) or not reason:
        return None
    word = _WORDS.get(reason, "other")
    kept = raw if isinstance(raw, str) else (None if word == reason else reason)
    return Result(word, kept, goes_on if isinstance(goes_on, bool) else word in _GO_ON)


def usage_of(draft: Draft) -> Mapping[str, Json]:
    """What the agent reports: `output.usage`, or `usage` where older runtimes put it."""
    pairs = draft.payload or {}
    given = inner(pairs, "output").get("usage", b"null")
    tree = parse(given if given != b"null" else pairs.get("usage", b"null"))
    return tree if isinstance(tree, dict) else {}


def fill_step(
    draft: Draft, message_id: str, result: Result, spent: bytes, total: bytes, failure: Failure | None
) -> None:
    draft.fill("messageId", text(message_id))
    _put_result(draft, result)
    _put_usage(draft, spent)
    draft.put("totalUsage", total)
    if failure is not None:
        draft.note("failure", normalize.failed(failure), within=True)


def fill_finish(draft: Draft, result: Result, total: bytes) -> None:
    _put_result(draft, result)
    _put_usage(draft, total)


def _put_result(draft: Draft, result: Result) -> None:
    said = inner(draft.payload or {}, "stepResult")
    said["reason"] = text(result.reason)
    if result.raw is not None and said.get("rawReason", b"null") == b"null":
        said["rawReason"] = text(result.raw)
    said["isContinued"] = b"true" if result.continued else b"false"
    draft.put("stepResult", object_of(said))


def _put_usage(draft: Draft, figures: bytes) -> None:
    """The figures, and beside them what the agent's usage says in words of its own."""
    output = inner(draft.payload or {}, "output")
    own = {name: value for name, value in inner(output, "usage").items() if name not in usage.READ}
    output["usage"] = figures if not own else object_of({**inner({"usage": figures}, "usage"), **own})
    draft.put("output", object_of(output))

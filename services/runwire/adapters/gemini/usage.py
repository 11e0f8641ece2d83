"""What Gemini counts, made disjoint. Every event may repeat the counts so far; the last report counts."""

from collections.abc import Callable
from typing import Annotated, Final

import msgspec

from runwire.adapters.gemini.wire import Members, members_of
from runwire.adapters.opaque import compact, integer_of, present
from runwire_schemas.raw import Usage

_SURE: Final = 2**53
# At most what one report holds: names are the provider's to choose.
_MANY: Final = 64
_Count = Annotated[int, msgspec.Meta(ge=0, lt=_SURE)] | None


class Counts(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """One report. None: not reported."""

    prompt_token_count: _Count = None
    candidates_token_count: _Count = None
    thoughts_token_count: _Count = None
    tool_use_prompt_token_count: _Count = None
    cached_content_token_count: _Count = None
    total_token_count: _Count = None

    @property
    def beside(self) -> tuple[bool, bool] | None:
        """Whether thoughts lie beside the candidates' tokens, and the tools' prompts beside the prompt, as
        `totalTokenCount` proves it. None: no reading of the counts gives the total.
        """
        prompt, total = self.prompt_token_count, self.total_token_count
        if prompt is None:
            return None
        candidates, thoughts = self.candidates_token_count or 0, self.thoughts_token_count or 0
        tools = self.tool_use_prompt_token_count or 0
        # In all that was ever recorded both lie beside. The others are for servers that count in another way.
        for outside, apart in ((True, True), (False, True), (True, False), (False, False)):
            inside = (outside or thoughts <= candidates) and (apart or tools <= prompt)
            if inside and prompt + candidates + outside * thoughts + apart * tools == total:
                return outside, apart
        return None


class Metered:
    """The reports of one response. `read` takes the counts out of one."""

    def __init__(self, read: Callable[[msgspec.Raw], Counts]) -> None:
        self._read = read
        self.counts = Counts()
        self._last: bytes = b""
        self._said: bytes = b""

    @property
    def whole(self) -> bytes:
        """All that was reported, as JSON; empty if nothing was."""
        return compact(self._said) if self._said else b""

    def report(self, raw: msgspec.Raw) -> None:
        """The report of one event. One whose counts give its total stands for itself: what it leaves out is 0.
        Others replace the counts that they have.
        """
        said = bytes(raw)
        if said in (b"null", self._last):
            return
        self._last = said
        counts = self._read(raw)
        if counts.beside is None:
            counts = _merged(self.counts, counts)
            before, after = members_of(self._said) or {}, members_of(raw) or {}
            kept = before if len(before) < _MANY else {}
            said = msgspec.json.encode({**kept, **{name: value for name, value in after.items() if present(value)}})
        self.counts, self._said = counts, said

    def usage(self, *, over: bool) -> Usage | None:
        """The disjoint counts; `over`: the response reached its end. None without both of the main ones.

        A prompt's tokens count those that were cached. The tools' own prompts are input, and thoughts are output.
        """
        counts, beside = self.counts, self.counts.beside
        prompt, candidates, thoughts = (
            counts.prompt_token_count,
            counts.candidates_token_count,
            counts.thoughts_token_count,
        )
        if prompt is None or (candidates is None and beside is None):
            return None
        if candidates is None and thoughts is None and not over:
            return None
        outside, apart = beside or (True, True)
        cached = counts.cached_content_token_count
        read = prompt + apart * (counts.tool_use_prompt_token_count or 0)
        return Usage(
            input_tokens=max(0, read - (cached or 0)),
            output_tokens=(candidates or 0) + outside * (thoughts or 0),
            cache_read_tokens=cached,
            reasoning_tokens=thoughts,
        )


def counts_in(raw: msgspec.Raw) -> Counts:
    """The counts of one report; those of an unusual type or spelling one by one."""
    if b"_token" not in bytes(raw):
        try:
            return decode_counts(raw)
        except msgspec.ValidationError:
            pass
    members = members_of(raw) or {}
    return Counts(*(count_of(members, field.encode_name) for field in msgspec.structs.fields(Counts)))


def count_of(members: Members, name: str) -> int | None:
    """The count of that name; None if there is none, or none that a usage may hold."""
    number = integer_of(members.get(name))
    return number if number is not None and 0 <= number < _SURE else None


def _merged(before: Counts, after: Counts) -> Counts:
    pairs = zip(msgspec.structs.astuple(before), msgspec.structs.astuple(after), strict=True)
    return Counts(*(old if new is None else new for old, new in pairs))


decode_counts = msgspec.json.Decoder(Counts).decode

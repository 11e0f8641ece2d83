"""What lies beside the parts of an answer: what it is grounded in, how safe it is, and facts about the response."""

from typing import Final

import msgspec

from runwire.adapters.gemini.wire import NULL, Members, given, inner, members_of
from runwire.adapters.opaque import compact, fields_of, items_of, present, text_of
from runwire.adapters.writing.call import Call
from runwire.adapters.writing.sources import Sources

# Reports that are held back, since later events may repeat or extend them; a larger one is passed on at once. With what
# else is known of a response they are no more than the facts that a call keeps.
_MAX_HELD: Final = 48
_MAX_SIZE: Final = 256 * 1024
_READ_ONCE: Final = frozenset({"avgLogprobs", "tokenCount"})
_CHUNKS: Final = ("web", "retrievedContext", "maps", "image")


class Beside:
    """The facts of one response."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._sources = Sources(call)
        self._held: dict[str, bytes] = {}
        self._logprobs = b""

    def member(self, name: str, raw: msgspec.Raw) -> None:
        """A member of a candidate or of the response that is none of its content."""
        if not present(raw):
            return
        if name in _READ_ONCE:
            self._call.remember(name, compact(raw))
        elif name == "logprobsResult":
            self._tokens(compact(raw))
        else:
            self._list(name, raw)
            self._report(name, compact(raw))

    def close(self, *, alone: bool) -> None:
        """The response is over: what was reported last are facts about it. `alone`: the response holds nothing else."""
        for name, said in self._held.items():
            if alone:
                # Facts alone open no step; these say why there is nothing.
                self._call.beside("raw", {name: said})
            else:
                self._call.remember(name, said)

    def _tokens(self, said: bytes) -> None:
        """Each event has those of its own text."""
        if said != self._logprobs:
            self._logprobs = said
            self._call.beside("raw", {"logprobsResult": said})

    def _list(self, name: str, raw: msgspec.Raw) -> None:
        """The sources that a report lists."""
        members = members_of(raw) or {}
        if name == "groundingMetadata":
            for chunk in items_of(members.get("groundingChunks", NULL)):
                self._chunk(members_of(chunk) or {}, chunk)
        elif name == "citationMetadata":
            for key in ("citations", "citationSources"):
                for citation in items_of(members.get(key, NULL)):
                    self._source(members_of(citation) or {}, ("uri",), citation)
        elif name == "urlContextMetadata":
            for url in items_of(members.get("urlMetadata", NULL)):
                said = members_of(url) or {}
                if (text_of(said.get("urlRetrievalStatus")) or "SUCCESS").endswith("SUCCESS"):
                    self._source(said, ("retrievedUrl",), url)

    def _chunk(self, chunk: Members, raw: msgspec.Raw) -> None:
        kind = next((kind for kind in _CHUNKS if given(chunk, kind)), "")
        said = inner(chunk, kind)
        if said:
            # What a file search found may have no address and no title, but only its text.
            self._source(said, ("uri", "sourceUri", "imageUri"), raw, otherwise=kind == "retrievedContext")

    def _source(self, said: Members, names: tuple[str, ...], raw: msgspec.Raw, *, otherwise: bool = False) -> None:
        url = next((text for name in names if (text := text_of(said.get(name)))), "")
        if url or otherwise:
            self._sources.listed(url, text_of(said.get("title")) or "", raw)

    def _report(self, name: str, said: bytes) -> None:
        """The last report of a name is a fact for the end. One that the next does not repeat goes into a chunk."""
        before = self._held.get(name)
        if before == said:
            return
        if len(said) > _MAX_SIZE or (before is None and len(self._held) >= _MAX_HELD):
            self._call.beside("raw", {name: said})
            return
        if before is not None and not _goes_on(name, before, said):
            self._call.beside("raw", {name: before})
        self._held[name] = said


def _goes_on(name: str, before: bytes, after: bytes) -> bool:
    """The later report holds all of the earlier one: the same members, whose lists may have grown."""
    if name == "safetyRatings":
        # Scores change with each event of an old server; what they are said to mean counts.
        return _words(before) == _words(after)
    old, new = fields_of(before), fields_of(after)
    if old is None or new is None:
        return False
    return all(key in new and _extends(bytes(value), bytes(new[key])) for key, value in old.items())


def _extends(before: bytes, after: bytes) -> bool:
    if before == after:
        return True
    if not before.startswith(b"["):
        return False
    old, new = ([bytes(item) for item in items_of(raw)] for raw in (before, after))
    return new[: len(old)] == old


def _words(raw: bytes) -> list[str]:
    ratings = [members_of(item) or {} for item in items_of(raw)]
    return [f"{name}={text}" for rating in ratings for name, value in rating.items() if (text := text_of(value))]

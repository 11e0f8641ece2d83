"""What an answer cites, as `source` chunks."""

import hashlib
from typing import Final

import msgspec

from runwire.adapters.opaque import compact, fields_of, items_of, present, quote, text_of
from runwire.adapters.writing.call import Call

# URLs that are remembered, so that a list which every chunk repeats gives each source once.
_REMEMBERED: Final = 1024
_WEB: Final = ("url", "source", "link")
_URLS: Final = ("https://", "http://")


class Sources:
    """The sources of one call, numbered in the order in which they were cited."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._count = 0
        self._urls: set[str] = set()

    def found(self, raw: msgspec.Raw) -> None:
        """A source of the OpenAI family: a URL, or an object with one, once per URL."""
        url, title = text_of(raw), ""
        if url is None:
            members = fields_of(raw) or {}
            inner = next((fields_of(members[key]) for key in members if key.endswith("_citation")), None) or members
            url = next((text for key in _WEB if (text := text_of(inner.get(key)))), "")
            title = text_of(inner.get("title")) or ""
        if not url:
            self._call.beside("raw", {"citation": compact(raw)})
        elif url not in self._urls:
            if len(self._urls) < _REMEMBERED:
                self._urls.add(url)
            self._source("url", title, {"url": url}, raw)

    def listed(self, url: str, title: str, raw: msgspec.Raw) -> None:
        """One of Gemini's lists, which later events may repeat: once per URL, and once if it has none."""
        key = url or hashlib.sha256(compact(raw)).hexdigest()
        if key not in self._urls:
            if len(self._urls) < _REMEMBERED:
                self._urls.add(key)
            self.quoted(url, title, raw)

    def quoted(self, url: str, title: str, raw: msgspec.Raw) -> None:
        """A place in a source, each of which counts; a document if it has no URL."""
        self._source("url" if url else "document", title, {"url": url} if url else {}, raw)

    def cited(self, raw: msgspec.Raw) -> None:
        """A citation of Anthropic: each one counts, as each quotes a place of its own."""
        members = fields_of(raw) or {}
        url = text_of(members.get("url")) or ""
        if url:
            self._source("url", text_of(members.get("title")) or "", {"url": url}, raw)
        else:
            names = ("document_title", "title", "filename")
            title = next((text for name in names if (text := text_of(members.get(name)))), "")
            self._source("document", title, {}, raw)

    def placed(self, raw: msgspec.Raw) -> None:
        """A citation of Bedrock's Converse: what was cited, and where it stands in a document or on the web."""
        members = fields_of(raw) or {}
        location = fields_of(members["location"]) if "location" in members else None
        web = fields_of(location["web"]) if location and "web" in location else None
        source = text_of(members.get("source")) or ""
        url = text_of((web or {}).get("url")) or (source if source.startswith(_URLS) else "")
        title = text_of(members.get("title")) or (source if source != url else "")
        self._source("url" if url else "document", title, {"url": url} if url else {}, raw)

    def grounded(self, raw: msgspec.Raw) -> None:
        """A citation of Cohere: what the answer says, and the documents and tool results that say so, one by one."""
        members = fields_of(raw) or {}
        about = {name: value for name, value in members.items() if name != "sources"}
        for source in items_of(members["sources"]) if "sources" in members else ():
            said = fields_of(source) or {}
            document = fields_of(said["document"]) if "document" in said else None
            named = [text_of((document or {}).get(name)) for name in ("title", "url")]
            title, url = (named[0] or text_of(said.get("id")) or ""), named[1]
            whole = msgspec.Raw(msgspec.json.encode({**about, "source": source}))
            self._source("url" if url else "document", title, {"url": url} if url else {}, whole)
        if not present(members.get("sources")) and present(raw):
            self._source("document", "", {}, raw)

    def _source(self, kind: str, title: str, more: dict[str, str], raw: msgspec.Raw) -> None:
        self._count += 1
        start = f"{self._call.response_id}:" if self._call.response_id else ""
        fields = {"id": f"{start}source:{self._count}", "sourceType": kind, "title": title, **more}
        payload = {key: quote(value) for key, value in fields.items()}
        if text_of(raw) is None:
            payload["providerMetadata"] = b"{%s:%s}" % (quote(self._call.provider), compact(raw))
        self._call.beside("source", payload, named=False)

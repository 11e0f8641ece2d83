"""Chat completion chunks as they come, read in two ways that give the same result.

The fast way decodes the usual shapes into structs in one step. Whatever does not fit them (a field it does not know,
content as an array, an index as text, an object where a string belongs) is read again member by member (`loose`),
and what has no place in the structs is handed out as extras, so that nothing is dropped.
"""

from typing import Final, Literal, NamedTuple

import msgspec

from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, text_of

UNREAD: Final = msgspec.Raw(b"null")


class PromptDetails(msgspec.Struct, frozen=True, gc=False):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class CompletionDetails(msgspec.Struct, frozen=True, gc=False):
    reasoning_tokens: int | None = None


class UsageIn(msgspec.Struct, frozen=True, gc=False):
    """`usage`. Other servers' own counts are not read: whether the others include them is not known."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None
    prompt_cache_hit_tokens: int | None = None


class Function(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    name: str | None = None
    arguments: str | None = None


class ToolPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One entry of `tool_calls`. `extra_content` is where Gemini's endpoint puts a part's signature."""

    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: Function | None = None
    extra_content: msgspec.Raw = UNREAD


class Detail(msgspec.Struct, frozen=True, gc=False):
    """One of OpenRouter's `reasoning_details`."""

    type: str | None = None
    text: str | None = None
    summary: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    format: str | None = None
    index: int | None = None


class Part(NamedTuple):
    """A part of content that came as an array: text, reasoning, an image's URL, or anything else as JSON."""

    kind: str
    text: str = ""
    raw: bytes = b""


class PartIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Text or reasoning in a content array. Parts of other kinds have other members and are read member by member."""

    type: Literal["text", "thinking"]
    text: str | None = None
    thinking: str | list["PartIn"] | None = None
    closed: msgspec.Raw = UNREAD


class Delta(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    content: str | list[PartIn] | None = None
    tool_calls: list[ToolPart] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Detail] | None = None
    refusal: str | None = None
    function_call: Function | None = None
    # Read past: they say nothing about content, or repeat it.
    role: msgspec.Raw = UNREAD
    name: msgspec.Raw = UNREAD
    channel: msgspec.Raw = UNREAD
    token_id: msgspec.Raw = UNREAD
    # Only null is the usual case.
    audio: None = None
    annotations: None = None
    images: None = None


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    index: int | None = 0
    delta: Delta | None = None
    text: str | None = None
    finish_reason: str | None = None
    logprobs: dict[str, msgspec.Raw] | None = None
    content_filter_results: msgspec.Raw = UNREAD
    native_finish_reason: msgspec.Raw = UNREAD
    seed: msgspec.Raw = UNREAD
    matched_stop: msgspec.Raw = UNREAD
    stop_reason: msgspec.Raw = UNREAD
    token_ids: None = None


class Chunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    choices: list[Choice] | None = None
    usage: UsageIn | None = None
    id: str | None = None
    model: str | None = None
    created: msgspec.Raw = UNREAD
    object: msgspec.Raw = UNREAD
    system_fingerprint: msgspec.Raw = UNREAD
    service_tier: msgspec.Raw = UNREAD
    provider: msgspec.Raw = UNREAD
    stream_options: msgspec.Raw = UNREAD
    obfuscation: msgspec.Raw = UNREAD
    p: msgspec.Raw = UNREAD
    error: None = None


# Members of the event, and of our choice, that describe the whole response. The last value goes into its metadata.
META: Final = (
    "system_fingerprint",
    "service_tier",
    "provider",
    "timings",
    "time_info",
    "cost",
    "copilot_usage",
    "generationId",
    "x_groq",
    "latency_checkpoint",
    "stream_options",
    "prompt_token_ids",
    "prompt_text",
)
CHOICE_META: Final = ("native_finish_reason", "matched_stop", "stop_reason", "seed")
# Members that hold nothing of the answer: padding, what every event repeats, and copies of what `delta` says.
_READ: Final = ("id", "model", "created", "choices", "usage", "error")
_SKIPPED: Final = frozenset({"object", "obfuscation", "p", *_READ, *META})
_CHOICE_READ: Final = frozenset({*Choice.__struct_fields__, "message"}) - {"token_ids"}
_DELTA_READ: Final = frozenset(Delta.__struct_fields__) - {"audio", "annotations", "images"}


class Extra(NamedTuple):
    """What no struct has a place for. `level`: `chunk`, `choice`, `delta` or `toolCall`."""

    choice: int | None
    level: str
    name: str
    raw: bytes


class Loose(NamedTuple):
    chunk: Chunk
    parts: dict[int, list[Part]]
    extras: list[Extra]


class _Loosener:
    """Reads one event member by member."""

    def __init__(self) -> None:
        self.parts: dict[int, list[Part]] = {}
        self.extras: list[Extra] = []

    def chunk(self, top: dict[str, msgspec.Raw]) -> Chunk:
        for name, raw in top.items():
            if name not in _SKIPPED and present(raw):
                self.extras.append(Extra(None, "chunk", name, compact(raw)))
        return Chunk(
            choices=[self.choice(members) for members in _objects(top.get("choices"))],
            usage=usage_in(top.get("usage")),
            id=text_of(top.get("id")),
            model=text_of(top.get("model")),
            created=top.get("created", UNREAD),
        )

    def choice(self, members: dict[str, msgspec.Raw]) -> Choice:
        index = integer_of(members.get("index")) or 0
        for name, raw in members.items():
            if name not in _CHOICE_READ and _says(raw):
                self.extras.append(Extra(index, "choice", name, compact(raw)))
        inner = fields_of(members.get("delta", UNREAD))
        if inner is None and "text" not in members and "message" in members:
            # A server that was asked to stream and answered whole.
            inner = fields_of(members["message"])
        return Choice(
            index=index,
            delta=None if inner is None else self.delta(index, inner),
            text=self._string(index, "choice", "text", members),
            finish_reason=text_of(members.get("finish_reason")),
            logprobs=fields_of(members.get("logprobs", UNREAD)),
            content_filter_results=members.get("content_filter_results", UNREAD),
        )

    def delta(self, index: int, members: dict[str, msgspec.Raw]) -> Delta:
        parts = items_of(members.get("content", UNREAD))
        if parts:
            self.parts[index] = [part for raw in parts for part in _parts(raw)]
        for name, raw in members.items():
            if name not in _DELTA_READ and _says(raw):
                self.extras.append(Extra(index, "delta", name, compact(raw)))
        call = fields_of(members.get("function_call", UNREAD))
        return Delta(
            content=None if parts else self._string(index, "delta", "content", members),
            tool_calls=[self.tool(index, inner) for inner in _objects(members.get("tool_calls"))],
            reasoning_content=self._string(index, "delta", "reasoning_content", members),
            reasoning=self._string(index, "delta", "reasoning", members),
            reasoning_details=[_detail(inner) for inner in _objects(members.get("reasoning_details"))],
            refusal=self._string(index, "delta", "refusal", members),
            function_call=None if call is None else _function(call),
        )

    def tool(self, choice: int, members: dict[str, msgspec.Raw]) -> ToolPart:
        for name, raw in members.items():
            if name not in ("index", "id", "type", "function", "extra_content") and _says(raw):
                self.extras.append(Extra(choice, "toolCall", name, compact(raw)))
        function = fields_of(members.get("function", UNREAD))
        return ToolPart(
            index=integer_of(members.get("index")),
            id=_word(members.get("id")),
            function=None if function is None else _function(function),
            extra_content=members.get("extra_content", UNREAD),
        )

    def _string(self, index: int, level: str, name: str, members: dict[str, msgspec.Raw]) -> str | None:
        raw = members.get(name)
        text = text_of(raw)
        if text is None and raw is not None and present(raw):
            self.extras.append(Extra(index, level, name, compact(raw)))
        return text


def loose(top: dict[str, msgspec.Raw]) -> Loose:
    """The same chunk, read member by member, with what has no place in it."""
    loosener = _Loosener()
    chunk = loosener.chunk(top)
    return Loose(chunk, loosener.parts, loosener.extras)


def usage_in(raw: msgspec.Raw | None) -> UsageIn | None:
    """`usage`, leaving out what is no integer."""
    members = None if raw is None else fields_of(raw)
    if members is None:
        return None
    inner = {name: _numbers(fields_of(members.get(name, UNREAD)) or {}) for name in members if name.endswith("details")}
    return msgspec.convert({**_numbers(members), **inner}, UsageIn)


def _numbers(members: dict[str, msgspec.Raw]) -> dict[str, int | None]:
    return {name: integer_of(raw) for name, raw in members.items()}


def _objects(raw: msgspec.Raw | None) -> list[dict[str, msgspec.Raw]]:
    """The objects of an array, or of what should be one."""
    items = [] if raw is None else items_of(raw)
    return [members for item in items if (members := fields_of(item)) is not None]


def _says(raw: msgspec.Raw) -> bool:
    """It holds something, also one level down: Snowflake sends `{"content":null,"refusal":null}` for no logprobs."""
    members = fields_of(raw) if bytes(raw)[:1] == b"{" else None
    return present(raw) if members is None else any(present(value) for value in members.values())


def _word(raw: msgspec.Raw | None) -> str | None:
    """An id: some servers send numbers."""
    text = text_of(raw)
    number = integer_of(raw) if text is None else None
    return text if number is None else str(number)


def _function(members: dict[str, msgspec.Raw]) -> Function:
    """Arguments may come as an object: then its JSON is the text."""
    raw = members.get("arguments")
    arguments = text_of(raw)
    if arguments is None and raw is not None and bytes(raw) != b"null":
        arguments = compact(raw).decode()
    return Function(name=text_of(members.get("name")), arguments=arguments)


def _detail(members: dict[str, msgspec.Raw]) -> Detail:
    said: dict[str, str | int | None] = {name: text_of(raw) for name, raw in members.items()}
    return msgspec.convert({**said, "index": integer_of(members.get("index"))}, Detail)


def _parts(raw: msgspec.Raw) -> list[Part]:
    """Mistral's parts: text, `thinking` with an array of its own, images, and whatever else (references)."""
    members = fields_of(raw)
    if members is None:
        text = text_of(raw)
        return [Part("other", raw=compact(raw))] if text is None else [Part("text", text)]
    kind = text_of(members.get("type"))
    text = text_of(members.get("text"))
    if kind in ("text", "output_text") and text is not None:
        return [Part("text", text)]
    if kind == "thinking" and (thinking := members.get("thinking")) is not None:
        text = text_of(thinking)
        if text is not None:
            return [Part("thinking", text)]
        inner = [part for item in items_of(thinking) for part in _parts(item)]
        return [Part("thinking", part.text) if part.kind == "text" else part for part in inner]
    if kind == "image_url" and (url := url_of(members)):
        return [Part("image", url)]
    return [Part("other", raw=compact(raw))]


def parts_of(parts: list[PartIn]) -> list[Part]:
    """The parts of a content array that had the usual shape."""
    read: list[Part] = []
    for part in parts:
        if part.type == "text":
            read.append(Part("text", part.text or ""))
        elif isinstance(part.thinking, list):
            read += [Part("thinking", inner.text) for inner in parts_of(part.thinking)]
        else:
            read.append(Part("thinking", part.thinking or ""))
    return read


def url_of(members: dict[str, msgspec.Raw]) -> str | None:
    """The URL of an `image_url` part, which is text or an object with `url`."""
    raw = members.get("image_url")
    inner = None if raw is None else fields_of(raw)
    return text_of(raw) if inner is None else text_of(inner.get("url"))


decode_chunk = msgspec.json.Decoder(Chunk).decode

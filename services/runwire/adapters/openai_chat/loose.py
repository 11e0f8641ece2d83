"""Chat completion chunks read member by member, whatever their shape.

It gives the same structs as reading in one step does. What has no place in them is handed out as extras, so that
nothing is dropped.
"""

from typing import Final, NamedTuple

import msgspec

from runwire.adapters.opaque import compact, fields_of, integer_of, items_of, present, text_of
from runwire.adapters.openai_chat.parts import Part, parts_in
from runwire.adapters.openai_chat.wire import (
    UNREAD,
    Choice,
    Chunk,
    Delta,
    Detail,
    Function,
    ToolPart,
    UsageIn,
)

Members = dict[str, msgspec.Raw]

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
# LiteLLM says reasoning three times: as `reasoning_content`, in `thinking_blocks` and in `provider_specific_fields`.
_BLOCKS: Final = "thinking_blocks"
_SPECIFIC: Final = "provider_specific_fields"
_DELTA_READ: Final = frozenset({*Delta.__struct_fields__, _BLOCKS, _SPECIFIC}) - {"audio", "annotations", "images"}
_DETAIL_READ: Final = frozenset(Detail.__struct_fields__)
_TOOL_READ: Final = frozenset({"index", "id", "type", "function", "extra_content"})
_CUSTOM: Final = "custom"


class Extra(NamedTuple):
    """What no struct has a place for. `level`: `chunk`, `choice`, `delta` or `toolCall`."""

    choice: int | None
    level: str
    name: str
    raw: bytes


class Loose(NamedTuple):
    """`whole`: the choices whose message came in one piece."""

    chunk: Chunk
    parts: dict[int, list[Part]]
    extras: list[Extra]
    whole: set[int]


class _Loosener:
    """Reads one event member by member. `fresh`: no content came before it."""

    def __init__(self, *, fresh: bool) -> None:
        self._fresh = fresh
        self.parts: dict[int, list[Part]] = {}
        self.extras: list[Extra] = []
        self.whole: set[int] = set()

    def chunk(self, top: Members) -> Chunk:
        for name, raw in top.items():
            if name not in _SKIPPED and present(raw):
                self.extras.append(Extra(None, "chunk", name, compact(raw)))
        return Chunk(
            choices=[self.choice(members) for members in self._objects(None, "chunk", "choices", top)],
            usage=usage_in(top.get("usage")),
            id=_word(top.get("id")),
            model=text_of(top.get("model")),
            created=top.get("created", UNREAD),
        )

    def choice(self, members: Members) -> Choice:
        index = integer_of(members.get("index")) or 0
        for name, raw in members.items():
            if name not in _CHOICE_READ and _says(raw):
                self.extras.append(Extra(index, "choice", name, compact(raw)))
        inner = fields_of(members.get("delta", UNREAD))
        if "text" not in members and "message" in members and (inner is None or self._ends_unsaid(members, inner)):
            # A server that was asked to stream and answered whole, or that ends its stream with the whole answer.
            inner = fields_of(members["message"])
            self.whole.add(index)
        elif inner is not None:
            self._copied(index, members, inner)
        self._object(index, "choice", "usage", members)
        return Choice(
            index=index,
            delta=None if inner is None else self.delta(index, inner),
            text=self._string(index, "choice", "text", members),
            finish_reason=self._string(index, "choice", "finish_reason", members),
            usage=usage_in(members.get("usage")),
            logprobs=self._object(index, "choice", "logprobs", members),
            content_filter_results=members.get("content_filter_results", UNREAD),
        )

    def delta(self, index: int, members: Members) -> Delta:
        parts = items_of(members.get("content", UNREAD))
        if parts:
            self.parts[index] = [part for raw in parts for part in parts_in(raw)]
        for name, raw in members.items():
            if name not in _DELTA_READ and _says(raw):
                self.extras.append(Extra(index, "delta", name, compact(raw)))
        call = self._object(index, "delta", "function_call", members)
        specific = self._specific(index, members)
        details = [self.detail(index, inner) for inner in self._objects(index, "delta", "reasoning_details", members)]
        blocks = members if _BLOCKS in members else specific
        details += [_block(inner) for inner in self._objects(index, "delta", _BLOCKS, blocks)]
        reasoning = fields_of(members.get("reasoning_content", UNREAD))
        if reasoning is not None:
            details.append(_bedrock(reasoning))
        return Delta(
            content=None if parts else self._string(index, "delta", "content", members),
            tool_calls=[self.tool(index, inner) for inner in self._objects(index, "delta", "tool_calls", members)],
            reasoning_content=None if reasoning else self._string(index, "delta", "reasoning_content", members),
            reasoning=self._string(index, "delta", "reasoning", members),
            reasoning_text=self._string(index, "delta", "reasoning_text", members),
            reasoning_details=details,
            refusal=self._string(index, "delta", "refusal", members),
            function_call=None if call is None else _function(call),
            extra_content=members.get("extra_content", UNREAD),
        )

    def detail(self, index: int, members: Members) -> Detail:
        rest = {name: raw for name, raw in members.items() if name not in _DETAIL_READ and present(raw)}
        if rest:
            self.extras.append(Extra(index, "delta", "reasoning_details", b"[%s]" % compact(msgspec.json.encode(rest))))
        return _detail(members)

    def tool(self, choice: int, members: Members) -> ToolPart:
        custom = fields_of(members.get(_CUSTOM, UNREAD))
        function = self._object(choice, "toolCall", "function", members)
        for name, raw in members.items():
            if name not in _TOOL_READ and not (name == _CUSTOM and custom is not None) and _says(raw):
                self.extras.append(Extra(choice, "toolCall", name, compact(raw)))
        return ToolPart(
            index=integer_of(members.get("index")),
            id=_word(members.get("id")),
            type=_CUSTOM if custom is not None else None,
            function=_function(function) if function is not None else None if custom is None else _custom(custom),
            extra_content=members.get("extra_content", UNREAD),
        )

    def _ends_unsaid(self, members: Members, delta: Members) -> bool:
        """The response ends with this choice, and no delta said anything: Perplexity's whole answers have one too."""
        silent = not any(_says(raw) for name, raw in delta.items() if name != "role")
        return self._fresh and silent and bool(text_of(members.get("finish_reason")))

    def _copied(self, index: int, members: Members, delta: Members) -> None:
        """What a message has that repeats all deltas so far, beside what it repeats: Perplexity's `reasoning_steps`."""
        message = fields_of(members.get("message", UNREAD)) or {}
        rest = {name: raw for name, raw in message.items() if name not in _DELTA_READ | delta.keys() and _says(raw)}
        if rest:
            self.extras.append(Extra(index, "choice", "message", compact(msgspec.json.encode(rest))))

    def _specific(self, index: int, members: Members) -> Members:
        """LiteLLM's copies of what the provider said, without those that the delta has under the same name."""
        said = self._object(index, "delta", _SPECIFIC, members) or {}
        for name, raw in said.items():
            known = members.get(name)
            if name == "citation":
                self.extras.append(Extra(index, "delta", name, compact(raw)))
            elif name != _BLOCKS and _says(raw) and (known is None or compact(known) != compact(raw)):
                self.extras.append(Extra(index, "delta", _SPECIFIC, b"{%s:%s}" % (_quoted(name), compact(raw))))
        return said

    def _string(self, index: int, level: str, name: str, members: Members) -> str | None:
        raw = members.get(name)
        text = text_of(raw)
        if text is None:
            self._keep(index, level, name, raw)
        return text

    def _object(self, index: int, level: str, name: str, members: Members) -> Members | None:
        raw = members.get(name, UNREAD)
        inner = fields_of(raw)
        if inner is None:
            self._keep(index, level, name, raw)
        return inner

    def _objects(self, index: int | None, level: str, name: str, members: Members) -> list[Members]:
        """The objects of an array, or the one that stands where an array should."""
        raw = members.get(name, UNREAD)
        found: list[Members] = []
        for item in items_of(raw) or [raw]:
            inner = fields_of(item)
            if inner is None:
                self._keep(index, level, name, item)
            else:
                found.append(inner)
        return found

    def _keep(self, index: int | None, level: str, name: str, raw: msgspec.Raw | None) -> None:
        if raw is not None and present(raw):
            self.extras.append(Extra(index, level, name, compact(raw)))


def loose(top: Members, *, fresh: bool) -> Loose:
    """The same chunk, read member by member, with what has no place in it. `fresh`: no content came before it."""
    loosener = _Loosener(fresh=fresh)
    chunk = loosener.chunk(top)
    return Loose(chunk, loosener.parts, loosener.extras, loosener.whole)


def usage_in(raw: msgspec.Raw | None) -> UsageIn | None:
    """`usage`, leaving out what is no integer."""
    members = None if raw is None else fields_of(raw)
    if members is None:
        return None
    inner = {name: _numbers(fields_of(members.get(name, UNREAD)) or {}) for name in members if name.endswith("details")}
    return msgspec.convert({**_numbers(members), **inner}, UsageIn)


def _numbers(members: Members) -> dict[str, int | None]:
    return {name: integer_of(raw) for name, raw in members.items()}


def _says(raw: msgspec.Raw) -> bool:
    """It holds something, also one level down: Snowflake sends `{"content":null,"refusal":null}` for no logprobs."""
    members = fields_of(raw) if bytes(raw)[:1] == b"{" else None
    return present(raw) if members is None else any(present(value) for value in members.values())


def _quoted(name: str) -> bytes:
    return msgspec.json.encode(name)


def _word(raw: msgspec.Raw | None) -> str | None:
    """An id: some servers send numbers."""
    text = text_of(raw)
    number = integer_of(raw) if text is None else None
    return text if number is None else str(number)


def _function(members: Members) -> Function:
    """Arguments may come as an object: then its JSON is the text."""
    raw = members.get("arguments")
    arguments = text_of(raw)
    if arguments is None and raw is not None and bytes(raw) != b"null":
        arguments = compact(raw).decode()
    return Function(name=text_of(members.get("name")), arguments=arguments)


def _custom(members: Members) -> Function:
    """OpenAI's custom tools: their input is any text."""
    return Function(name=text_of(members.get("name")), arguments=text_of(members.get("input")))


def _detail(members: Members) -> Detail:
    said: dict[str, str | int | None] = {name: text_of(members.get(name)) for name in _DETAIL_READ}
    return msgspec.convert({**said, "index": integer_of(members.get("index"))}, Detail)


def _block(members: Members) -> Detail:
    """A block of Anthropic's, as LiteLLM passes it on."""
    return _detail({**members, "text": members.get("thinking", UNREAD)})


def _bedrock(members: Members) -> Detail:
    """Reasoning of Bedrock's, as Envoy's gateway passes it on: one member of the three a delta."""
    return _detail({**members, "data": members.get("redactedContent", UNREAD)})

"""The usual events of Gemini in one step, and the names of all others, which are read member by member."""

from typing import Annotated, Final

import msgspec

from runwire.adapters.opaque import compact, fields_of, present

Members = dict[str, msgspec.Raw]

NULL: Final = msgspec.Raw(b"null")


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", gc=False):
    """A member that is not known makes the event an unusual one."""


class Part(_Strict, frozen=True):
    """Text or a thought, unsigned."""

    text: str
    thought: bool = False


class ContentIn(_Strict, frozen=True):
    """Parts that are text."""

    parts: list[Part]
    role: str | None = None


class Candidate(_Strict, frozen=True):
    """One answer. The API leaves out an index that is 0."""

    content: ContentIn
    index: Annotated[int, msgspec.Meta(ge=0)] = 0
    finish_reason: str | None = None
    grounding_metadata: msgspec.Raw = NULL


class Event(_Strict, frozen=True):
    """One response of the stream. `sdkHttpResponse` is what Google's SDK adds to it: the headers of the transport."""

    candidates: list[Candidate]
    usage_metadata: msgspec.Raw = NULL
    model_version: str | None = None
    response_id: str | None = None
    create_time: str | None = None
    sdk_http_response: msgspec.Raw = NULL


# Members as the API spells them. Google's SDK has names of its own for its objects' members: `usage_metadata`.
_NAMES: Final = (
    "usageMetadata", "modelVersion", "responseId", "createTime", "promptFeedback", "blockReason", "blockReasonMessage",
    "sdkHttpResponse", "automaticFunctionCallingHistory", "modelStatus",
    "finishReason", "finishMessage", "groundingMetadata", "citationMetadata", "urlContextMetadata", "safetyRatings",
    "tokenCount", "avgLogprobs", "logprobsResult", "continuationToken", "groundingAttributions",
    "thoughtSignature", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode",
    "codeExecutionResult", "toolCall", "toolResponse", "toolType", "videoMetadata", "mediaResolution", "partMetadata",
    "mimeType", "displayName", "fileUri", "partialArgs", "willContinue", "jsonPath", "stringValue", "numberValue",
    "boolValue", "nullValue",
    "groundingChunks", "retrievedContext", "sourceUri", "imageUri", "citationSources", "urlMetadata", "retrievedUrl",
    "urlRetrievalStatus",
    "promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount",
    "cachedContentTokenCount", "totalTokenCount",
)  # fmt: skip
_SNAKE: Final = {"".join(f"_{c.lower()}" if c.isupper() else c for c in name): name for name in _NAMES}


def members_of(raw: bytes | msgspec.Raw) -> Members | None:
    """The members of an object of the protocol, by the names of the API; None if it is no object."""
    fields = fields_of(raw)
    return None if fields is None else {_SNAKE.get(name, name): value for name, value in fields.items()}


def inner(members: Members, name: str) -> Members:
    """The members of the object that this member is; none if it is no object."""
    return members_of(members.get(name, NULL)) or {}


def given(members: Members, name: str) -> bool:
    """The member is there, even if it is an empty string or object: only null says nothing."""
    return bytes(members.get(name, NULL)) != b"null"


def rest_of(members: Members, read: frozenset[str]) -> Members:
    """The members that say something and are not among those that were read."""
    return {name: raw for name, raw in members.items() if name not in read and present(raw)}


def object_of(members: Members) -> bytes:
    """These members as one JSON object, compact."""
    return compact(msgspec.json.encode(members))


decode_event = msgspec.json.Decoder(Event).decode

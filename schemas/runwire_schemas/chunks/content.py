"""Sources, files, structured objects, and data that only the application understands."""

from typing import Annotated, Literal

import msgspec

from runwire_schemas.chunks.base import UNSET, Chunk, ChunkFrom, Flag, Opaque, ProviderPayload, Raw, Text


class SourcePayload(ProviderPayload, frozen=True, kw_only=True):
    id: str
    source_type: Literal["url", "document"]
    title: Text = UNSET
    mime_type: Text = UNSET
    filename: Text = UNSET
    url: Text = UNSET


class FilePayload(ProviderPayload, frozen=True, kw_only=True):
    """`data` is text, or bytes as the runtime serializes them; for a provider's image base64, url or `sha256:<hex>`."""

    data: Raw
    base64: Text = UNSET
    mime_type: str


class CustomPayload(ProviderPayload, frozen=True, kw_only=True):
    kind: Text = UNSET


class Source(Chunk, frozen=True, kw_only=True, tag="source"):
    payload: SourcePayload


class File(Chunk, frozen=True, kw_only=True, tag="file"):
    payload: FilePayload


class ReasoningFile(Chunk, frozen=True, kw_only=True, tag="reasoning-file"):
    """A file made while reasoning, not part of the answer."""

    payload: FilePayload


class Custom(Chunk, frozen=True, kw_only=True, tag="custom"):
    """A part that only one provider knows, in its metadata."""

    payload: CustomPayload


class Object(Chunk, frozen=True, kw_only=True, tag="object"):
    """A structured answer, as far as it is known. It has no payload."""

    object: Raw


class ObjectResult(Chunk, frozen=True, kw_only=True, tag="object-result"):
    """The complete structured answer. It has no payload."""

    object: Raw


class Data(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`data-<name>`: the application's own. It has no payload; `transient` data is not meant to be kept."""

    type: Annotated[str, msgspec.Meta(pattern="^data-")]
    run_id: str
    from_: ChunkFrom = msgspec.field(name="from")
    data: Raw
    id: Text = UNSET
    transient: Flag = UNSET
    metadata: Opaque = UNSET

"""What all normalized chunks share: the envelope, and the words for optional and opaque values.

The seed marks no payload field as required. Required here is only what places a chunk; everything else may be absent
or null. Opaque values stay `msgspec.Raw`: Runwire never decodes and re-encodes them, so numbers keep their spelling.
"""

from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

__all__ = [
    "UNSET",
    "Chunk",
    "ChunkFrom",
    "Flag",
    "Number",
    "Opaque",
    "Payload",
    "ProviderPayload",
    "Raw",
    "Text",
    "UnsetType",
    "Whole",
]

ChunkFrom = Literal["AGENT", "USER", "SYSTEM", "WORKFLOW", "NETWORK"]

Text = str | None | UnsetType
Flag = bool | None | UnsetType
Whole = int | None | UnsetType
Number = int | float | None | UnsetType
Opaque = Raw | UnsetType


class Chunk(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="type"):
    """The envelope. `metadata` is what the enforcer notes about a chunk: `twinOf`, the number of its twin."""

    run_id: str
    from_: ChunkFrom = msgspec.field(name="from")
    metadata: Opaque = UNSET


class Payload(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of payloads. Fields that are not listed are kept in the chunk's bytes, not in these views."""


class ProviderPayload(Payload, frozen=True, kw_only=True):
    """A payload that may carry the provider's own metadata, by provider name."""

    provider_metadata: Opaque = UNSET

"""Text and reasoning: a block id starts once, then come its deltas, then one end."""

from runwire_schemas.chunks.base import UNSET, Chunk, Opaque, ProviderPayload, Text


class BlockPayload(ProviderPayload, frozen=True, kw_only=True):
    id: str


class DeltaPayload(ProviderPayload, frozen=True, kw_only=True):
    id: str
    text: str


class SignedPayload(ProviderPayload, frozen=True, kw_only=True):
    id: str
    signature: Text = UNSET


class RedactedPayload(ProviderPayload, frozen=True, kw_only=True):
    id: str
    data: Opaque = UNSET


class TextStart(Chunk, frozen=True, kw_only=True, tag="text-start"):
    payload: BlockPayload


class TextDelta(Chunk, frozen=True, kw_only=True, tag="text-delta"):
    payload: DeltaPayload


class TextEnd(Chunk, frozen=True, kw_only=True, tag="text-end"):
    payload: BlockPayload


class ReasoningStart(Chunk, frozen=True, kw_only=True, tag="reasoning-start"):
    payload: SignedPayload


class ReasoningDelta(Chunk, frozen=True, kw_only=True, tag="reasoning-delta"):
    payload: DeltaPayload


class ReasoningEnd(Chunk, frozen=True, kw_only=True, tag="reasoning-end"):
    payload: SignedPayload


class ReasoningSignature(Chunk, frozen=True, kw_only=True, tag="reasoning-signature"):
    """From agents only: for raw chunks the signature stands on `reasoning-end`."""

    payload: SignedPayload


class RedactedReasoning(Chunk, frozen=True, kw_only=True, tag="redacted-reasoning"):
    """Reasoning that the provider gives only in a form that nobody else can read."""

    payload: RedactedPayload

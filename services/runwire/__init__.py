"""Runwire carries the streams of AI agents through Redis Streams and lets nothing through that breaks the protocol.

Here is what an application needs: `Producer` to publish runs, `Reader` to follow them, and every error they raise.
Importing it loads neither a service framework nor a web framework, and the client itself only when it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from runwire.errors import (
    BackPressure,
    ChunkTooLarge,
    CursorAhead,
    CursorInvalid,
    DeploymentMissing,
    ExtraMissing,
    IdentityIncomplete,
    LinkLost,
    LogDamaged,
    LogExpired,
    PartitionMismatch,
    ProducerBroken,
    ProducerClosed,
    ProviderUnclear,
    PublishError,
    PublishRefused,
    PublishTimeout,
    ReaderClosed,
    ReaderDisconnected,
    ReadError,
    RecordInvalid,
    RunUnknown,
    RunwireError,
    ServerUnfit,
    SettingInvalid,
    Superseded,
    UnknownProvider,
    WireMismatch,
)

if TYPE_CHECKING:
    from runwire.producer import Call, Producer, ProducerOptions, ProducerStats, Published, Run
    from runwire.readers import Chunk, Reader, ReaderOptions

__all__ = [
    "BackPressure",
    "Call",
    "Chunk",
    "ChunkTooLarge",
    "CursorAhead",
    "CursorInvalid",
    "DeploymentMissing",
    "ExtraMissing",
    "IdentityIncomplete",
    "LinkLost",
    "LogDamaged",
    "LogExpired",
    "PartitionMismatch",
    "Producer",
    "ProducerBroken",
    "ProducerClosed",
    "ProducerOptions",
    "ProducerStats",
    "ProviderUnclear",
    "PublishError",
    "PublishRefused",
    "PublishTimeout",
    "Published",
    "ReadError",
    "Reader",
    "ReaderClosed",
    "ReaderDisconnected",
    "ReaderOptions",
    "RecordInvalid",
    "Run",
    "RunUnknown",
    "RunwireError",
    "ServerUnfit",
    "SettingInvalid",
    "Superseded",
    "UnknownProvider",
    "WireMismatch",
]

# The client brings asyncio and redis along, 0.17 s of start-up that errors, settings and `runwire check` do not need.
_HOMES = {
    **dict.fromkeys(("Call", "Producer", "ProducerOptions", "ProducerStats", "Published", "Run"), "runwire.producer"),
    **dict.fromkeys(("Chunk", "Reader", "ReaderOptions"), "runwire.readers"),
}

# Hidden from type checkers, which would take it for a promise that every name exists.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value = getattr(import_module(_HOMES[name]), name)
        return value

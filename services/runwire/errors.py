"""Every error that a caller of Runwire may catch. `code` is the stable name, the docstring the message.

RunwireError
├── SettingsError               the environment or an argument is not right
│   ├── SettingUnknown
│   └── SettingInvalid
├── ServerUnfit                 the Redis server must not be used like this; an operator has to act
│   ├── ServerTooOld
│   ├── EvictionEnabled
│   ├── PersistenceDisabled
│   ├── PartitionMismatch
│   ├── WireMismatch
│   └── LibraryMismatch
├── DeploymentMissing           nothing was ever started under this prefix
├── ExtraMissing                a package is needed that only an extra installs
├── LinkLost                    the connection broke; whether the command ran is unknown
├── PublishError                raised to who publishes
│   ├── IdentityIncomplete
│   ├── RecordInvalid
│   ├── ChunkTooLarge
│   ├── UnknownProvider
│   ├── ProviderUnclear
│   ├── BackPressure
│   ├── PublishTimeout
│   ├── PublishRefused
│   ├── ProducerBroken
│   └── ProducerClosed
└── ReadError                   raised to who reads a run
    ├── CursorInvalid
    ├── CursorAhead
    ├── LogExpired
    ├── RunUnknown
    ├── Superseded
    ├── LogDamaged
    ├── ReaderTooSlow
    ├── ReaderDisconnected
    └── ReaderClosed
"""

from typing import ClassVar

from runwire_schemas.errors import RunwireError

__all__ = [
    "BackPressure",
    "ChunkTooLarge",
    "CursorAhead",
    "CursorInvalid",
    "DeploymentMissing",
    "EvictionEnabled",
    "ExtraMissing",
    "IdentityIncomplete",
    "LibraryMismatch",
    "LinkLost",
    "LogDamaged",
    "LogExpired",
    "PartitionMismatch",
    "PersistenceDisabled",
    "ProducerBroken",
    "ProducerClosed",
    "ProviderUnclear",
    "PublishError",
    "PublishRefused",
    "PublishTimeout",
    "ReadError",
    "ReaderClosed",
    "ReaderDisconnected",
    "ReaderTooSlow",
    "RecordInvalid",
    "RunUnknown",
    "RunwireError",
    "ServerTooOld",
    "ServerUnfit",
    "SettingInvalid",
    "SettingUnknown",
    "SettingsError",
    "Superseded",
    "UnknownProvider",
    "WireMismatch",
]


class SettingsError(RunwireError):
    """A setting is not right."""

    code: ClassVar[str] = "settings-error"


class SettingUnknown(SettingsError):
    """There is no setting of this name: it would have been ignored silently."""

    code: ClassVar[str] = "setting-unknown"


class SettingInvalid(SettingsError):
    """A setting has a value that it cannot have."""

    code: ClassVar[str] = "setting-invalid"


class ServerUnfit(RunwireError):
    """The Redis server cannot carry runs as it is set up."""

    code: ClassVar[str] = "server-unfit"


class ServerTooOld(ServerUnfit):
    """Runwire needs Redis 7.0 or later, or Valkey 8 or later."""

    code: ClassVar[str] = "server-too-old"


class EvictionEnabled(ServerUnfit):
    """The server evicts keys when its memory is full, and would drop parts of runs. Set maxmemory-policy noeviction."""

    code: ClassVar[str] = "eviction-enabled"


class PersistenceDisabled(ServerUnfit):
    """The server keeps nothing over a restart. Set appendonly yes, or allow it with RUNWIRE_ALLOW_NO_PERSISTENCE=1."""

    code: ClassVar[str] = "persistence-disabled"


class PartitionMismatch(ServerUnfit):
    """This prefix was first used with another number of partitions, and a run's place depends on it.

    Set RUNWIRE_PARTITIONS to the stored number, or choose another RUNWIRE_PREFIX.
    """

    code: ClassVar[str] = "partition-mismatch"


class WireMismatch(ServerUnfit):
    """What is stored under this prefix was written by another wire version. Upgrade this process."""

    code: ClassVar[str] = "wire-mismatch"


class LibraryMismatch(ServerUnfit):
    """The server holds a function library of the same name with other code, and it is never replaced."""

    code: ClassVar[str] = "library-mismatch"


class DeploymentMissing(RunwireError):
    """Nothing was ever started under this prefix. Start `runwire up` or `runwire enforcer`, or check url and prefix."""

    code: ClassVar[str] = "deployment-missing"


class ExtraMissing(RunwireError):
    """Something is needed that is not installed. The text says which extra of runwire brings it."""

    code: ClassVar[str] = "extra-missing"


class LinkLost(RunwireError):
    """The connection to Redis was lost. Whether the last command ran is unknown."""

    code: ClassVar[str] = "link-lost"


class PublishError(RunwireError):
    """A record could not be published."""

    code: ClassVar[str] = "publish-error"


class IdentityIncomplete(PublishError):
    """A stable src needs an epoch that its owner raises at each restart, an epoch needs a src: give both or none."""

    code: ClassVar[str] = "identity-incomplete"


class RecordInvalid(PublishError):
    """The enforcer would refuse this record, so it was not sent."""

    code: ClassVar[str] = "record-invalid"


class ChunkTooLarge(PublishError):
    """The body is over the limit, so it was not sent."""

    code: ClassVar[str] = "chunk-too-large"


class UnknownProvider(PublishError):
    """There is no adapter for this provider."""

    code: ClassVar[str] = "unknown-provider"


class ProviderUnclear(PublishError):
    """No event of the response tells whose it is. The text says what was seen, and the providers one can name."""

    code: ClassVar[str] = "provider-unclear"


class BackPressure(PublishError):
    """The enforcer is too far behind, or the server's memory is full, for longer than the deadline.

    `partition` is the one that takes no more, `lag` the number of its unread records if that is the reason.
    What had been accepted before is kept and still tried; a record that found no room was not taken at all.
    """

    code: ClassVar[str] = "back-pressure"

    def __init__(self, message: str | None = None, *, partition: int | None = None, lag: int | None = None) -> None:
        super().__init__(message)
        self.partition = partition
        self.lag = lag


class PublishTimeout(PublishError):
    """The server did not take the records before the deadline. They are kept and still tried."""

    code: ClassVar[str] = "publish-timeout"


class PublishRefused(PublishError):
    """The server will not take these records, now or later. An operator has to act."""

    code: ClassVar[str] = "publish-refused"


class ProducerBroken(PublishError):
    """An earlier record of this run could not be published. What follows is refused, else the run would have a hole."""

    code: ClassVar[str] = "producer-broken"


class ProducerClosed(PublishError):
    """The producer was closed. What it had accepted before was flushed or reported."""

    code: ClassVar[str] = "producer-closed"


class ReadError(RunwireError):
    """A run could not be read."""

    code: ClassVar[str] = "read-error"


class CursorInvalid(ReadError):
    """The cursor is neither `<seq>` nor `<attempt>.<seq>`."""

    code: ClassVar[str] = "cursor-invalid"


class CursorAhead(ReadError):
    """You have seen more of this run than Redis kept. What lies behind the cursor was lost with the server's data."""

    code: ClassVar[str] = "cursor-ahead"


class LogExpired(ReadError):
    """This run has ended and its log is no longer kept in Redis."""

    code: ClassVar[str] = "log-expired"


class RunUnknown(ReadError):
    """No such run appeared in the time that was waited for it."""

    code: ClassVar[str] = "run-unknown"


class Superseded(ReadError):
    """A newer attempt of this run exists. Read that from its start."""

    code: ClassVar[str] = "superseded"


class ReaderTooSlow(ReadError):
    """You read more slowly than the run is written, and the buffer is full. Resume after the last cursor you saw."""

    code: ClassVar[str] = "reader-too-slow"


class LogDamaged(ReadError):
    """The log holds something that is no chunk of this run. Somebody else wrote into it."""

    code: ClassVar[str] = "log-damaged"


class ReaderDisconnected(ReadError):
    """The server did not come back in time. Resume after the last cursor you saw."""

    code: ClassVar[str] = "reader-disconnected"


class ReaderClosed(ReadError):
    """The reader was closed."""

    code: ClassVar[str] = "reader-closed"

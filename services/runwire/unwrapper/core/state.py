"""What is remembered of a run whose log is unwrapped, and its bytes. Bounded: see `Limits`."""

from typing import Final

import msgspec

from runwire.unwrapper.core.child import Child
from runwire_schemas.errors import RunwireError

STATE_VERSION: Final = 1


class NestUnreadable(RunwireError):
    """An unwrapper's state was written by another version of Runwire: upgrade this process, or stop the newer one."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of one run. What goes over one stays wrapped in its parent's log, which has all of it anyway."""

    # The contract's: a chain of runs, the root included.
    depth: int = 16
    # All of a run, ended ones included: what is kept of each is some 150 bytes.
    children: int = 10_000
    # Neither ended nor forgotten: the state that every commit writes holds them, and the contract bounds live tasks so.
    open_children: int = 1024
    # A record of a child is an agent chunk.
    chunk_bytes: int = 8 * 2**20
    # A child's first record carries its whole path.
    key_bytes: int = 1024
    live_tasks: int = 1024
    running_steps: int = 1024


class Above(msgspec.Struct, array_like=True):
    """A run above, and the wrapper that the next one came in."""

    run_id: str
    wrapper: str
    key: str


class Nest(msgspec.Struct, array_like=True):
    """One attempt of a run.

    `seq` is the last chunk that changed anything. `channels` holds the child that each last opened, `tasks` the channel
    of each live background task, `steps` the ids of a workflow's running steps. `complaints` count by code.
    """

    version: int = STATE_VERSION
    attempt: int = 1
    seq: int = 0
    path: list[Above] = msgspec.field(default_factory=list[Above])
    children: int = 0
    closed: int = 0
    open: dict[str, Child] = msgspec.field(default_factory=dict[str, Child])
    channels: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    tasks: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    steps: list[str] = msgspec.field(default_factory=list[str])
    agent_id: str | None = None
    workflow_id: str | None = None
    workflow: bool = False
    # JSON text, for sums of many steps may pass what msgpack's integers hold.
    usage: bytes = b"{}"
    reported: bool = False
    workflow_usage: bytes = b"{}"
    end: str = ""
    complaints: dict[str, int] = msgspec.field(default_factory=dict[str, int])


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Nest).decode
_version: Final = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


def dump(nest: Nest) -> bytes:
    """The state as versioned msgpack."""
    return _encode(nest)


def load(blob: bytes) -> Nest:
    """Raises NestUnreadable for a state of another version, msgspec.DecodeError for one that is damaged."""
    version = msgspec.msgpack.decode(_version(blob)[0], type=int)
    if version != STATE_VERSION:
        raise NestUnreadable(f"unwrapper state of version {version}; this process reads version {STATE_VERSION}")
    return _decode(blob)

"""Bodies of control records: what producers, the enforcer and operators say about a run as a whole."""

from typing import Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from runwire_schemas.raw import Failure
from runwire_schemas.record import UsageRule

Mode = Literal["agent-loop", "single-call"]
EndReason = Literal["stop", "error", "aborted", "suspended"]
Phase = Literal["gap", "ending", "suspend-mark", "call", "tools", "idle", "suspended", "task", "task-suspended"]


class Control(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="type"):
    """Base of the union; never sent itself."""


class Parent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Where a child run came from: `key` is the toolCallId, stepName or taskId of the wrapper that carried it."""

    run_id: str
    wrapper: str
    key: str


class RunStart(Control, frozen=True, kw_only=True, tag="run-start"):
    """First record of a run or leg. `usage` is the rule of every call that does not state its own.

    `continues` is the run whose background tasks this turn answers. Later in a run or leg it may only add ids.
    """

    mode: Mode | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET
    thread_id: str | UnsetType = UNSET
    resource_id: str | UnsetType = UNSET
    parent: Parent | UnsetType = UNSET
    continues: str | UnsetType = UNSET
    usage: UsageRule | UnsetType = UNSET


class RunEnd(Control, frozen=True, kw_only=True, tag="run-end"):
    """`failure` explains the reasons `error` and `aborted`."""

    reason: EndReason
    failure: Failure | UnsetType = UNSET


class Heartbeat(Control, frozen=True, kw_only=True, tag="heartbeat"):
    """The producer lives and will say more: the idle limits count from here."""


class Timeout(Control, frozen=True, kw_only=True, tag="timeout"):
    """Written by the enforcer only, so that time enters a run as a record.

    `after` is the stream id of the run's last record, for `gap` of the first parked one.
    """

    phase: Phase
    after: str


class Quarantine(Control, frozen=True, kw_only=True, tag="quarantine"):
    """Written by the enforcer only: the record with this stream id crashes its reader and must not be fed."""

    record: str


class Redrive(Control, frozen=True, kw_only=True, tag="redrive"):
    """Written by operators only: run everything again as a new attempt, some records left out or replaced.

    `drop` holds stream ids, `replace` maps stream ids to the body to feed instead.
    """

    drop: list[str] = []
    replace: dict[str, Raw] = {}


AnyControl = RunStart | RunEnd | Heartbeat | Timeout | Quarantine | Redrive

# From any other source these are `record-invalid`.
ENFORCER_ONLY: Final = (Timeout, Quarantine)
ADMIN_ONLY: Final = (Redrive,)

_decoder = msgspec.json.Decoder(AnyControl)


def decode(body: bytes) -> AnyControl:
    """Read a control body. Raises msgspec.DecodeError: its child ValidationError where the JSON is no control body."""
    return _decoder.decode(body)

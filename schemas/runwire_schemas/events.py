"""Typed run events: what the enforcer tells the rest of a platform through FastStream, at least once.

An event is published after the commit that made it true. A consumer recognizes a redelivery by (run, attempt, type).
"""

import msgspec

from runwire_schemas.control import Parent


class RunEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="type"):
    """What every run event carries. `record` is the stream id of the record that caused it."""

    run: str
    attempt: int = 1
    partition: int
    record: str


class RunOpened(RunEvent, frozen=True, kw_only=True, tag="run.opened"):
    """A run began. `parent` is the run that it is nested in, `continues` the one whose background tasks it answers."""

    agent_id: str | None = None
    thread_id: str | None = None
    resource_id: str | None = None
    mode: str
    parent: Parent | None = None
    continues: str | None = None


class RunEnded(RunEvent, frozen=True, kw_only=True, tag="run.ended"):
    """A run's log is complete: `finish` is chunk `seq`, `reason` its reason."""

    seq: int
    reason: str


class RunViolated(RunEvent, frozen=True, kw_only=True, tag="run.violated"):
    """A run broke the grammar and was ended; `run.ended` follows."""

    code: str
    message: str


AnyRunEvent = RunOpened | RunEnded | RunViolated

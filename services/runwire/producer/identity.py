"""Who publishes: a source and its epoch, and the next sequence number of each run it writes."""

import os
import re
import secrets
import socket
from collections.abc import Callable
from typing import Final, NamedTuple, cast

import msgspec

from runwire.errors import IdentityIncomplete, RecordInvalid
from runwire.producer.packing import Template
from runwire_schemas.record import Kind, Malformed, Record, UsageRule, parse

# A run whose calls take turns uses one template per call; a run with hundreds of calls uses them one after the other.
_TEMPLATES: Final = 8


class Identity(NamedTuple):
    """A source. `stable` means that its owner chose the name and raises the epoch at each restart."""

    src: str
    epoch: int
    stable: bool


def identity(src: str | None, epoch: int | None) -> Identity:
    """The identity of a producer: random for a process, or the given one. Raises IdentityIncomplete, RecordInvalid."""
    if src is None:
        if epoch:
            raise IdentityIncomplete(f"epoch {epoch} was given without a src. Give both or none.")
        return Identity(random_src(), 0, stable=False)
    if epoch is None:
        raise IdentityIncomplete(
            f"src {src!r} was given without an epoch: after a restart its records would be taken for duplicates. "
            "Raise the epoch at each restart, or leave both out."
        )
    judge(Record(id="0-1", run="-", kind="control", src=src, epoch=epoch, seq=1, body=b""))
    if src.startswith("~"):
        raise RecordInvalid(f"src {src!r} begins with ~, which is reserved.")
    return Identity(src, epoch, stable=True)


def random_src() -> str:
    """A name that no other process has or will have: `<host>-<pid>-<random>`."""
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())[:64]
    return f"{host or 'host'}-{os.getpid()}-{secrets.token_hex(6)}"


def judge(record: Record) -> Record:
    """Ask the enforcer's own judge, so that nobody learns of a bad name from evidence. Raises RecordInvalid."""
    values = {
        "run": record.run,
        "src": record.src,
        "epoch": record.epoch,
        "seq": record.seq,
        "kind": record.kind,
        "call": record.call,
        "usage": record.usage,
        "traceparent": record.traceparent,
        "body": record.body,
    }
    fields: list[bytes] = []
    for name, value in values.items():
        if value is not None:
            fields += (name.encode(), value if isinstance(value, bytes) else _encoded(name, value))
    judged = parse(b"0-1", fields)
    if isinstance(judged, Malformed):
        raise RecordInvalid(f"The enforcer would refuse this record: {judged.reason}.")
    return judged


def _encoded(name: str, value: object) -> bytes:
    try:
        return str(value).encode()
    except UnicodeEncodeError:
        raise RecordInvalid(f"{name} {value!r} is not Unicode text: it has an unpaired surrogate.") from None


class RunState:
    """What a producer knows of a run: its source, the last sequence number used, and whether it has a hole."""

    __slots__ = ("broken", "epoch", "ordinal", "partition", "run_id", "seq", "src", "templates", "users")

    def __init__(self, run_id: str, src: str, epoch: int, partition: int) -> None:
        self.run_id = run_id
        self.src = src
        self.epoch = epoch
        self.partition = partition
        self.seq = 0
        self.ordinal = 0
        self.users = 0
        self.broken: BaseException | None = None
        self.templates: dict[tuple[Kind, str | None, UsageRule | None, str | None], Template] = {}

    def template(
        self, key: str, kind: Kind, call: str | None, usage: UsageRule | None, traceparent: str | None
    ) -> Template:
        """The template of such records; new ones are judged. Raises RecordInvalid."""
        shape = (kind, call, usage, traceparent)
        if known := self.templates.get(shape):
            return known
        record = judge(
            Record(
                id="0-1",
                run=self.run_id,
                kind=kind,
                src=self.src,
                epoch=self.epoch,
                seq=1,
                body=b"",
                call=call,
                usage=usage,
                traceparent=traceparent,
            )
        )
        if len(self.templates) >= _TEMPLATES:
            self.templates.clear()
        template = self.templates[shape] = Template(key, msgspec.structs.replace(record, ts=0))
        return template


class Registry:
    """The runs of a producer, remembered so that a run that is opened again goes on with its next number.

    A random source forgets the runs nobody has open once there are `limit` of them, and takes a new name at the same
    time: a forgotten run that comes back is then written by a new source from 1, instead of being taken for
    duplicates. A stable source may not change its name and remembers every run: about 300 bytes each.
    """

    def __init__(self, who: Identity, limit: int, partition_of: Callable[[str], int]) -> None:
        self.who = who
        self._limit = limit
        self._partition_of = partition_of
        self._runs: dict[str, RunState] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def open(self, run_id: str) -> RunState:
        """The state of this run, made if need be; it is kept at least until it is closed as often as opened."""
        if not isinstance(cast("object", run_id), str):
            raise RecordInvalid(f"The run id {run_id!r} is {type(run_id).__name__}, not text.")
        state = self._runs.get(run_id)
        if state is None:
            if len(self._runs) >= self._limit and not self.who.stable:
                self._forget()
            who = self.who
            judge(Record(id="0-1", run=run_id, kind="control", src=who.src, epoch=who.epoch, seq=1, body=b""))
            state = self._runs[run_id] = RunState(run_id, who.src, who.epoch, self._partition_of(run_id))
        state.users += 1
        return state

    def close(self, state: RunState) -> None:
        """One context of the run was left."""
        state.users -= 1
        if state.users == 0:
            state.templates.clear()

    def break_runs(self, run_ids: frozenset[str], reason: BaseException) -> None:
        """These runs have a hole: nothing may follow it."""
        for run_id in run_ids:
            if state := self._runs.get(run_id):
                state.broken = state.broken or reason

    def _forget(self) -> None:
        # A broken run must stay broken, so it is remembered; there are few of them.
        kept = {name: state for name, state in self._runs.items() if state.users or state.broken}
        if len(kept) < len(self._runs):
            self._runs = kept
            self.who = self.who._replace(src=random_src())

"""A record: what a producer writes into a partition's raw stream. One record carries one raw or agent chunk.

On the wire a record is a stream entry whose fields are named as below; `body` is the JSON exactly as produced.
Unknown fields are ignored, so that a later producer may add some.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec

Kind = Literal["provider", "agent", "control"]
UsageRule = Literal["required", "optional"]

_T = TypeVar("_T")

WIRE_VERSION = 1
ENFORCER_SRC = "~enforcer"
ADMIN_SRC = "~admin"
UNWRAP_SRC = "~unwrap:"

MAX_NAME_BYTES: Final = 256
# The machine remembers the last 64 call ids of a run, so an id without a bound would make its state unbounded.
MAX_CALL_BYTES: Final = 1024
# Numbers travel on in msgpack and Lua, and 19 digits is the length of 2^63 - 1.
MAX_INT: Final = 2**63 - 1
MAX_INT_DIGITS: Final = 19
MAX_SHOWN: Final = 64


# Not kw_only: positional construction is a third of parse's time.
class Record(msgspec.Struct, frozen=True, gc=False):
    """One well-formed record. `id` is its stream id, `<ms>-<n>`: its place in the partition.

    Records of the enforcer are not sequence-checked: their epoch and seq are 0. `ts` is the producer's clock in
    milliseconds since 1970, `traceparent` a W3C trace context.
    """

    id: str
    run: str
    kind: Kind
    src: str
    epoch: int
    seq: int
    body: bytes
    call: str | None = None
    usage: UsageRule | None = None
    ts: int | None = None
    traceparent: str | None = None


class Malformed(NamedTuple):
    """An entry that is no record. It is refused with `record-invalid`; what could be read of it is kept.

    `run` and `src` are None unless they are well formed, so nothing is filed under a name that nobody may use.
    """

    id: str
    reason: str
    run: str | None
    src: str | None
    epoch: int | None
    seq: int | None
    body: bytes


class _UnfitError(ValueError):
    """A field that is not as the contract wants it; its text becomes the reason of a Malformed."""


_FIELDS: Final = (b"run", b"src", b"epoch", b"seq", b"kind", b"call", b"usage", b"ts", b"traceparent", b"body")
_KINDS: Final[dict[bytes | None, Kind]] = {b"provider": "provider", b"agent": "agent", b"control": "control"}
_USAGES: Final[dict[bytes, UsageRule]] = {b"required": "required", b"optional": "optional"}


class _Layout(NamedTuple):
    """Where the values of one order of field names lie. A producer uses one or two of them, so they are remembered."""

    values: Callable[[tuple[bytes | None, ...]], tuple[Any, ...]]
    problem: str | None


# Names repeat from record to record. Remembering those that passed saves the checks, and gives equal runs the same
# string object with its hash computed. The caches never change an answer: they are cleared when full.
_CACHE_LIMIT: Final = 8192
_layouts: dict[tuple[bytes, ...], _Layout] = {}
_names: dict[bytes | None, str] = {}
_calls: dict[bytes | None, str] = {}
_epochs: dict[bytes | None, int] = {}


def parse(entry_id: bytes, fields: list[bytes]) -> Record | Malformed:  # long: a call would cost more than its work
    """Read a stream entry (its flat list of names and values, as Redis sends it). Never raises."""
    names = tuple(fields[::2])
    layout = _layouts.get(names) or _learn(names, len(fields))
    # Index -1 is where a layout looks for absent fields.
    values = layout.values((*fields, None))
    run, src, epoch, seq, kind, call, usage, ts, trace, body = values
    # The short way takes nearly every record and decides nothing: whatever it has not seen pass goes to the judge.
    if (
        (known_run := _names.get(run)) is None
        or (known_source := _names.get(src)) is None
        or ((known_call := _calls.get(call)) is None and (call is not None or kind == b"provider"))
        or (known_epoch := _epochs.get(epoch)) is None
        or not (seq and seq.isdigit() and len(seq) < MAX_INT_DIGITS and (number := int(seq)))
        or not (ts is None or (ts.isdigit() and len(ts) < MAX_INT_DIGITS))
        or (known_kind := _KINDS.get(kind)) is None
        or not (trace is None or trace.isascii())
        or usage is not None
        or body is None
        or layout.problem is not None
    ):
        return _judge(entry_id, layout.problem, values)
    return Record(
        entry_id.decode("latin-1"),
        known_run,
        known_kind,
        known_source,
        known_epoch,
        number,
        body,
        known_call,
        None,
        None if ts is None else int(ts),
        None if trace is None else trace.decode(),
    )


def fields_of(record: Record) -> list[bytes | str | int]:
    """The flat list of names and values that XADD takes; absent optional fields are left out."""
    fields: list[bytes | str | int] = ["run", record.run, "src", record.src]
    if record.src != ENFORCER_SRC:
        fields += ["epoch", record.epoch, "seq", record.seq]
    fields += ["kind", record.kind]
    for name, value in (
        ("call", record.call),
        ("usage", record.usage),
        ("ts", record.ts),
        ("traceparent", record.traceparent),
    ):
        if value is not None:
            fields += [name, value]
    fields += ["body", record.body]
    return fields


def _judge(entry_id: bytes, problem: str | None, values: tuple[bytes | None, ...]) -> Record | Malformed:
    """All rules of a record, in order. What passes is remembered for the short way."""
    run, src, epoch, seq, kind, call, usage, ts, trace, body = values
    try:
        _no(problem)
        source = _source(src)
        unnumbered = source == ENFORCER_SRC
        return Record(
            id=entry_id.decode("latin-1"),
            run=_run(run, source),
            kind=(known := _kind(kind, source)),
            src=source,
            epoch=0 if unnumbered else _epoch(epoch),
            seq=0 if unnumbered else _positive("seq", seq),
            body=_present("body", body),
            call=_call(call, known),
            usage=None if usage is None else _usage(usage),
            ts=None if ts is None else _integer("ts", ts),
            traceparent=None if trace is None else _text("traceparent", trace),
        )
    except _UnfitError as unfit:
        source_read = _attempt(lambda: _source(src))
        return Malformed(
            id=entry_id.decode("latin-1"),
            reason=str(unfit),
            run=_attempt(lambda: _run(run, source_read or "")),
            src=source_read,
            epoch=_attempt(lambda: _integer("epoch", epoch)),
            seq=_attempt(lambda: _positive("seq", seq)),
            body=body or b"",
        )


def _learn(names: tuple[bytes, ...], size: int) -> _Layout:
    problem = None
    if size % 2:
        problem = "the entry has a field without a value"
    twice = [name for name in _FIELDS if names.count(name) > 1]
    if twice:
        problem = f"the field {twice[0].decode()} appears more than once"
    # What stands twice is not read at all: nobody could say which of the two was meant.
    where = [names.index(name) * 2 + 1 if name in names and name not in twice else -1 for name in _FIELDS]
    layout = _Layout(itemgetter(*where), problem)
    _remember(_layouts, names, layout)
    return layout


def _remember(cache: dict[Any, Any], key: object, value: object) -> None:
    if len(cache) >= _CACHE_LIMIT:
        cache.clear()
    cache[key] = value


def _no(problem: str | None) -> None:
    if problem is not None:
        raise _UnfitError(problem)


def _present(field: str, value: bytes | None) -> bytes:
    if value is None:
        raise _UnfitError(f"the field {field} is missing")
    return value


def _kind(value: bytes | None, source: str) -> Kind:
    kind = _KINDS.get(value)
    if kind is None:
        raise _UnfitError(f"kind is {_shown(_present('kind', value))}, not provider, agent or control")
    if kind != "control" and source in (ENFORCER_SRC, ADMIN_SRC):
        raise _UnfitError(f"src {source} writes control records only, not kind {kind}")
    return kind


def _text(field: str, value: bytes | None) -> str:
    given = _present(field, value)
    try:
        return given.decode()
    except UnicodeDecodeError:
        raise _UnfitError(f"{field} is not UTF-8: {_shown(given)}") from None


def _name(field: str, value: bytes | None, limit: int = MAX_NAME_BYTES) -> str:
    text = _text(field, value)
    size = len(value or b"")
    if not 1 <= size <= limit:
        raise _UnfitError(f"{field} has {size} bytes, not 1 to {limit}")
    # Printable text has no control character; the rest is asked one by one (U+00AD is not printable, but legal).
    if not text.isprintable() and any(c < " " or "\x7f" <= c <= "\x9f" for c in text):
        raise _UnfitError(f"{field} has a control character: {_shown(value or b'')}")
    return text


def _source(value: bytes | None) -> str:
    if value is not None and value.startswith(UNWRAP_SRC.encode()):
        # The parent is a run id, so it may itself be as long as one.
        parent = _name("the parent in src", value.removeprefix(UNWRAP_SRC.encode()))
        return UNWRAP_SRC + parent
    name = _name("src", value)
    if name.startswith("~"):
        if name not in (ENFORCER_SRC, ADMIN_SRC):
            raise _UnfitError(f"src begins with ~, which is reserved: {_shown(value or b'')}")
        return name
    _remember(_names, value, name)
    return name


def _run(value: bytes | None, source: str) -> str:
    name = _name("run", value)
    if name.startswith("~"):
        # The enforcer's timeouts and an operator's commands reach child runs too.
        if not source.startswith("~"):
            raise _UnfitError(f"run begins with ~, which is reserved for the unwrapper: {_shown(value or b'')}")
        return name
    _remember(_names, value, name)
    return name


def _call(value: bytes | None, kind: Kind) -> str | None:
    if value is None:
        if kind == "provider":
            raise _UnfitError("a provider record names its call, and the field call is missing")
        return None
    if not 1 <= len(value) <= MAX_CALL_BYTES:
        raise _UnfitError(f"call has {len(value)} bytes, not 1 to {MAX_CALL_BYTES}")
    text = _text("call", value)
    _remember(_calls, value, text)
    return text


def _usage(value: bytes) -> UsageRule:
    if value not in _USAGES:
        raise _UnfitError(f"usage is {_shown(value)}, not required or optional")
    return _USAGES[value]


def _integer(field: str, value: bytes | None) -> int:
    given = _present(field, value)
    # int() alone would also take "+1", " 1" and "1_0".
    if not given.isdigit() or len(given) > MAX_INT_DIGITS or (number := int(given)) > MAX_INT:
        raise _UnfitError(f"{field} is {_shown(given)}, not an integer from 0 below 2^63")
    return number


def _epoch(value: bytes | None) -> int:
    number = _integer("epoch", value)
    _remember(_epochs, value, number)
    return number


def _positive(field: str, value: bytes | None) -> int:
    number = _integer(field, value)
    if number == 0:
        raise _UnfitError(f"{field} is 0, but counts from 1")
    return number


def _shown(value: bytes) -> str:
    """A bounded picture of a value that somebody may have made large on purpose."""
    return repr(value[:MAX_SHOWN])[1:] + ("…" if len(value) > MAX_SHOWN else "")


def _attempt(read: Callable[[], _T]) -> _T | None:
    try:
        return read()
    except _UnfitError:
        return None

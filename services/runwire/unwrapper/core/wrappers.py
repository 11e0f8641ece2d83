"""What wraps an inner value, and what makes that value a chunk of another run."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar, get_args

import msgspec
from msgspec import Raw

from runwire_schemas.chunks import DATA_PREFIX, is_known
from runwire_schemas.chunks.base import ChunkFrom

_T = TypeVar("_T")

SENDERS: Final = frozenset(get_args(ChunkFrom))
TASK_WRAPPER: Final = "background-task-output"
_TOOL: Final = "tool-output"
# Type -> what is answered when its outputs are over: a tool call, or a workflow's step.
_KEYED: Final[Mapping[str, str]] = {
    _TOOL: "call",
    "step-output": "step",
    "workflow-step-output": "step",
    TASK_WRAPPER: "call",
}
# An event's payload is the inner chunk itself, and the type goes on with the inner one's.
_FAMILIES: Final = ("agent-execution", "workflow-execution")
_EVENT: Final = "-event-"


class Inner(NamedTuple):
    """A chunk in a wrapper. Without an envelope of its own `addressed` is False: then it is for whoever came last."""

    type: str
    run_id: str | None
    addressed: bool
    body: bytes


class Output(NamedTuple):
    """An opened wrapper. `key` says where it came from, `channel` what ends it when it is answered.

    `inner` is None for plain data, which stays where it is; `twin` means that the same content came before.
    """

    wrapper: str
    key: str
    channel: str
    inner: Inner | None
    twin: bool


class _Payload(msgspec.Struct, rename="camel"):
    output: Raw = Raw(b"null")
    payload: Raw = Raw(b"null")
    tool_call_id: Any = None
    step_name: Any = None
    task_id: Any = None


class _Keyed(msgspec.Struct, rename="camel"):
    payload: _Payload
    run_id: Any = None
    metadata: Raw = Raw(b"null")


class _Event(msgspec.Struct):
    payload: Raw = Raw(b"null")
    metadata: Raw = Raw(b"null")


class _Metadata(msgspec.Struct, rename="camel"):
    twin_of: int | None = None


class _Head(msgspec.Struct, rename="camel"):
    type: Any = None
    run_id: Any = None
    from_: Any = msgspec.field(name="from", default=None)
    payload: Raw = Raw(b"null")


_keyed: Final = msgspec.json.Decoder(_Keyed)
_event: Final = msgspec.json.Decoder(_Event)
_payload: Final = msgspec.json.Decoder(_Payload)
_metadata: Final = msgspec.json.Decoder(_Metadata)
_head: Final = msgspec.json.Decoder(_Head)


def wrapper_of(chunk_type: str) -> str | None:
    """The wrapper's name: its type, or the family of an event. None for what wraps nothing."""
    if chunk_type in _KEYED:
        return chunk_type
    family, event, _ = chunk_type.partition(_EVENT)
    return f"{family}{_EVENT}"[:-1] if event and family in _FAMILIES else None


def channel(kind: str, name: str) -> str:
    """What an answer names: a tool call, a workflow's step, or a family of a network's executions."""
    return f"{kind}:{name}"


def opened(wrapper: str, chunk: str) -> Output | None:
    """The output of a wrapper's chunk; None if it cannot be read at all."""
    kind = _KEYED.get(wrapper)
    if kind is None:
        return _opened_event(wrapper, chunk)
    whole = read(_keyed, chunk)
    if whole is None:
        return None
    payload, twin = whole.payload, _twin(whole.metadata)
    if wrapper == TASK_WRAPPER:
        key, call = text_of(payload.task_id) or wrapper, text_of(payload.tool_call_id)
        return Output(wrapper, key, channel("call", call or key), _of_task(payload.payload, whole.run_id), twin)
    key = text_of(payload.tool_call_id if kind == "call" else payload.step_name) or wrapper
    return Output(wrapper, key, channel(kind, key), inner_of(payload.output), twin)


def _opened_event(wrapper: str, chunk: str) -> Output | None:
    """A network names no key of its own: one execution of a kind runs at a time."""
    whole = read(_event, chunk)
    if whole is None:
        return None
    family = wrapper.removesuffix(_EVENT[:-1])
    return Output(wrapper, family, channel("execution", family), inner_of(whole.payload), _twin(whole.metadata))


def inner_of(value: Raw) -> Inner | None:
    """The chunk that this value is; None for plain data."""
    head = read(_head, value)
    if head is None or not isinstance(head.type, str):
        return None
    run_id = head.run_id if isinstance(head.run_id, str) else None
    if run_id is not None and isinstance(head.from_, str) and head.from_ in SENDERS:
        return Inner(head.type, run_id, addressed=True, body=bytes(value))
    if is_known(head.type) and not head.type.startswith(DATA_PREFIX):
        return Inner(head.type, run_id, addressed=False, body=bytes(value))
    return None


def text_of(value: object) -> str:
    """A string; "" for anything else."""
    return value if isinstance(value, str) else ""


def read(decoder: "msgspec.json.Decoder[_T]", data: Raw | str | bytes) -> _T | None:
    """Decode; None for what is no such JSON, or nested more deeply than any enforcer lets through."""
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _of_task(value: Raw, own: Any) -> Inner | None:
    """What a task's output holds. A tool's output of the same run is opened at once; what else is of it stays there."""
    head = read(_head, value)
    if head is not None and head.type == _TOOL and head.run_id in (None, own):
        return inner_of((read(_payload, head.payload) or _Payload()).output)
    inner = inner_of(value)
    return None if inner is not None and inner.run_id == own else inner


def _twin(metadata: Raw) -> bool:
    if b"twinOf" not in bytes(metadata):
        return False
    found = read(_metadata, metadata)
    return found is not None and found.twin_of is not None

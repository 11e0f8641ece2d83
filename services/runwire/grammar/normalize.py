"""The bytes of chunks: compact JSON with the keys in the contract's order, opaque parts as they were spelled."""

from typing import Final

import msgspec

from runwire.grammar.jsontext import compact
from runwire.grammar.state import State, Word
from runwire_schemas.raw import Failure, ImageBlock, ToolResultBlock

_text = msgspec.json.Encoder().encode

EMPTY: Final = b"{}"
_MESSAGES: Final = b'{"all":[],"user":[],"nonUser":[]}'
_START_TAIL: Final = b',"request":{},"warnings":[]}'


def text(value: str) -> bytes:
    """A JSON string."""
    return _text(value)


def obj(*pairs: tuple[str, bytes | None]) -> bytes:
    """A JSON object of already encoded values; None leaves a key out."""
    return b"{" + b",".join(b'"%s":%s' % (key.encode(), value) for key, value in pairs if value is not None) + b"}"


def opt(value: str | bool | None) -> bytes | None:  # noqa: FBT001 - a JSON value
    return None if value is None else _text(value)


def opaque(raw: msgspec.Raw | msgspec.UnsetType) -> bytes | None:
    """Opaque JSON without its white space; null counts as absent."""
    if isinstance(raw, msgspec.UnsetType):
        return None
    data = compact(bytes(raw))
    return None if data == b"null" else data


def envelope(type_: str, run_id: str, sender: str = "AGENT", content: str = "payload") -> bytes:
    """A chunk up to its payload, or up to its data."""
    names = type_.encode(), text(run_id), sender.encode(), content.encode()
    return b'{"type":"%s","runId":%s,"from":"%s","%s":' % names


def metadata(google: bytes | None, runwire: bytes | None) -> bytes | None:
    """`providerMetadata`, absent when there is nothing to say."""
    return None if google is None and runwire is None else obj(("google", google), ("runwire", runwire))


def wire_name(name: str | None) -> bytes | None:
    return None if name is None else obj(("providerWireName", text(name)))


def start(state: State) -> bytes:
    return obj(
        ("agentId", opt(state.agent_id)), ("threadId", opt(state.thread_id)), ("resourceId", opt(state.resource_id))
    )


def step_start(message_id: str) -> bytes:
    return b'{"messageId":' + text(message_id) + _START_TAIL


def _result(reason: Word, raw: str | None, *, continued: bool) -> bytes:
    return obj(
        ("reason", text(reason)),
        ("rawReason", opt(raw)),
        ("isContinued", b"true" if continued else b"false"),
        ("warnings", b"[]"),
    )


def step_finish(
    message_id: str,
    reason: Word,
    raw: str | None,
    *,
    continued: bool,
    usage: bytes,
    total: bytes,
    failure: Failure | None,
) -> bytes:
    return obj(
        ("messageId", text(message_id)),
        ("stepResult", _result(reason, raw, continued=continued)),
        ("output", obj(("usage", usage))),
        ("totalUsage", total),
        ("metadata", EMPTY if failure is None else obj(("failure", failed(failure)))),
    )


def finish(reason: Word, raw: str | None, total: bytes) -> bytes:
    return obj(
        ("stepResult", _result(reason, raw, continued=False)),
        ("output", obj(("usage", total))),
        ("metadata", EMPTY),
        ("messages", _MESSAGES),
    )


def failed(failure: Failure) -> bytes:
    return msgspec.json.encode(failure)


def reasoning_end(block_id: bytes, signature: str | None, redacted: str | None) -> bytes:
    extra = None if redacted is None else obj(("redacted", text(redacted)))
    return obj(("id", block_id), ("signature", opt(signature)), ("providerMetadata", metadata(None, extra)))


def tool_start(out: str, name: str, executed: bool | None, meta: bytes | None) -> bytes:  # noqa: FBT001 - a JSON value
    return obj(
        ("toolCallId", text(out)),
        ("toolName", text(name)),
        ("providerExecuted", opt(executed)),
        ("providerMetadata", meta),
    )


def tool_delta(delta: str, out: str, name: str, meta: bytes | None) -> bytes:
    return obj(
        ("argsTextDelta", text(delta)),
        ("toolCallId", text(out)),
        ("toolName", text(name)),
        ("providerMetadata", meta),
    )


def tool_end(out: str) -> bytes:
    return obj(("toolCallId", text(out)))


def tool_call(out: str, name: str, args: bytes, executed: bool | None, meta: bytes | None) -> bytes:  # noqa: FBT001
    return obj(
        ("toolCallId", text(out)),
        ("toolName", text(name)),
        ("args", args),
        ("providerExecuted", opt(executed)),
        ("providerMetadata", meta),
    )


def tool_result(out: str, name: str, block: ToolResultBlock, *, orphan: bool) -> bytes:
    return obj(
        ("toolCallId", text(out)),
        ("toolName", text(name)),
        ("result", compact(bytes(block.content))),
        ("isError", opt(block.is_error is True)),
        ("providerExecuted", b"true"),
        ("metadata", b'{"orphan":true}' if orphan else None),
    )


def tool_error(out: str, name: str, code: str, message: str, args: str | None) -> bytes:
    error = obj(("code", text(code)), ("message", text(message)), ("argsText", opt(args)))
    return obj(("toolCallId", text(out)), ("toolName", text(name)), ("error", error))


def file(block: ImageBlock) -> bytes:
    if block.data is not None:
        data, base64 = block.data, block.data
    elif block.url is not None:
        data, base64 = block.url, None
    else:
        data, base64 = f"sha256:{block.sha256}", None
    return obj(("mimeType", text(block.media_type)), ("data", text(data)), ("base64", opt(base64)))


def error(**fields: str) -> bytes:
    """The payload of a made `error` chunk."""
    return obj(("error", obj(*((key, text(value)) for key, value in fields.items()))))

"""Files of provider bytes, raw chunks or records as the records of one run. Shared by `check` and `publish`.

Everything streams: memory does not grow with the file.
"""

import base64
import binascii
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

import msgspec

from runwire.cli.failures import CommandError, FileUnreadable, NotJson, ProviderUnclear, say
from runwire_schemas.record import ENFORCER_SRC, Kind, UsageRule

if TYPE_CHECKING:
    from runwire.adapters import Adapter

RAW: Final = "raw"
RECORD: Final = "record"
CALL: Final = "1"
READ_BYTES: Final = 64 * 1024
# How much of a file may be looked at to tell its provider: longer than the first event of every recorded stream.
PEEK_BYTES: Final = 256 * 1024

_RAW_TYPES: Final = frozenset(
    {"block-start", "text-delta", "thinking-delta", "tool-call-delta", "block-end", "usage", "finish"}
)


class Event(NamedTuple):
    """One record to be: `line` is its place in the file, `usage` what its call declares about usage."""

    line: int
    kind: Kind
    body: bytes
    usage: UsageRule


class _Line(msgspec.Struct):
    """A line of a `record` file. Values stay as written: the record parser is the only judge of them."""

    kind: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    call: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    usage: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    ts: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    traceparent: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    src: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    epoch: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    seq: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    body: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    body_base64: str | msgspec.UnsetType | None = msgspec.UNSET


# Not `Raw | None`: msgspec then decodes nothing but null.
_NULL: Final = msgspec.Raw(b"null")

_decode_line = msgspec.json.Decoder(_Line).decode
_decode_any = msgspec.json.Decoder(msgspec.Raw).decode
_decode_text = msgspec.json.Decoder(str).decode


@contextmanager
def opened(file: str) -> Generator[BinaryIO]:
    """The file for reading, `-` is stdin. Errors of opening and of reading become FileUnreadable."""
    try:
        if file == "-":
            yield sys.stdin.buffer
            return
        with Path(file).open("rb") as stream:
            yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileUnreadable(f"cannot read {file}: {error.strerror or error}") from error


def run_id_of(file: str) -> str:
    """The run id that a file gives its run: its stem."""
    return "stdin" if file == "-" else Path(file).stem


def named(name: str) -> str:
    """A name as text: bytes of a file's name that are no UTF-8 are replaced."""
    return os.fsencode(name).decode(errors="replace")


def known(provider: str) -> None:
    """Raises UnknownProvider, which lists what there is."""
    from runwire.adapters import PROVIDERS, UnknownProvider

    names = (*PROVIDERS, RAW, RECORD)
    if provider not in names:
        raise UnknownProvider(f"unknown provider {provider!r}; known are {', '.join(names)}")


def remark(file: str, provider: str) -> None:
    """Say so if a file looks like another provider's: the wrong adapter finds nothing in it, which is no violation."""
    # A pipe can be read only once.
    if not Path(file).is_file():
        return
    with suppress(ProviderUnclear):
        if (seen := provider_of(file)) != provider:
            say(f"runwire: {named(file)} looks like {seen}, and is read as {provider}")


def events(stream: BinaryIO, provider: str, choice: int) -> Iterator[Event]:
    """The records of one call: `provider` is an adapter's name. A body that is cut off ends as aborted.

    Raises UnknownProvider, which lists the adapters, before anything is read.
    """
    from runwire.adapters import adapter

    return _adapted(stream, adapter(provider, choice=choice))


def _raw_events(stream: BinaryIO) -> Iterator[Event]:
    """The lines as they are: what a file leaves unfinished stays so."""
    for number, line in _lines(stream):
        yield Event(number, "provider", line, "required")


def _adapted(stream: BinaryIO, wire: "Adapter") -> Iterator[Event]:
    usage = wire.usage
    numbers = count(1)
    for data in iter(lambda: read_some(stream), b""):
        for emitted in wire.feed(data):
            yield Event(next(numbers), emitted.kind, emitted.body, usage)
    for emitted in wire.close():
        yield Event(next(numbers), emitted.kind, emitted.body, usage)


def read_some(stream: BinaryIO) -> bytes:
    """What is there, at most 64 KiB; empty at the end. A pipe's bytes are passed on as they come."""
    read1 = getattr(stream, "read1", stream.read)
    return bytes(read1(READ_BYTES))


def entries(
    stream: BinaryIO, file: str, run_id: str, provider: str, choice: int
) -> Iterator[tuple[bytes, list[bytes]]]:
    """The records as stream entries (id, flat fields) for the record parser: every provider name, `record` included."""
    if provider == RECORD:
        yield from _record_entries(stream, file, run_id)
        return
    head = [b"run", run_id.encode(errors="surrogateescape"), b"src", b"check", b"epoch", b"0", b"seq"]
    declared = False
    found = _raw_events(stream) if provider == RAW else events(stream, provider, choice)
    for seq, event in enumerate(found, 1):
        fields = [*head, b"%d" % seq, b"kind", event.kind.encode(), b"call", CALL.encode(), b"body", event.body]
        if not declared:
            fields += [b"usage", event.usage.encode()]
            declared = True
        yield b"%d" % event.line, fields


def _record_entries(stream: BinaryIO, file: str, run_id: str) -> Iterator[tuple[bytes, list[bytes]]]:
    run = run_id.encode(errors="surrogateescape")
    newest: dict[tuple[bytes, bytes], int] = {}
    for number, text in _lines(stream):
        try:
            line = _decode_line(text)
            body = _body(line)
        except (msgspec.DecodeError, UnicodeDecodeError, binascii.Error) as error:
            raise NotJson(f"{file}: line {number} is no record: {error}") from error
        except RecursionError as error:
            raise NotJson(f"{file}: line {number} is nested too deeply to be read", "give body_base64") from error
        src = b"check" if (named := _field(line.src)) is None else named
        fields = [b"run", run, b"src", src, *_numbers(line, src, newest)]
        for name in ("kind", "call", "usage", "ts", "traceparent"):
            if (value := _field(getattr(line, name))) is not None:
                fields += [name.encode(), value]
        yield b"%d" % number, fields if body is None else [*fields, b"body", body]


def _numbers(line: _Line, src: bytes, newest: dict[tuple[bytes, bytes], int]) -> list[bytes]:
    """`epoch` and `seq` of a line; what the line leaves out is 0 and the next one of its source and epoch."""
    epoch, seq = _field(line.epoch), _field(line.seq)
    if src == ENFORCER_SRC.encode() and epoch is None and seq is None:
        return []
    epoch = b"0" if epoch is None else epoch
    last = newest.get((src, epoch), 0)
    seq = b"%d" % (last + 1) if seq is None else seq
    if seq.isdigit():
        newest[src, epoch] = max(last, int(seq))
    return [b"epoch", epoch, b"seq", seq]


def _body(line: _Line) -> bytes | None:
    if isinstance(line.body_base64, str):
        return base64.b64decode(line.body_base64, validate=True)
    return None if line.body is msgspec.UNSET else bytes(line.body)


def _field(value: msgspec.Raw | msgspec.UnsetType) -> bytes | None:
    """A JSON string as its text, any other value as it is written; null is absent, for many encoders write it so."""
    raw = b"null" if isinstance(value, msgspec.UnsetType) else bytes(value)
    if raw == b"null":
        return None
    return _decode_text(raw).encode() if raw.startswith(b'"') else raw


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1."""
    for number, line in enumerate(stream, 1):
        if stripped := line.strip(b" \t\r\n"):
            yield number, stripped


def provider_of(file: str) -> str:
    """Tell the provider of a file from its first JSON object. Raises ProviderUnclear, FileUnreadable."""
    if file == "-":
        raise CommandError("stdin has no provider of its own", "say which with --provider")
    with opened(file) as stream:
        head = stream.read(PEEK_BYTES)
    for line in head.splitlines():
        text = line.removeprefix(b"data:").strip(b" \t[,")
        if text.startswith(b"{") and (found := _provider_of_object(text)):
            return found
    raise ProviderUnclear(f"cannot tell the provider of {file}", "say which with --provider")


class _Peek(msgspec.Struct):
    type: msgspec.Raw = _NULL
    kind: msgspec.Raw = _NULL
    choices: msgspec.Raw = _NULL


def _provider_of_object(text: bytes) -> str | None:
    try:
        seen = msgspec.json.decode(text.rstrip(b",] \t"), type=_Peek)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    kind = bytes(seen.type).strip(b'"').decode(errors="replace")
    if bytes(seen.choices).startswith(b"["):
        return "openai-chat"
    if kind in {"ping", "message_start", "message_delta", "message_stop"} or kind.startswith("content_block_"):
        return "anthropic"
    if kind in _RAW_TYPES:
        return RAW
    return RECORD if seen.kind is not _NULL else None

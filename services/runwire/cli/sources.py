"""Files of provider bytes, raw chunks or records as the records of runs. Shared by `check` and `publish`.

Everything streams: memory does not grow with the file.
"""

import base64
import binascii
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, NamedTuple, TypeVar

import msgspec

from runwire.cli.failures import FileUnreadable, NotJson, is_full
from runwire_schemas.record import ENFORCER_SRC, Kind, UsageRule

if TYPE_CHECKING:
    from runwire.adapters import Adapter, Auto, Choices, Chosen, Framing
    from runwire.adapters.auto import Reads

T = TypeVar("T")

RAW: Final = "raw"
RECORD: Final = "record"
CALL: Final = "1"
READ_BYTES: Final = 64 * 1024

# Which of several answers: one, or every one as a run of its own.
Choice = int | Literal["all"]


class Event(NamedTuple):
    """One record to be: `line` is its place in its run, `usage` what its call declares about usage."""

    line: int
    kind: Kind
    body: bytes
    usage: UsageRule
    choice: int = 0


class Options(NamedTuple):
    """How a body is framed, if somebody knows, and what to do with `<think>` tags: see `runwire.adapters.adapter`."""

    framing: "Framing | None" = None
    think: bool | None = None


# A stream entry: its id, and its fields as names and values in turn.
Entry = tuple[bytes, list[bytes]]
PLAIN: Final = Options()


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
        # Output is written while a file is read, too.
        if is_full(error):
            raise
        raise FileUnreadable(f"cannot read {file}: {error.strerror or error}") from error


def run_id_of(file: str) -> str:
    """The run id that a file gives its run: its stem."""
    return "stdin" if file == "-" else Path(file).stem


def named(name: str) -> str:
    """A name as text: bytes of a file's name that are no UTF-8 are replaced."""
    return os.fsencode(name).decode(errors="replace")


def events(stream: BinaryIO, provider: str, choice: Choice, options: Options = PLAIN) -> Iterator[Event]:
    """The records of one response's calls: `provider` is an adapter's name. A body that is cut off ends as aborted.

    Raises UnknownProvider, which lists the adapters, before anything is read.
    """
    from runwire.adapters import adapter, choices

    framing, think = options
    if choice == "all":
        return _several(stream, choices(provider, framing=framing, think=think))
    return _one(stream, adapter(provider, choice=choice, framing=framing, think=think))


def _raw_events(stream: BinaryIO, framing: "Framing | None") -> Iterator[Event]:
    """Raw chunks as they are, one a line unless they are framed otherwise: what a file leaves unfinished stays so."""
    if framing in (None, "ndjson"):
        return (Event(number, "provider", line, "required") for number, line in _lines(stream))
    from runwire.adapters.rawchunks import RawChunks

    return _one(stream, RawChunks(framing, ends=False))


def _one(stream: BinaryIO, wire: "Adapter") -> Iterator[Event]:
    for line, (kind, body) in enumerate(_through(stream, wire), 1):
        yield Event(line, kind, body, wire.usage)


def _several(stream: BinaryIO, wire: "Choices | Auto[Chosen]") -> Iterator[Event]:
    lines = Counter[int]()
    for choice, (kind, body) in _through(stream, wire):
        lines[choice] += 1
        yield Event(lines[choice], kind, body, wire.usage, choice)


def _through(stream: BinaryIO, wire: "Reads[T]") -> Iterator[T]:
    while data := read_some(stream):
        yield from wire.feed(data)
    yield from wire.close()


def read_some(stream: BinaryIO) -> bytes:
    """What is there, at most 64 KiB; empty at the end. A pipe's bytes are passed on as they come."""
    read1 = getattr(stream, "read1", stream.read)
    return bytes(read1(READ_BYTES))


def entries(
    stream: BinaryIO, file: str, run_id: str, provider: str, choice: int, options: Options = PLAIN
) -> Iterator[Entry]:
    """The records as stream entries (id, flat fields) for the record parser: every provider name, `record` included."""
    if provider == RECORD:
        return _record_entries(stream, file, run_id)
    found = _raw_events(stream, options.framing) if provider == RAW else events(stream, provider, choice, options)
    return (entry for _, entry in _entries(found, run_id))


def entries_of_choices(stream: BinaryIO, run_id: str, provider: str, options: Options) -> Iterator[tuple[int, Entry]]:
    """The same for every choice of a response, each with its number; not for `record`."""
    found = _raw_events(stream, options.framing) if provider == RAW else events(stream, provider, "all", options)
    return _entries(found, run_id)


def _entries(found: Iterator[Event], run_id: str) -> Iterator[tuple[int, Entry]]:
    from runwire.adapters.several import run_of

    written = Counter[int]()
    for event in found:
        choice = event.choice
        written[choice] += 1
        run = run_of(run_id, choice).encode(errors="surrogateescape")
        fields = [b"run", run, b"src", b"check", b"epoch", b"0", b"seq", b"%d" % written[choice]]
        fields += [b"kind", event.kind.encode(), b"call", CALL.encode(), b"body", event.body]
        if written[choice] == 1:
            fields += [b"usage", event.usage.encode()]
        yield choice, (b"%d" % event.line, fields)


def _record_entries(stream: BinaryIO, file: str, run_id: str) -> Iterator[Entry]:
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

"""What the demo publishes: hand-written samples, recorded streams on request, and one that breaks the grammar."""

from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final, NamedTuple

from runwire.cli.failures import CommandError
from runwire.cli.sources import Event, events, opened

PROVIDERS: Final = ("anthropic", "openai-chat")
# Recorded streams beside the samples: what fits on a screen.
MAX_RECORDED: Final = 8
MAX_RECORDED_BYTES: Final = 64 * 1024
SUFFIXES: Final = frozenset({".sse", ".jsonl", ".json"})

BROKEN_RUN: Final = "broken"
BROKEN_RULE: Final = "delta-without-block"
# The last delta goes to a block that was never opened, as a provider with a lost event would send it.
BROKEN_CHUNKS: Final = (
    b'{"type":"block-start","index":0,"blockKind":"text"}',
    b'{"type":"text-delta","index":0,"text":"Everything is fine, "}',
    b'{"type":"text-delta","index":0,"text":"and then the provider "}',
    b'{"type":"text-delta","index":0,"text":"loses an event: "}',
    b'{"type":"text-delta","index":7,"text":"a delta for a block nobody opened."}',
    b'{"type":"text-delta","index":0,"text":"Nobody must ever read this."}',
)


class Stream(NamedTuple):
    """One run to publish: `events` are the records that its file makes, read once, in order."""

    run: str
    provider: str
    file: Path
    events: Sequence[Event]


def sample_streams() -> list[Stream]:
    """The hand-written samples that come with the package."""
    with as_file(files("runwire.embedded") / "samples") as folder:
        found = [_stream(path, provider) for provider in PROVIDERS for path in _files(folder / provider)]
    if not found:
        raise CommandError("the samples are missing from this installation", "install runwire again")
    return found


def recorded_streams(folder: Path) -> list[Stream]:
    """Some streams below `folder`, where a folder named like a provider holds its recordings. Raises CommandError."""
    found: list[Stream] = []
    for provider in PROVIDERS:
        paths = [p for base in (folder, *folder.rglob(provider)) if base.name == provider for p in _files(base)]
        fitting = [path for path in dict.fromkeys(paths) if path.stat().st_size <= MAX_RECORDED_BYTES]
        step = max(1, len(fitting) // (MAX_RECORDED // len(PROVIDERS)))
        found += [_stream(path, provider) for path in fitting[::step][: MAX_RECORDED // len(PROVIDERS)]]
    if not found:
        raise CommandError(f"no streams below {folder}", f"it needs a folder {' or '.join(PROVIDERS)} with .sse files")
    return found


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.glob("*")) if path.suffix in SUFFIXES)


def _stream(path: Path, provider: str) -> Stream:
    with opened(str(path)) as stream:
        return Stream(f"{provider}-{path.stem}", provider, path, list(events(stream, provider, 0)))

"""What the demo publishes: hand-written samples, recorded streams on request, and one that breaks the grammar."""

from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final, NamedTuple

from runwire.cli.failures import CommandError
from runwire.cli.sources import Event, events, opened
from runwire.embedded import samples

PROVIDERS: Final = ("anthropic", "openai-chat")
# Recorded streams beside the samples: what fits on a screen.
MAX_RECORDED: Final = 8
MAX_RECORDED_BYTES: Final = 64 * 1024
SUFFIXES: Final = frozenset({".sse", ".jsonl", ".json"})

BROKEN_RUN: Final = "broken"
# What must happen to the sample that breaks the grammar: the rule that stops it, and how many records come after.
BROKEN_RULE: Final = "delta-without-block"
BROKEN_AFTER: Final = 2


class Stream(NamedTuple):
    """One run to publish: `events` are the records that its file makes, read once, in order."""

    run: str
    provider: str
    file: Path
    events: Sequence[Event]


def sample_streams() -> list[Stream]:
    """The hand-written samples that come with the package."""
    with as_file(files(samples)) as folder:
        return [_stream(folder / sample.file, sample.provider) for sample in samples.SAMPLES]


def broken_chunks() -> list[bytes]:
    """The raw chunks of the sample that breaks the grammar."""
    return samples.BROKEN.read().splitlines()


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

"""The files that a command line names: those in folders too, each once."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple


class Named(NamedTuple):
    """A file to look at. `found`: it lies in a folder that was named, and nobody has said that it is a stream."""

    path: str
    found: bool = False


def files_of(arguments: Iterable[str]) -> Iterator[Named]:
    """Arguments in their order, folders with all they hold, sorted by name; what begins with a dot is left out.

    A file that was named itself is not found again. A folder without files stays as it is, for its reader to refuse.
    """
    arguments = list(arguments)
    seen = {os.path.realpath(argument) for argument in arguments}
    for argument in arguments:
        if argument == "-" or not Path(argument).is_dir():
            yield Named(argument)
            continue
        inside = list(_inside(argument))
        for path in inside:
            if (real := os.path.realpath(path)) not in seen:
                seen.add(real)
                yield Named(path, found=True)
        if not inside:
            yield Named(argument)


def _inside(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (str(Path(place, name)) for name in sorted(names) if not name.startswith("."))

"""Entries of `P:chunks`: several chunks of one run each, as one commit of the enforcer made them."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from runwire.broker.reading import Entry
from runwire.unwrapper.core.looking import Look, look
from runwire.unwrapper.core.names import made_name
from runwire.unwrapper.core.wrappers import Output

_NAMES: Final = (b"run", b"attempt", b"seq", b"d")
_chunks: Final = msgspec.msgpack.Decoder(list[str])


class Page(NamedTuple):
    """What one entry has that matters. `chunks` counts all of it; `run` is "" for an entry that is none."""

    id: str
    run: str
    attempt: int
    chunks: int
    looks: list[Look]


def read_entry(entry: Entry) -> Page:
    """Never raises: an entry that the enforcer did not write has no run."""
    entry_id, fields = entry
    name = entry_id.decode()
    found = dict(zip(fields[::2], fields[1::2], strict=False))
    try:
        run, attempt, last, packed = (found[field] for field in _NAMES)
        chunks = _chunks.decode(packed)
        first = int(last) - len(chunks) + 1
        looks = [seen for seq, chunk in enumerate(chunks, first) if (seen := look(seq, chunk)) is not None]
        return Page(name, run.decode(), int(attempt), len(chunks), looks)
    except (KeyError, ValueError, msgspec.MsgspecError):
        return Page(name, "", 0, 0, [])


def named(run: str, outputs: Iterable[Output]) -> set[str]:
    """Every child that these outputs may be for, before anything is known of the run."""
    names: set[str] = set()
    places: set[tuple[str, str]] = set()
    for output in outputs:
        if output.inner is not None and output.inner.addressed and not output.twin:
            names.add(output.inner.run_id or "")
            places.add((output.wrapper, output.key))
    # If it names a run above.
    return names | {made_name(run, wrapper, key) for wrapper, key in places}

"""The least a handler can do: no decoding, no grammar. Its cost is the floor that a real handler is measured against.

Bodies go into the run logs as they are. It also serves where the runtime itself is tested, apart from any grammar.
"""

from collections.abc import Sequence

from runwire.broker.functions import Commit, RunWrite
from runwire.broker.handling import Batch, StoredState
from runwire.broker.reading import Entry


class FloorHandler:
    """Groups entries by their first field's value (`run`) and passes the last field's (`body`) through as the chunk."""

    def __init__(self, partitions: int) -> None:
        self._last: list[dict[str, int]] = [{} for _ in range(partitions)]  # by partition: run -> last sequence

    def missing(self, batch: Batch) -> list[str]:
        """Runs whose last sequence is not known."""
        last = self._last[batch.partition]
        runs = {fields[1] for _, fields in batch.entries}
        return [run for raw in runs if (run := raw.decode()) not in last]

    def load(self, partition: int, stored: Sequence[StoredState]) -> list[str]:
        """Take over the stored sequences."""
        for state in stored:
            self._last[partition].setdefault(state.run_id, state.seq)
        return []

    def restore(self, partition: int, entries: Sequence[Entry]) -> None:
        """No state refers to entries."""

    def handle(self, batch: Batch) -> Commit:
        """One chunk for each entry."""
        last = self._last[batch.partition]
        bodies: dict[bytes, list[bytes]] = {}
        for _, fields in batch.entries:
            run = fields[1]
            if run in bodies:
                bodies[run].append(fields[-1])
            else:
                bodies[run] = [fields[-1]]
        writes: list[RunWrite] = []
        for raw, chunks in bodies.items():
            run_id = raw.decode()
            base = last[run_id]
            last[run_id] = base + len(chunks)
            writes.append(RunWrite(run_id, 1, base, chunks, b"-", 60_000, not base, False))  # noqa: FBT003 - a tuple
        first, final = batch.entries[0][0].decode(), batch.entries[-1][0].decode()
        return Commit(batch.prev, first, final, len(batch.entries), writes, [], [], {})

    def condemn(self, entry: Entry) -> tuple[str, bytes] | None:  # noqa: ARG002 - the protocol's signature
        """Nothing here can crash on a record."""
        return None

    def committed(self, partition: int, commit: Commit) -> None:
        """Sequences are as small as can be: all stay."""

    def drop(self, partition: int) -> None:
        """Forget the sequences of this partition."""
        self._last[partition] = {}

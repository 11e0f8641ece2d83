"""A commit writes whole states, a load reads them: with a mebibyte each, a batch of records must be done in parts."""

import json

from runwire.broker.functions import Commit
from runwire.broker.handling import Batch, StoredState
from runwire.enforcer.handler import COMMIT_STATE_BYTES, RunHandler
from runwire.grammar.limits import Limits

RUNS = 40
LARGE = 900_000


def entry(number: int, run: str, seq: int, chunk: dict[str, object]) -> tuple[bytes, list[bytes]]:
    fields = {"run": run, "src": "s", "epoch": "0", "seq": f"{seq}", "kind": "provider", "call": "c"}
    flat = [part.encode() for field in fields.items() for part in field]
    return (b"%d-0" % number, [*flat, b"body", json.dumps(chunk).encode()])


def delta(text: str) -> dict[str, object]:
    return {"type": "tool-call-delta", "index": 0, "id": "t", "name": "f", "argumentsDelta": text}


class Stored:
    """What the server would have: states by run."""

    def __init__(self) -> None:
        self.states: dict[str, StoredState] = {}
        self.most_loaded = 0
        self.most_committed = 0

    def load(self, handler: RunHandler, runs: list[str]) -> None:
        found = [self.states.get(run, StoredState(run, 0, None, 1)) for run in runs]
        self.most_loaded = max(self.most_loaded, sum(len(state.blob or b"") for state in found))
        handler.load(0, found)

    def commit(self, commit: Commit) -> None:
        self.most_committed = max(self.most_committed, sum(len(write.blob) for write in commit.runs))
        for write in commit.runs:
            self.states[write.run_id] = StoredState(write.run_id, write.base + len(write.chunks), write.blob, 1)

    def work(self, handler: RunHandler, entries: list[tuple[bytes, list[bytes]]]) -> None:
        while entries:
            batch = Batch(0, entries, "0-0")
            self.load(handler, handler.missing(batch))
            commit = handler.handle(batch)
            assert commit.records >= 1
            self.commit(commit)
            handler.committed(0, commit)
            entries = entries[commit.records :]


def test_neither_a_commit_nor_a_load_holds_more_than_its_share() -> None:
    stored, handler = Stored(), RunHandler(Limits(), 1, clock=lambda: 0.0)
    runs = [f"r{n}" for n in range(RUNS)]
    for n, run in enumerate(runs):
        start: dict[str, object] = {"type": "block-start", "index": 0, "blockKind": "tool_use"}
        stored.work(handler, [entry(2 * n, run, 1, start), entry(2 * n + 1, run, 2, delta('{"a":"' + "x" * LARGE))])
    assert sum(len(state.blob or b"") for state in stored.states.values()) > 4 * COMMIT_STATE_BYTES
    stored.most_loaded = stored.most_committed = 0

    stored.work(handler, [entry(1000 + n, run, 3 + n // RUNS, delta("y")) for n, run in enumerate(runs * 2)])
    assert 0 < stored.most_committed <= COMMIT_STATE_BYTES + 10 * RUNS

    # Another process has nothing in memory. Once it has seen how large they are, it loads a few at a time.
    other = RunHandler(Limits(), 1, clock=lambda: 0.0, cache_bytes=LARGE)
    stored.work(other, [entry(2000, "r0", 5, delta("y"))])
    stored.most_loaded = stored.most_committed = 0
    stored.work(other, [entry(2001 + n, run, 5, delta("y")) for n, run in enumerate(runs[1:])])
    assert 0 < stored.most_loaded <= 2 * COMMIT_STATE_BYTES
    assert 0 < stored.most_committed <= COMMIT_STATE_BYTES + 10 * RUNS
    assert {state.seq for state in stored.states.values()} == {stored.states["r0"].seq}
    assert other.cached_runs <= 1 + COMMIT_STATE_BYTES // LARGE

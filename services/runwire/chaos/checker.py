"""The checker: history in, verdict out. Pure, and it trusts nobody: not the producers' library, not the enforcer.

What was acknowledged is known from journals and recomputable content; what must have become of it is judged twice,
by the rules of this package and by replaying the raw records through the grammar.
"""

from collections.abc import Iterator, Mapping, Sequence

from runwire.grammar.invariants import broken_invariants
from runwire_schemas.keys import spec_of

from .history import History, LogEntry, Replayed
from .records import account, id_of
from .sessions import judge_readers
from .verdict import Finding, Verdict


def check(history: History, replayed: Mapping[str, Replayed]) -> Verdict:
    """Judge everything. `replayed` holds, for every run with raw records, what the grammar makes of them."""
    accounts = account(history, replayed)
    findings = [*accounts.findings, *_logs(history, replayed), *_ends(history, replayed)]
    findings += [*_timeouts(history, replayed), *judge_readers(history), *_keys(history)]
    return Verdict(
        seconds=history.seconds,
        faults=history.faults,
        required=history.required,
        published=accounts.published,
        cut=accounts.cut,
        findings=tuple(findings),
    )


def _logs(history: History, replayed: Mapping[str, Replayed]) -> Iterator[Finding]:
    stored = history.stored
    for run in sorted(stored.logs.keys() | replayed.keys() | stored.partition_logs.keys()):
        log = stored.logs.get(run, ())
        data = [entry.data for entry in log]
        yield from _numbers(run, log)
        for sentence in broken_invariants(run, data):
            yield Finding("illegal", run, sentence)
        expected = list(replayed[run].chunks) if run in replayed else []
        if data != expected:
            yield Finding("illegal", run, _difference("the grammar makes of the raw records", expected, data))
        copied = list(stored.partition_logs.get(run, ()))
        if data != copied:
            yield Finding("illegal", run, _difference("the partition's log holds", copied, data))


def _numbers(run: str, log: Sequence[LogEntry]) -> Iterator[Finding]:
    expected = 1
    for entry in log:
        if entry.id != f"{expected}-0":
            yield Finding("holes", run, f"chunk {expected}-0 is missing, {entry.id} stands in its place")
        expected = int(entry.id.partition("-")[0]) + 1


def _difference(who: str, expected: Sequence[bytes], found: Sequence[bytes]) -> str:
    at = next((i for i, pair in enumerate(zip(expected, found, strict=False)) if pair[0] != pair[1]), None)
    if at is None:
        return f"{who} {len(expected)} chunks, the log {len(found)}"
    return f"{who} as chunk {at + 1} {expected[at][:200]!r}, the log {found[at][:200]!r}"


def _ends(history: History, replayed: Mapping[str, Replayed]) -> Iterator[Finding]:
    """Every run has ended, and something that was done to it explains why."""
    joined = {run for producer in history.producers for run, role in producer.roles.items() if role == "join"}
    for run, log in history.stored.logs.items():
        if not any(b'"type":"finish"' in entry.data for entry in log):
            yield Finding("unended", run, f"its log of {len(log)} chunks has no finish")
        elif run not in history.stored.announced:
            yield Finding("lost", run, "it has ended, and no event says so")
    for run in sorted(history.stored.open):
        yield Finding("unended", run, "it still waits for a deadline")
    for run, result in replayed.items():
        # A source of its own may begin a call while the killed one's is open: the contract ends the run for that.
        allowed = {"call-interleaved"} if run in joined else set[str]()
        for code in result.violations:
            if code not in allowed:
                yield Finding("illegal", run, f"it was ended by {code}, and nothing done to it explains that")


def _timeouts(history: History, replayed: Mapping[str, Replayed]) -> Iterator[Finding]:
    """A timeout may only follow a silence of at least the shortest idle limit, by the clock of the server."""
    acted = {(run, timeout) for run, result in replayed.items() for timeout in result.timeouts}
    for entries in history.stored.raw.values():
        newest: dict[str, int] = {}
        for entry in entries:
            now = id_of(entry.id)[0]
            if (entry.run, entry.id) in acted and now - newest.get(entry.run, 0) < history.idle_ms:
                silence = now - newest[entry.run]
                yield Finding("illegal", entry.run, f"timeout {entry.id} acted after a silence of {silence} ms")
            newest[entry.run] = now


def _keys(history: History) -> Iterator[Finding]:
    """Nothing may stay for ever but what the keys module says: keys of finished runs carry a TTL."""
    for key, ttl_ms in history.stored.expiry.items():
        spec = spec_of(key, history.prefix)
        if spec is None:
            yield Finding("leftover_keys", key, "the keys module does not know it")
        elif spec.expires and ttl_ms < 0 and not any(f":{run}" in key for run in history.stored.open):
            yield Finding("leftover_keys", key, f"a {spec.name} without TTL, and its run has finished")

"""What did each live reader see? Every iteration must be a gapless piece of the run's log. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from .history import History, Session
from .verdict import Finding


def digest_of(data: bytes) -> str:
    """What readers note of a chunk instead of its bytes: enough to tell two chunks apart."""
    return blake2b(data, digest_size=8).hexdigest()


def judge_readers(history: History) -> Iterator[Finding]:
    logs = {run: [digest_of(entry.data) for entry in log] for run, log in history.stored.logs.items()}
    chains: dict[tuple[int, str], list[Session]] = defaultdict(list)
    for session in sorted(history.sessions, key=lambda s: s.begun):
        chains[session.slot, session.run].append(session)
    for (_, run), sessions in chains.items():
        log = logs.get(run, [])
        for session in sessions:
            yield from _numbers(session)
            yield from _content(session, log, history)
        yield from _end(sessions[-1], log)


def _say(session: Session, sentence: str) -> str:
    return f"reader {session.slot}, which began after {session.after}, {sentence}"


def _numbers(session: Session) -> Iterator[Finding]:
    last = session.after
    for delivery in session.deliveries:
        if delivery.seq > last + 1:
            yield Finding("holes", session.run, _say(session, f"was given {delivery.seq} after {last}"))
        elif delivery.seq == last:
            yield Finding("doubled", session.run, _say(session, f"was given {delivery.seq} twice"))
        elif delivery.seq < last:
            yield Finding("reordered", session.run, _say(session, f"was given {delivery.seq} after {last}"))
        last = max(last, delivery.seq)


def _differing(session: Session, log: Sequence[str]) -> list[int]:
    """Indices of the deliveries that the final log does not hold."""
    return [i for i, d in enumerate(session.deliveries) if d.seq > len(log) or log[d.seq - 1] != d.digest]


def _content(session: Session, log: Sequence[str], history: History) -> Iterator[Finding]:
    """After a cut a reader may hold chunks that are gone. Then it is told so; it is never led on to other content."""
    was_cut = any(cut.back >= session.begun for cut in history.cuts)
    differing = _differing(session, log)
    if differing and not was_cut:
        seq = session.deliveries[differing[0]].seq
        yield Finding("illegal", session.run, _say(session, f"was given another chunk {seq} than the log holds"))
    elif differing and differing[-1] < len(session.deliveries) - 1:
        seq = session.deliveries[differing[-1]].seq
        yield Finding("illegal", session.run, _say(session, f"was led on after chunk {seq}, which a cut took away"))
    if session.outcome == "cursor-ahead" and not any(cut.killed <= session.ended for cut in history.cuts):
        yield Finding("illegal", session.run, _say(session, "was told cursor-ahead, but nothing was cut"))
    if session.outcome == "log-expired":
        yield Finding("illegal", session.run, _say(session, "was told log-expired, but no log is that old"))


def _end(last: Session, log: Sequence[str]) -> Iterator[Finding]:
    """The last iteration over a run that still exists must have gone to the end of its log."""
    if not log:
        return
    reached = last.deliveries[-1].seq if last.deliveries else last.after
    if last.outcome != "ended":
        yield Finding("holes", last.run, _say(last, f"stands at {reached} of {len(log)}: {last.outcome}"))
    elif reached != len(log) and not _differing(last, log):
        yield Finding("holes", last.run, _say(last, f"was told the run is over at {reached} of {len(log)}"))

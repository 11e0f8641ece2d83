"""A process that is killed in the middle of a line has not written that line; everything before it counts."""

from pathlib import Path

from runwire.chaos.history import Ack
from runwire.chaos.journal import Journal, Tail, producer_log, producer_path, reader_path, reader_sessions


def test_a_producer_s_journal_is_read_back(tmp_path: Path) -> None:
    journal = Journal(producer_path(tmp_path, 1, 2))
    lines = [b'{"run":"c1-1-1","role":"start"}', b'{"begun":1.0,"at":1.5,"counts":{"c1-1-1":4}}', b'{"over":"c1-1-1"}']
    journal.write(lines, sync=True)
    journal.write([])
    journal.close()
    with producer_path(tmp_path, 1, 2).open("ab") as torn:
        torn.write(b'{"begun":2.0,"at":2.')
    log = producer_log(tmp_path, 1, 2, 9.0)
    assert log.roles == {"c1-1-1": "start"}
    assert log.acks == [Ack(1.0, 1.5, {"c1-1-1": 4})]
    assert log.died == 9.0


def test_a_process_that_was_killed_before_its_first_line_has_an_empty_journal(tmp_path: Path) -> None:
    assert producer_log(tmp_path, 0, 0, 1.0).roles == {}
    assert reader_sessions(tmp_path, 0, 0, 1.0) == []


def test_a_reader_s_iterations_are_read_back(tmp_path: Path) -> None:
    Journal(reader_path(tmp_path, 0, 0)).write(
        [b"B 1 c1-1-1 0 1.0", b"D 1 1 aa 1.1", b"B 2 c1-1-2 7 1.2", b"D 1 2 bb 1.3", b"E 1 ended 1.4", b"D 2 8 cc 1.5"]
    )
    first, second = reader_sessions(tmp_path, 0, 0, died=2.0)
    assert (first.run, first.after, first.outcome, first.ended) == ("c1-1-1", 0, "ended", 1.4)
    assert [(d.seq, d.digest) for d in first.deliveries] == [(1, "aa"), (2, "bb")]
    assert (second.run, second.after, second.outcome, second.ended) == ("c1-1-2", 7, "lost", 2.0)


def test_a_tail_gives_each_complete_line_once(tmp_path: Path) -> None:
    tail = Tail(tmp_path, "runs-*")
    assert list(tail.lines()) == []
    (tmp_path / "runs-1").write_bytes(b"one\ntw")
    assert list(tail.lines()) == [b"one"]
    with (tmp_path / "runs-1").open("ab") as more:
        more.write(b"o\n")
    (tmp_path / "runs-2").write_bytes(b"three\n")
    assert list(tail.lines()) == [b"two", b"three"]
    assert list(tail.lines()) == []

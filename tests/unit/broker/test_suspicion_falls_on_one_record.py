"""Vanished owners make a partition go record by record; only a record that they were alone with is condemned."""

from runwire.broker.leases import Event
from runwire.broker.partition import ISOLATED_RECORDS, Partition
from runwire_schemas.keys import Keys


def taken(attempts: int, suspect: str = "") -> Partition:
    partition = Partition(0, Keys().partition(0))
    partition.lease.taken(epoch=1, position="0-0", count=0, attempts=attempts, now=0.0)
    partition.taken()
    partition.suspect = suspect
    partition.backlog.extend([(b"1-0", [b"body", b"a"]), (b"2-0", [b"body", b"b"])])
    return partition


def test_one_vanished_owner_is_an_accident() -> None:
    partition = taken(attempts=1)
    assert not partition.isolated
    assert len(partition.cut(100, 1000)) == 2


def test_two_make_records_go_one_by_one() -> None:
    partition = taken(attempts=2)
    assert partition.isolated
    assert len(partition.cut(100, 1000)) == 1


def test_suspicion_lasts_over_what_the_dead_may_have_had_in_hand() -> None:
    partition = taken(attempts=2)
    partition.committed("1-0", 1, now=1.0)
    assert partition.lease.attempts == 0
    assert partition.isolated
    partition.committed("9-0", ISOLATED_RECORDS, now=1.0)
    assert not partition.isolated


def test_nothing_unread_means_nothing_is_to_blame() -> None:
    partition = taken(attempts=3)
    partition.absolved()
    assert not partition.isolated


def test_only_the_record_that_an_owner_was_alone_with_is_condemned() -> None:
    assert taken(attempts=4, suspect="1-0").condemns("1-0")
    assert not taken(attempts=4, suspect="0-7").condemns("1-0"), "the process died of another partition's record"
    assert not taken(attempts=3, suspect="1-0").condemns("1-0")


def test_an_isolated_partition_has_one_commit_on_its_way() -> None:
    partition = taken(attempts=2)
    assert partition.ready
    partition.in_flight = 1
    assert not partition.ready
    assert not partition.idle


def test_what_began_under_an_older_generation_is_void() -> None:
    partition = taken(attempts=0)
    before = partition.generation
    partition.in_flight = 2
    partition.void(Event.FENCED)
    assert (partition.generation, partition.in_flight, len(partition.backlog)) == (before + 1, 0, 0)
    assert not partition.ready

"""Whatever is lost and repeated between a producer and its broker: first copies arrive in order, with no hole."""

from hypothesis import given
from hypothesis import strategies as st

from runwire.producer.options import ProducerOptions
from runwire.producer.queue import Kept, PartitionQueue, bound_tails

OPTIONS = ProducerOptions(batch_records=3, batch_bytes=10_000, pending_records=8, linger=0.0, replay_window=5.0)

# What may happen next; "lost" means that the reply never came, "cut" that the broker also forgot its last batches.
STEPS = st.lists(
    st.sampled_from(["push", "push", "push", "send", "ack", "ack", "lost_unrun", "lost_run", "cut", "refused", "tick"]),
    max_size=120,
)


def queue(options: ProducerOptions = OPTIONS) -> PartitionQueue:
    return PartitionQueue(1, options, Kept())


class Broker:
    """Remembers the records it was given, and forgets the last batches of them in a power loss."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    def run(self, data: bytes) -> None:
        self.batches.append([int(part) for part in data.split(b"#")[1::2]])

    def first_copies(self) -> list[int]:
        return list(dict.fromkeys(number for batch in self.batches for number in batch))


class Story:
    """One queue and one broker; each method is one thing that may happen."""

    def __init__(self) -> None:
        self.broker, self.queue = Broker(), queue()
        self.now, self.number = 0.0, 0

    def push(self) -> None:
        if self.queue.has_room():
            self.number += 1
            self.queue.push(b"#%d#" % self.number, "r", self.now)

    def send(self) -> None:
        if self.queue.due() is not None:
            self.queue.next(self.now)

    def ack(self) -> None:
        if self.queue.flight:
            self.broker.run(self.queue.flight.data)
            self.queue.acknowledge(self.now)

    def lost_unrun(self) -> None:
        self.queue.rewind()

    def lost_run(self) -> None:
        if self.queue.flight:
            self.broker.run(self.queue.flight.data)
        self.queue.rewind()

    def cut(self) -> None:
        # Less than the replay window: what was acknowledged in it is in the tail.
        del self.broker.batches[-2:]
        self.queue.rewind()

    def refused(self) -> None:
        if self.queue.flight:
            self.queue.hold_back()

    def tick(self) -> None:
        self.queue.prune(self.now - OPTIONS.replay_window)


@given(STEPS)
def test_first_copies_are_contiguous_and_nothing_acknowledged_is_lost(steps: list[str]) -> None:
    story = Story()
    for step in [*steps, "lost_unrun", *["send", "ack"] * 60]:
        story.now += 0.1
        getattr(story, step)()
        copies = story.broker.first_copies()
        assert copies == list(range(1, len(copies) + 1))
    assert story.broker.first_copies() == list(range(1, story.number + 1))
    assert (story.queue.pending, story.queue.pending_bytes) == (0, 0)


def test_the_tail_is_counted_back_from_the_last_good_reply_and_bounded_in_bytes() -> None:
    kept = Kept()
    busy, quiet = PartitionQueue(2, OPTIONS, kept), PartitionQueue(2, OPTIONS, kept)
    for at in range(30):
        busy.push(b"#%d#" % at + b"x" * 1000, "r", float(at))
        busy.next(float(at))
        busy.acknowledge(float(at))
    quiet.push(b"#1#", "q", 0.0)
    quiet.next(0.0)
    quiet.acknowledge(29.0)
    busy.prune(29.0 - 5.0)
    assert busy.tail_bytes == kept.total - quiet.tail_bytes > 5000
    bound_tails([busy, quiet], kept, 2500)
    assert kept.total <= 2500
    assert quiet.tail_bytes > 0, "the busy partition must pay, not the quiet one"
    busy.rewind()
    assert busy.replaying
    assert kept.total == quiet.tail_bytes


def test_giving_up_names_the_runs_with_a_hole_and_keeps_what_was_acknowledged() -> None:
    one = queue()
    one.push(b"#1#", "safe", 0.0)
    one.next(0.0)
    one.acknowledge(0.0)
    for run in ("a", "b", "a", "c"):
        one.push(b"#2#", run, 1.0)
    one.next(1.0)
    failed = one.give_up()
    assert failed.runs == {"a", "b", "c"}
    assert failed.records == 4
    assert (one.pending, one.pending_bytes) == (0, 0)
    one.rewind()
    assert b"#1#" in one.next(2.0).data


def test_what_is_too_old_to_be_sent_again_is_given_up() -> None:
    one = queue()
    one.push(b"#1#", "old", 0.0)
    one.next(0.0)
    one.rewind()
    assert one.expire(before=-1.0) is None
    failed = one.expire(before=1.0)
    assert failed is not None
    assert failed.runs == {"old"}


def test_memory_is_bounded_in_records_and_bytes_but_one_record_always_fits() -> None:
    one = queue(ProducerOptions(batch_records=2, pending_records=4, batch_bytes=4000, pending_bytes=1000))
    assert one.has_room()
    one.push(b"x" * 8_000_000, "r", 0.0)
    assert not one.has_room()
    one.next(0.0)
    one.acknowledge(0.0)
    for _ in range(4):
        assert one.has_room()
        one.push(b"x", "r", 0.0)
    assert not one.has_room()


def test_a_paused_partition_still_replays_but_takes_nothing_new() -> None:
    one = queue()
    one.push(b"#1#", "r", 0.0)
    one.next(0.0)
    one.acknowledge(0.0)
    one.push(b"#2#", "r", 0.0)
    one.paused = True
    assert one.due() is None
    one.rewind()
    assert one.due() is not None
    assert b"#1#" in one.next(0.0).data
    one.acknowledge(0.0)
    assert one.due() is None


def test_a_record_after_a_quiet_moment_goes_at_once_and_later_ones_linger() -> None:
    one = queue(ProducerOptions(linger=0.010))
    one.push(b"#1#", "r", 1.0)
    assert one.due() == 1.0
    one.next(1.0)
    one.acknowledge(1.001)
    one.push(b"#2#", "r", 1.002)
    assert one.due() == 1.010

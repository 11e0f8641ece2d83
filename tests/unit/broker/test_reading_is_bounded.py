"""COUNT adapts to the size of entries, batches are cut by number and bytes, and lingering begins only when it pays."""

from hypothesis import given
from hypothesis import strategies as st

from runwire.broker.reading import (
    FIRST_COUNT,
    MAX_COUNT,
    REPLY_BYTES,
    Appetite,
    Backlog,
    Entry,
    Linger,
    Pace,
)


def entry(number: int, body: bytes = b"x", *, body_last: bool = True) -> Entry:
    names = [b"run", b"r", b"seq", b"%d" % number]
    fields = [*names, b"body", body] if body_last else [b"body", body, *names]
    return (b"%d-0" % number, fields)


class TestAppetite:
    def test_begins_small_because_nothing_is_known(self) -> None:
        assert Appetite().count(16) == FIRST_COUNT

    def test_grows_while_reads_are_full_and_small(self) -> None:
        appetite = Appetite()
        for _ in range(8):
            appetite.saw(200, full=True)
        assert appetite.count(16) == MAX_COUNT

    def test_what_is_unknown_costs_little_over_all_partitions(self) -> None:
        """A backlog of 1 MiB records on 16 partitions: the first reply was half a gigabyte."""
        assert Appetite().count(16) * 16 * 2**20 <= 32 * 2**20

    def test_entries_too_large_for_one_reply_are_read_from_some_partitions_at_a_time(self) -> None:
        appetite = Appetite()
        assert appetite.partitions(16) == 16
        appetite.saw(2**20, full=True)
        assert (appetite.partitions(16), appetite.count(16)) == (2, 1)
        appetite.saw(8 * 2**20, full=True)
        assert appetite.partitions(16) == 1

    def test_after_a_read_without_answer_it_begins_with_little_and_forgets_it_soon(self) -> None:
        appetite = Appetite()
        for _ in range(8):
            appetite.saw(200, full=True)
        appetite.failed()
        assert (appetite.partitions(16), appetite.count(16)) == (1, 1)
        for _ in range(40):
            appetite.saw(0, full=False)
        assert appetite.partitions(16) == 16

    def test_does_not_grow_on_reads_that_were_not_full(self) -> None:
        appetite = Appetite()
        appetite.saw(200, full=False)
        assert appetite.count(1) == FIRST_COUNT

    def test_large_entries_shrink_it_at_once_and_are_forgotten_slowly(self) -> None:
        appetite = Appetite()
        for _ in range(8):
            appetite.saw(200, full=True)
        appetite.saw(REPLY_BYTES, full=False)
        assert appetite.count(16) == 1
        for _ in range(20):
            appetite.saw(200, full=False)
        assert 1 <= appetite.count(1) < 20
        for _ in range(100):
            appetite.saw(200, full=False)
        assert appetite.count(1) == MAX_COUNT

    @given(st.lists(st.tuples(st.integers(1, 8 * 2**20), st.booleans()), max_size=60), st.integers(0, 64))
    def test_stays_in_its_bounds(self, reads: list[tuple[int, bool]], partitions: int) -> None:
        appetite = Appetite(100)
        for largest, full in reads:
            appetite.saw(largest, full=full)
        assert 1 <= appetite.count(partitions) <= 100


class TestBacklog:
    @given(
        st.lists(st.integers(1, 5000), min_size=1, max_size=60),
        st.integers(1, 20),
        st.integers(1, 12_000),
        st.booleans(),
    )
    def test_cuts_in_order_lose_nothing_and_stay_small(
        self, sizes: list[int], records: int, size: int, body_last: bool
    ) -> None:
        entries = [entry(n, b"x" * length, body_last=body_last) for n, length in enumerate(sizes, 1)]
        backlog = Backlog(b"0-0")
        half = len(entries) // 2
        if half:
            backlog.extend(entries[:half])
        backlog.extend(entries[half:])
        seen: list[Entry] = []
        while len(backlog):
            batch = backlog.cut(records, size)
            assert 1 <= len(batch) <= records
            if len(batch) > 1:
                assert sum(len(fields[-1] if body_last else fields[1]) for _, fields in batch) <= size
            seen += batch
        assert seen == entries
        assert backlog.last_read == entries[-1][0]

    def test_a_record_larger_than_the_limit_goes_alone(self) -> None:
        backlog = Backlog(b"0-0")
        backlog.extend([entry(1, b"x" * 10_000), entry(2)])
        assert [e[0] for e in backlog.cut(100, 1000)] == [b"1-0"]

    def test_what_is_put_back_comes_first_even_after_more_was_read(self) -> None:
        backlog = Backlog(b"0-0")
        backlog.extend([entry(1), entry(2), entry(3)])
        batch = backlog.cut(2, 10_000)
        backlog.extend([entry(4)])
        backlog.put_back(batch[1:])
        assert [e[0] for e in backlog.cut(10, 10_000)] == [b"2-0", b"3-0", b"4-0"]


class TestPace:
    def paused(self, records: int, every_s: float) -> float:
        pace, pause, now = Pace(Linger(), 0.0), 0.0, 0.0
        for _ in range(round(0.5 / every_s)):
            now += every_s + pause
            pause = pace.read(records, now)
        return pause

    def test_many_small_reads_linger(self) -> None:
        assert self.paused(records=2, every_s=0.0005) == Linger().pause_s

    def test_few_reads_do_not(self) -> None:
        assert self.paused(records=1, every_s=0.05) == 0.0

    def test_large_reads_do_not(self) -> None:
        assert self.paused(records=50, every_s=0.0005) == 0.0

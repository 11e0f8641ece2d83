"""Bounded rendezvous: every worker within one partition of the others, whoever computes it, and few moves."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from runwire.broker.membership import assign

names = st.text("abcdefgh0123456789-", min_size=1, max_size=12)
member_sets = st.sets(names, min_size=1, max_size=12)


@given(member_sets, st.integers(1, 64))
def test_every_partition_has_an_owner_and_shares_differ_by_one_at_most(members: set[str], partitions: int) -> None:
    owners = assign(members, partitions)
    assert sorted(owners) == list(range(partitions))
    shares = Counter(dict.fromkeys(members, 0))
    shares.update(owners.values())
    assert set(shares) == members
    assert max(shares.values()) - min(shares.values()) <= 1


@given(member_sets, st.randoms())
def test_the_order_in_which_members_are_seen_does_not_matter(members: set[str], random: object) -> None:
    seen = sorted(members)
    assert assign(seen, 16) == assign(reversed(seen), 16) == assign([*seen, *seen], 16)


@given(member_sets, names)
def test_a_join_takes_partitions_mostly_for_the_newcomer(members: set[str], newcomer: str) -> None:
    if newcomer in members:
        return
    before, after = assign(members, 16), assign(members | {newcomer}, 16)
    moved = [p for p in before if before[p] != after[p]]
    gained = sum(1 for owner in after.values() if owner == newcomer)
    assert all(after[p] == newcomer for p in moved) or len(moved) <= 3 * gained + 3


def test_without_members_nobody_owns_anything() -> None:
    assert assign([], 16) == {}

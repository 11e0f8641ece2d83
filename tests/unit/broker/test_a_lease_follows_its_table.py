"""Every state of a lease meets every event: what the table lists happens, all else is a programming error."""

from itertools import product

import pytest

from runwire.broker.leases import STRIKES, TRANSITIONS, Event, Lease, State


def lease_in(state: State) -> Lease:
    lease = Lease(0)
    lease.state = state
    return lease


@pytest.mark.parametrize(("state", "event"), list(product(State, Event)))
def test_the_table_is_the_only_judge(state: State, event: Event) -> None:
    lease = lease_in(state)
    if event in TRANSITIONS[state]:
        lease.on(event)
        assert lease.state is TRANSITIONS[state][event]
    else:
        with pytest.raises(AssertionError, match=f"{event.value} while {state.value}"):
            lease.on(event)
        assert lease.state is state


@pytest.mark.parametrize("state", list(State))
def test_a_lost_server_ends_every_belief(state: State) -> None:
    lease = lease_in(state)
    lease.on(Event.SERVER_LOST)
    assert lease.state is State.AWAY
    assert not lease.held


def test_taking_replaces_everything_that_was_known() -> None:
    lease = Lease(3)
    lease.seen_free(1.0, free=True)
    lease.taken(epoch=7, position="5-1", count=12, attempts=2, now=10.0)
    assert (lease.state, lease.epoch, lease.position, lease.count, lease.attempts) == (State.OWNED, 7, "5-1", 12, 2)
    assert (lease.taken_at, lease.free_since) == (10.0, None)


def test_a_commit_absolves_and_counts() -> None:
    lease = Lease(0)
    lease.taken(epoch=1, position="0-0", count=0, attempts=3, now=0.0)
    lease.committed("8-0", 5, now=2.0)
    assert (lease.position, lease.count, lease.attempts, lease.progress_at) == ("8-0", 5, 0, 2.0)


def test_leaving_twice_changes_the_heir_only() -> None:
    lease = lease_in(State.OWNED)
    lease.leave("first")
    lease.leave("second")
    assert (lease.state, lease.successor) == (State.LEAVING, "second")


def test_the_third_refusal_at_one_position_halts() -> None:
    lease = lease_in(State.OWNED)
    lease.position = "5-0"
    assert [lease.strike() for _ in range(STRIKES)] == [False, False, True]


def test_refusals_at_different_positions_do_not_add_up() -> None:
    lease = lease_in(State.OWNED)
    for position in ("1-0", "2-0", "3-0", "4-0"):
        lease.position = position
        assert not lease.strike()
        assert not lease.strike()


def test_an_orphan_is_what_was_seen_free_for_longer_than_a_lease() -> None:
    lease = Lease(0)
    lease.seen_free(10.0, free=True)
    lease.seen_free(12.0, free=True)
    assert not lease.orphaned(13.0, 3.0)
    assert lease.orphaned(13.1, 3.0)
    lease.seen_free(13.2, free=False)
    assert not lease.orphaned(99.0, 3.0)


def test_what_is_owned_is_no_orphan() -> None:
    lease = Lease(0)
    lease.seen_free(0.0, free=True)
    lease.state = State.OWNED
    assert not lease.orphaned(99.0, 3.0)

import pytest

from runwire.chaos.schedule import FaultKind, kinds_for, schedule

SEEDS = range(40)


@pytest.mark.parametrize("seconds", [20, 120])
def test_each_kind_happens_and_ends_in_time(seconds: float) -> None:
    for seed in SEEDS:
        faults = [fault for lane in schedule(seconds, seed) for fault in lane]
        assert {fault.kind for fault in faults} == set(FaultKind)
        assert all(1 <= fault.at < seconds for fault in faults)


def test_a_longer_run_has_more_faults() -> None:
    assert sum(map(len, schedule(120, 1))) > 2 * sum(map(len, schedule(20, 1)))


def test_a_lane_is_in_order_and_a_seed_repeats_it() -> None:
    for seed in SEEDS:
        for lane in schedule(20, seed):
            assert [fault.at for fault in lane] == sorted(fault.at for fault in lane)
        assert schedule(20, seed) == schedule(20, seed)
    assert schedule(20, 1) != schedule(20, 2)


def test_stops_last_1_to_10_seconds_where_there_is_room() -> None:
    lengths = [
        fault.seconds
        for seed in SEEDS
        for lane in schedule(120, seed)
        for fault in lane
        if fault.kind is FaultKind.ENFORCER_STOP
    ]
    assert min(lengths) >= 1
    assert 8 < max(lengths) <= 10


def test_a_forced_mode_rules_out_the_restarts_in_the_other() -> None:
    for mode, other in (("everysec", FaultKind.SERVER_KILL_ALWAYS), ("always", FaultKind.SERVER_KILL_EVERYSEC)):
        happened = {fault.kind for lane in schedule(20, 1, mode) for fault in lane}
        assert other not in kinds_for(mode)
        assert happened == kinds_for(mode)

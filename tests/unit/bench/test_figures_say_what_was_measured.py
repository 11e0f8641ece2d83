import pytest

from runwire.bench.figures import RanDry, Sample, latency, percentile, rounded, window


def test_a_rate_is_taken_while_every_partition_has_work() -> None:
    samples = [Sample(10.0, 0, 50), Sample(11.0, 100, 40), Sample(12.0, 220, 5), Sample(13.0, 230, 0)]
    measured = window(samples)
    assert (measured.seconds, measured.rate) == (2.0, 110.0)


@pytest.mark.parametrize("samples", [[], [Sample(1.0, 5, 5)], [Sample(1.0, 5, 5), Sample(2.0, 10, 0)]])
def test_a_backlog_that_ran_dry_gives_no_rate(samples: list[Sample]) -> None:
    with pytest.raises(RanDry):
        window(samples)


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(n) for n in range(1, 101)]
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile(values, 1.0)) == (50.0, 99.0, 100.0)
    assert percentile([7.0], 0.99) == 7.0
    assert latency([3.0, 1.0, 2.0]) == {"p50": 2.0, "p99": 3.0, "samples": 3}


def test_results_are_rounded_all_the_way_down() -> None:
    assert rounded({"a": 1.23456, "b": {"c": 2.0, "d": None, "e": "text"}}) == {
        "a": 1.235,
        "b": {"c": 2.0, "d": None, "e": "text"},
    }

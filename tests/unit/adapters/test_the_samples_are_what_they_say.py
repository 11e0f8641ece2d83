"""The samples that come with the package: legal, of the right size, and ending as their index says."""

import pytest

from conformance.recorded import Seen, convert, judge
from runwire.adapters import adapter
from runwire.embedded.samples import BROKEN, SAMPLES, Sample

ENDS = {
    "weather": "tool_calls",
    "trip": "tool_calls",
    "tools": "tool_calls",
    "upstream-error": "error",
    "overloaded": "error",
    "cut-off": "aborted",
}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_sample_is_legal_and_ends_as_it_should(sample: Sample) -> None:
    body = sample.read()
    emitted = convert(sample.provider, [body])

    assert 20 <= body.count(b"data: ") <= 90
    assert judge(emitted, adapter(sample.provider).usage)[1] == []
    assert Seen(emitted).finish == ENDS.get(sample.name, "stop")


def test_samples_have_names_of_their_own() -> None:
    assert len({sample.name for sample in SAMPLES}) == len(SAMPLES) >= 12


def test_the_broken_one_breaks_the_rule_it_is_for() -> None:
    codes = [finding.code for finding in judge(convert("raw", [BROKEN.read()]), "required")[1]]

    assert codes[0] == "delta-without-block"

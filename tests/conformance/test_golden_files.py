"""Protocols whose SDK puts no response together: every recording says what its reader wrote down."""

from pathlib import Path

import pytest

from conformance.golden import TABLES, goldens, unlike
from conformance.recorded import Seen, convert
from helpers import corpus

PROVIDERS = sorted(table.stem for table in TABLES.glob("*.toml"))
RECORDED = [(provider, path) for provider in PROVIDERS for path in corpus(provider)]


@pytest.mark.parametrize(("provider", "path"), RECORDED, ids=[path.name for _, path in RECORDED])
def test_a_recording_says_what_was_read_in_it(provider: str, path: Path) -> None:
    golden = goldens(provider).get(path.name)

    assert golden is not None, f"read {path} and write down what it says in golden/{provider}.toml"
    assert unlike(provider, golden, Seen(convert(provider, [path.read_bytes()]))) == set()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_golden_row_names_a_recording(provider: str) -> None:
    assert goldens(provider).keys() <= {path.name for path in corpus(provider)}

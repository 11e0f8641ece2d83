"""Without botocore a body in AWS's binary frames cannot be read; other files can."""

from pathlib import Path

import pytest

from conformance.eventstream import conversed
from runwire.cli.judging import Wish, judged
from runwire.cli.recognizing import is_stream
from runwire.errors import ExtraMissing


@pytest.mark.parametrize("provider", [None, "auto", "bedrock-converse"])
def test_a_file_that_needs_an_extra_says_which(
    provider: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise ExtraMissing("botocore is not installed: pip install 'runwire[bedrock]'")

    monkeypatch.setattr("runwire.adapters.framing.eventstream._botocore", missing)
    file = tmp_path / "answer.bin"
    file.write_bytes(conversed([b'{"messageStart":{"role":"assistant"}}']))

    assert is_stream(str(file))
    result = judged(str(file), Wish(provider, 0, None, chunks=False, told=False, several=True))

    assert [tally.code for tally in result.tallies.values()] == [ExtraMissing.code]
    assert "pip install 'runwire[bedrock]'" in capsys.readouterr().err

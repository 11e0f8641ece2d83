"""`runwire bench adapters`: every adapter is there, beside its SDK. That it runs is tested; how fast is not."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runwire.adapters import PROVIDERS
from runwire.bench import cli, sdks
from runwire.bench.bodies import in_frames
from runwire.bench.made_up import made_up, pieces


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_sdk_reads_every_event_of_it(provider: str) -> None:
    sdk = sdks.installed(provider)
    if sdk is None:
        assert provider in sdks.WITHOUT
        return
    body = made_up()[provider]
    assert sdk.read(next(iter(in_frames(provider, [body])), body)) >= len(pieces())
    assert sdk.name.split()[1][0].isdigit()


def test_every_adapter_and_every_sdk_is_in_the_table_and_in_the_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    arguments = ["adapters", "--seconds", "0.01", "--repeats", "1"]
    shown = CliRunner().invoke(cli.app, arguments)
    assert shown.exit_code == 0, shown.output
    assert [provider for provider in PROVIDERS if provider not in shown.stdout] == []

    result = json.loads(CliRunner().invoke(cli.app, [*arguments, "--json"]).stdout)
    assert list(result["adapters"]) == list(PROVIDERS)
    for provider, figures in result["adapters"].items():
        assert figures["rate"] > 0
        assert figures["events"] >= len(pieces())
        compared = figures.get("frames", figures)
        assert ("sdk" in compared) == (sdks.installed(provider) is not None)
        if "sdk" in compared:
            assert compared["sdk"]["ratio"] == pytest.approx(compared["rate"] / compared["sdk"]["rate"], rel=0.05)
            assert compared["sdk"]["name"] in shown.stdout
    assert result["environment"]["repeats"] == 1


def test_every_adapter_is_timed_where_no_sdk_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(sdks, "import_module", missing)
    arguments = ["adapters", "--seconds", "0.01", "--repeats", "1", "--json"]
    result = json.loads(CliRunner().invoke(cli.app, arguments).stdout)
    assert [figures.keys() & {"sdk", "frames"} for figures in result["adapters"].values()] == [set()] * len(PROVIDERS)


def test_an_sdk_that_raises_leaves_its_body_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "anthropic"
    folder.mkdir()
    (folder / "good.sse").write_bytes(made_up()["anthropic"])
    (folder / "bad.sse").write_bytes(b"event: message_start\ndata: nonsense\n\n")
    monkeypatch.setattr("runwire.adapters.PROVIDERS", ("anthropic",))
    arguments = ["adapters", "--seconds", "0.01", "--repeats", "1", "--json", "--corpus", str(tmp_path)]

    figures = json.loads(CliRunner().invoke(cli.app, arguments).stdout)["adapters"]["anthropic"]

    assert (figures["bodies"], figures["left_out"]) == (1, 1)


def test_the_other_benchmark_is_still_what_the_command_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(wish: object, _say: object) -> dict[str, object]:
        return {"wish": str(wish)}

    monkeypatch.setattr("runwire.bench.report.measure", nothing)
    done = CliRunner().invoke(cli.app, ["--quick", "--json"])
    assert json.loads(done.stdout)["wish"].startswith("Wish(seconds=2.0, repeats=1")

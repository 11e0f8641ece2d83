"""The whole benchmark with small numbers: every figure is there, and the numbers that follow from others do so."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from helpers import left_out
from runwire.bench import comparison, latency, memory, throughput
from runwire.bench.report import Wish, measure, table
from runwire.embedded.server import find_server

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "CALIBRATION_RECORDS", 150_000)
    monkeypatch.setattr(throughput, "CALIBRATION_S", 0.3)
    monkeypatch.setattr(throughput, "WARM_UP_S", 0.2)
    monkeypatch.setattr(comparison, "WARM_UP_S", 0.2)
    monkeypatch.setattr(latency, "WARM_UP_S", 1.0)
    monkeypatch.setattr(latency, "SLOW_S", 3.0)
    monkeypatch.setattr(memory, "RUN_COUNTS", (500, 2500))
    monkeypatch.setattr(memory, "PORTION", 500)
    monkeypatch.setattr(memory, "SETTLE_S", 0.2)


@pytest.mark.usefixtures("small")
async def test_every_figure_is_there(tmp_path: Path) -> None:
    if (found := find_server("valkey-9.1")).path is None:
        left_out(f"valkey-9.1 is missing: {found.reason}")
    said: list[str] = []
    result: dict[str, Any] = json.loads(json.dumps(await measure(Wish(1.0, 1, "valkey-9.1", tmp_path), said.append)))

    assert result["floor"] > 1000
    enforcer, single = result["enforcer"], result["faststream_single"]
    assert enforcer["ratio_to_floor"] == pytest.approx(enforcer["rate"] / result["floor"], rel=0.01)
    assert single["ratio"] == pytest.approx(enforcer["rate"] / single["rate"], rel=0.01)
    assert result["publish"] > 1000
    for name in ("fifth", "slow"):
        assert 0 < result["latency_ms"][name]["p50"] <= result["latency_ms"][name]["p99"]
    assert result["latency_ms"]["slow"]["samples"] >= 25, "ten a second for three seconds, after the first"
    assert result["ping_ms"]["p99"] > 0
    assert result["memory_mb"]["growth"] == pytest.approx(
        result["memory_mb"]["runs_50k"] / result["memory_mb"]["runs_10k"] - 1, abs=0.01
    )
    assert result["cpu_us_per_chunk"]["worker"] > 0
    assert result["cpu_us_per_chunk"]["server"] > 0
    assert result["environment"]["server"].startswith("valkey-9.1")
    assert said

    console = Console(record=True, width=120)
    console.print(table(result))
    assert f"{enforcer['rate']:,} records/s" in console.export_text()

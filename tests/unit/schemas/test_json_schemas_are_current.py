"""schemas/json and the tables of docs/ are what the code generates, and accept exactly what the code accepts."""

import importlib.util
import json
from functools import cache
from types import ModuleType
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from helpers import PROJECT
from helpers import chunk_samples as samples
from runwire_schemas import control, events, evidence, keys, lineage, record

FOLDER = PROJECT / "schemas" / "json"
NAMES = ("raw", "chunks", "record", "evidence", "events", "control", "ancestry", "account", "child-link")


@cache
def validator(name: str) -> Draft202012Validator:
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", PROJECT / "tools" / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_generated_file_is_current() -> None:
    assert [str(path) for path in generator().stale()] == [], "run make schemas"


def test_there_is_one_schema_for_each_edge() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*(f"{name}.schema.json" for name in NAMES), "keys.json"}


@pytest.mark.parametrize("sample", [*samples.TAGGED.values(), *samples.UNTAGGED.values()], ids=lambda s: str(s["type"]))
def test_every_sample_chunk_is_valid(sample: dict[str, Any]) -> None:
    validator("chunks").validate(sample)


@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name, fields in samples.REQUIRED.items() for field in fields.split()]
)
def test_a_chunk_without_its_place_is_not(name: str, field: str) -> None:
    broken = json.loads(samples.body(samples.TAGGED[name]))
    del broken["payload"][field]
    assert not validator("chunks").is_valid(broken)


def test_an_unknown_type_is_not_valid() -> None:
    assert not validator("chunks").is_valid({"type": "hologram", "runId": "r", "from": "AGENT", "payload": {}})


@pytest.mark.parametrize("sample", samples.RAW, ids=lambda s: str(s["type"]))
def test_every_raw_sample_is_valid(sample: dict[str, Any]) -> None:
    validator("raw").validate(sample)
    assert not validator("raw").is_valid({**sample, "type": "text"})


@pytest.mark.parametrize("sample", samples.CONTROLS, ids=lambda s: str(s["type"]))
def test_every_control_sample_is_valid(sample: dict[str, Any]) -> None:
    validator("control").validate(sample)
    assert not validator("control").is_valid({**sample, "type": "run-stop"})


def test_what_the_code_writes_is_valid() -> None:
    found = evidence.Evidence(
        code="delta-without-block",
        cls="fatal",
        message="no block 3 is open",
        record="5-1",
        run="r",
        block_index=3,
        expected=("block-start",),
        body=b"\xff",
    )
    sent = record.Record("5-1", "r", "provider", "s", 0, 1, b"{}", "c1")
    ended = events.RunEnded(run="r", partition=3, record="5-1", seq=9, reason="stop")
    for name, value in (("evidence", found), ("record", sent), ("events", ended)):
        plain = json.loads(msgspec.json.encode(value))
        validator(name).validate(plain)
        assert not validator(name).is_valid({**plain, "run": 5}), name


def test_what_is_kept_of_a_nest_is_valid() -> None:
    path = (control.Parent(run_id="p", wrapper="tool-output", key="c1"),)
    kept: dict[str, msgspec.Struct] = {
        "ancestry": lineage.Ancestry(path=path),
        "account": lineage.Account(usage={"inputTokens": 2**70}, children=1, end="stop"),
        "child-link": lineage.ChildLink(run_id="r", wrapper="tool-output", key="c1", seq=4),
    }
    wrong = {"ancestry": {"path": 5}, "account": {"usage": {"inputTokens": "3"}}, "child-link": {"runId": "r"}}
    for name, value in kept.items():
        validator(name).validate(json.loads(msgspec.json.encode(value)))
        assert not validator(name).is_valid(wrong[name]), name


def test_the_keys_file_lists_the_catalogue() -> None:
    listed = json.loads((FOLDER / "keys.json").read_text(encoding="utf-8"))
    assert [entry["pattern"] for entry in listed["keys"]] == [spec.pattern for spec in keys.CATALOGUE]
    assert listed["wireVersion"] == record.WIRE_VERSION

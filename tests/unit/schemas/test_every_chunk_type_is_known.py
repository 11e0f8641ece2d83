"""All types of the seed with every field it lists, and the contract's extensions: decoded, required, passed on."""

import json
from typing import Any

import msgspec
import pytest

from helpers import chunk_samples as samples
from runwire_schemas import chunks, control, raw

ALL = samples.TAGGED | samples.UNTAGGED


def again(value: Any) -> Any:
    """Decoded chunk -> plain JSON, with everything that the struct kept."""
    return json.loads(msgspec.json.encode(value))


def test_the_seed_has_38_types() -> None:
    assert frozenset(samples.SEED_FIELDS) == chunks.SEED_TYPES
    assert len(chunks.SEED_TYPES) == 38


def test_the_contract_adds_19() -> None:
    assert frozenset(samples.EXTENSION_FIELDS) == chunks.EXTENSION_TYPES
    assert frozenset(samples.TAGGED) == chunks.KNOWN_TYPES


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_listed_field_survives(name: str) -> None:
    decoded = again(chunks.decode(samples.body(ALL[name])))
    expected = ALL[name]
    # What is open has no fields of its own, so an empty payload stays as it was.
    assert decoded == expected


@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name, fields in samples.REQUIRED.items() for field in fields.split()]
)
def test_a_chunk_without_its_place_is_refused(name: str, field: str) -> None:
    broken = json.loads(samples.body(samples.TAGGED[name]))
    del broken["payload"][field]
    with pytest.raises(msgspec.ValidationError, match=field):
        chunks.decode(samples.body(broken))


@pytest.mark.parametrize("name", sorted(samples.TAGGED))
def test_nothing_else_is_required(name: str) -> None:
    bare = json.loads(samples.body(samples.TAGGED[name]))
    if "payload" in bare:
        wanted = samples.REQUIRED.get(name, "").split()
        wanted += ["id"] if name == "redacted-reasoning" else []
        wanted += ["data", "mimeType"] if name == "reasoning-file" else []
        bare["payload"] = {field: bare["payload"][field] for field in wanted}
    assert again(chunks.decode(samples.body(bare))) == bare


@pytest.mark.parametrize("field", ["type", "runId", "from"])
def test_the_envelope_is_required(field: str) -> None:
    broken = {key: value for key, value in samples.TAGGED["text-delta"].items() if key != field}
    with pytest.raises(msgspec.ValidationError, match=field):
        chunks.decode(samples.body(broken))


@pytest.mark.parametrize("name", ["object", "object-result"])
def test_objects_need_their_object(name: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="object"):
        chunks.decode(samples.body({"type": name, "runId": "r", "from": "AGENT"}))


def test_data_needs_its_data() -> None:
    with pytest.raises(msgspec.ValidationError, match="data"):
        chunks.decode(samples.body({"type": "data-x", "runId": "r", "from": "AGENT"}))


def test_opaque_numbers_keep_their_spelling() -> None:
    body = b'{"type":"tool-result","runId":"r","from":"AGENT","payload":{"toolCallId":"c","result":[1.0,1e400,-0]}}'
    chunk = chunks.decode(body)
    assert isinstance(chunk, chunks.ToolResult)
    assert isinstance(chunk.payload.result, msgspec.Raw)
    assert bytes(chunk.payload.result) == b"[1.0,1e400,-0]"


def test_optional_fields_may_be_null() -> None:
    chunk = chunks.decode(
        b'{"type":"tool-result","runId":"r","from":"AGENT","payload":{"toolCallId":"c","toolName":null,"isError":null}}'
    )
    assert isinstance(chunk, chunks.ToolResult)
    assert chunk.payload.tool_name is None


def test_a_later_versions_type_is_unknown_but_readable() -> None:
    chunk = chunks.decode(b'{"type":"hologram","runId":"r","from":"FUTURE","payload":{"x":1}}')
    assert isinstance(chunk, chunks.Unknown)
    assert (chunk.type, chunk.from_) == ("hologram", "FUTURE")


def test_what_is_known() -> None:
    assert all(chunks.is_known(name) for name in ALL)
    assert not chunks.is_known("hologram")
    assert not chunks.is_known("data")


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'{"type":1}', b'{"type":"text-delta"'])
def test_what_is_no_chunk_is_refused(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        chunks.decode(body)


@pytest.mark.parametrize("sample", samples.CONTROLS, ids=lambda sample: str(sample["type"]))
def test_control_bodies_survive(sample: dict[str, Any]) -> None:
    assert again(control.decode(samples.body(sample))) == sample


@pytest.mark.parametrize(
    "sample",
    [
        {"type": "run-stop"},
        {"type": "run-start", "mode": "loop"},
        {"type": "run-start", "usage": "maybe"},
        {"type": "run-end"},
        {"type": "run-end", "reason": "done"},
        {"type": "timeout", "phase": "gap"},
        {"type": "timeout", "phase": "bored", "after": "1-1"},
        {"type": "quarantine"},
    ],
    ids=str,
)
def test_other_control_bodies_are_refused(sample: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        control.decode(samples.body(sample))


@pytest.mark.parametrize("sample", samples.RAW, ids=lambda sample: str(sample["type"]))
def test_raw_chunks_survive(sample: dict[str, Any]) -> None:
    decoder: msgspec.json.Decoder[raw.RawChunk] = msgspec.json.Decoder(raw.RawChunk)
    assert again(decoder.decode(samples.body(sample))) == sample

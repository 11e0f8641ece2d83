"""Field rules of a record: what parses, what is refused with which reason, and that nothing raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwire_schemas import record as records
from runwire_schemas.record import Malformed, Record, fields_of, parse

PLAIN: dict[bytes, bytes] = {
    b"run": b"run-1",
    b"src": b"producer-1",
    b"epoch": b"0",
    b"seq": b"1",
    b"kind": b"provider",
    b"call": b"c1",
    b"body": b'{"type":"text-delta"}',
}


def flat(changes: dict[bytes, bytes | None]) -> list[bytes]:
    """The plain record with some fields changed; None leaves a field out."""
    fields = {name: value for name, value in {**PLAIN, **changes}.items() if value is not None}
    return [part for pair in fields.items() for part in pair]


def record(**changes: bytes | None) -> Record:
    parsed = parse(b"1-1", flat({name.encode(): value for name, value in changes.items()}))
    assert isinstance(parsed, Record), parsed
    return parsed


def malformed(**changes: bytes | None) -> Malformed:
    fields = flat({name.encode(): value for name, value in changes.items()})
    first, again = parse(b"1-1", fields), parse(b"1-1", fields)
    assert isinstance(first, Malformed), first
    assert first == again
    return first


def test_every_field_arrives() -> None:
    assert record(ts=b"1790000000000", usage=b"optional", traceparent=b"00-ab-cd-01", epoch=b"7", seq=b"12") == Record(
        id="1-1",
        run="run-1",
        kind="provider",
        src="producer-1",
        epoch=7,
        seq=12,
        body=b'{"type":"text-delta"}',
        call="c1",
        usage="optional",
        ts=1790000000000,
        traceparent="00-ab-cd-01",
    )


def test_a_familiar_record_is_read_like_the_first_one() -> None:
    assert record(epoch=b"3") == record(epoch=b"3")
    assert record(ts=b"5", traceparent=b"t") == record(ts=b"5", traceparent=b"t")


def test_equal_runs_share_one_string() -> None:
    record(run=b"shared")
    assert record(run=b"shared").run is record(run=b"shared", seq=b"2").run


def test_optional_fields_may_be_absent() -> None:
    parsed = record(kind=b"agent", call=None)
    assert (parsed.call, parsed.usage, parsed.ts, parsed.traceparent) == (None, None, None, None)


def test_unknown_fields_are_ignored() -> None:
    assert record(colour=b"red") == record()


def test_an_empty_body_is_a_body() -> None:
    """It is no JSON, which is for the grammar to say."""
    assert record(body=b"").body == b""


@pytest.mark.parametrize("field", ["run", "src", "epoch", "seq", "kind", "call", "body"])
def test_a_provider_record_needs_its_fields(field: str) -> None:
    refused = malformed(**{field: None})
    assert field in refused.reason
    assert "missing" in refused.reason


@pytest.mark.parametrize("field", ["run", "src", "epoch", "seq", "kind", "call", "body"])
def test_a_field_that_stands_twice_is_refused_and_not_read(field: str) -> None:
    refused = parse(b"1-1", [*flat({}), field.encode(), PLAIN[field.encode()]])
    assert isinstance(refused, Malformed)
    assert refused.reason == f"the field {field} appears more than once"
    read = {"run": refused.run, "src": refused.src, "epoch": refused.epoch, "seq": refused.seq}
    assert read == {"run": "run-1", "src": "producer-1", "epoch": 0, "seq": 1} | (
        {field: None} if field in read else {}
    )


@pytest.mark.parametrize("name", [b"run", b"src"])
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "has 0 bytes"),
        (b"x" * 257, "has 257 bytes"),
        ("\u00e9".encode() * 129, "has 258 bytes"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"a\nb", "has a control character"),
        (b"a\x00", "has a control character"),
        (b"\x7f", "has a control character"),
        ("a\u0085".encode(), "has a control character"),
        ("\u009f".encode(), "has a control character"),
        (b"~own", "begins with ~"),
        (b"~", "begins with ~"),
    ],
)
def test_names_that_nobody_may_use(name: bytes, value: bytes, reason: str) -> None:
    refused = malformed(**{name.decode(): value})
    assert refused.reason.startswith(name.decode())
    assert reason in refused.reason
    assert (refused.run, refused.src)[name == b"src"] is None


@pytest.mark.parametrize(
    "value", [b"x", b"x" * 256, "\u00e9".encode() * 128, "soft\u00adhyphen \u200b\u3000".encode(), b"a~", b"{x}:*"]
)
def test_names_that_anybody_may_use(value: bytes) -> None:
    assert record(run=value, src=value).run == value.decode()


def test_only_the_unwrapper_and_the_services_may_use_a_reserved_run() -> None:
    assert record(run=b"~child", src=b"~unwrap:parent").src == "~unwrap:parent"
    assert record(run=b"~child", src=b"~unwrap:~child-of-a-child").run == "~child"
    assert record(run=b"~child", src=b"~enforcer", kind=b"control").run == "~child"
    assert record(run=b"~child", src=b"~admin", kind=b"control").run == "~child"
    assert malformed(run=b"~child").src == "producer-1"


def test_a_parent_may_be_as_long_as_a_run() -> None:
    assert record(src=b"~unwrap:" + b"p" * 256).src == "~unwrap:" + "p" * 256
    assert "parent" in malformed(src=b"~unwrap:" + b"p" * 257).reason
    assert "parent" in malformed(src=b"~unwrap:").reason
    assert "control character" in malformed(src=b"~unwrap:a\nb").reason


@pytest.mark.parametrize("src", [b"~enforcer ", b"~Enforcer", b"~unwrap", b"~administrator"])
def test_other_reserved_sources_are_refused(src: bytes) -> None:
    assert "reserved" in malformed(src=src).reason


def test_the_enforcer_writes_without_numbers() -> None:
    parsed = record(src=b"~enforcer", epoch=None, seq=None, kind=b"control", call=None)
    assert (parsed.epoch, parsed.seq) == (0, 0)


@pytest.mark.parametrize("src", [b"~enforcer", b"~admin"])
@pytest.mark.parametrize("kind", [b"provider", b"agent"])
def test_services_write_control_records_only(src: bytes, kind: bytes) -> None:
    record(kind=kind)
    assert "control records only" in malformed(src=src, kind=kind).reason


@pytest.mark.parametrize(
    "value",
    [b"", b"x", b"1.0", b"1e3", b" 1", b"1 ", b"+1", b"-1", b"1_0", b"9223372036854775808", b"1" * 5000, b"\xb2"],
)
@pytest.mark.parametrize("field", ["epoch", "seq", "ts"])
def test_numbers_are_plain_digits(field: str, value: bytes) -> None:
    refused = malformed(**{field: value})
    assert refused.reason.startswith(f"{field} is ")
    assert len(refused.reason) < 300


def test_numbers_go_to_the_end_of_64_bits() -> None:
    parsed = record(epoch=b"9223372036854775807", seq=b"9223372036854775807", ts=b"9223372036854775807")
    assert (parsed.epoch, parsed.seq, parsed.ts) == (2**63 - 1, 2**63 - 1, 2**63 - 1)


def test_a_sequence_counts_from_one_an_epoch_from_zero() -> None:
    assert record(epoch=b"0").epoch == 0
    assert malformed(seq=b"0").reason == "seq is 0, but counts from 1"


@pytest.mark.parametrize("kind", [b"", b"Provider", b"tool"])
def test_other_kinds_are_refused(kind: bytes) -> None:
    assert malformed(kind=kind).reason.startswith("kind is ")


@pytest.mark.parametrize("kind", [b"provider", b"agent", b"control"])
@pytest.mark.parametrize("call", [b"", b"x" * 1025, b"\xff"])
def test_a_call_id_has_a_bound(kind: bytes, call: bytes) -> None:
    assert malformed(kind=kind, call=call).reason.startswith("call ")


@pytest.mark.parametrize("usage", [b"", b"Optional", b"none"])
def test_usage_is_required_or_optional(usage: bytes) -> None:
    assert malformed(usage=usage).reason.startswith("usage is ")


def test_what_could_be_read_is_kept() -> None:
    refused = malformed(kind=b"tool", epoch=b"4", seq=b"9")
    assert refused == Malformed("1-1", refused.reason, "run-1", "producer-1", 4, 9, b'{"type":"text-delta"}')


def test_a_name_that_passed_for_one_field_does_not_open_another() -> None:
    """Runs and sources share a cache; reserved names must never get into it."""
    record(run=b"~child", src=b"~unwrap:parent")
    assert "reserved" in malformed(run=b"~child").reason
    assert "reserved" in malformed(src=b"~child").reason


def test_only_a_provider_record_needs_a_call_also_when_all_else_is_familiar() -> None:
    for _ in range(2):
        assert record(kind=b"agent", call=None).call is None
        assert record(kind=b"control", call=None).call is None
        assert "call is missing" in malformed(call=None).reason


def test_an_entry_id_of_any_bytes_is_kept() -> None:
    record()
    parsed = parse(b"\xff-1", flat({}))
    assert isinstance(parsed, Record)
    assert parsed.id == "\xff-1"


def test_the_caches_are_bounded() -> None:
    for number in range(20_000):
        record(run=b"r%d" % number, call=b"c%d" % number, epoch=b"%d" % number)
        parse(b"1-1", [b"odd%d" % number, b"x"])
    for cache in ("_names", "_calls", "_epochs", "_layouts"):
        assert len(getattr(records, cache)) <= 8192


def test_fields_come_back_as_they_went() -> None:
    original = record(ts=b"5", usage=b"required", traceparent=b"t", epoch=b"2")
    wire = [part if isinstance(part, bytes) else str(part).encode() for part in fields_of(original)]
    assert parse(b"1-1", wire) == original


def test_the_enforcers_records_go_out_without_numbers() -> None:
    fields = fields_of(record(src=b"~enforcer", kind=b"control", call=None))
    assert fields == ["run", "run-1", "src", "~enforcer", "kind", "control", "body", PLAIN[b"body"]]


@given(
    st.binary(max_size=20),
    st.lists(
        st.one_of(st.sampled_from([*PLAIN, *PLAIN.values(), b"ts", b"usage", b"traceparent"]), st.binary()), max_size=20
    ),
)
def test_anything_is_a_record_or_malformed(entry_id: bytes, fields: list[bytes]) -> None:
    parsed = parse(entry_id, fields)
    assert isinstance(parsed, Record | Malformed)
    assert parse(entry_id, fields) == parsed

"""A packed record, read as Redis reads it and judged as the enforcer judges it, is the record that was meant."""

from typing import Any

import hiredis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwire.broker.packing import pack, transaction
from runwire.errors import IdentityIncomplete, RecordInvalid
from runwire.producer.identity import Identity, Registry, RunState, identity, random_src
from runwire_schemas.keys import partition_of
from runwire_schemas.record import Record, parse

NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=40).filter(lambda s: s[0] != "~")


def read(wire: bytes) -> list[list[bytes]]:
    reader = hiredis.Reader()
    reader.feed(wire)
    found: list[list[bytes]] = []
    while (command := reader.gets()) is not False:
        found.append(command)
    return found


@given(NAMES, NAMES, NAMES, st.integers(1, 2**53), st.binary(max_size=200), st.sampled_from([None, "optional"]))
def test_every_packed_record_is_read_back(
    run_id: str, src: str, call: str, seq: int, body: bytes, usage: str | None
) -> None:
    state = RunState(run_id, src, 7, 0)
    template = state.template("{rw%d:0}:raw", "provider", call, usage, None)  # type: ignore[arg-type]  # parametrized
    ((name, key, entry_id, *fields),) = read(template.pack(seq, body))
    assert (name, key, entry_id) == (b"XADD", b"{rw%d:0}:raw", b"*")
    record = parse(b"1-1", fields)
    assert isinstance(record, Record)
    assert (record.run, record.src, record.epoch, record.seq) == (run_id, src, 7, seq)
    assert (record.call, record.kind, record.usage, record.body) == (call, "provider", usage, body)
    assert record.ts is not None
    assert record.ts > 1_700_000_000_000


def test_a_transaction_is_all_or_nothing() -> None:
    assert read(transaction([pack("XADD", "k", "*", "f", 1), pack("XADD", "k", "*", "f", 2)])) == [
        [b"MULTI"],
        [b"XADD", b"k", b"*", b"f", b"1"],
        [b"XADD", b"k", b"*", b"f", b"2"],
        [b"EXEC"],
    ]


@pytest.mark.parametrize("run_id", ["", "x" * 257, "ü" * 129, "~child", "a\nb", "a\x7fb", "\ud800", 5, None])
def test_run_ids_that_the_enforcer_would_refuse_are_refused_here(run_id: Any) -> None:
    registry = Registry(identity(None, None), 10, lambda run: partition_of(run, 16))
    with pytest.raises(RecordInvalid):
        registry.open(run_id)
    assert len(registry) == 0


@pytest.mark.parametrize("run_id", ["r", "x" * 256, "ü" * 128, "läuft 🙂", "a%sb", "a~b"])
def test_run_ids_that_are_fine_are_taken(run_id: str) -> None:
    assert Registry(identity(None, None), 10, lambda run: partition_of(run, 16)).open(run_id).run_id == run_id


@pytest.mark.parametrize("call", ["", "x" * 1025])
def test_a_bad_call_id_is_refused_before_a_number_is_used(call: str) -> None:
    state = RunState("r", "s", 0, 0)
    with pytest.raises(RecordInvalid):
        state.template("k", "provider", call, None, None)
    assert state.seq == 0


def test_a_stable_src_and_its_epoch_come_together() -> None:
    assert identity("agent-7", 3) == Identity("agent-7", 3, stable=True)
    assert identity("agent-7", 0).epoch == 0
    with pytest.raises(IdentityIncomplete):
        identity("agent-7", None)
    with pytest.raises(IdentityIncomplete):
        identity(None, 3)
    with pytest.raises(RecordInvalid):
        identity("~enforcer", 1)
    with pytest.raises(RecordInvalid):
        identity("a\nb", 1)
    with pytest.raises(RecordInvalid):
        identity("agent-7", -1)


def test_a_random_src_never_repeats_and_has_epoch_0() -> None:
    assert len({random_src() for _ in range(1000)}) == 1000
    who = identity(None, None)
    assert (who.epoch, who.stable) == (0, False)


def test_a_run_that_is_opened_again_goes_on_with_its_next_number() -> None:
    registry = Registry(identity(None, None), 10, lambda run: 0)
    first = registry.open("r")
    first.seq = 41
    registry.close(first)
    assert registry.open("r").seq == 41


def test_a_forgotten_run_comes_back_under_another_name() -> None:
    """Else its records from 1 on would be taken for duplicates: a silent hole."""
    registry = Registry(identity(None, None), 3, lambda run: 0)
    old = registry.open("old")
    old.seq = 41
    registry.close(old)
    kept_open = registry.open("open")
    broken = registry.open("broken")
    registry.close(broken)
    registry.break_runs(frozenset({"broken"}), ValueError("lost"))
    registry.open("new")
    again = registry.open("old")
    assert (again.seq, again.src != old.src) == (0, True)
    assert registry.open("open") is kept_open
    assert registry.open("broken").broken is not None


def test_a_stable_src_remembers_every_run() -> None:
    registry = Registry(identity("agent-7", 1), 2, lambda run: 0)
    for number in range(100):
        state = registry.open(f"r{number}")
        state.seq = 5
        registry.close(state)
    assert len(registry) == 100
    assert registry.open("r0").seq == 5

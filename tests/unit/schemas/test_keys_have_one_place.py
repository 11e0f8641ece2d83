"""The keys module names every key; partition placement is that of Redis Cluster's slots."""

import pytest
from redis.crc import key_slot

from runwire_schemas.keys import CATALOGUE, Keys, partition_of, spec_of


@pytest.mark.parametrize("run", ["123456789", "foo", "", "\u00e9", "run-1", "x" * 256])
def test_a_run_lies_where_redis_cluster_would_put_it(run: str) -> None:
    assert partition_of(run, 16384) == key_slot(run.encode())
    assert partition_of("123456789", 16384) == 0x31C3


def test_every_key_is_in_the_catalogue() -> None:
    keys = Keys("rw")
    p = keys.partition(7)
    made = [p.raw, p.chunks, p.open, p.evidence, p.outbox, p.index, p.expiring, p.holds, p.pos_raw, p.pos_chunks]
    made += [p.lease("enforcer"), p.state("r"), p.log("r"), p.log("r", 2), p.kept("r")]
    made += [p.nest("r"), p.claim("r")]
    made += [keys.meta, keys.events, keys.commands, keys.continuations, keys.members("enforcer")]
    specs = [spec_of(key) for key in made]
    assert None not in specs
    assert set(specs) == set(CATALOGUE)


@pytest.mark.parametrize("run", ["a:b", "{x}", "two\u2028lines", ":1", "*"])
def test_no_run_id_can_leave_its_kind_of_key(run: str) -> None:
    p = Keys("rw").partition(0)
    made = {p.state(run): "state", p.log(run, 3): "run log", p.kept(run): "kept", p.nest(run): "nest"}
    for key, kind in {**made, p.claim(run): "claim"}.items():
        spec = spec_of(key)
        assert spec
        assert spec.name == kind


@pytest.mark.parametrize("key", ["rw:other", "{rw:x}:raw", "{rw:1}:raw2", "{other:1}:raw", "{rw:1}:run:r", "rw"])
def test_other_keys_are_not_ours(key: str) -> None:
    assert spec_of(key) is None


def test_the_prefix_is_taken_literally() -> None:
    assert spec_of("{a.b:1}:raw", "a.b")
    assert spec_of("{axb:1}:raw", "a.b") is None

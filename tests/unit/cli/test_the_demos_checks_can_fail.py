"""The demo's proof must notice a difference: every check here is shown one that holds and one that does not."""

import json
from typing import Any

from runwire.cli.demo.proof import (
    Check,
    agreement,
    numbered_without_hole,
    recomputed,
    text_of_chunks,
    text_of_file,
)
from runwire.grammar.limits import Limits

BODIES: list[dict[str, Any]] = [
    {"type": "block-start", "index": 0, "blockKind": "text"},
    {"type": "text-delta", "index": 0, "text": "Hello"},
    {"type": "text-delta", "index": 0, "text": " again"},
    {"type": "block-end", "index": 0, "block": {"kind": "text", "text": "Hello again"}},
    {"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 2}},
    {"type": "finish", "reason": {"kind": "stop"}},
]

Entry = tuple[bytes, list[bytes]]


def entry(seq: int, body: object) -> Entry:
    head = [b"run", b"r", b"src", b"s", b"epoch", b"0", b"kind", b"provider", b"call", b"1"]
    return b"%d-0" % seq, [*head, b"seq", b"%d" % seq, b"body", json.dumps(body).encode()]


RECORDS = [entry(seq, body) for seq, body in enumerate(BODIES, 1)]


def test_a_machine_of_our_own_makes_the_same_bytes_and_other_bytes_from_other_records() -> None:
    chunks = recomputed("r", RECORDS, Limits())
    assert len(chunks) == 8
    assert recomputed("r", RECORDS, Limits()) == chunks
    assert recomputed("r", [*RECORDS, RECORDS[1]], Limits()) == chunks, "a duplicate changes nothing"
    changed = [*RECORDS[:1], entry(2, {**BODIES[1], "text": "Hallo"}), *RECORDS[2:]]
    assert recomputed("r", changed, Limits()) != chunks
    assert recomputed("r", RECORDS[:-1], Limits()) != chunks


def test_the_text_of_a_file_is_compared_with_the_text_of_its_chunks() -> None:
    chunks = recomputed("r", RECORDS, Limits())
    assert text_of_file("r", RECORDS, Limits()) == text_of_chunks(chunks)
    assert text_of_chunks(chunks[:3] + chunks[4:]) != text_of_chunks(chunks)


def test_numbers_must_be_1_to_n() -> None:
    assert numbered_without_hole([1, 2, 3])
    for wrong in ([], [1, 3], [2, 3], [1, 2, 2, 3], [1, 3, 2]):
        assert not numbered_without_hole(wrong)


def test_a_claim_about_all_runs_names_those_that_break_it() -> None:
    assert agreement("all", {"a": True, "b": True}).holds
    failed = agreement("all", {"a": True, "c": False, "b": False})
    assert (failed.holds, failed.expected, failed.actual) == (False, "3 of 3 runs", "1 of 3 runs, not b, c")
    assert not Check("same", "1", "2").holds

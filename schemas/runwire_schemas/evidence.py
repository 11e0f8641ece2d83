"""Evidence: what the enforcer keeps of every refusal, violation and repair, enough to explain and to redrive it."""

from typing import Literal

import msgspec

EvidenceClass = Literal["refused", "fatal", "repaired", "counted", "alarm"]


class Evidence(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One finding. Its time is that of `record`, whose id begins with milliseconds since 1970.

    `run` is None where the entry named none. `record` is also the evidence's id in the run's `error` chunk.
    `body` holds the raw bytes (base64 in JSON), None once the run's bound on kept bytes is reached; then `count`
    says how many further records this entry stands for, `record` being the first and `last_record` the last.
    `possible_cause` is a hint, for example `failover`.
    """

    code: str
    cls: EvidenceClass = msgspec.field(name="class")
    message: str
    record: str
    run: str | None = None
    attempt: int = 1
    src: str | None = None
    epoch: int | None = None
    seq: int | None = None
    call: str | None = None
    chunk_type: str | None = None
    block_index: int | None = None
    expected: tuple[str, ...] = ()
    state_digest: str | None = None
    grammar: int = 1
    body: bytes | None = None
    count: int = 1
    last_record: str | None = None
    possible_cause: str | None = None
